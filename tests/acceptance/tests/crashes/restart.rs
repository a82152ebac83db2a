//! A restart on the same data: queues and schedules are lost with the process, and the scan repairs everything.

use std::path::PathBuf;

use acceptance::{Shop, WINDOW, order, shop};
use expiry_core::time::Timestamp;
use local::clock::MovableClock;
use serde_json::{Value, json};

use crate::scene::assert_no_dead_letters;

/// How long the scan leaves what is due to others, and a little more.
const GRACE: u64 = 121;

/// A folder of this test alone, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("order-expiry-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Its drivers end, and with them the last hands on the database.
async fn stop(shop: Shop) {
    drop(shop);
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
}

/// What the channel knows of a payment: its memory ends with the process that simulates it.
async fn remember(shop: &Shop, payment: &str, state: &str) {
    shop.channel(payment, json!({"state": state, "amount": 1_000, "currency": "CNY"})).await;
}

#[tokio::test]
async fn after_a_restart_without_queues_and_schedules_the_scan_repairs_every_order() {
    let folder = Folder::new("restart");
    let clock = MovableClock::paused(Timestamp::from_seconds(1_800_000_000).expect("a time"));
    let shop_on = |stock| shop().on(clock.clone()).with_data(&folder.0).with_stock("SKU", stock).open();

    // Late money, and an order that is being closed while the channel is silent.
    let shop = shop_on(9).await;
    let (late, silent) = (shop.ordered().await, shop.ordered().await);
    let (late_payment, silent_payment) = (shop.paying(&late).await, shop.paying(&silent).await);
    shop.channel(&silent_payment, json!({"state": "ERROR"})).await;
    shop.pass_deadline().await;
    // Nothing of what follows leaves its queue before the process ends.
    let queues = ["close", "stock-release", "coupon-release", "points-release", "quota-release", "refund"];
    shop.faults(json!({"hold_queues": queues})).await;
    assert_eq!(shop.paid(&late_payment).await, 200);
    let paid = shop.ordered().await;
    let payment = shop.paying(&paid).await;
    assert_eq!(shop.paid(&payment).await, 200);
    let cancelled = shop.ordered().await;
    assert_eq!(shop.cancel(&cancelled).await.status, 200);
    let (open, paying) = (shop.ordered().await, shop.ordered().await);
    let open_payment = shop.paying(&paying).await;
    shop.rest().await;
    let before = [&late, &silent, &paid, &cancelled, &open, &paying];
    let mut statuses = Vec::new();
    for id in before {
        statuses.push(shop.status(id).await);
    }
    assert_eq!(statuses, ["CLOSED", "CLOSING", "PAID", "CLOSED", "PENDING_PAYMENT", "PAYING"]);
    assert_eq!(shop.stock("SKU").await, (4, 5, 0));
    stop(shop).await;

    let shop = shop_on(9).await;
    assert!(
        shop.system.cloud.queue_counts().values().all(|count| count.visible + count.delayed + count.in_flight == 0)
    );
    assert_eq!(shop.schedules().await.iter().filter(|(name, _)| before.contains(&name)).count(), 0);
    for (payment, state) in
        [(&late_payment, "SUCCESS"), (&silent_payment, "NOTPAY"), (&payment, "SUCCESS"), (&open_payment, "SUCCESS")]
    {
        remember(&shop, payment, state).await;
    }
    shop.advance(WINDOW + GRACE).await;
    assert!(shop.scan().await >= 6);
    shop.rest().await;

    let mut statuses = Vec::new();
    for id in before {
        let order = shop.order(id).await;
        assert_eq!(order["pending"], json!([]), "{order:#}");
        assert!(!shop.is_due(id).await);
        statuses.push(order["status"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(statuses, ["CLOSED", "CLOSED", "PAID", "CLOSED", "CLOSED", "PAID"]);
    assert_eq!(shop.order(&late).await["refunds"][0]["status"], "SUCCEEDED");
    assert_eq!(shop.stock("SKU").await, (7, 0, 2));
    assert_eq!(shop.due().await, []);
    assert_eq!(shop.metric("InvariantBreach"), 0);
    assert_no_dead_letters(&shop);

    // And life goes on.
    let id = shop.order_of(&order()).await;
    shop.pass_deadline().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("CLOSED", (7, 0, 2)));
}

#[tokio::test]
async fn while_the_channels_secret_cannot_be_read_an_order_that_is_being_paid_waits_with_its_goods() {
    let folder = Folder::new("secret");
    let clock = MovableClock::paused(Timestamp::from_seconds(1_800_000_000).expect("a time"));
    let open = || shop().on(clock.clone()).with_data(&folder.0).with_stock("SKU", 5).open();
    let shop = open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    stop(shop).await;

    let shop = open().await;
    remember(&shop, &payment, "NOTPAY").await;
    shop.no_secret_can_be_read();
    shop.advance(WINDOW + GRACE).await;
    assert_eq!(shop.scan().await, 1);
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("CLOSING", (4, 1, 0)));
    shop.system.cloud.clear_call_rules();
    shop.advance(60).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("CLOSED", (5, 0, 0)));
}

#[tokio::test]
async fn without_a_data_folder_every_start_is_empty() {
    let first = shop().with_stock("SKU", 1).with_time_standing_still().open().await;
    let id = first.ordered().await;
    drop(first);
    let second = shop().with_time_standing_still().open().await;
    assert_eq!(second.call("GET", &format!("/orders/{id}"), Value::Null).await.status, 404);
}
