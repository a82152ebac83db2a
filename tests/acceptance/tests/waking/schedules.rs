//! b39: one schedule per open order, and none of an order that is over; what stands in when none can be created.

use acceptance::{Shop, ShopBuilder, at, millis_between, shop};
use serde_json::json;

fn without_scans() -> ShopBuilder {
    shop().with_stock("SKU", 5).with_env("SCAN_PERIOD_SECONDS", "86400").with_time_standing_still()
}

async fn armed(shop: &Shop) -> Vec<String> {
    shop.schedules().await.into_iter().map(|(name, _)| name).collect()
}

async fn lateness(shop: &Shop, id: &str) -> i64 {
    let order = shop.order(id).await;
    assert_eq!(order["status"], "CLOSED", "{order:#}");
    millis_between(at(&order, "expire_at"), at(&order, "closed_at"))
}

#[tokio::test]
async fn b39_an_open_order_has_one_schedule_and_an_order_that_is_over_or_closing_has_none() {
    let shop = without_scans().open().await;
    let (paid, cancelled, closing, expired) =
        (shop.ordered().await, shop.ordered().await, shop.ordered().await, shop.ordered().await);
    shop.rest().await;
    assert_eq!(armed(&shop).await.len(), 4);

    let payment = shop.paying(&paid).await;
    shop.rest().await;
    assert_eq!(armed(&shop).await.len(), 4, "an order that is being paid keeps its schedule");
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    assert!(!armed(&shop).await.contains(&paid));
    let _ = shop.cancel(&cancelled).await.expect(200);
    shop.rest().await;
    assert!(!armed(&shop).await.contains(&cancelled));
    let silent = shop.paying(&closing).await;
    shop.channel(&silent, json!({"state": "ERROR"})).await;
    let _ = shop.cancel(&closing).await.expect(202);
    shop.rest().await;
    assert_eq!(armed(&shop).await, std::slice::from_ref(&expired));
    shop.pass_deadline().await;
    assert_eq!((shop.status(&expired).await.as_str(), armed(&shop).await), ("CLOSED", vec![]));
}

#[tokio::test]
async fn b39_the_schedule_is_named_after_its_order_and_fires_within_the_minute_before_the_deadline() {
    for seed in 0..5 {
        let shop = without_scans().with_seed(seed).open().await;
        let id = shop.ordered().await;
        let expire_at = at(&shop.order(&id).await, "expire_at");
        shop.rest().await;
        let schedules = shop.schedules().await;
        assert_eq!(schedules.len(), 1);
        let (name, fires_at) = &schedules[0];
        assert_eq!(*name, id);
        assert!((0..60_000).contains(&(60_000 + millis_between(expire_at, *fires_at))), "{fires_at} for {expire_at}");
    }
}

#[tokio::test]
async fn b39_while_schedules_are_throttled_orders_are_created_and_stand_in_messages_wake_them_on_time() {
    let shop = without_scans().open().await;
    shop.faults(json!({"send_errors": ["scheduler"]})).await;
    let id = shop.ordered().await;
    shop.rest().await;
    assert_eq!((armed(&shop).await, shop.queued("close")), (vec![], (0, 1, 0)));
    assert_eq!(shop.metric("ScheduleNotCreated"), 1);
    // The hop after 900 s tries the schedule again, and stands in again.
    shop.advance(900).await;
    assert_eq!((armed(&shop).await, shop.queued("close"), shop.metric("ScheduleNotCreated")), (vec![], (0, 1, 0), 2));
    shop.advance(899).await;
    shop.advance(3).await;
    let late = lateness(&shop, &id).await;
    assert!((500..=3_000).contains(&late), "{late} ms");
    assert_eq!((shop.metric("FoundByScan"), shop.metric("WakeLate"), shop.stock("SKU").await), (0, 0, (5, 0, 0)));
}

#[tokio::test]
async fn b39_once_schedules_can_be_created_again_the_next_hop_arms_one() {
    let shop = without_scans().open().await;
    shop.faults(json!({"send_errors": ["scheduler"]})).await;
    let id = shop.ordered().await;
    shop.rest().await;
    shop.faults(json!({})).await;
    shop.advance(900).await;
    assert_eq!((armed(&shop).await, shop.queued("close")), (vec![id.clone()], (0, 0, 0)));
    shop.advance(899).await;
    shop.advance(3).await;
    assert!((500..=3_000).contains(&lateness(&shop, &id).await));
    assert_eq!((shop.metric("ScheduleNotCreated"), shop.metric("FoundByScan")), (1, 0));
}

#[tokio::test]
async fn b39_a_reminder_that_neither_scheduler_nor_queue_takes_is_offered_again_until_one_does() {
    let shop = without_scans().open().await;
    shop.faults(json!({"send_errors": ["scheduler", "close"]})).await;
    let id = shop.ordered().await;
    shop.until("it is tried again and again", |shop| shop.metric("ScheduleNotCreated") > 1).await;
    assert_eq!((armed(&shop).await, shop.queued("close")), (vec![], (0, 0, 0)));
    shop.faults(json!({"send_errors": ["scheduler"]})).await;
    shop.rest().await;
    assert_eq!((armed(&shop).await, shop.queued("close")), (vec![], (0, 1, 0)), "the queue takes it");
    shop.faults(json!({})).await;
    shop.advance(900).await;
    assert_eq!((armed(&shop).await, shop.queued("close")), (vec![id.clone()], (0, 0, 0)), "the hop arms its schedule");
    shop.advance(899).await;
    shop.advance(3).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("FoundByScan")), ("CLOSED", 0));
}

#[tokio::test]
async fn b39_after_eight_hops_the_scan_is_left_and_covers() {
    let rules = r#"[{"id":"default","version":1,"seconds":14400}]"#;
    let shop = without_scans().with_env("EXPIRY_RULES", rules).open().await;
    shop.faults(json!({"send_errors": ["scheduler"]})).await;
    let id = shop.ordered().await;
    shop.rest().await;
    for hop in 1..=8 {
        assert_eq!((shop.queued("close"), shop.metric("ScheduleNotCreated")), ((0, 1, 0), hop));
        shop.advance(900).await;
    }
    assert_eq!((shop.queued("close"), shop.metric("ScheduleNotCreated")), ((0, 0, 0), 9), "no further hop");
    shop.advance(7_200 + 121).await;
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT");
    assert_eq!(shop.scan().await, 1);
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("FoundByScan")), ("CLOSED", 1));
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn b39_with_neither_schedules_nor_the_close_queue_orders_are_created_and_what_follows_waits_for_either() {
    let shop = without_scans().open().await;
    shop.faults(json!({"send_errors": ["scheduler", "close"]})).await;
    let (open, cancelled) = (shop.ordered().await, shop.ordered().await);
    let _ = shop.cancel(&cancelled).await.expect(200);
    shop.faults(json!({"send_errors": ["scheduler"]})).await;
    shop.rest().await;
    assert_eq!((shop.order(&cancelled).await["pending"].clone(), shop.stock("SKU").await), (json!([]), (4, 1, 0)));
    assert!(shop.queued("close").1 >= 1, "a delayed message stands in");
    shop.faults(json!({})).await;
    shop.pass_deadline().await;
    assert_eq!((shop.status(&open).await.as_str(), shop.stock("SKU").await), ("CLOSED", (5, 0, 0)));
    assert_eq!(shop.metric("FoundByScan"), 0);
}
