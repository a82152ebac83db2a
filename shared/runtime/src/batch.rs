//! Drivers of the events that carry many records: which records failed, and in which form Lambda is told.

use std::error::Error;

use aws_lambda_events::event::dynamodb::{Event as StreamEvent, EventRecord};
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use futures_util::{StreamExt, stream};
use lambda_runtime::Diagnostic;

use crate::logs::chain;
use expiry_core::message::Message;

/// Most messages of one batch that are handled at once: the largest batch a queue without a batching window delivers.
pub const MESSAGES_AT_ONCE: usize = 10;

/// A batch that is to be delivered again as a whole; Lambda counts it as a failed invocation, so that alarms see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failed} of {records} records failed, and the batch with them; the first: {first}")]
pub struct BatchFailed {
    /// How many failed.
    pub failed: usize,
    /// How many there were.
    pub records: usize,
    /// The first failure, with its sources.
    pub first: String,
}

impl From<BatchFailed> for Diagnostic {
    fn from(error: BatchFailed) -> Diagnostic {
        Diagnostic { error_type: "BatchFailed".to_owned(), error_message: error.to_string() }
    }
}

/// Why a message is not one of ours. It fails until it is in the dead-letter queue, where a person finds it.
#[derive(Debug, thiserror::Error)]
#[error("the body is not a message of this system")]
pub struct InvalidMessage(#[source] serde_json::Error);

/// Reads the body of a queue message.
///
/// # Errors
/// When it is not a message that this system sends.
pub fn read_message(message: &SqsMessage) -> Result<Message, InvalidMessage> {
    serde_json::from_str(message.body.as_deref().unwrap_or_default()).map_err(InvalidMessage)
}

/// Handles the messages of `event` side by side, at most [`MESSAGES_AT_ONCE`] at a time, so that a slow one holds up no other, and
/// answers which failed: those alone are delivered again. `handle` checks each body itself; to fail is to want the message again.
///
/// # Errors
/// [`BatchFailed`] when every message failed (DESIGN §7), or when one failed that has no id to name it by.
pub async fn sqs_batch<E, Answer>(
    event: SqsEvent,
    handle: impl Fn(SqsMessage) -> Answer,
) -> Result<SqsBatchResponse, BatchFailed>
where
    E: Error,
    Answer: Future<Output = Result<(), E>>,
{
    let records = event.records.len();
    let handled = event.records.into_iter().map(|message| {
        let id = message.message_id.clone().unwrap_or_default();
        let answer = handle(message);
        async move { (id, answer.await.map_err(|error| chain(&error))) }
    });
    let outcomes: Vec<(String, Result<(), String>)> =
        stream::iter(handled).buffer_unordered(MESSAGES_AT_ONCE).collect().await;

    let mut response = SqsBatchResponse::default();
    let mut first = None;
    for (id, outcome) in outcomes {
        if let Err(error) = outcome {
            tracing::warn!(message_id = %id, error = %error, "message failed");
            response.add_failure(id);
            first = first.or(Some(error));
        }
    }
    let failures = &response.batch_item_failures;
    let nameless = failures.iter().any(|failure| failure.item_identifier.is_empty());
    match first {
        Some(first) if nameless || failures.len() == records => {
            Err(BatchFailed { failed: failures.len(), records, first })
        }
        Some(_) | None => Ok(response),
    }
}

/// Handles the records of `event` one after the other and stops at the first failure, whose sequence number it answers: Lambda
/// goes on from that record, and an order's changes never overtake one another.
///
/// When the very first record fails, nothing was done and the batch is raised instead. Lambda goes on at the same record either
/// way, but a raised batch is halved where the mapping says so, until the record that fails stands alone; an answered one would
/// be repeated whole and, after its last retry, given up whole. It also shows as a failed invocation, and stays safe on an emulator
/// that reads every answer as success.
///
/// # Errors
/// [`BatchFailed`] when the first record failed, or when one failed that has no sequence number to name it by.
pub async fn stream_batch<E, Answer>(
    event: StreamEvent,
    handle: impl Fn(EventRecord) -> Answer,
) -> Result<DynamoDbEventResponse, BatchFailed>
where
    E: Error,
    Answer: Future<Output = Result<(), E>>,
{
    let records = event.records.len();
    let mut response = DynamoDbEventResponse::default();
    for (place, record) in event.records.into_iter().enumerate() {
        let sequence_number = record.change.sequence_number.clone().unwrap_or_default();
        if let Err(error) = handle(record).await {
            let first = chain(&error);
            tracing::warn!(sequence_number, place, records, error = %first, "stream record failed");
            if place == 0 || sequence_number.is_empty() {
                return Err(BatchFailed { failed: records - place, records, first });
            }
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(sequence_number);
            response.batch_item_failures.push(failure);
            break;
        }
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0} is not for us")]
    struct Refused(String);

    fn messages(bodies: &[&str]) -> SqsEvent {
        let record = |(n, body): (usize, &&str)| {
            json!({
                "messageId": format!("m{n}"), "receiptHandle": "r", "body": body, "md5OfBody": "-",
                "attributes": {"ApproximateReceiveCount": "1"}, "messageAttributes": {},
                "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-central-1:1:close", "awsRegion": "eu-central-1",
            })
        };
        let records: Vec<_> = bodies.iter().enumerate().map(record).collect();
        serde_json::from_value(json!({"Records": records})).expect("an SQS event")
    }

    fn changes(orders: &[&str]) -> StreamEvent {
        let record = |(n, order): (usize, &&str)| {
            json!({
                "eventID": format!("e{n}"), "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
                "awsRegion": "eu-central-1",
                "dynamodb": {
                    "ApproximateCreationDateTime": 1_767_225_600, "SequenceNumber": format!("{}", 100 + n), "SizeBytes": 54,
                    "StreamViewType": "NEW_AND_OLD_IMAGES",
                    "Keys": {"pk": {"S": order}, "sk": {"S": "O"}}, "NewImage": {"pk": {"S": order}, "sk": {"S": "O"}},
                },
            })
        };
        let records: Vec<_> = orders.iter().enumerate().map(record).collect();
        serde_json::from_value(json!({"Records": records})).expect("a stream event")
    }

    async fn judge(message: SqsMessage) -> Result<(), Refused> {
        match message.body.unwrap_or_default() {
            body if body == "good" => Ok(()),
            body => Err(Refused(body)),
        }
    }

    #[tokio::test]
    async fn only_the_messages_that_failed_are_delivered_again() {
        let response = sqs_batch(messages(&["good", "bad", "good"]), judge).await.expect("not all failed");
        let failed: Vec<&str> = response.batch_item_failures.iter().map(|item| item.item_identifier.as_str()).collect();
        assert_eq!(failed, ["m1"]);
        assert!(sqs_batch(messages(&["good"]), judge).await.expect("none failed").batch_item_failures.is_empty());
        assert!(sqs_batch(messages(&[]), judge).await.is_ok());
    }

    #[tokio::test]
    async fn a_batch_that_fails_whole_raises_with_the_cause() {
        let failed = sqs_batch(messages(&["bad", "worse"]), judge).await.expect_err("all failed");
        assert_eq!((failed.failed, failed.records), (2, 2));
        assert!(failed.first.ends_with("is not for us"));
        assert_eq!(Diagnostic::from(failed).error_type, "BatchFailed");
    }

    #[tokio::test]
    async fn a_failed_message_without_an_id_fails_its_batch() {
        let mut event = messages(&["good", "bad"]);
        event.records[1].message_id = None;
        assert!(sqs_batch(event, judge).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_message_holds_up_no_other() {
        let begun = tokio::time::Instant::now();
        let slow = |_| async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            Ok::<(), Refused>(())
        };
        sqs_batch(messages(&["a"; 10]), slow).await.expect("all good");
        assert_eq!(begun.elapsed().as_secs(), 1);
    }

    #[test]
    fn a_batch_can_be_driven_on_any_thread_when_its_handler_can() {
        fn movable(_: impl Send) {}
        movable(sqs_batch(messages(&["good"]), judge));
        movable(stream_batch(changes(&["a"]), |_| async { Ok::<(), Refused>(()) }));
    }

    async fn run(orders: &[&str]) -> (Result<Vec<Option<String>>, usize>, Vec<String>) {
        let seen = RefCell::new(Vec::new());
        let outcome = stream_batch(changes(orders), |record: EventRecord| {
            let id = record.event_id;
            let bad = orders.contains(&id.as_str());
            seen.borrow_mut().push(id.clone());
            async move { if bad { Err(Refused(id)) } else { Ok(()) } }
        })
        .await;
        let outcome =
            outcome.map(|response| response.batch_item_failures.into_iter().map(|item| item.item_identifier).collect());
        (outcome.map_err(|failed| failed.failed), seen.into_inner())
    }

    #[tokio::test]
    async fn a_stream_batch_stops_at_the_first_failure_and_names_it() {
        let (outcome, seen) = run(&["a", "b", "e2", "d"]).await;
        assert_eq!(outcome, Ok(vec![Some("102".to_owned())]));
        assert_eq!(seen, ["e0", "e1", "e2"]);
        assert_eq!(run(&["a", "b"]).await.0, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_stream_batch_whose_first_record_fails_raises() {
        let (outcome, seen) = run(&["e0", "b", "c"]).await;
        assert_eq!(outcome, Err(3));
        assert_eq!(seen, ["e0"]);
    }
}
