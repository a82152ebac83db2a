//! Sending: one message or a batch, each entry with an answer of its own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::api::{Context, MAX_BATCH, MAX_DELAY_SECONDS, invalid, no_such_queue, seconds_within};
use super::requests::{Outgoing, SendMessage, SendMessageBatch};
use crate::cloud::names::queue_of_url;
use crate::cloud::wire::ApiError;

/// The largest body of a message, and of all messages of a batch together: 1 MiB.
const MAX_BODY_BYTES: usize = 1_048_576;

pub(super) fn send_message(cx: &mut Context<'_>, request: &SendMessage) -> Result<Value, ApiError> {
    let id = put(cx, &request.queue_url, &request.message)?;
    Ok(json!({ "MessageId": id }))
}

pub(super) fn send_message_batch(cx: &mut Context<'_>, request: &SendMessageBatch) -> Result<Value, ApiError> {
    check_batch(request.entries.iter().map(|entry| entry.id.as_str()))?;
    let queue = queue_of_url(&request.queue_url);
    cx.queue(queue)?;
    if request.entries.iter().map(|entry| entry.message.message_body.len()).sum::<usize>() > MAX_BODY_BYTES {
        return Err(ApiError::new(
            400,
            "BatchRequestTooLong",
            "The length of all the messages put together is more than the limit.",
        )
        .with_query_code("AWS.SimpleQueueService.BatchRequestTooLong"));
    }
    let refused = cx.chance.faults.refuses_send(queue);
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in &request.entries {
        if refused {
            // The trap of batches: the call succeeds and its entries do not.
            failed.push(failed_entry(&entry.id, &ApiError::new(500, "InternalError", "injected"), false));
            continue;
        }
        match put(cx, queue, &entry.message) {
            // The SDK's result entry has a mandatory MD5 sum; it does not look at it.
            Ok(id) => successful.push(json!({"Id": entry.id, "MessageId": id, "MD5OfMessageBody": ""})),
            Err(error) => failed.push(failed_entry(&entry.id, &error, true)),
        }
    }
    Ok(json!({"Successful": successful, "Failed": failed}))
}

fn put(cx: &mut Context<'_>, url: &str, message: &Outgoing) -> Result<String, ApiError> {
    let delay =
        message.delay_seconds.map(|delay| seconds_within("DelaySeconds", delay, MAX_DELAY_SECONDS)).transpose()?;
    if message.message_body.is_empty() {
        return Err(ApiError::new(400, "MissingParameter", "The request must contain the parameter MessageBody."));
    }
    if message.message_body.len() > MAX_BODY_BYTES {
        return Err(invalid(format!(
            "One or more parameters are invalid. Message must be shorter than {MAX_BODY_BYTES} bytes."
        )));
    }
    let (queue, now) = (queue_of_url(url), cx.now);
    cx.queues
        .send(cx.chance, queue, &message.message_body, &message.message_attributes, now, delay)
        .ok_or_else(no_such_queue)
}

/// Refuses a batch that is empty, too long, or names an entry twice.
pub(super) fn check_batch<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> Result<(), ApiError> {
    let count = ids.len();
    let error = |code, query_code, message: &str| Err(ApiError::new(400, code, message).with_query_code(query_code));
    if count == 0 {
        return error(
            "EmptyBatchRequest",
            "AWS.SimpleQueueService.EmptyBatchRequest",
            "The batch request doesn't contain any entries.",
        );
    }
    if count > MAX_BATCH {
        return error(
            "TooManyEntriesInBatchRequest",
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            "The batch request contains more entries than permissible.",
        );
    }
    if ids.collect::<BTreeSet<_>>().len() < count {
        return error(
            "BatchEntryIdsNotDistinct",
            "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            "Two or more batch entries in the request have the same Id.",
        );
    }
    Ok(())
}

/// One failed entry of a batch.
pub(super) fn failed_entry(id: &str, error: &ApiError, sender_fault: bool) -> Value {
    json!({"Id": id, "SenderFault": sender_fault, "Code": error.code(), "Message": error.message()})
}
