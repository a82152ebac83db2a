//! The operations of SQS.

use std::collections::BTreeMap;
use std::time::Duration;

use expiry_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::queue::{Message, Queue, Redrive, Settings};
use super::requests::{
    ChangeMessageVisibility, CreateQueue, DeleteMessage, DeleteMessageBatch, GetQueueAttributes, GetQueueUrl,
    ListQueues, ReceiveMessage, SendMessage, SendMessageBatch,
};
use super::{Queues, send};
use crate::cloud::chance::Chance;
use crate::cloud::names::{Names, queue_of_arn, queue_of_url};
use crate::cloud::wire::ApiError;

/// The longest delay of a message or queue, in seconds.
pub(super) const MAX_DELAY_SECONDS: i64 = 900;
/// The longest time a received message may stay hidden, in seconds: 12 hours.
const MAX_VISIBILITY_SECONDS: i64 = 43_200;
/// The visibility timeout of a queue that names none, in seconds.
const DEFAULT_VISIBILITY_SECONDS: i64 = 30;
/// The longest wait of a long poll, in seconds.
const MAX_WAIT_SECONDS: i64 = 20;
/// The most messages of one receive, and the most entries of one batch.
pub(super) const MAX_BATCH: usize = 10;
/// The highest `maxReceiveCount`.
const MAX_RECEIVES: u64 = 1_000;

/// Everything an operation works on.
pub(crate) struct Context<'a> {
    pub(crate) queues: &'a mut Queues,
    pub(crate) chance: &'a mut Chance,
    pub(crate) names: &'a Names,
    pub(crate) now: Timestamp,
}

/// Carries out one operation. A long poll that finds nothing answers at once; its caller waits and asks again.
pub(crate) fn execute(cx: &mut Context<'_>, operation: &str, body: &Value) -> Result<Value, ApiError> {
    match operation {
        "CreateQueue" => create_queue(cx, read(body)?),
        "GetQueueUrl" => get_queue_url(cx, &read(body)?),
        "ListQueues" => Ok(list_queues(cx, &read(body)?)),
        "GetQueueAttributes" => get_queue_attributes(cx, &read(body)?),
        "SendMessage" => send::send_message(cx, &read::<SendMessage>(body)?),
        "SendMessageBatch" => send::send_message_batch(cx, &read::<SendMessageBatch>(body)?),
        "ReceiveMessage" => receive_message(cx, &read(body)?),
        "DeleteMessage" => delete_message(cx, &read(body)?),
        "DeleteMessageBatch" => delete_message_batch(cx, &read(body)?),
        "ChangeMessageVisibility" => change_message_visibility(cx, &read(body)?),
        other => Err(ApiError::new(400, "UnsupportedOperation", format!("{other} is not part of the embedded SQS"))
            .with_query_code("AWS.SimpleQueueService.UnsupportedOperation")),
    }
}

/// The queue a request names; empty when it names none.
pub(crate) fn queue_of(body: &Value) -> &str {
    let member = |name: &str| body.get(name).and_then(Value::as_str);
    member("QueueUrl").map(queue_of_url).or_else(|| member("QueueName")).unwrap_or_default()
}

/// How long a ReceiveMessage that finds nothing waits for a message; `None` when `answer` found some or it does not wait.
pub(crate) fn long_poll(operation: &str, body: &Value, answer: &Value) -> Option<Duration> {
    let is_empty = operation == "ReceiveMessage" && answer.get("Messages").is_none();
    let seconds = body.get("WaitTimeSeconds").and_then(Value::as_u64).unwrap_or(0);
    (is_empty && seconds > 0).then(|| Duration::from_secs(seconds))
}

fn read<T: DeserializeOwned>(body: &Value) -> Result<T, ApiError> {
    T::deserialize(body).map_err(|error| ApiError::new(400, "SerializationException", error.to_string()))
}

pub(super) fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "InvalidParameterValue", message)
}

pub(super) fn no_such_queue() -> ApiError {
    ApiError::new(400, "QueueDoesNotExist", "The specified queue does not exist.")
        .with_query_code("AWS.SimpleQueueService.NonExistentQueue")
}

/// `seconds` when it is within 0 and `most`.
pub(super) fn seconds_within(name: &str, seconds: i64, most: i64) -> Result<Duration, ApiError> {
    u64::try_from(seconds).ok().filter(|_| seconds <= most).map(Duration::from_secs).ok_or_else(|| {
        invalid(format!("Value {seconds} for parameter {name} is invalid. It must be between 0 and {most}."))
    })
}

impl Context<'_> {
    pub(super) fn queue(&mut self, url: &str) -> Result<&mut Queue, ApiError> {
        self.queues.by_name.get_mut(queue_of_url(url)).ok_or_else(no_such_queue)
    }
}

fn create_queue(cx: &mut Context<'_>, request: CreateQueue) -> Result<Value, ApiError> {
    let named = !request.queue_name.is_empty()
        && request.queue_name.len() <= 80
        && request.queue_name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !named {
        return Err(invalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"));
    }
    let settings = settings_of(&request.attributes)?;
    if cx.queues.create(&request.queue_name, settings.clone(), cx.now).settings != settings {
        return Err(ApiError::new(
            400,
            "QueueNameExists",
            "A queue already exists with the same name and a different value.",
        )
        .with_query_code("QueueAlreadyExists"));
    }
    Ok(json!({"QueueUrl": cx.names.queue_url(&request.queue_name)}))
}

/// The attributes this system sets; others are accepted and mean nothing here.
fn settings_of(attributes: &BTreeMap<String, String>) -> Result<Settings, ApiError> {
    let seconds = |name: &str, default: i64, most: i64| match attributes.get(name) {
        None => seconds_within(name, default, most),
        Some(text) => seconds_within(name, text.parse().map_err(|_| invalid(format!("{name} is not a number")))?, most),
    };
    Ok(Settings {
        visibility: seconds("VisibilityTimeout", DEFAULT_VISIBILITY_SECONDS, MAX_VISIBILITY_SECONDS)?,
        delay: seconds("DelaySeconds", 0, MAX_DELAY_SECONDS)?,
        redrive: attributes.get("RedrivePolicy").map(|policy| redrive_of(policy)).transpose()?,
    })
}

fn redrive_of(policy: &str) -> Result<Redrive, ApiError> {
    let broken = || invalid(format!("Value {policy} for parameter RedrivePolicy is invalid."));
    let policy: Value = serde_json::from_str(policy).map_err(|_| broken())?;
    let queue = policy.get("deadLetterTargetArn").and_then(Value::as_str).and_then(queue_of_arn).ok_or_else(broken)?;
    let count = policy.get("maxReceiveCount").ok_or_else(broken)?;
    // Both a number and its text are taken, as in SQS.
    let count = count.as_u64().or_else(|| count.as_str().and_then(|text| text.parse().ok())).ok_or_else(broken)?;
    let count = u32::try_from(count).ok().filter(|_| (1..=MAX_RECEIVES).contains(&count)).ok_or_else(broken)?;
    Ok(Redrive { queue: queue.to_owned(), max_receives: count })
}

fn get_queue_url(cx: &mut Context<'_>, request: &GetQueueUrl) -> Result<Value, ApiError> {
    cx.queue(&request.queue_name)?;
    Ok(json!({"QueueUrl": cx.names.queue_url(&request.queue_name)}))
}

fn list_queues(cx: &Context<'_>, request: &ListQueues) -> Value {
    let urls: Vec<String> = (cx.queues.by_name.keys())
        .filter(|name| name.starts_with(&request.queue_name_prefix))
        .map(|name| cx.names.queue_url(name))
        .collect();
    json!({ "QueueUrls": urls })
}

fn get_queue_attributes(cx: &mut Context<'_>, request: &GetQueueAttributes) -> Result<Value, ApiError> {
    let name = queue_of_url(&request.queue_url).to_owned();
    let names = cx.names.clone();
    let queue = cx.queue(&name)?;
    let counts = queue.counts();
    let mut all = BTreeMap::from([
        ("QueueArn", names.queue_arn(&name)),
        ("CreatedTimestamp", queue.created_at.as_seconds().to_string()),
        ("VisibilityTimeout", queue.settings.visibility.as_secs().to_string()),
        ("DelaySeconds", queue.settings.delay.as_secs().to_string()),
        ("ApproximateNumberOfMessages", counts.visible.to_string()),
        ("ApproximateNumberOfMessagesDelayed", counts.delayed.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", counts.in_flight.to_string()),
    ]);
    if let Some(Redrive { queue, max_receives }) = &queue.settings.redrive {
        let policy = json!({"deadLetterTargetArn": names.queue_arn(queue), "maxReceiveCount": max_receives});
        all.insert("RedrivePolicy", policy.to_string());
    }
    all.retain(|name, _| is_asked(&request.attribute_names, name));
    Ok(json!({ "Attributes": all }))
}

fn is_asked(asked: &[String], name: &str) -> bool {
    asked.iter().any(|asked| asked == "All" || asked == name)
}

fn receive_message(cx: &mut Context<'_>, request: &ReceiveMessage) -> Result<Value, ApiError> {
    let most = match request.max_number_of_messages {
        None => 1,
        Some(most) => usize::try_from(most).ok().filter(|most| (1..=MAX_BATCH).contains(most)).ok_or_else(|| {
            invalid(format!(
                "Value {most} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10."
            ))
        })?,
    };
    seconds_within("WaitTimeSeconds", request.wait_time_seconds.unwrap_or(0), MAX_WAIT_SECONDS)?;
    let name = queue_of_url(&request.queue_url);
    let (now, is_held) = (cx.now, cx.chance.faults.holds(name));
    let queue = cx.queues.by_name.get_mut(name).ok_or_else(no_such_queue)?;
    let visibility = match request.visibility_timeout {
        None => queue.settings.visibility,
        Some(seconds) => seconds_within("VisibilityTimeout", seconds, MAX_VISIBILITY_SECONDS)?,
    };
    if is_held {
        return Ok(json!({}));
    }
    let (received, dead) = queue.receive(now, most, visibility, || cx.chance.uuid());
    let redrive = queue.settings.redrive.as_ref().map(|redrive| redrive.queue.clone());
    if let Some(dead_letters) = redrive {
        cx.queues.bury(&dead_letters, dead, now);
        cx.queues.settle(cx.chance, now);
    }
    // Like SQS, an empty answer has no `Messages` at all.
    Ok(match received.is_empty() {
        true => json!({}),
        false => json!({"Messages": received.iter().map(|message| incoming(message, request)).collect::<Vec<_>>()}),
    })
}

/// A received message as SQS shows it. Its receipt handle is `<message id>/<receipt>`.
fn incoming(message: &Message, request: &ReceiveMessage) -> Value {
    let first = message.first_received_at.unwrap_or(message.sent_at);
    let mut system = BTreeMap::from([
        ("ApproximateReceiveCount", message.receives.to_string()),
        ("ApproximateFirstReceiveTimestamp", first.as_millis().to_string()),
        ("SentTimestamp", message.sent_at.as_millis().to_string()),
        ("SenderId", "local".to_owned()),
    ]);
    system.retain(|name, _| {
        is_asked(&request.attribute_names, name) || is_asked(&request.message_system_attribute_names, name)
    });
    let receipt = message.receipt.as_deref().unwrap_or_default();
    let mut shown = Map::new();
    shown.insert("MessageId".to_owned(), json!(message.id));
    shown.insert("ReceiptHandle".to_owned(), json!(format!("{}/{receipt}", message.id)));
    shown.insert("Body".to_owned(), json!(message.body));
    if !system.is_empty() {
        shown.insert("Attributes".to_owned(), json!(system));
    }
    if !request.message_attribute_names.is_empty() && message.attributes.is_object() {
        shown.insert("MessageAttributes".to_owned(), message.attributes.clone());
    }
    Value::Object(shown)
}

/// Message id and receipt of a receipt handle.
fn receipt_of(handle: &str) -> Result<(&str, &str), ApiError> {
    handle
        .split_once('/')
        .ok_or_else(|| ApiError::new(400, "ReceiptHandleIsInvalid", "The input receipt handle is invalid."))
}

fn delete_message(cx: &mut Context<'_>, request: &DeleteMessage) -> Result<Value, ApiError> {
    let (id, receipt) = receipt_of(&request.receipt_handle)?;
    cx.queue(&request.queue_url)?.delete(id, receipt);
    Ok(json!({}))
}

fn delete_message_batch(cx: &mut Context<'_>, request: &DeleteMessageBatch) -> Result<Value, ApiError> {
    send::check_batch(request.entries.iter().map(|entry| entry.id.as_str()))?;
    let queue = cx.queue(&request.queue_url)?;
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in &request.entries {
        match receipt_of(&entry.receipt_handle) {
            Ok((id, receipt)) => {
                queue.delete(id, receipt);
                successful.push(json!({"Id": entry.id}));
            }
            Err(error) => failed.push(send::failed_entry(&entry.id, &error, true)),
        }
    }
    Ok(json!({"Successful": successful, "Failed": failed}))
}

fn change_message_visibility(cx: &mut Context<'_>, request: &ChangeMessageVisibility) -> Result<Value, ApiError> {
    let span = seconds_within("VisibilityTimeout", request.visibility_timeout, MAX_VISIBILITY_SECONDS)?;
    let (id, receipt) = receipt_of(&request.receipt_handle)?;
    let until = cx.now.plus(span);
    match cx.queue(&request.queue_url)?.hide_until(id, receipt, until) {
        true => Ok(json!({})),
        false => Err(ApiError::new(400, "MessageNotInflight", "The specified message isn't in flight.")
            .with_query_code("AWS.SimpleQueueService.MessageNotInflight")),
    }
}
