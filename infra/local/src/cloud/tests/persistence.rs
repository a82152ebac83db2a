use aws_sdk_dynamodbstreams::types::ShardIteratorType;

use super::{order, scene_of, start};
use crate::clock::MovableClock;
use crate::cloud::CloudConfig;

#[tokio::test]
async fn tables_persist_in_the_data_folder_and_queues_and_unread_records_do_not() {
    let folder = std::env::temp_dir().join(format!("embedded-cloud-{}", std::process::id()));
    let config =
        || CloudConfig { data: Some(folder.clone()), ..CloudConfig::in_memory(MovableClock::paused(start()), 1) };
    let before = scene_of(config()).with_orders().await;
    before.queue("close", &[]).await;
    before.put_order(order("1")).await;
    drop(before);

    let after = scene_of(config());
    assert!(after.get_order("1").await.is_some());
    assert!(after.cloud.queue_counts().is_empty());
    after.put_order(order("2")).await;
    let iterator = after.iterator(ShardIteratorType::TrimHorizon).await;
    assert_eq!(after.records(&iterator).await.0.len(), 1, "the stream goes on, without what was written before");
    std::fs::remove_dir_all(folder).expect("removed");
}
