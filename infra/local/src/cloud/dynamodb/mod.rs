//! DynamoDB and DynamoDB Streams: the engine `dynoxide`, and around it what it lacks or does otherwise.
//!
//! - Operations by name ([`dispatch`]), our own region and account in every ARN.
//! - `ClientRequestToken`s that age on the movable clock ([`tokens`]).
//! - Streams ([`streams`], [`feed`]). The engine's own slow down with every record ever written and record writes that change
//!   nothing, so they stay off: an item is read before and after each write, under one lock, and the difference is the record.
//!   Records live in memory: a restart loses what nobody has read yet, as it loses queues and schedules.

mod dispatch;
mod feed;
mod streams;
mod tables;
mod tokens;
mod written;

use std::collections::BTreeMap;
use std::sync::Mutex;

use dynoxide::{Database, DynoxideError};
use expiry_core::time::Clock;
use serde_json::{Value, json};

use self::feed::Change;
use self::streams::Streams;
use self::tokens::Tokens;
use self::written::{Written, written_by};
use super::locked;
use super::names::Names;
use super::wire::Answer;
use crate::clock::MovableClock;

/// The embedded DynamoDB.
pub(crate) struct DynamoDb {
    database: Database,
    clock: MovableClock,
    names: Names,
    tokens: Mutex<Tokens>,
    streams: Mutex<Streams>,
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
        match locked(&self.streams).execute(operation, body) {
            Ok(body) => Answer::ok(&body),
            Err(error) => error.into_answer(),
        }
    }

    /// How many records each table's stream has shown readers since the start, by table.
    pub(crate) fn records_written(&self) -> BTreeMap<String, u64> {
        locked(&self.streams).written()
    }

    /// Carries out an operation and records what it changed in tables that have a stream.
    fn write(&self, operation: &str, body: &Value, lose_records: bool) -> Result<String, DynoxideError> {
        let written: Vec<(Written<'_>, Value)> = {
            let streams = locked(&self.streams);
            let key =
                |written: Written<'_>| streams.of_table(written.table).and_then(|feed| written.key(&feed.key_names));
            written_by(operation, body).into_iter().filter_map(|written| Some((written, key(written)?))).collect()
        };
        if written.is_empty() || lose_records {
            return self.run_under_token(operation, body);
        }
        let _turn = locked(&self.turn);
        let before: Vec<Option<Value>> = written.iter().map(|(item, key)| self.item(item.table, key)).collect();
        let outcome = self.run_under_token(operation, body);
        if outcome.is_ok() {
            for ((item, key), old) in written.into_iter().zip(before) {
                let new = self.item(item.table, &key);
                let change = Change { key, old, new };
                locked(&self.streams).record(item.table, change, &self.names.region, self.clock.now());
            }
        }
        outcome
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

fn error_answer(error: &DynoxideError) -> Answer {
    let code = error.error_type().rsplit('#').next().unwrap_or_default().to_owned();
    Answer { status: error.status_code(), headers: vec![("x-amzn-errortype", code)], body: error.to_json() }
}
