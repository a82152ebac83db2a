//! A replica that lags: what an eventually consistent read or a query of an index may still see.

use std::collections::VecDeque;

use dynoxide::{Database, DynoxideError};
use expiry_core::time::Timestamp;
use serde_json::{Value, json};

use super::dispatch;
use super::feed::Change;
use super::tables::Tables;

/// The tables without the writes that have not reached it yet.
pub(super) struct Replica {
    database: Database,
    /// What it has not seen yet, the oldest first.
    unseen: VecDeque<Unseen>,
}

/// One write on its way to the replica.
struct Unseen {
    at: Timestamp,
    table: String,
    change: Change,
}

impl Replica {
    /// A copy of `primary` as it is now.
    pub(super) fn of(primary: &Database, tables: &Tables) -> Result<Replica, DynoxideError> {
        let replica = Replica { database: Database::memory()?, unseen: VecDeque::new() };
        for (table, request) in tables.created() {
            dispatch::execute(&replica.database, "CreateTable", &request.to_string())?;
            let scanned = dispatch::execute(primary, "Scan", &json!({"TableName": table}).to_string())?;
            let scanned: Value = serde_json::from_str(&scanned).unwrap_or_default();
            for item in scanned["Items"].as_array().into_iter().flatten() {
                dispatch::execute(
                    &replica.database,
                    "PutItem",
                    &json!({"TableName": table, "Item": item}).to_string(),
                )?;
            }
        }
        Ok(replica)
    }

    /// A write of the primary that the replica will see later.
    pub(super) fn wrote(&mut self, at: Timestamp, table: &str, change: &Change) {
        self.unseen.push_back(Unseen { at, table: table.to_owned(), change: change.clone() });
    }

    /// Carries out a read on what had been written by `seen_until`, or later if a former read has seen more.
    pub(super) fn read(
        &mut self,
        operation: &str,
        body: &Value,
        seen_until: Timestamp,
    ) -> Result<String, DynoxideError> {
        while let Some(write) = self.unseen.pop_front_if(|write| write.at <= seen_until) {
            let table = write.table;
            let (operation, body) = match write.change.new {
                Some(item) => ("PutItem", json!({"TableName": table, "Item": item})),
                None => ("DeleteItem", json!({"TableName": table, "Key": write.change.key})),
            };
            dispatch::execute(&self.database, operation, &body.to_string())?;
        }
        dispatch::execute(&self.database, operation, &body.to_string())
    }
}
