//! DynamoDB Streams: the streams of all tables and the operations on them.

use std::collections::BTreeMap;

use expiry_core::time::Timestamp;
use serde_json::{Value, json};

use super::feed::{Change, Feed, MAX_RECORDS, SHARD};
use crate::cloud::wire::ApiError;

/// Every stream, by its table.
#[derive(Debug)]
pub(super) struct Streams {
    by_table: BTreeMap<String, Feed>,
    /// The last sequence number given.
    last_number: u64,
}

impl Streams {
    /// No streams yet. Sequence numbers go on from `now`, so that they grow from one start to the next.
    pub(super) fn new(now: Timestamp) -> Streams {
        let last_number = u64::try_from(now.as_millis()).unwrap_or(0).saturating_mul(1_000);
        Streams { by_table: BTreeMap::new(), last_number }
    }

    pub(super) fn insert(&mut self, table: &str, feed: Feed) {
        self.by_table.insert(table.to_owned(), feed);
    }

    pub(super) fn remove(&mut self, table: &str) {
        self.by_table.remove(table);
    }

    /// The stream of `table`, if it has one.
    pub(super) fn of_table(&self, table: &str) -> Option<&Feed> {
        self.by_table.get(table)
    }

    /// Records what changed in `table`; `false` when nothing did.
    pub(super) fn record(&mut self, table: &str, change: Change, region: &str, at: Timestamp) -> bool {
        let Streams { by_table, last_number } = self;
        let number = || {
            *last_number += 1;
            *last_number
        };
        by_table.get_mut(table).is_some_and(|feed| feed.record(change, region, at, number))
    }

    /// How many records each stream has had.
    pub(super) fn written(&self) -> BTreeMap<String, u64> {
        self.by_table.iter().map(|(table, feed)| (table.clone(), feed.end())).collect()
    }

    /// Carries out one operation.
    pub(super) fn execute(&mut self, operation: &str, body: &Value, now: Timestamp) -> Result<Value, ApiError> {
        self.by_table.values_mut().for_each(|feed| feed.trim(now));
        match operation {
            "ListStreams" => Ok(self.list(body)),
            "DescribeStream" => self.describe(body),
            "GetShardIterator" => self.shard_iterator(body),
            "GetRecords" => self.records(body),
            other => Err(invalid(format!("{other} is no operation of DynamoDB Streams"))),
        }
    }

    fn named(&self, arn: &str) -> Result<(&String, &Feed), ApiError> {
        self.by_table.iter().find(|(_, feed)| feed.arn == arn).ok_or_else(|| no_such_stream(arn))
    }

    fn list(&self, body: &Value) -> Value {
        let asked = body.get("TableName").and_then(Value::as_str);
        let streams: Vec<Value> = (self.by_table.iter())
            .filter(|(table, _)| asked.is_none_or(|asked| asked == *table))
            .map(|(table, feed)| json!({"StreamArn": feed.arn, "StreamLabel": feed.label, "TableName": table}))
            .collect();
        json!({ "Streams": streams })
    }

    fn describe(&self, body: &Value) -> Result<Value, ApiError> {
        let (table, feed) = self.named(text(body, "StreamArn"))?;
        // An open shard states where it starts and has no end.
        let range = feed.first_number().map_or(json!({}), |first| json!({"StartingSequenceNumber": first}));
        Ok(json!({"StreamDescription": {
            "StreamArn": feed.arn,
            "StreamLabel": feed.label,
            "StreamStatus": "ENABLED",
            "StreamViewType": feed.view.0,
            "TableName": table,
            "KeySchema": key_schema(&feed.key_names),
            "Shards": [{"ShardId": SHARD, "SequenceNumberRange": range}],
        }}))
    }

    /// An iterator is `<table>:<position>`.
    fn shard_iterator(&self, body: &Value) -> Result<Value, ApiError> {
        let (table, feed) = self.named(text(body, "StreamArn"))?;
        if text(body, "ShardId") != SHARD {
            return Err(no_such_stream(text(body, "ShardId")));
        }
        let number = text(body, "SequenceNumber");
        let position = match text(body, "ShardIteratorType") {
            "TRIM_HORIZON" => feed.horizon(),
            "LATEST" => feed.end(),
            "AT_SEQUENCE_NUMBER" if !number.is_empty() => feed.position(|found| found >= number),
            "AFTER_SEQUENCE_NUMBER" if !number.is_empty() => feed.position(|found| found > number),
            other => {
                return Err(invalid(format!("Invalid ShardIteratorType {other:?} or SequenceNumber {number:?}")));
            }
        };
        Ok(json!({"ShardIterator": format!("{table}:{position}")}))
    }

    fn records(&self, body: &Value) -> Result<Value, ApiError> {
        let iterator = text(body, "ShardIterator");
        let broken = || invalid("Invalid ShardIterator");
        let (table, position) = iterator.rsplit_once(':').ok_or_else(broken)?;
        let position: u64 = position.parse().map_err(|_| broken())?;
        let limit = match body.get("Limit") {
            None | Some(Value::Null) => MAX_RECORDS,
            Some(limit) => (limit.as_u64().and_then(|limit| usize::try_from(limit).ok()))
                .filter(|limit| (1..=MAX_RECORDS).contains(limit))
                .ok_or_else(|| invalid(format!("Limit must be 1 to {MAX_RECORDS}")))?,
        };
        let records = self.by_table.get(table).ok_or_else(|| no_such_stream(table))?.read(position, limit)?;
        let next = position + u64::try_from(records.len()).unwrap_or(0);
        Ok(json!({"Records": records, "NextShardIterator": format!("{table}:{next}")}))
    }
}

fn key_schema(names: &[String]) -> Vec<Value> {
    names.iter().zip(["HASH", "RANGE"]).map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind})).collect()
}

fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "ValidationException", message)
}

fn no_such_stream(name: &str) -> ApiError {
    ApiError::new(400, "ResourceNotFoundException", format!("Requested resource not found: Stream: {name}"))
}
