//! DynamoDB and DynamoDB Streams: the engine `dynoxide`, and around it what it lacks or does otherwise.
//!
//! - Operations by name ([`dispatch`]), our own region and account in every ARN.
//! - `ClientRequestToken`s that age on the movable clock ([`tokens`]).
//! - Streams ([`streams`], [`feed`]). The engine's own slow down with every record ever written and record writes that change
//!   nothing, so they stay off: an item is read before and after each write, under one lock, and the difference is the record.
//!   Records live in memory: a restart loses what nobody has read yet, as it loses queues and schedules.

mod dispatch;
mod feed;
mod replica;
mod streams;
mod tables;
mod tokens;
mod written;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use dynoxide::{Database, DynoxideError};
use expiry_core::time::Clock;
use serde_json::{Value, json};

use self::feed::Change;
use self::replica::Replica;
use self::streams::Streams;
use self::tables::Tables;
use self::tokens::Tokens;
use self::written::{Written, written_by};
use super::locked;
use super::names::Names;
use super::observer::{Write, WriteObserver};
use super::wire::Answer;
use crate::clock::MovableClock;

/// The embedded DynamoDB.
pub(crate) struct DynamoDb {
    database: Database,
    clock: MovableClock,
    names: Names,
    tables: Mutex<Tables>,
    tokens: Mutex<Tokens>,
    streams: Mutex<Streams>,
    /// They see every write; without any nothing is read for them.
    observers: Mutex<Vec<WriteObserver>>,
    /// Every item that was written while somebody watched, as it is.
    seen: Mutex<BTreeMap<(String, String), Option<Value>>>,
    /// What eventually consistent reads are answered from while they are stale.
    replica: Mutex<Option<Replica>>,
    /// Held from the reading before a write to the reading after it.
    turn: Mutex<()>,
}

impl DynamoDb {
    /// Carries out one operation of DynamoDB. With `lose_records`, no reader of a stream will ever see what it wrote.
    pub(crate) fn execute(&self, operation: &str, body: &Value, lose_records: bool) -> Answer {
        let answer = match operation {
            "CreateTable" => self.create_table(body),
            "DescribeTable" => self.run(operation, body).map(|answer| self.with_stream(answer)),
            "DeleteTable" => self.run(operation, body).inspect(|_| locked(&self.streams).remove(tables::named(body))),
            _ => self.write(operation, body, lose_records),
        };
        match answer {
            Ok(text) => Answer::json(200, self.with_own_names(text)),
            Err(error) => error_answer(&error),
        }
    }

    /// Carries out one operation of DynamoDB Streams.
    pub(crate) fn execute_streams(&self, operation: &str, body: &Value) -> Answer {
        match locked(&self.streams).execute(operation, body, self.clock.now()) {
            Ok(body) => Answer::ok(&body),
            Err(error) => error.into_answer(),
        }
    }

    /// How many records each table's stream has shown readers since the start, by table.
    pub(crate) fn records_written(&self) -> BTreeMap<String, u64> {
        locked(&self.streams).written()
    }

    /// Lets `observer` see every write from now on.
    pub(crate) fn observe(&self, observer: WriteObserver) {
        locked(&self.observers).push(observer);
    }

    /// Carries out a read as a replica would that lacks the writes of the last `lag`; a strongly consistent read never is stale.
    pub(crate) fn execute_stale(&self, operation: &str, body: &Value, lag: Duration) -> Answer {
        let is_stale = matches!(operation, "GetItem" | "Query" | "BatchGetItem") && !asks_for_consistency(body);
        match &mut *locked(&self.replica) {
            Some(replica) if is_stale => {
                let seen = replica.read(operation, body, self.clock.now().minus(lag));
                seen.map_or_else(|error| error_answer(&error), |text| Answer::json(200, self.with_own_names(text)))
            }
            Some(_) | None => self.execute(operation, body, false),
        }
    }

    /// Keeps a replica from now on, so that reads can be stale.
    pub(crate) fn keep_replica(&self) -> Result<(), DynoxideError> {
        let replica = Replica::of(&self.database, &locked(&self.tables))?;
        *locked(&self.replica) = Some(replica);
        Ok(())
    }

    /// Carries out an operation, records what it changed in tables that have a stream, and shows it to who watches.
    fn write(&self, operation: &str, body: &Value, lose_records: bool) -> Result<String, DynoxideError> {
        let is_watched = !locked(&self.observers).is_empty() || locked(&self.replica).is_some();
        let written: Vec<(Written<'_>, Value)> = {
            let (tables, streams) = (locked(&self.tables), locked(&self.streams));
            let is_recorded = |table: &str| is_watched || (!lose_records && streams.of_table(table).is_some());
            let with_key = |written: Written<'_>| written.key(tables.key_names(written.table)?);
            let of_interest = written_by(operation, body).into_iter().filter(|written| is_recorded(written.table));
            of_interest.filter_map(|written| Some((written, with_key(written)?))).collect()
        };
        if written.is_empty() {
            return self.run_under_token(operation, body);
        }
        let _turn = locked(&self.turn);
        let before: Vec<Option<Value>> = written.iter().map(|(item, key)| self.last_seen(item.table, key)).collect();
        let outcome = self.run_under_token(operation, body);
        if outcome.is_ok() {
            let changes = written.into_iter().zip(before).map(|((item, key), old)| {
                let new = self.item(item.table, &key);
                (item.table, Change { key, old, new })
            });
            let changes: Vec<(&str, Change)> = changes.collect();
            if is_watched {
                self.show(&changes);
                let mut seen = locked(&self.seen);
                seen.extend(changes.iter().map(|(table, change)| (seen_key(table, &change.key), change.new.clone())));
            }
            for (table, change) in changes.into_iter().filter(|_| !lose_records) {
                locked(&self.streams).record(table, change, &self.names.region, self.clock.now());
            }
        }
        outcome
    }

    /// The item as it was last seen by who watches: every write since was seen, so it is still so.
    fn last_seen(&self, table: &str, key: &Value) -> Option<Value> {
        let seen = locked(&self.seen).get(&seen_key(table, key)).cloned();
        seen.unwrap_or_else(|| self.item(table, key))
    }

    /// Shows what one call changed to the replica and to the observers.
    fn show(&self, changes: &[(&str, Change)]) {
        if let Some(replica) = &mut *locked(&self.replica) {
            for (table, change) in changes {
                replica.wrote(self.clock.now(), table, change);
            }
        }
        let observers = &mut *locked(&self.observers);
        if !observers.is_empty() {
            let write = |(table, change): &(&str, Change)| Write {
                table: (*table).to_owned(),
                key: change.key.clone(),
                old: change.old.clone(),
                new: change.new.clone(),
            };
            let writes: Vec<Write> =
                changes.iter().filter(|(_, change)| change.event_name().is_some()).map(write).collect();
            if !writes.is_empty() {
                observers.iter_mut().for_each(|observer| observer(&writes));
            }
        }
    }

    /// Carries out an operation; a transaction under the engine's token for its caller's token.
    fn run_under_token(&self, operation: &str, body: &Value) -> Result<String, DynoxideError> {
        let token = match operation {
            "TransactWriteItems" => body.get("ClientRequestToken").and_then(Value::as_str),
            _ => None,
        };
        let Some(token) = token else {
            return self.run(operation, body);
        };
        let claim = locked(&self.tokens).claim(token, self.clock.now());
        let mut body = body.clone();
        body["ClientRequestToken"] = Value::from(claim.engine_token.clone());
        let outcome = self.run(operation, &body);
        if outcome.is_err() {
            locked(&self.tokens).failed(token, &claim);
        }
        outcome
    }

    fn run(&self, operation: &str, body: &Value) -> Result<String, DynoxideError> {
        dispatch::execute(&self.database, operation, &body.to_string())
    }

    /// The item of this key, as it is now.
    fn item(&self, table: &str, key: &Value) -> Option<Value> {
        let read = json!({"TableName": table, "Key": key, "ConsistentRead": true});
        let answer: Value = serde_json::from_str(&self.run("GetItem", &read).ok()?).ok()?;
        answer.get("Item").cloned()
    }

    /// The engine's fixed region and account, replaced by ours.
    fn with_own_names(&self, text: String) -> String {
        const ENGINE_PREFIX: &str = "arn:aws:dynamodb:dynoxide:000000000000:";
        match text.contains(ENGINE_PREFIX) {
            true => text.replace(ENGINE_PREFIX, &self.names.dynamodb_arn_prefix()),
            false => text,
        }
    }
}

/// What an item is remembered under.
fn seen_key(table: &str, key: &Value) -> (String, String) {
    (table.to_owned(), key.to_string())
}

/// Whether a read asks for a strongly consistent answer; a batch does when any of its tables does.
fn asks_for_consistency(body: &Value) -> bool {
    let asks = |request: &Value| request.get("ConsistentRead") == Some(&Value::Bool(true));
    let tables = body.get("RequestItems").and_then(Value::as_object);
    asks(body) || tables.is_some_and(|tables| tables.values().any(asks))
}

fn error_answer(error: &DynoxideError) -> Answer {
    let code = error.error_type().rsplit('#').next().unwrap_or_default().to_owned();
    Answer { status: error.status_code(), headers: vec![("x-amzn-errortype", code)], body: error.to_json() }
}
