//! Contention is no decision and no failure (DESIGN §6): what outlasts its retries is answered `try_again`, or queued anew, and never
//! counts as a failed receive.

use acceptance::{Shop, order};
use local::cloud::fate::{CallFate, Failure, Service};
use serde_json::{Value, json};

use crate::scene::{assert_no_dead_letters, still_shop};

/// More than the receives after which a failing message is given up.
const ROUNDS: u64 = 6;

/// From now on every write of orders meets another transaction.
fn contend(shop: &Shop) {
    shop.system.cloud.on_call(|call| {
        let failure = match (call.service, call.operation) {
            (Service::DynamoDb, "UpdateItem") => Failure::new(400, "TransactionConflictException"),
            (Service::DynamoDb, "TransactWriteItems") => {
                Failure::transaction_conflict(call.body["TransactItems"].as_array().map_or(0, Vec::len), 0)
            }
            _ => return None,
        };
        Some(CallFate::Fail(failure))
    });
}

/// Lets one message meet contention again and again, `wait` seconds apart, and tells whether anything of it was given up.
async fn outlast(shop: &Shop, wait: u64) {
    shop.rest().await;
    for round in 1..=ROUNDS {
        assert_eq!(shop.metric("Contention"), round, "one run gave up");
        assert_eq!(shop.system.cloud.queue_counts().values().map(|count| count.in_flight).sum::<usize>(), 0);
        if round < ROUNDS {
            shop.advance(wait).await;
        }
    }
    assert_no_dead_letters(shop);
    shop.system.cloud.clear_call_rules();
    shop.advance(wait).await;
    assert_no_dead_letters(shop);
}

#[tokio::test]
async fn a_wake_up_that_meets_contention_is_queued_anew_until_it_gets_through() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let _ = shop.paying(&id).await;
    contend(&shop);
    shop.pass_deadline().await;
    assert_eq!(shop.status(&id).await, "PAYING");
    outlast(&shop, 5).await;
    assert_eq!(shop.status(&id).await, "CLOSED");
    assert_eq!(shop.order(&id).await["closing"]["attempts"], 1);
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn a_settlement_that_meets_contention_is_queued_anew_until_it_gets_through() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    shop.faults(json!({"hold_queues": ["stock-release"]})).await;
    assert_eq!(shop.cancel(&id).await.status, 200);
    shop.rest().await;
    contend(&shop);
    shop.faults(json!({})).await;
    shop.rest().await;
    assert_eq!(shop.order(&id).await["pending"], json!(["stock"]));
    outlast(&shop, 2).await;
    assert_eq!(shop.order(&id).await["pending"], json!([]));
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    assert_eq!(shop.metric("SettleFailed"), 0);
}

#[tokio::test]
async fn a_refund_that_meets_contention_is_queued_anew_until_it_gets_through() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.cancel(&id).await.status, 200);
    shop.faults(json!({"hold_queues": ["refund"]})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    contend(&shop);
    shop.faults(json!({})).await;
    shop.rest().await;
    outlast(&shop, 5).await;
    assert_eq!(shop.order(&id).await["refunds"][0]["status"], "SUCCEEDED");
    assert_eq!(shop.calls(&payment, "refund").await, 1);
}

#[tokio::test]
async fn a_request_that_meets_contention_is_answered_try_again_and_holds_nothing() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    contend(&shop);
    let _ = shop.create(&order()).await.expect_problem(503, "try_again");
    let _ = shop.pay(&id).await.expect_problem(503, "try_again");
    let _ = shop.cancel(&id).await.expect_problem(503, "try_again");
    let _ = shop.put_stock("SKU", 9).await.expect_problem(503, "try_again");
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 503, "the channel shall send it again");
    shop.system.cloud.clear_call_rules();
    assert_eq!((shop.stock("SKU").await, shop.status(&id).await.as_str()), ((4, 1, 0), "PAYING"));
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200);
    assert_eq!(shop.status(&id).await, "PAID");
}
