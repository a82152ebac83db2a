use aws_sdk_dynamodbstreams::types::{AttributeValue, OperationType, Record, ShardIteratorType};

use aws_sdk_dynamodb::types::{Put, PutRequest, TransactWriteItem, WriteRequest};

use super::{Scene, n, order, s, scene, with};
use crate::cloud::Faults;

impl Scene {
    pub(super) async fn iterator(&self, kind: ShardIteratorType) -> String {
        let listed = self.streams.list_streams().table_name("orders").send().await.expect("listed");
        let arn = listed.streams()[0].stream_arn().expect("a name").to_owned();
        let described = self.streams.describe_stream().stream_arn(&arn).send().await.expect("described");
        let shard =
            described.stream_description().expect("a stream").shards()[0].shard_id().expect("a shard").to_owned();
        let request = self.streams.get_shard_iterator().stream_arn(arn).shard_id(shard).shard_iterator_type(kind);
        request.send().await.expect("an iterator").shard_iterator.expect("an iterator")
    }

    /// What follows `iterator`, and the next iterator.
    pub(super) async fn records(&self, iterator: &str) -> (Vec<Record>, String) {
        let read = self.streams.get_records().shard_iterator(iterator).send().await.expect("read");
        (read.records.unwrap_or_default(), read.next_shard_iterator.expect("more"))
    }
}

fn names(records: &[Record]) -> Vec<OperationType> {
    records.iter().filter_map(|record| record.event_name.clone()).collect()
}

#[tokio::test]
async fn a_reader_sees_every_change_with_its_images_and_no_write_that_changed_nothing() {
    let scene = scene().with_orders().await;
    let iterator = scene.iterator(ShardIteratorType::TrimHorizon).await;
    scene.put_order(with(order("1"), [("version", n(1))])).await;
    scene.put_order(with(order("1"), [("version", n(1))])).await;
    scene.put_order(with(order("1"), [("version", n(2))])).await;
    scene.dynamodb.delete_item().table_name("orders").set_key(Some(order("1"))).send().await.expect("deleted");
    let (records, next) = scene.records(&iterator).await;
    assert_eq!(names(&records), [OperationType::Insert, OperationType::Modify, OperationType::Remove]);
    let change = records[1].dynamodb().expect("a change");
    let version = |image: Option<&std::collections::HashMap<String, AttributeValue>>| {
        image.and_then(|image| image.get("version").cloned())
    };
    assert_eq!(version(change.old_image()), Some(AttributeValue::N("1".to_owned())));
    assert_eq!(version(change.new_image()), Some(AttributeValue::N("2".to_owned())));
    assert_eq!(records[1].aws_region(), Some("us-east-1"));
    let created = change.approximate_creation_date_time().expect("a time");
    assert_eq!(created.secs(), super::start().as_seconds());
    assert!(scene.records(&next).await.0.is_empty());
    assert_eq!(scene.cloud.stream_records_written().get("orders"), Some(&3));
}

#[tokio::test]
async fn an_iterator_at_the_end_sees_only_what_comes_later() {
    let scene = scene().with_orders().await;
    scene.put_order(order("1")).await;
    let iterator = scene.iterator(ShardIteratorType::Latest).await;
    scene.put_order(order("2")).await;
    let (records, _) = scene.records(&iterator).await;
    assert_eq!(names(&records), [OperationType::Insert]);
}

#[tokio::test]
async fn records_written_while_the_stream_is_dropped_are_lost_and_no_others() {
    let scene = scene().with_orders().await;
    let iterator = scene.iterator(ShardIteratorType::TrimHorizon).await;
    scene.put_order(with(order("1"), [("version", n(1))])).await;
    scene.cloud.set_faults(Faults { drop_stream: true, ..Faults::default() });
    scene.put_order(with(order("1"), [("version", n(2))])).await;
    scene.cloud.set_faults(Faults::default());
    scene.put_order(with(order("1"), [("version", n(3))])).await;
    let (records, _) = scene.records(&iterator).await;
    let versions: Vec<_> =
        records.iter().filter_map(|record| record.dynamodb()?.new_image()?.get("version").cloned()).collect();
    assert_eq!(versions, [AttributeValue::N("1".to_owned()), AttributeValue::N("3".to_owned())]);
}

#[tokio::test]
async fn every_kind_of_write_is_in_the_stream_and_a_failed_one_is_not() {
    let scene = scene().with_orders().await.with_resources().await;
    let put = |id: &str| Put::builder().table_name("orders").set_item(Some(order(id)));
    let first = put("1").build().expect("complete");
    let write = |item| TransactWriteItem::builder().put(item).build();
    let transaction = || scene.dynamodb.transact_write_items().client_request_token("t");
    transaction().transact_items(write(first.clone())).send().await.expect("committed");
    transaction().transact_items(write(first)).send().await.expect("a repetition changes nothing");
    let failing = put("2").condition_expression("attribute_exists(pk)").build().expect("complete");
    let mixed = scene.dynamodb.transact_write_items().transact_items(write(put("3").build().expect("complete")));
    mixed.transact_items(write(failing)).send().await.expect_err("cancelled");
    let batch = WriteRequest::builder()
        .put_request(PutRequest::builder().set_item(Some(order("4"))).build().expect("complete"));
    scene.dynamodb.batch_write_item().request_items("orders", vec![batch.build()]).send().await.expect("written");
    let update = scene
        .dynamodb
        .update_item()
        .table_name("orders")
        .set_key(Some(order("4")))
        .update_expression("SET version = :v");
    update.expression_attribute_values(":v", n(2)).send().await.expect("updated");
    scene.dynamodb.put_item().table_name("resources").item("pk", s("S#1")).send().await.expect("put");
    let iterator = scene.iterator(ShardIteratorType::TrimHorizon).await;
    let (records, _) = scene.records(&iterator).await;
    let seen: Vec<_> = (records.iter())
        .filter_map(|record| {
            Some((record.event_name.clone()?, record.dynamodb()?.keys()?.get("pk")?.as_s().ok()?.as_str()))
        })
        .collect();
    assert_eq!(seen, [(OperationType::Insert, "O#1"), (OperationType::Insert, "O#4"), (OperationType::Modify, "O#4")]);
    let numbers: Vec<_> = records.iter().filter_map(|record| record.dynamodb()?.sequence_number()).collect();
    assert!(numbers.is_sorted() && numbers[0].len() == 21, "{numbers:?}");
}
