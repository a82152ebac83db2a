//! The stream poller: records of the orders table become batches of outbox-fanout, in order, and again from the first that failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lambda_events::event::dynamodb::Event;
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{AttributeValue, Record, ShardIteratorType};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expiry_runtime::logs::chain;
use serde_json::{Map, Value, json};

use super::Signal;
use crate::functions::Functions;
use crate::settings::{ORDERS_TABLE, REGION};

/// Records of one batch.
const BATCH: i32 = 100;
/// How long the poller rests before it offers a batch again that failed.
const REST: Duration = Duration::from_millis(100);

/// How far the stream was read and handled. Clones share it; it outlives its reader.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Reached>);

#[derive(Debug, Default)]
struct Reached {
    records: AtomicU64,
    /// The sequence number of the last record that was handled.
    last: Mutex<Option<String>>,
}

impl Progress {
    /// Records handled so far.
    #[must_use]
    pub fn handled(&self) -> u64 {
        self.0.records.load(Ordering::SeqCst)
    }

    /// The next reader begins with the oldest record.
    pub(crate) fn forget(&self) {
        *self.last() = None;
    }

    fn handled_these(&self, records: &[Record]) {
        self.0.records.fetch_add(records.len() as u64, Ordering::SeqCst);
        *self.last() = records.last().and_then(sequence).map(str::to_owned);
    }

    fn last(&self) -> MutexGuard<'_, Option<String>> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a stream cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the stream of {ORDERS_TABLE} {0}")]
struct Unreadable(String);

/// How many records the stream has had: without more there is nothing to read. `None` of a cloud that does not say.
pub type RecordsWritten = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// Reads the stream for ever, waiting on `signal` while nothing more is known to be `written`.
pub async fn poll(
    streams: Client,
    functions: Arc<Functions>,
    mut signal: impl Signal,
    written: RecordsWritten,
    progress: Progress,
) {
    let mut iterator = None;
    loop {
        let before = written();
        match read(&streams, &functions, &mut iterator, &progress).await {
            Ok(true) => {}
            Ok(false) => {
                // Also what was trimmed before it could be read: nobody will ever read it.
                before.inspect(|before| progress.0.records.store(*before, Ordering::SeqCst));
                signal.next().await;
                while before.is_some() && written() == before {
                    signal.next().await;
                }
            }
            Err(error) => {
                tracing::warn!(error = %error, "the stream was not read");
                iterator = None;
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// Reads and handles one batch; whether there was one.
async fn read(
    streams: &Client,
    functions: &Functions,
    iterator: &mut Option<String>,
    progress: &Progress,
) -> Result<bool, Unreadable> {
    let at = match iterator.take() {
        Some(at) => at,
        None => start(streams, progress).await?,
    };
    let output = streams.get_records().shard_iterator(&at).limit(BATCH).send().await;
    let output = output.map_err(|error| Unreadable(chain(&error)))?;
    let records = output.records();
    if !records.is_empty() {
        hand_over(functions, records).await;
        progress.handled_these(records);
    }
    *iterator = output.next_shard_iterator().map(str::to_owned);
    Ok(!records.is_empty())
}

/// The iterator of the stream's one open shard, after the last record that was handled, or from its oldest one on.
async fn start(streams: &Client, progress: &Progress) -> Result<String, Unreadable> {
    let failed = |error: &dyn std::error::Error| Unreadable(chain(error));
    let listed = streams.list_streams().table_name(ORDERS_TABLE).send().await.map_err(|error| failed(&error))?;
    let arn = listed.streams().first().and_then(|stream| stream.stream_arn());
    let arn = arn.ok_or_else(|| Unreadable("does not exist".to_owned()))?;
    let described = streams.describe_stream().stream_arn(arn).send().await.map_err(|error| failed(&error))?;
    let shard = described.stream_description().and_then(|stream| stream.shards().last());
    let shard = shard.and_then(|shard| shard.shard_id()).ok_or_else(|| Unreadable("has no shard".to_owned()))?;
    let last = progress.last().clone();
    let from = match last {
        Some(_) => ShardIteratorType::AfterSequenceNumber,
        None => {
            progress.0.records.store(0, Ordering::SeqCst);
            ShardIteratorType::TrimHorizon
        }
    };
    let iterator = streams
        .get_shard_iterator()
        .stream_arn(arn)
        .shard_id(shard)
        .shard_iterator_type(from)
        .set_sequence_number(last)
        .send()
        .await
        .map_err(|error| failed(&error))?;
    iterator.shard_iterator().map(str::to_owned).ok_or_else(|| Unreadable("gave no iterator".to_owned()))
}

/// Offers the records until each is handled: a batch that fails is offered again from its first failed record on.
async fn hand_over(functions: &Functions, records: &[Record]) {
    // The mapping's filter: only order rows (DESIGN §10).
    let mut left: Vec<&Record> = records.iter().filter(|record| is_order(record)).collect();
    while !left.is_empty() {
        let event = match event_of(&left) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(%error, "stream records that are no event");
                return;
            }
        };
        let failed_at = match functions.outbox_fanout.handle(event).await {
            Ok(response) => match response.batch_item_failures.into_iter().next() {
                None => return,
                Some(failure) => failure.item_identifier,
            },
            Err(error) => {
                tracing::debug!(%error, "the stream batch failed whole");
                None
            }
        };
        if let Some(sequence_number) = failed_at {
            let failed = left.iter().position(|record| sequence(record) == Some(&sequence_number));
            left.drain(..failed.unwrap_or(0));
        }
        tokio::time::sleep(REST).await;
    }
}

/// The event that Lambda makes of `records`.
///
/// # Errors
/// Never for records that a stream gave: they have every field an event needs.
pub fn event_of(records: &[&Record]) -> Result<Event, serde_json::Error> {
    serde_json::from_value(json!({"Records": records.iter().map(|record| event(record)).collect::<Vec<_>>()}))
}

fn sequence(record: &Record) -> Option<&str> {
    record.dynamodb()?.sequence_number()
}

fn is_order(record: &Record) -> bool {
    let sk = record.dynamodb().and_then(|change| change.keys()).and_then(|keys| keys.get("sk"));
    matches!(sk, Some(AttributeValue::S(sk)) if sk == "O")
}

fn event(record: &Record) -> Value {
    let change = record.dynamodb();
    let image = |image: Option<&HashMap<String, AttributeValue>>| image.map(item);
    let mut dynamodb = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            dynamodb.insert(name.to_owned(), value);
        }
    };
    put("Keys", image(change.and_then(|change| change.keys())));
    put("NewImage", image(change.and_then(|change| change.new_image())));
    put("OldImage", image(change.and_then(|change| change.old_image())));
    put("SequenceNumber", sequence(record).map(Value::from));
    put("SizeBytes", Some(Value::from(change.and_then(|change| change.size_bytes()).unwrap_or(0))));
    put("StreamViewType", Some(Value::from("NEW_AND_OLD_IMAGES")));
    put("ApproximateCreationDateTime", Some(Value::from(0)));
    json!({
        "eventID": record.event_id(),
        "eventName": record.event_name().map(|name| name.as_str()),
        "eventVersion": record.event_version(),
        "eventSource": "aws:dynamodb",
        "eventSourceARN": format!("arn:aws:dynamodb:{REGION}:000000000000:table/{ORDERS_TABLE}/stream/local"),
        "awsRegion": REGION,
        "dynamodb": dynamodb,
    })
}

fn item(item: &HashMap<String, AttributeValue>) -> Value {
    Value::Object(item.iter().map(|(name, value)| (name.clone(), attribute(value))).collect())
}

#[allow(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is not exhaustive")]
fn attribute(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(value) => json!({"BOOL": value}),
        AttributeValue::Null(value) => json!({"NULL": value}),
        AttributeValue::B(bytes) => json!({"B": STANDARD.encode(bytes)}),
        AttributeValue::Ss(texts) => json!({"SS": texts}),
        AttributeValue::Ns(numbers) => json!({"NS": numbers}),
        AttributeValue::Bs(blobs) => {
            json!({"BS": blobs.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>()})
        }
        AttributeValue::L(values) => json!({"L": values.iter().map(attribute).collect::<Vec<_>>()}),
        AttributeValue::M(map) => json!({"M": item(map)}),
        // What this SDK does not know cannot be in a table that this SDK wrote.
        _ => Value::Null,
    }
}
