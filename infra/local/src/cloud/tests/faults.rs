use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::{scene, start};
use crate::cloud::Faults;

const WAKE: &str = r#"{"type":"wake","order_id":"o-1"}"#;
const CLOSE: &str = r#"{"type":"close","order_id":"o-1"}"#;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn dropped_wakes_are_schedules_and_their_stand_ins_and_no_other_message() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.schedule("o-1", start().plus(Duration::from_secs(60)), WAKE).send().await.expect("created");
    scene.send(&url, WAKE, 90).await;
    scene.send(&url, CLOSE, 90).await;
    scene.cloud.set_faults(Faults { drop_wakes: true, ..Faults::default() });
    scene.advance(200);
    assert_eq!(scene.bodies(&url).await, [CLOSE]);
    assert!(scene.cloud.schedules().is_empty(), "consumed");
    scene.cloud.set_faults(Faults::default());
    scene.send(&url, WAKE, 0).await;
    assert_eq!(scene.bodies(&url).await, [WAKE]);
}

#[tokio::test]
async fn what_was_due_before_the_faults_changed_is_treated_by_the_former_ones() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.send(&url, WAKE, 10).await;
    scene.advance(10);
    scene.cloud.set_faults(Faults { drop_wakes: true, ..Faults::default() });
    assert_eq!(scene.bodies(&url).await, [WAKE], "due before, so delivered");
    scene.send(&url, WAKE, 10).await;
    scene.advance(10);
    scene.cloud.set_faults(Faults::default());
    assert!(scene.bodies(&url).await.is_empty(), "due while wakes were dropped, so lost");
}

#[tokio::test]
async fn a_held_queue_keeps_its_messages() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.cloud.set_faults(Faults { hold_queues: strings(&["close"]), ..Faults::default() });
    scene.send(&url, CLOSE, 0).await;
    assert!(scene.bodies(&url).await.is_empty());
    assert!(scene.cloud.idle(), "held messages are nobody's work");
    assert_eq!(scene.cloud.queue_counts()["close"].visible, 1);
    scene.cloud.set_faults(Faults::default());
    assert!(!scene.cloud.idle());
    assert_eq!(scene.bodies(&url).await, [CLOSE]);
}

#[tokio::test]
async fn duplicates_are_two_messages_with_ids_of_their_own() {
    let scene = scene();
    let url = scene.queue("close", &[]).await;
    scene.cloud.set_faults(Faults { duplicate_deliveries: true, ..Faults::default() });
    scene.send(&url, CLOSE, 0).await;
    scene.schedule("o-1", start().plus(Duration::from_secs(60)), WAKE).send().await.expect("created");
    let received = scene.receive(&url).await;
    assert_eq!(received.len(), 2);
    assert_ne!(received[0].message_id, received[1].message_id);
    assert_eq!(received[0].body, received[1].body);
    scene.advance(29);
    assert!(scene.bodies(&url).await.is_empty(), "both are hidden");
    scene.advance(91);
    let woken = scene.bodies(&url).await.into_iter().filter(|body| body == WAKE).count();
    assert_eq!(woken, 2);
}

#[tokio::test]
async fn sends_to_a_refusing_queue_fail_and_a_batch_fails_by_its_entries() {
    let scene = scene();
    let url = scene.queue("refund", &[]).await;
    scene.queue("close", &[]).await;
    scene.cloud.set_faults(Faults { send_errors: strings(&["refund", "scheduler"]), ..Faults::default() });
    assert!(scene.sqs.send_message().queue_url(&url).message_body("x").send().await.is_err());
    let entry = SendMessageBatchRequestEntry::builder().id("1").message_body("x").build().expect("complete");
    let batch = scene.sqs.send_message_batch().queue_url(&url).entries(entry).send().await.expect("answered");
    assert_eq!((batch.successful().len(), batch.failed().len()), (0, 1));
    let throttled =
        scene.schedule("o-1", start().plus(Duration::from_secs(60)), WAKE).send().await.expect_err("throttled");
    assert!(throttled.into_service_error().is_throttling_exception());
    scene.cloud.set_faults(Faults::default());
    scene.send(&url, "x", 0).await;
    assert_eq!(scene.bodies(&url).await, ["x"]);
}

#[tokio::test]
async fn failing_deliveries_are_handed_to_the_driver_one_by_one() {
    let scene = scene();
    scene.cloud.set_faults(serde_json::from_str(r#"{"fail_deliveries":{"close":1}}"#).expect("reads"));
    assert!(scene.cloud.take_failure("close"));
    assert!(!scene.cloud.take_failure("close"));
    assert_eq!(scene.cloud.faults().fail_deliveries["close"], 0);
}
