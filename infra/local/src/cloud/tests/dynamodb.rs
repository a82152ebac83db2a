use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};

use super::{item, n, order, s, scene, with};

#[tokio::test]
async fn a_failed_condition_answers_the_item_it_failed_on() {
    let scene = scene().with_orders().await;
    scene.put_order(with(order("1"), [("version", n(7))])).await;
    let error = scene
        .dynamodb
        .put_item()
        .table_name("orders")
        .set_item(Some(order("1")))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .expect_err("the condition fails")
        .into_service_error();
    assert!(error.request_id().is_some());
    assert!(error.is_conditional_check_failed_exception());
    let PutItemError::ConditionalCheckFailedException(failed) = error else { panic!("{error}") };
    assert_eq!(failed.item.and_then(|item| item.get("version").cloned()), Some(n(7)));
}

#[tokio::test]
async fn a_cancelled_transaction_gives_one_reason_per_member_with_the_item_of_the_failed_one() {
    let scene = scene().with_orders().await.with_resources().await;
    scene.put_order(with(order("1"), [("version", n(7))])).await;
    let check = ConditionCheck::builder()
        .table_name("orders")
        .set_key(Some(order("2")))
        .condition_expression("attribute_not_exists(pk)")
        .build()
        .expect("complete");
    let put = Put::builder()
        .table_name("orders")
        .set_item(Some(order("1")))
        .condition_expression("version = :v")
        .expression_attribute_values(":v", n(6))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .expect("complete");
    let error = scene
        .dynamodb
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().condition_check(check).build())
        .transact_items(TransactWriteItem::builder().put(put).build())
        .send()
        .await
        .expect_err("cancelled")
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error}") };
    let reasons = cancelled.cancellation_reasons();
    assert_eq!(reasons[0].code(), Some("None"));
    assert_eq!(reasons[1].code(), Some("ConditionalCheckFailed"));
    assert_eq!(reasons[1].item().and_then(|item| item.get("version")), Some(&n(7)));
}

#[tokio::test]
async fn a_token_repeats_one_transaction_for_ten_minutes_of_the_movable_clock_and_then_starts_another() {
    let scene = scene().with_resources().await;
    let add = |amount: i64, token: &str| {
        let update = Update::builder()
            .table_name("resources")
            .set_key(Some(item([("pk", s("S#1"))])))
            .update_expression("ADD available :n")
            .expression_attribute_values(":n", n(amount))
            .build()
            .expect("complete");
        scene
            .dynamodb
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().update(update).build())
            .client_request_token(token)
            .send()
    };
    let available = async || {
        let got = scene.dynamodb.get_item().table_name("resources").key("pk", s("S#1")).send().await.expect("got");
        got.item.and_then(|item| item.get("available").cloned())
    };
    add(1, "a").await.expect("first");
    add(1, "a").await.expect("the same again");
    assert_eq!(available().await, Some(n(1)));
    let error = add(2, "a").await.expect_err("another transaction").into_service_error();
    assert!(error.is_idempotent_parameter_mismatch_exception(), "{error}");
    scene.advance(599);
    add(1, "a").await.expect("still the same");
    assert_eq!(available().await, Some(n(1)));
    scene.advance(1);
    add(1, "a").await.expect("aged");
    assert_eq!(available().await, Some(n(2)));
}

#[tokio::test]
async fn every_answer_carries_the_date_of_the_movable_clock() {
    use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnector, HttpConnectorSettings};
    use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
    use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;

    let scene = scene();
    scene.advance(3_661);
    let components = RuntimeComponentsBuilder::for_tests().build().expect("complete");
    let connector = scene.cloud.http_client().http_connector(&HttpConnectorSettings::builder().build(), &components);
    let answer = connector
        .call(HttpRequest::get("http://embedded.local/schedules").expect("a request"))
        .await
        .expect("an answer");
    assert_eq!(answer.headers().get("date"), Some("Thu, 01 Jan 2026 01:01:01 GMT"));
}

#[tokio::test]
async fn names_carry_the_configured_region_and_account() {
    let scene = scene().with_orders().await;
    let table =
        scene.dynamodb.describe_table().table_name("orders").send().await.expect("described").table.expect("a table");
    let stream = table.latest_stream_arn.expect("a stream");
    assert!(stream.starts_with("arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/"), "{stream}");
    scene.streams.describe_stream().stream_arn(stream).send().await.expect("found by the same name");
}

#[tokio::test]
async fn reads_in_batches_queries_and_scans_find_what_was_written() {
    let scene = scene().with_orders().await;
    for id in ["1", "2", "3"] {
        scene.put_order(with(order(id), [("due_shard", n(0)), ("due_at", n(100))])).await;
    }
    let due = scene
        .dynamodb
        .query()
        .table_name("orders")
        .index_name("due")
        .key_condition_expression("due_shard = :shard AND due_at <= :at")
        .expression_attribute_values(":shard", n(0))
        .expression_attribute_values(":at", n(100))
        .limit(2)
        .send()
        .await
        .expect("queried");
    assert_eq!(due.count, 2);
    assert!(due.last_evaluated_key.is_some());
    let scan = scene.dynamodb.scan().table_name("orders").send().await.expect("scanned");
    assert_eq!(scan.count, 3);
    let keys = aws_sdk_dynamodb::types::KeysAndAttributes::builder()
        .keys(order("1"))
        .keys(order("9"))
        .build()
        .expect("complete");
    let batch = scene.dynamodb.batch_get_item().request_items("orders", keys).send().await.expect("read");
    assert_eq!(batch.responses.expect("responses")["orders"].len(), 1);
    let missing = scene.dynamodb.get_item().table_name("nowhere").key("pk", s("x")).send().await.expect_err("no table");
    assert!(missing.into_service_error().is_resource_not_found_exception());
}
