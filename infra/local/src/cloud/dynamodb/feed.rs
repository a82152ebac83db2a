//! The stream of one table: its records in order, in memory.

use std::collections::VecDeque;

use expiry_core::time::Timestamp;
use serde_json::{Value, json};

use crate::cloud::wire::ApiError;

/// How many records a stream keeps; readers that are further behind are told that their records are trimmed.
const KEPT_RECORDS: usize = 100_000;
/// How long a stream keeps a record, in seconds.
const RETENTION_SECONDS: i64 = 24 * 3_600;
/// How many records one GetRecords answers at most.
pub(super) const MAX_RECORDS: usize = 1_000;
/// The name of a stream's only shard.
pub(super) const SHARD: &str = "shardId-00000000000000000000-00000001";

/// Which images a stream's records carry: its `StreamViewType`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View(pub(super) String);

impl View {
    fn has_new(&self) -> bool {
        matches!(self.0.as_str(), "NEW_IMAGE" | "NEW_AND_OLD_IMAGES")
    }

    fn has_old(&self) -> bool {
        matches!(self.0.as_str(), "OLD_IMAGE" | "NEW_AND_OLD_IMAGES")
    }
}

/// One write of one item: its key, and the item before and after.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) key: Value,
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

impl Change {
    /// What happened; `None` when nothing did, of which DynamoDB keeps no record.
    pub(super) fn event_name(&self) -> Option<&'static str> {
        match (&self.old, &self.new) {
            (None, None) => None,
            (None, Some(_)) => Some("INSERT"),
            (Some(_), None) => Some("REMOVE"),
            (Some(old), Some(new)) => (normal(old) != normal(new)).then_some("MODIFY"),
        }
    }
}

/// A value with the members of every set in order, since sets have none.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| match (name.as_str(), member) {
                ("SS" | "NS" | "BS", Value::Array(set)) => {
                    let mut set: Vec<String> = set.iter().map(Value::to_string).collect();
                    set.sort_unstable();
                    (name.clone(), json!(set))
                }
                _ => (name.clone(), normal(member)),
            })
            .collect(),
        Value::Array(members) => members.iter().map(normal).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// One stream.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) arn: String,
    pub(super) label: String,
    pub(super) view: View,
    /// The names of the table's key attributes.
    pub(super) key_names: Vec<String>,
    /// How many records left the front of `records`.
    trimmed: u64,
    records: VecDeque<Value>,
}

impl Feed {
    pub(super) fn new(arn: String, label: String, view: View, key_names: Vec<String>) -> Feed {
        Feed { arn, label, view, key_names, trimmed: 0, records: VecDeque::new() }
    }

    /// Adds the record of a change under the sequence number that `number` makes; `false` when nothing changed.
    pub(super) fn record(&mut self, change: Change, region: &str, at: Timestamp, number: impl FnOnce() -> u64) -> bool {
        let Some(event_name) = change.event_name() else {
            return false;
        };
        let number = number();
        let size = [Some(&change.key), change.old.as_ref(), change.new.as_ref()];
        let size: usize = size.into_iter().flatten().map(|image| image.to_string().len()).sum();
        let mut dynamodb = json!({
            "ApproximateCreationDateTime": at.as_seconds(),
            "Keys": change.key,
            "SequenceNumber": sequence_text(number),
            "SizeBytes": size,
            "StreamViewType": self.view.0,
        });
        if let Some(old) = change.old.filter(|_| self.view.has_old()) {
            dynamodb["OldImage"] = old;
        }
        if let Some(new) = change.new.filter(|_| self.view.has_new()) {
            dynamodb["NewImage"] = new;
        }
        self.records.push_back(json!({
            "eventID": format!("{number:032x}"),
            "eventName": event_name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": region,
            "dynamodb": dynamodb,
        }));
        if self.records.len() > KEPT_RECORDS {
            self.records.pop_front();
            self.trimmed += 1;
        }
        true
    }

    /// Forgets what is older than the stream's retention at `now`.
    pub(super) fn trim(&mut self, now: Timestamp) {
        let horizon = now.as_seconds() - RETENTION_SECONDS;
        let is_old = |record: &mut Value| {
            record
                .pointer("/dynamodb/ApproximateCreationDateTime")
                .and_then(Value::as_i64)
                .is_some_and(|at| at < horizon)
        };
        while self.records.pop_front_if(is_old).is_some() {
            self.trimmed += 1;
        }
    }

    /// The position after the last record: how many records there have been.
    pub(super) fn end(&self) -> u64 {
        // A count of records in memory fits.
        self.trimmed + u64::try_from(self.records.len()).unwrap_or(u64::MAX)
    }

    /// The position of the oldest record that is left.
    pub(super) fn horizon(&self) -> u64 {
        self.trimmed
    }

    /// The position of the first record whose sequence number `is_wanted`, or the end.
    pub(super) fn position(&self, is_wanted: impl Fn(&str) -> bool) -> u64 {
        let found = self.records.iter().position(|record| is_wanted(number_of(record)));
        found.and_then(|index| u64::try_from(index).ok()).map_or(self.end(), |index| self.trimmed + index)
    }

    /// Up to `limit` records from `position` on.
    pub(super) fn read(&self, position: u64, limit: usize) -> Result<Vec<&Value>, ApiError> {
        let skipped = position.checked_sub(self.trimmed).ok_or_else(|| {
            ApiError::new(400, "TrimmedDataAccessException", "The records before the trim horizon are gone")
        })?;
        Ok(self.records.iter().skip(usize::try_from(skipped).unwrap_or(usize::MAX)).take(limit).collect())
    }

    /// The sequence number of the oldest record that is left.
    pub(super) fn first_number(&self) -> Option<&str> {
        self.records.front().map(number_of)
    }
}

/// A sequence number as text: 21 digits, so that text order is its order.
fn sequence_text(number: u64) -> String {
    format!("1{number:020}")
}

fn number_of(record: &Value) -> &str {
    record.pointer("/dynamodb/SequenceNumber").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn event(old: Value, new: Value) -> Option<&'static str> {
        Change { key: json!({}), old: Some(json!({ "p": old })), new: Some(json!({ "p": new })) }.event_name()
    }

    #[test]
    fn the_order_of_a_set_is_no_change_and_that_of_a_list_is() {
        assert_eq!(event(json!({"SS": ["a", "b"]}), json!({"SS": ["b", "a"]})), None);
        assert_eq!(event(json!({"SS": ["a", "b"]}), json!({"SS": ["b"]})), Some("MODIFY"));
        assert_eq!(
            event(json!({"L": [{"S": "a"}, {"S": "b"}]}), json!({"L": [{"S": "b"}, {"S": "a"}]})),
            Some("MODIFY")
        );
    }

    #[test]
    fn a_record_is_kept_for_a_day() {
        let mut feed = Feed::new(String::new(), String::new(), View("KEYS_ONLY".to_owned()), Vec::new());
        let change = Change { key: json!({}), old: None, new: Some(json!({})) };
        feed.record(change, "us-east-1", Timestamp::EPOCH, || 1);
        let day = Duration::from_secs(24 * 3_600);
        feed.trim(Timestamp::EPOCH.plus(day));
        assert_eq!(feed.read(0, 1).map(|records| records.len()), Ok(1));
        feed.trim(Timestamp::EPOCH.plus(day + Duration::from_secs(1)));
        assert!(feed.read(0, 1).is_err());
        assert_eq!(feed.read(feed.horizon(), 1).map(|records| records.len()), Ok(0));
    }

    #[test]
    fn a_reader_behind_the_trim_horizon_is_told_so() {
        let mut feed = Feed::new(String::new(), String::new(), View("KEYS_ONLY".to_owned()), Vec::new());
        for number in 0..=KEPT_RECORDS {
            let change = Change { key: json!({}), old: None, new: Some(json!({})) };
            feed.record(change, "us-east-1", Timestamp::EPOCH, || u64::try_from(number).expect("fits"));
        }
        assert!(feed.read(0, 1).is_err());
        assert_eq!(feed.read(1, MAX_RECORDS).map(|records| records.len()), Ok(MAX_RECORDS));
        assert_eq!(feed.end(), feed.horizon() + u64::try_from(KEPT_RECORDS).expect("fits"));
    }
}
