use std::time::Duration;

use aws_sdk_sqs::operation::RequestId;
use aws_sdk_sqs::operation::send_message::SendMessageError;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};
use expiry_core::time::Clock;

use super::{scene, scene_of, start};
use crate::clock::MovableClock;
use crate::cloud::{CloudConfig, QueueCounts};

fn counts(visible: usize, delayed: usize, in_flight: usize) -> QueueCounts {
    QueueCounts { visible, delayed, in_flight }
}

#[tokio::test]
async fn a_delayed_message_is_delivered_when_the_clock_has_moved_past_its_delay() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.send(&url, "later", 900).await;
    assert_eq!(scene.cloud.queue_counts()["close"], counts(0, 1, 0));
    scene.advance(899);
    assert!(scene.bodies(&url).await.is_empty());
    scene.advance(1);
    assert_eq!(scene.cloud.queue_counts()["close"], counts(1, 0, 0));
    assert_eq!(scene.bodies(&url).await, ["later"]);
}

#[tokio::test]
async fn a_delay_above_900_seconds_and_an_unknown_queue_are_refused() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    let send = |url: &str, delay| scene.sqs.send_message().queue_url(url).message_body("x").delay_seconds(delay).send();
    let error = send(&url, 901).await.expect_err("too long").into_service_error();
    assert_eq!(error.meta().code(), Some("InvalidParameterValue"));
    assert!(error.request_id().is_some());
    let error = send("https://nowhere/0/none", 0).await.expect_err("no queue").into_service_error();
    assert!(matches!(error, SendMessageError::QueueDoesNotExist(_)), "{error}");
    let large = "x".repeat(1_048_577);
    assert!(scene.sqs.send_message().queue_url(&url).message_body(large).send().await.is_err());
}

#[tokio::test]
async fn messages_are_received_in_the_order_in_which_they_became_due() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    for (body, delay) in [("c", 30), ("a", 10), ("d", 30), ("b", 20)] {
        scene.send(&url, body, delay).await;
    }
    scene.advance(60);
    assert_eq!(scene.bodies(&url).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_received_message_is_hidden_until_its_visibility_ends_and_gone_once_deleted() {
    let scene = scene();
    let url = scene.queue("close", &[(QueueAttributeName::VisibilityTimeout, "180")]).await;
    scene.send(&url, "x", 0).await;
    let first = scene.receive(&url).await.remove(0);
    assert_eq!(scene.cloud.queue_counts()["close"], counts(0, 0, 1));
    assert!(!scene.cloud.idle());
    scene.advance(179);
    assert!(scene.receive(&url).await.is_empty());
    scene.advance(1);
    let request =
        scene.sqs.receive_message().queue_url(&url).message_system_attribute_names(MessageSystemAttributeName::All);
    let second = request.send().await.expect("received").messages.expect("messages").remove(0);
    let attributes = second.attributes.expect("attributes");
    assert_eq!(attributes[&MessageSystemAttributeName::ApproximateReceiveCount], "2");
    assert_eq!(attributes[&MessageSystemAttributeName::SentTimestamp], start().as_millis().to_string());
    assert_eq!(first.message_id, second.message_id);
    let delete = |handle: Option<String>| scene.sqs.delete_message().queue_url(&url).set_receipt_handle(handle).send();
    delete(first.receipt_handle).await.expect("an old handle is no error");
    assert_eq!(scene.cloud.queue_counts()["close"], counts(0, 0, 1), "and deletes nothing");
    delete(second.receipt_handle).await.expect("deleted");
    assert_eq!(scene.cloud.queue_counts()["close"], counts(0, 0, 0));
    assert!(scene.cloud.idle());
}

#[tokio::test]
async fn visibility_can_be_ended_at_once() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.send(&url, "x", 0).await;
    let received = scene.receive(&url).await.remove(0);
    let change = scene.sqs.change_message_visibility().queue_url(&url).visibility_timeout(0);
    change.set_receipt_handle(received.receipt_handle).send().await.expect("changed");
    assert_eq!(scene.bodies(&url).await, ["x"]);
}

#[tokio::test]
async fn a_message_received_too_often_goes_to_the_dead_letter_queue() {
    let scene = scene();
    let dead = scene.queue("close-dlq", &[]).await;
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:close-dlq","maxReceiveCount":2}"#;
    let attributes = [(QueueAttributeName::RedrivePolicy, policy), (QueueAttributeName::VisibilityTimeout, "10")];
    let url = scene.queue("close", &attributes).await;
    scene.send(&url, "poison", 0).await;
    for _ in 0..2 {
        assert_eq!(scene.bodies(&url).await, ["poison"]);
        scene.advance(10);
    }
    assert!(scene.bodies(&url).await.is_empty());
    assert_eq!(scene.cloud.queue_counts()["close-dlq"], counts(1, 0, 0));
    assert_eq!(scene.bodies(&dead).await, ["poison"]);
    let shown = scene.sqs.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::All);
    let shown = shown.send().await.expect("shown").attributes.expect("attributes");
    assert_eq!(shown[&QueueAttributeName::VisibilityTimeout], "10");
    assert!(shown[&QueueAttributeName::RedrivePolicy].contains("close-dlq"));
}

#[tokio::test]
async fn a_long_poll_wakes_on_arrival_and_when_the_clock_makes_a_message_due() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    let poll = |url: String| {
        let sqs = scene.sqs.clone();
        tokio::spawn(async move {
            let received = sqs.receive_message().queue_url(url).wait_time_seconds(20).send().await.expect("received");
            received.messages.unwrap_or_default().remove(0).body
        })
    };
    let poller = poll(url.clone());
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!poller.is_finished());
    scene.send(&url, "now", 0).await;
    let arrived = tokio::time::timeout(Duration::from_secs(1), poller).await.expect("in time").expect("no panic");
    assert_eq!(arrived.as_deref(), Some("now"));

    let url = scene.queue("refund", &[]).await;
    scene.send(&url, "later", 600).await;
    let poller = poll(url);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!poller.is_finished());
    scene.advance(600);
    let arrived = tokio::time::timeout(Duration::from_secs(1), poller).await.expect("in time").expect("no panic");
    assert_eq!(arrived.as_deref(), Some("later"));
}

#[tokio::test]
async fn on_a_running_clock_a_long_poll_wakes_when_a_delay_passes_by_itself_and_ends_empty_in_time() {
    let scene = scene_of(CloudConfig::in_memory(MovableClock::running(), 1));
    let url = scene.queue("close", &[]).await;
    scene.send(&url, "later", 1).await;
    let began = scene.cloud.clock().now();
    let poll = |seconds| scene.sqs.receive_message().queue_url(&url).wait_time_seconds(seconds).send();
    assert_eq!(poll(2).await.expect("received").messages.unwrap_or_default().len(), 1);
    let waited = scene.cloud.clock().now().since(began);
    assert!(waited < Duration::from_millis(1_900), "{waited:?}");
    assert!(poll(1).await.expect("nothing").messages.is_none());
}

#[tokio::test]
async fn batches_answer_for_each_entry() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    let entry = |id: &str, delay| {
        SendMessageBatchRequestEntry::builder().id(id).message_body(id).delay_seconds(delay).build().expect("complete")
    };
    let batch = scene.sqs.send_message_batch().queue_url(&url).entries(entry("good", 0)).entries(entry("bad", 901));
    let sent = batch.send().await.expect("sent");
    assert_eq!(sent.successful()[0].id(), "good");
    assert_eq!((sent.failed()[0].id(), sent.failed()[0].code()), ("bad", "InvalidParameterValue"));
    let received = scene.receive(&url).await.remove(0);
    let delete = DeleteMessageBatchRequestEntry::builder().id("1").set_receipt_handle(received.receipt_handle).build();
    let batch = scene.sqs.delete_message_batch().queue_url(&url).entries(delete.expect("complete"));
    assert_eq!(batch.send().await.expect("deleted").successful().len(), 1);
    let twice = scene.sqs.send_message_batch().queue_url(&url).entries(entry("a", 0)).entries(entry("a", 0));
    assert!(twice.send().await.expect_err("refused").into_service_error().is_batch_entry_ids_not_distinct());
}

#[tokio::test]
async fn queues_are_found_by_name_and_created_once() {
    let scene = scene();
    let url = scene.queue("close", &[(QueueAttributeName::VisibilityTimeout, "60")]).await;
    assert_eq!(scene.queue("close", &[(QueueAttributeName::VisibilityTimeout, "60")]).await, url);
    let other = scene.sqs.create_queue().queue_name("close").attributes(QueueAttributeName::VisibilityTimeout, "61");
    assert!(other.send().await.expect_err("another").into_service_error().is_queue_name_exists());
    let found = scene.sqs.get_queue_url().queue_name("close").send().await.expect("found");
    assert_eq!(found.queue_url(), Some(url.as_str()));
    let listed = scene.sqs.list_queues().queue_name_prefix("cl").send().await.expect("listed");
    assert_eq!(listed.queue_urls(), [url]);
}
