//! Messages that no function can work on: received five times, then in the dead-letter queue, and never in anybody's way.

use std::time::Duration;

use acceptance::Shop;
use expiry_core::message::Queue;
use serde_json::{Value, json};

use crate::refusal::full_shop;

/// Receives of a message before it is given up.
const RECEIVES: usize = 5;
/// How long a failed message stays hidden, and a little more.
const VISIBILITY: Duration = Duration::from_secs(61);
const NO_ORDER: &str = "0123456789abcdefghjkmnpq";

/// What is no message of any queue.
fn garbage() -> Vec<Value> {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let mut garbage: Vec<Value> = vec![
        json!("not json"),
        json!("{"),
        json!("null"),
        json!("[]"),
        json!({}),
        json!("x".repeat(200_000)),
        json!(deep),
        json!({"type": "wake"}),
        json!({"type": "wake", "order_id": "x", "expire_at": 1, "hop": 0}),
        json!({"type": "wake", "order_id": NO_ORDER, "expire_at": -1, "hop": 0}),
        json!({"type": "wake", "order_id": NO_ORDER, "expire_at": "2030-01-01T00:00:00Z", "hop": 0}),
        json!({"type": "wake", "order_id": NO_ORDER, "expire_at": 1, "hop": 256}),
        json!({"type": "wake", "order_id": NO_ORDER, "expire_at": 1, "hop": 0, "more": 1}),
        json!({"type": "unit", "order_id": NO_ORDER}),
        json!({"type": "unit", "order_id": NO_ORDER, "unit": 7}),
        json!({"type": "unit", "order_id": NO_ORDER, "unit": "never-heard-of"}),
        json!({"type": "unit", "order_id": NO_ORDER, "unit": "anomaly:stock:x/y/z"}),
        json!({"type": "dance", "order_id": NO_ORDER}),
        json!("\u{0}\u{1}"),
    ];
    // Readable, about an order that is not there (yet): retried, not dropped.
    garbage.push(json!({"type": "unit", "order_id": NO_ORDER, "unit": "stock"}));
    garbage.push(json!({"type": "unit", "order_id": NO_ORDER, "unit": "refund:1"}));
    garbage.push(json!({"type": "unit", "order_id": NO_ORDER, "unit": "ask:1"}));
    garbage.push(json!({"type": "overdue", "order_id": NO_ORDER}));
    garbage
}

fn dead(shop: &Shop, queue: Queue) -> usize {
    shop.queued(&format!("{queue}-dlq")).0
}

/// Waits until every message that is visible was received, and only the poison is hidden until its next receive.
async fn received(shop: &Shop, queue: Queue, poison: usize) {
    let hidden = |other: Queue| if other == queue { poison } else { 0 };
    shop.until("every message is received", |shop| shop.queued(queue.name()).0 == 0).await;
    shop.until("the functions are done", |shop| {
        Queue::ALL.iter().all(|other| shop.queued(other.name()).2 == hidden(*other))
    })
    .await;
}

#[tokio::test]
async fn a_poison_message_is_given_up_after_five_receives_and_holds_up_nobody() {
    for queue in Queue::ALL {
        let shop = full_shop().await;
        let poison = garbage();
        for body in &poison {
            let _ = shop.deliver(queue, body.clone()).await.expect(202);
        }
        for receive in 1..=RECEIVES {
            received(&shop, queue, poison.len()).await;
            assert_eq!(dead(&shop, queue), 0, "{queue}: none is given up after {receive}");
            if receive == 2 {
                assert_an_order_lives_and_dies(&shop).await;
            }
            shop.system.clock.advance(VISIBILITY);
        }
        shop.until("all are given up", |shop| dead(shop, queue) == poison.len()).await;
        assert_eq!(shop.queued(queue.name()), (0, 0, 0), "{queue}");
        assert_an_order_lives_and_dies(&shop).await;
        assert_eq!(shop.metric("InvariantBreach"), 0);
        assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    }
}

/// An ordinary order is created, cancelled and settled through every queue.
async fn assert_an_order_lives_and_dies(shop: &Shop) {
    let order = acceptance::order()
        .with("coupon_id", "C1")
        .with("points", 10)
        .with("quotas", json!([{"activity": "sale", "quantity": 1}]));
    let id = shop.order_of(&order).await;
    let payment = shop.paying(&id).await;
    let _ = shop.cancel(&id).await.expect(200);
    assert_eq!(shop.paid(&payment).await, 200);
    let mut open = vec![json!(null)];
    for _ in 0..2_000 {
        let order = shop.order(&id).await;
        open = order["pending"].as_array().cloned().unwrap_or_default();
        if open.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(open, Vec::<Value>::new(), "nothing is held up");
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["refunds"][0]["status"]), (&json!("CLOSED"), &json!("SUCCEEDED")));
}
