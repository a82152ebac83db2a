//! The fallback scan finds what no wake-up closed.

use acceptance::{Shop, ShopBuilder, at, order, shop};
use serde_json::json;

fn still() -> ShopBuilder {
    shop().with_stock("SKU", 50).with_time_standing_still()
}

async fn statuses(shop: &Shop, ids: &[String]) -> Vec<String> {
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(shop.status(id).await);
    }
    statuses.dedup();
    statuses
}

#[tokio::test]
async fn b34_an_order_whose_wake_up_is_lost_is_closed_by_the_scan_and_counted() {
    let shop = still().open().await;
    let id = shop.ordered().await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.pass_deadline().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.schedules().await), ("PENDING_PAYMENT", vec![]));
    // What is due is left to its wake-up for the grace of two minutes.
    assert_eq!(shop.scan().await, 0);
    shop.advance(120).await;
    assert_eq!(shop.scan().await, 1);
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["closing"]["trigger"]), (&json!("CLOSED"), &json!("scan")));
    assert_eq!((shop.metric("FoundByScan"), shop.stock("SKU").await), (1, (50, 0, 0)));
    assert_eq!(shop.scan().await, 0, "nothing is left");
    assert_eq!(shop.metric("FoundByScan"), 1);
}

#[tokio::test]
async fn the_scan_closes_nothing_before_its_deadline() {
    let shop = still().with_env("SCAN_GRACE_SECONDS", "0").open().await;
    let id = shop.ordered().await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance_by(std::time::Duration::from_millis(1_800_499)).await;
    // Due by the index, but not yet by the half second in which the last payment may arrive.
    assert_eq!(shop.scan().await, 1);
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT", "I7");
    shop.advance_by(std::time::Duration::from_millis(1)).await;
    assert_eq!(shop.scan().await, 1);
    assert_eq!(shop.status(&id).await, "CLOSED");
}

#[tokio::test]
async fn the_recurring_schedule_runs_the_scan_by_itself_when_an_hour_has_passed_once_per_jump() {
    let shop = still().open().await;
    let id = shop.ordered().await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(3_599).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("ScanLastSuccess")), ("PENDING_PAYMENT", 0));
    let moved = shop.call("PUT", "/_local/clock", json!({"advance_seconds": 1})).await.expect(200);
    assert_eq!(at(&moved.body, "now"), shop.now());
    shop.rest().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("FoundByScan")), ("CLOSED", 1));
    shop.advance(10 * 3_600).await;
    let runs = shop.system.figures.all()["ScanLastSuccess"];
    assert_eq!(runs.lines, 2, "one run per jump, however many hours");
    assert_eq!(runs.most, u64::try_from(shop.now().as_seconds()).unwrap_or_default());
}

#[tokio::test]
async fn with_the_stream_dropped_nothing_is_sent_and_scans_find_the_close_and_every_unit_of_work() {
    let shop = still().open().await;
    shop.put_points("u1", 100).await;
    shop.put_coupon("C", "u1", &shop.in_seconds(86_400)).await;
    shop.put_quota("sale", 5).await;
    shop.faults(json!({"drop_stream": true})).await;
    let quotas = json!([{"activity": "sale", "quantity": 1}]);
    let full = order().with("coupon_id", "C").with("points", 40).with("quotas", quotas);
    let (expired, cancelled) = (shop.order_of(&full).await, shop.ordered().await);
    let _ = shop.cancel(&cancelled).await.expect(200);
    shop.rest().await;
    assert_eq!((shop.schedules().await, shop.queued("close")), (vec![], (0, 0, 0)));
    assert_eq!(shop.order(&cancelled).await["pending"], json!(["stock"]), "the outbox outlives its stream");
    shop.pass_deadline().await;
    shop.advance(120).await;
    assert_eq!(shop.status(&expired).await, "PENDING_PAYMENT");

    // The first scan sends the close and the pending unit; the close's own record is lost as well.
    assert_eq!(shop.scan().await, 2);
    assert_eq!(shop.order(&cancelled).await["pending"], json!([]));
    let order = shop.order(&expired).await;
    assert_eq!(
        (&order["status"], &order["pending"]),
        (&json!("CLOSED"), &json!(["stock", "coupon", "points", "quota"]))
    );
    assert!(shop.is_due(&expired).await);
    // The second sends its units.
    assert_eq!(shop.scan().await, 1);
    assert_eq!(shop.order(&expired).await["pending"], json!([]));
    assert_eq!(
        (shop.stock("SKU").await, shop.points("u1").await, shop.quota("sale").await),
        ((50, 0, 0), (100, 0), (5, 0, 0))
    );
    assert_eq!(shop.coupon("C").await, "AVAILABLE");
    assert_eq!((shop.due().await, shop.scan().await), (vec![], 0));
}

#[tokio::test]
async fn a_lease_or_a_next_check_holds_back_only_the_close_and_not_the_other_work() {
    let shop = still().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    shop.faults(json!({"drop_wakes": true, "hold_queues": ["close"]})).await;
    shop.advance(1_921).await;
    assert_eq!(shop.scan().await, 1);
    shop.faults(json!({})).await;
    shop.rest().await;
    // The channel is silent: CLOSING, its next check is ahead.
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["closing"]["attempts"]), (&json!("CLOSING"), &json!(1)));
    let asked = shop.calls(&payment, "query").await;
    for _ in 0..3 {
        let run = shop.call("POST", "/_local/scan", serde_json::Value::Null).await.expect(200).body;
        assert_eq!((&run["found"], &run["sent"]), (&json!(1), &json!(0)), "found, and left to its next check");
    }
    assert_eq!(shop.calls(&payment, "query").await, asked);
}

/// I12, read from the index itself through a whole life.
#[tokio::test]
async fn an_order_stands_in_the_due_index_while_it_is_open_or_has_work_left_and_never_otherwise() {
    let shop = still().open().await;
    let nothing_to_pay = shop.order_of(&order().with("payable_amount", 0)).await;
    let (paid, expired, closing) = (shop.ordered().await, shop.ordered().await, shop.ordered().await);
    assert!(!shop.is_due(&nothing_to_pay).await);
    let due = shop.due().await;
    assert_eq!(due.len(), 3);
    assert!(due.iter().all(|hit| hit.due_at == shop.now().plus(std::time::Duration::from_secs(1_800))), "at expire_at");

    let payment = shop.paying(&paid).await;
    let silent = shop.paying(&closing).await;
    assert!(shop.is_due(&paid).await);
    shop.faults(json!({"hold_queues": ["stock-release"]})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.channel(&silent, json!({"state": "ERROR"})).await;
    shop.pass_deadline().await;
    for (id, status) in [(&paid, "PAID"), (&expired, "CLOSED"), (&closing, "CLOSING")] {
        assert_eq!((shop.status(id).await.as_str(), shop.is_due(id).await), (status, true), "work is left");
    }
    shop.faults(json!({})).await;
    shop.rest().await;
    assert_eq!(
        (shop.is_due(&paid).await, shop.is_due(&expired).await, shop.is_due(&closing).await),
        (false, false, true)
    );

    shop.channel(&silent, json!({"state": "NOTPAY"})).await;
    shop.advance(15).await;
    assert_eq!((shop.status(&closing).await.as_str(), shop.due().await), ("CLOSED", vec![]));
    // Money for an order that left the index brings it back until it is refunded.
    shop.faults(json!({"hold_queues": ["refund"]})).await;
    assert_eq!(shop.paid(&silent).await, 200);
    shop.rest().await;
    let due = shop.due().await;
    assert_eq!(
        due.iter().map(|hit| (hit.order.to_string(), hit.due_at)).collect::<Vec<_>>(),
        [(closing.clone(), shop.now())]
    );
    shop.faults(json!({})).await;
    for _ in 0..3 {
        shop.advance(15).await;
    }
    assert_eq!((shop.due().await, shop.metric("InvariantBreach")), (vec![], 0));
    assert_eq!(statuses(&shop, &[expired, closing]).await, ["CLOSED"]);
}
