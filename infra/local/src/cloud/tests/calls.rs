use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem};

use super::{n, order, s, scene, with};
use crate::cloud::fate::{Call, CallFate, Failure, Service};

/// A rule that decides `fate` for the first attempt of `operation` only, and counts the calls of the operation.
fn first(
    operation: &'static str,
    fate: CallFate,
) -> (impl FnMut(&Call<'_>) -> Option<CallFate> + Send + 'static, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let rule = move |call: &Call<'_>| {
        (call.operation == operation).then(|| match counted.fetch_add(1, Ordering::Relaxed) {
            0 => fate.clone(),
            _ => CallFate::Pass,
        })
    };
    (rule, calls)
}

#[tokio::test]
async fn a_conditional_write_whose_answer_is_lost_is_sent_again_and_fails_although_it_won() {
    let scene = scene().with_orders().await;
    let (rule, calls) = first("PutItem", CallFate::LoseAnswer);
    scene.cloud.on_call(rule);
    let error = scene
        .dynamodb
        .put_item()
        .table_name("orders")
        .set_item(Some(with(order("1"), [("op", s("mine"))])))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .expect_err("the lie of a retried conditional write")
        .into_service_error();
    assert!(error.is_conditional_check_failed_exception(), "{error}");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(scene.get_order("1").await.and_then(|item| item.get("op").cloned()), Some(s("mine")));
}

#[tokio::test]
async fn a_transaction_whose_answer_is_lost_is_repeated_under_its_token() {
    let scene = scene().with_orders().await;
    let (rule, calls) = first("TransactWriteItems", CallFate::LoseAnswer);
    scene.cloud.on_call(rule);
    let put = Put::builder().table_name("orders").set_item(Some(order("1")));
    let put = put.condition_expression("attribute_not_exists(pk)").build().expect("complete");
    let request = scene.dynamodb.transact_write_items().transact_items(TransactWriteItem::builder().put(put).build());
    request.send().await.expect("the SDK sends its token again, so it is the same transaction");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_lost_request_changes_nothing_and_is_sent_again() {
    let scene = scene().with_orders().await;
    let (rule, calls) = first("PutItem", CallFate::LoseRequest);
    scene.cloud.on_call(rule);
    scene.put_order(order("1")).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(scene.cloud.stream_records_written()["orders"], 1);
}

#[tokio::test]
async fn contention_is_injected_and_read_as_dynamodb_states_it() {
    let scene = scene().with_orders().await;
    scene.cloud.on_call(|call| match (call.service, call.operation, call.resource) {
        (Service::DynamoDb, "TransactWriteItems", "orders") => {
            Some(CallFate::Fail(Failure::transaction_conflict(1, 0)))
        }
        _ => None,
    });
    let put = Put::builder().table_name("orders").set_item(Some(order("1"))).build().expect("complete");
    let request =
        || scene.dynamodb.transact_write_items().transact_items(TransactWriteItem::builder().put(put.clone()).build());
    let error = request().send().await.expect_err("conflict").into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error}") };
    assert_eq!(cancelled.cancellation_reasons()[0].code(), Some("TransactionConflict"));
    scene.cloud.clear_call_rules();
    request().send().await.expect("no longer");
}

#[tokio::test(start_paused = true)]
async fn a_delayed_call_lets_a_later_one_overtake_it() {
    let scene = scene().with_orders().await;
    let (rule, _) = first("PutItem", CallFate::Delay(Duration::from_millis(50)));
    scene.cloud.on_call(rule);
    tokio::join!(scene.put_order(with(order("1"), [("writer", n(1))])), async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        scene.put_order(with(order("1"), [("writer", n(2))])).await;
    });
    assert_eq!(scene.get_order("1").await.and_then(|item| item.get("writer").cloned()), Some(n(1)));
}
