//! Giving back and selling what orders hold.

use acceptance::{Shop, order, resource, shop};
use expiry_core::message::Queue;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

/// The message of one unit of an order's work.
fn unit(id: &str, unit: &str) -> Value {
    json!({"type": "unit", "order_id": id, "unit": unit})
}

/// Delivers one body several times at once, each as a message of its own.
async fn deliver_at_once(shop: &Shop, times: usize, queue: Queue, body: &Value) {
    for answer in join_all((0..times).map(|_| shop.deliver(queue, body.clone()))).await {
        let _ = answer.expect(202);
    }
    shop.rest().await;
}

#[tokio::test]
async fn b18_ten_close_events_of_one_order_return_its_stock_once_while_another_order_holds_the_same_sku() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let closed = shop.order_of(&order().of("SKU", 2)).await;
    shop.advance(600).await;
    let other = shop.order_of(&order().by("u2").of("SKU", 3)).await;
    assert_eq!(shop.stock("SKU").await, (0, 5, 0));

    shop.advance(1_198).await;
    let expire_at = acceptance::at(&shop.order(&closed).await, "expire_at");
    // The eleventh is the order's own wake-up.
    shop.advance(3).await;
    let wake = json!({"type": "wake", "order_id": closed, "expire_at": expire_at.as_millis()});
    deliver_at_once(&shop, 5, Queue::Close, &wake).await;
    for body in [&wake, &json!({"type": "overdue", "order_id": closed})] {
        let _ = shop.deliver(Queue::Close, body.clone()).await.expect(202);
        shop.rest().await;
    }
    deliver_at_once(&shop, 3, Queue::Close, &wake).await;
    deliver_at_once(&shop, 10, Queue::StockRelease, &unit(&closed, "stock")).await;

    let order = shop.order(&closed).await;
    assert_eq!(order["status"], "CLOSED");
    // Created, closed, settled: nothing else was ever written.
    assert_eq!(order["version"], 3);
    assert_eq!(resource(&order, "stock", "SKU/default/default")["status"], "RELEASED");
    assert_eq!(shop.stock("SKU").await, (2, 3, 0), "the other order's units stay held");
    assert_eq!(shop.status(&other).await, "PENDING_PAYMENT");
    assert_eq!(shop.metric("OrderClosed"), 1);
    assert_eq!(shop.metric("ReservationAnomaly"), 0);
}

#[tokio::test]
async fn b18_close_events_that_arrive_before_the_first_one_is_done_close_once() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.order_of(&order().of("SKU", 2)).await;
    let expire_at = acceptance::at(&shop.order(&id).await, "expire_at");
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_801).await;
    shop.faults(json!({})).await;
    let wake = json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis()});
    deliver_at_once(&shop, 10, Queue::Close, &wake).await;
    assert_eq!(shop.order(&id).await["version"], 3);
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    assert_eq!(shop.metric("OrderClosed"), 1);
    assert_eq!(shop.metric("WakeDuplicate"), 9);
}

#[tokio::test]
async fn b19_a_failed_callback_and_the_wake_up_at_once_release_once() {
    for repetition in 0..10 {
        let shop = shop().with_stock("SKU", 5).with_seed(repetition).with_time_standing_still().open().await;
        let id = shop.order_of(&order().of("SKU", 2)).await;
        let payment = shop.paying(&id).await;
        let expire_at = acceptance::at(&shop.order(&id).await, "expire_at");
        shop.faults(json!({"drop_wakes": true})).await;
        shop.advance(1_801).await;
        shop.faults(json!({})).await;

        shop.channel(&payment, json!({"state": "FAILED"})).await;
        let wake = json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis()});
        let (callback, woken) = join(shop.notify(&payment, Value::Null), shop.deliver(Queue::Close, wake)).await;
        assert_eq!((callback.body["status"].as_u64(), woken.status), (Some(200), 202));
        shop.rest().await;

        let order = shop.order(&id).await;
        assert_eq!(order["status"], "CLOSED", "{order:#}");
        assert_eq!(resource(&order, "stock", "SKU/default/default")["status"], "RELEASED");
        assert_eq!(order["pending"], json!([]));
        assert_eq!(shop.stock("SKU").await, (5, 0, 0));
        assert_eq!((shop.metric("OrderClosed"), shop.metric("ReservationAnomaly")), (1, 0));
    }
}

#[tokio::test]
async fn b19_a_failed_callback_before_the_deadline_releases_nothing_and_the_deadline_releases_once() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "FAILED"})).await;
    let _ = shop.notify(&payment, Value::Null).await;
    shop.rest().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("PAYING", (4, 1, 0)));
    shop.pass_deadline().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("CLOSED", (5, 0, 0)));
    assert_eq!(shop.metric("OrderClosed"), 1);
}

#[tokio::test]
async fn b21_points_come_back_once_after_their_consumer_failed_three_times_and_are_pending_meanwhile() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_points("u1", 300).await;
    let id = shop.order_of(&order().with("points", 100)).await;
    assert_eq!(shop.points("u1").await, (200, 100));
    shop.faults(json!({"fail_deliveries": {"points-release": 3}})).await;
    let _ = shop.cancel(&id).await.expect(200);

    for left in [2, 1, 0] {
        shop.until("the delivery fails", |shop| {
            shop.system.cloud.faults().fail_deliveries["points-release"] == left
                && shop.queued("points-release") == (0, 0, 1)
                && shop.queued("stock-release") == (0, 0, 0)
        })
        .await;
        let order = shop.order(&id).await;
        assert_eq!(order["status"], "CLOSED");
        assert_eq!(order["pending"], json!(["points"]), "{left} failures left");
        assert_eq!(resource(&order, "points", "u1")["status"], "RESERVED");
        assert_eq!(shop.points("u1").await, (200, 100));
        assert_eq!(shop.stock("SKU").await, (5, 0, 0), "points hold up nothing else");
        assert!(shop.is_due(&id).await, "I12: work is left");
        // The queue shows the message again after its visibility timeout.
        shop.system.clock.advance(std::time::Duration::from_secs(61));
    }
    shop.rest().await;
    for _ in 0..2 {
        deliver_at_once(&shop, 3, Queue::PointsRelease, &unit(&id, "points")).await;
        let order = shop.order(&id).await;
        assert_eq!(order["pending"], json!([]));
        assert_eq!(resource(&order, "points", "u1")["status"], "RELEASED");
        assert_eq!(shop.points("u1").await, (300, 0));
    }
    assert!(!shop.is_due(&id).await);
    assert_eq!(shop.queued("points-release-dlq"), (0, 0, 0));
}

#[tokio::test]
async fn nothing_is_settled_of_an_order_that_is_not_over_whatever_is_delivered() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_points("u1", 300).await;
    let id = shop.order_of(&order().with("points", 100)).await;
    for (queue, kind) in
        [(Queue::StockRelease, "stock"), (Queue::PointsRelease, "points"), (Queue::QuotaRelease, "cap")]
    {
        deliver_at_once(&shop, 3, queue, &unit(&id, kind)).await;
    }
    let order = shop.order(&id).await;
    assert_eq!((order["version"].as_u64(), &order["status"]), (Some(1), &json!("PENDING_PAYMENT")));
    assert_eq!((shop.stock("SKU").await, shop.points("u1").await), ((4, 1, 0), (200, 100)));
}

/// An order as large as it may be: 50 lines of two warehouses, 10 quotas, a coupon and points.
async fn large_order(shop: &Shop) -> Value {
    let place = |n: u64| if n.is_multiple_of(2) { "default" } else { "north" };
    for n in 0..50 {
        let path = format!("/stock/S{n}/{}/default", place(n));
        let _ = shop.admin("PUT", &path, json!({"on_hand": 10})).await.expect(200);
    }
    for n in 0..10 {
        shop.put_quota(&format!("A{n}"), 5).await;
    }
    shop.put_coupon("C", "u1", &shop.in_seconds(86_400)).await;
    shop.put_points("u1", 500).await;
    let lines: Vec<Value> = (0..50)
        .map(|n| json!({"sku": format!("S{n}"), "warehouse": place(n), "quantity": n % 3 + 1, "unit_price": 10}))
        .collect();
    let quotas: Vec<Value> = (0..10).map(|n| json!({"activity": format!("A{n}"), "quantity": 2})).collect();
    let body = order()
        .with("lines", lines)
        .with("payable_amount", 900)
        .with("quotas", quotas)
        .with("coupon_id", "C")
        .with("points", 200);
    shop.create(&body).await.expect(201).body
}

/// Asserts what each of its counters shows of a large order: reserved or sold, and the rest available.
async fn assert_large(shop: &Shop, reserved: bool, sold: bool) {
    let split = |units: u64, of: u64| {
        let (reserved, sold) = (if reserved { units } else { 0 }, if sold { units } else { 0 });
        (of - reserved - sold, reserved, sold)
    };
    for n in 0..50 {
        let place = if n % 2 == 0 { "default" } else { "north" };
        let stock = shop.admin("GET", &format!("/stock/S{n}/{place}/default"), Value::Null).await.expect(200).body;
        let read = |field: &str| stock[field].as_u64().unwrap_or_default();
        assert_eq!((read("available"), read("reserved"), read("sold")), split(n % 3 + 1, 10), "S{n}");
    }
    for n in 0..10 {
        assert_eq!(shop.quota(&format!("A{n}")).await, split(2, 5), "A{n}");
    }
    let (available, held, _) = split(200, 500);
    assert_eq!(shop.points("u1").await, (available, held));
}

#[tokio::test]
async fn an_order_of_fifty_lines_ten_quotas_a_coupon_and_points_is_held_whole_and_released_whole() {
    let shop = shop().with_time_standing_still().open().await;
    let order = large_order(&shop).await;
    let id = order["order_id"].as_str().unwrap_or_default();
    assert_eq!(order["resources"].as_array().map(Vec::len), Some(62));
    assert_large(&shop, true, false).await;
    assert_eq!(shop.coupon("C").await, "LOCKED");

    shop.pass_deadline().await;
    let order = shop.order(id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!([])));
    assert!(order["resources"].as_array().is_some_and(|all| {
        all.iter().all(|one| one["status"] == if one["type"] == "coupon" { "AVAILABLE" } else { "RELEASED" })
    }));
    assert_large(&shop, false, false).await;
    assert_eq!(shop.coupon("C").await, "AVAILABLE");
}

#[tokio::test]
async fn an_order_of_fifty_lines_ten_quotas_a_coupon_and_points_is_sold_whole_once_paid() {
    let shop = shop().with_time_standing_still().open().await;
    let order = large_order(&shop).await;
    let id = order["order_id"].as_str().unwrap_or_default();
    let payment = shop.paying(id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("PAID"), &json!([])));
    assert_large(&shop, false, true).await;
    assert_eq!(shop.coupon("C").await, "USED");
    shop.pass_deadline().await;
    assert_large(&shop, false, true).await;
}
