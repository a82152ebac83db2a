//! Wake-ups that come early, late, often, wrongly or not at all.

use acceptance::{Shop, at, millis_between, order, shop};
use expiry_core::message::Queue;
use expiry_core::time::Timestamp;
use futures_util::future::join_all;
use serde_json::{Value, json};

/// A shop that stands still, with the scan out of the way.
async fn shop_without_scans() -> Shop {
    let shop = shop().with_stock("SKU", 5).with_env("SCAN_PERIOD_SECONDS", "86400").with_time_standing_still();
    shop.open().await
}

async fn deadline(shop: &Shop, id: &str) -> Timestamp {
    at(&shop.order(id).await, "expire_at")
}

/// How long after its deadline an order was closed, in milliseconds.
async fn lateness(shop: &Shop, id: &str) -> i64 {
    let order = shop.order(id).await;
    assert_eq!(order["status"], "CLOSED", "{order:#}");
    millis_between(at(&order, "expire_at"), at(&order, "closed_at"))
}

#[tokio::test]
async fn b36_a_wake_up_five_minutes_early_is_counted_and_waits_its_exact_time_and_closes_on_time() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_799).await;
    shop.faults(json!({})).await;
    let later = shop.ordered().await;
    assert_eq!(shop.metric("WakeEarly"), 0, "the order's own wake-up was lost");

    let later_expire_at = deadline(&shop, &later).await;
    shop.advance(1_500).await;
    shop.wake(&later, later_expire_at).await;
    assert_eq!((shop.status(&later).await.as_str(), shop.metric("WakeEarly")), ("PENDING_PAYMENT", 1));
    assert_eq!(shop.queued("close"), (0, 1, 0), "it re-queued itself");
    // The one that was lost comes late, and closes its order at once.
    shop.wake(&id, expire_at).await;
    assert_eq!((lateness(&shop, &id).await, shop.metric("WakeLate")), (1_499_000, 1));

    for _ in 0..302 {
        shop.advance(1).await;
    }
    let late = lateness(&shop, &later).await;
    assert!((500..=2_000).contains(&late), "{late} ms");
    // The order's own schedule came early as well, within the minute before the deadline.
    assert_eq!((shop.metric("WakeEarly"), shop.metric("OrderClosed"), shop.metric("FoundByScan")), (2, 2, 0));
}

#[tokio::test]
async fn b36_a_wake_up_earlier_than_a_queue_can_wait_hops_until_its_moment() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    shop.wake(&id, expire_at).await;
    assert_eq!(shop.queued("close"), (0, 1, 0));
    shop.advance(899).await;
    assert_eq!(shop.metric("WakeEarly"), 1);
    shop.advance(1).await;
    assert_eq!((shop.metric("WakeEarly"), shop.queued("close")), (2, (0, 1, 0)));
    shop.advance(899).await;
    shop.advance(3).await;
    assert!((500..=2_000).contains(&lateness(&shop, &id).await));
}

#[tokio::test]
async fn b36_three_wake_ups_at_the_deadline_are_one_claim_and_one_close() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    let expire_at = deadline(&shop, &id).await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_801).await;
    shop.faults(json!({})).await;
    let wake = json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis()});
    for answer in join_all((0..3).map(|_| shop.deliver(Queue::Close, wake.clone()))).await {
        let _ = answer.expect(202);
    }
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["closing"]["attempts"]), (&json!("CLOSED"), &json!(1)));
    assert_eq!((shop.calls(&payment, "query").await, shop.calls(&payment, "close").await), (2, 1), "asked once");
    assert_eq!((shop.metric("OrderClosed"), shop.metric("WakeDuplicate"), shop.metric("WakeLate")), (1, 2, 0));
    // What would have resumed a dead closer comes when its lease has ended, and finds nothing to do.
    assert_eq!((shop.stock("SKU").await, shop.queued("close")), ((5, 0, 0), (0, 1, 0)));
    let version = order["version"].as_u64();
    shop.advance(33).await;
    assert_eq!(shop.queued("close"), (0, 0, 0));
    assert_eq!(shop.order(&id).await["version"].as_u64(), version, "and nothing is written");
}

#[tokio::test]
async fn b36_a_wake_up_two_hours_late_still_closes_and_is_counted_late() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_800 + 7_200).await;
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT");
    shop.faults(json!({})).await;
    shop.wake(&id, expire_at).await;
    assert_eq!(lateness(&shop, &id).await, 7_200_000);
    assert_eq!((shop.metric("WakeLate"), shop.metric("WakeDuplicate"), shop.stock("SKU").await), (1, 0, (5, 0, 0)));
    shop.wake(&id, expire_at).await;
    assert_eq!((shop.metric("WakeLate"), shop.metric("WakeDuplicate")), (1, 1));
}

#[tokio::test]
async fn a_wake_up_is_not_early_from_half_a_second_after_the_deadline_on_and_not_before() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance_by(std::time::Duration::from_millis(1_800_499)).await;
    shop.faults(json!({})).await;
    shop.wake(&id, expire_at).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("WakeEarly")), ("PENDING_PAYMENT", 1), "I7");
    shop.system.clock.advance(std::time::Duration::from_millis(1));
    shop.wake(&id, expire_at).await;
    assert_eq!(lateness(&shop, &id).await, 500);
}

#[tokio::test]
async fn a_wake_up_for_another_deadline_than_the_orders_is_dropped() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    for (dropped, other) in
        [expire_at.minus(secs(600)), expire_at.plus(secs(1)), Timestamp::EPOCH].into_iter().enumerate()
    {
        shop.wake(&id, other).await;
        assert_eq!((shop.metric("WakeDropped"), shop.queued("close")), (dropped as u64 + 1, (0, 0, 0)));
    }
    assert_eq!(shop.metric("WakeEarly"), 0);
    // Past the deadline it is no better.
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_900).await;
    shop.faults(json!({})).await;
    shop.wake(&id, expire_at.minus(secs(1))).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("WakeDropped")), ("PENDING_PAYMENT", 4));
    shop.wake(&id, expire_at).await;
    assert_eq!(shop.status(&id).await, "CLOSED");
}

#[tokio::test]
async fn an_order_whose_deadline_was_extended_is_woken_at_the_new_one_and_the_old_wake_up_is_dropped() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    let extend = json!({"seconds": 900, "reason": "the customer called"});
    let extended = shop.admin("POST", &format!("/orders/{id}/extend"), extend).await.expect(200).body;
    let moved = expire_at.plus(secs(900));
    assert_eq!(at(&extended, "expire_at"), moved);
    shop.rest().await;
    let armed = shop.schedules().await;
    assert!(
        matches!(&armed[..], [(name, at)] if *name == id && *at >= moved.minus(secs(60)) && *at < moved),
        "{armed:?}"
    );
    assert_eq!(shop.due().await.iter().map(|hit| hit.due_at).collect::<Vec<_>>(), [moved], "due in its commit");
    shop.pass_deadline().await;
    shop.wake(&id, expire_at).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("WakeDropped")), ("PENDING_PAYMENT", 1));
    shop.advance(897).await;
    shop.advance(3).await;
    assert!((500..=3_000).contains(&lateness(&shop, &id).await));
}

#[tokio::test]
async fn b54_a_wake_up_of_a_paid_order_changes_nothing() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    let expire_at = deadline(&shop, &id).await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let before = shop.order(&id).await["version"].clone();
    shop.pass_deadline().await;
    shop.wake(&id, expire_at).await;
    let _ = shop.cancel(&id).await.expect_problem(409, "order_paid");
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["version"]), (&json!("PAID"), &before));
    assert_eq!((shop.calls(&payment, "close").await, shop.stock("SKU").await), (0, (4, 0, 1)));
}

#[tokio::test]
async fn while_the_close_queue_is_held_nothing_closes_and_once_it_flows_everything_does() {
    let shop = shop_without_scans().await;
    let id = shop.ordered().await;
    shop.faults(json!({"hold_queues": ["close"]})).await;
    shop.advance(1_900).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.queued("close")), ("PENDING_PAYMENT", (1, 0, 0)));
    let counts = shop.call("GET", "/_local/queues", Value::Null).await.expect(200).body;
    assert_eq!(counts["close"], json!({"visible": 1, "delayed": 0, "in_flight": 0}));
    shop.faults(json!({})).await;
    shop.rest().await;
    assert_eq!((lateness(&shop, &id).await, shop.stock("SKU").await), (100_000, (5, 0, 0)));
}

#[tokio::test]
async fn with_every_message_delivered_twice_each_lifecycle_ends_as_it_does_with_each_delivered_once() {
    let shop = shop_without_scans().await;
    shop.put_points("u1", 100).await;
    shop.put_quota("sale", 5).await;
    shop.put_coupon("C1", "u1", &shop.in_seconds(86_400)).await;
    shop.put_coupon("C2", "u1", &shop.in_seconds(86_400)).await;
    shop.faults(json!({"duplicate_deliveries": true})).await;
    let full = |coupon: &str| {
        let quotas = json!([{"activity": "sale", "quantity": 1}]);
        order().with("coupon_id", coupon).with("points", 30).with("quotas", quotas)
    };
    let (sold, closed) = (shop.order_of(&full("C1")).await, shop.order_of(&full("C2")).await);
    let late = shop.ordered().await;
    let abandoned = shop.paying(&closed).await;
    let payment = shop.paying(&sold).await;
    assert_eq!(shop.paid(&payment).await, 200);
    let late_payment = shop.paying(&late).await;
    shop.pass_deadline().await;
    // Money for a closed order: refunded once.
    assert_eq!(shop.paid(&late_payment).await, 200);
    for _ in 0..3 {
        shop.advance(15).await;
    }

    assert_eq!(shop.status(&sold).await, "PAID");
    for id in [&closed, &late] {
        let order = shop.order(id).await;
        assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!([])), "{order:#}");
        assert_eq!(order["closing"]["attempts"], 1, "one claim");
    }
    assert_eq!((shop.stock("SKU").await, shop.quota("sale").await), ((4, 0, 1), (4, 0, 1)));
    assert_eq!(shop.points("u1").await, (70, 0));
    assert_eq!((shop.coupon("C1").await.as_str(), shop.coupon("C2").await.as_str()), ("USED", "AVAILABLE"));
    assert_eq!(shop.calls(&abandoned, "close").await, 1);
    let refunds = shop.at_channel(&late_payment).await["refunds"].clone();
    assert_eq!(refunds.as_array().map(Vec::len), Some(1), "I9: {refunds:#}");
    assert_eq!((shop.metric("ReservationAnomaly"), shop.metric("InvariantBreach")), (0, 0));
    assert_eq!(shop.due().await, []);
}

fn secs(seconds: u64) -> std::time::Duration {
    std::time::Duration::from_secs(seconds)
}
