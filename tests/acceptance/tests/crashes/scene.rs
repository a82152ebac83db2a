//! Workers that are stopped in the middle, and the events they are given.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use acceptance::{Shop, ShopBuilder, at, shop};
use local::cloud::fate::{Call, CallFate, Service};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// A shop with five `SKU` on a clock that stands still.
pub(crate) fn still_shop() -> ShopBuilder {
    shop().with_stock("SKU", 5).with_time_standing_still()
}

/// The lease, with what a delayed message waits beyond it.
pub(crate) const LEASE_AND_MARGIN: u64 = 32;

/// The deadline's own wake-up of an order, as an event of the function that closes orders.
pub(crate) fn wake_event(order: &Value) -> Value {
    let expire_at = at(order, "expire_at").as_millis();
    let body = json!({"type": "wake", "order_id": order["order_id"], "expire_at": expire_at, "hop": 0});
    json!({"Records": [{
        "messageId": "by-hand", "receiptHandle": "by-hand", "body": body.to_string(), "md5OfBody": "-", "attributes": {},
        "messageAttributes": {}, "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:close",
        "awsRegion": "us-east-1",
    }]})
}

/// Lets one worker close an order by hand, as if its wake-up had come to it.
pub(crate) async fn close_by_hand(shop: &Shop, order: &Value) {
    let event = serde_json::from_value(wake_event(order)).expect("an event");
    let _ = shop.system.functions.close_order.handle(event).await.expect("handled");
}

/// Moves the clock past the deadline while every reminder is lost, so that nobody touches the order but who does it by hand.
pub(crate) async fn pass_deadline_unnoticed(shop: &Shop) {
    shop.faults(json!({"drop_wakes": true})).await;
    shop.pass_deadline().await;
    shop.faults(json!({})).await;
}

/// Whether a call writes to the database.
pub(crate) fn is_database_write(call: &Call<'_>) -> bool {
    call.service == Service::DynamoDb && matches!(call.operation, "PutItem" | "UpdateItem" | "TransactWriteItems")
}

/// Where a worker is stopped, counted by its writes to the database from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// Before this write has arrived.
    Before(usize),
    /// After this write was applied, before its answer has come.
    After(usize),
}

/// Makes the next worker stop at `stop`; the answer tells when it has.
pub(crate) fn stop_at(shop: &Shop, stop: Stop) -> Arc<Notify> {
    let stopped = Arc::new(Notify::new());
    let (tell, mut writes) = (Arc::clone(&stopped), 0);
    shop.system.cloud.on_call(move |call| {
        if !is_database_write(call) {
            return None;
        }
        writes += 1;
        let (lost, held) = match stop {
            Stop::Before(nth) => (None, nth),
            // The SDK sends it again; there the worker is stopped, and does not know that it was applied.
            Stop::After(nth) => (Some(nth), nth + 1),
        };
        if lost == Some(writes) {
            return Some(CallFate::LoseAnswer);
        }
        (writes == held).then(|| {
            tell.notify_one();
            CallFate::Delay(Duration::from_millis(1))
        })
    });
    stopped
}

/// Runs `work` until it is `stopped`, and not one step further: a process that is frozen, or killed when it is dropped.
///
/// # Panics
/// When the work ends before.
pub(crate) async fn run_until(work: &mut (impl Future + Unpin), stopped: &Notify) {
    tokio::select! {
        biased;
        () = stopped.notified() => {}
        _ = work => panic!("the worker was done before it was stopped"),
    }
}

/// The statuses an order has had, oldest first, as its evidence tells (I11).
pub(crate) async fn statuses(shop: &Shop, id: &str) -> Vec<String> {
    let changes = shop.timeline(id, "status").await;
    changes.iter().map(|change| change["to"].as_str().unwrap_or_default().to_owned()).collect()
}

/// No message of any queue was given up.
pub(crate) fn assert_no_dead_letters(shop: &Shop) {
    let counts = shop.system.cloud.queue_counts();
    let dead: Vec<_> = counts.iter().filter(|(name, count)| name.ends_with("-dlq") && count.visible > 0).collect();
    assert!(dead.is_empty(), "dead letters: {dead:?}");
}
