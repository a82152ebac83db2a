//! Opening the database, and tables with their streams.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dynoxide::{Database, DynoxideError};
use expiry_core::time::{Clock, Timestamp};
use serde_json::{Value, json};

use super::DynamoDb;
use super::feed::{Feed, View};
use super::streams::Streams;
use crate::clock::MovableClock;
use crate::cloud::names::Names;
use crate::cloud::{CloudError, locked};

/// The database's file in the data folder.
const FILE: &str = "dynamodb.sqlite";
/// The tag that keeps, with a table, what its stream shows and its label: `<view type>@<label>`.
const STREAM_TAG: &str = "embedded-stream";

/// The tables there are: how each was asked for, and the names of its key attributes.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeMap<String, Table>);

#[derive(Debug)]
struct Table {
    /// The CreateTable request; `None` for a table that was there when the database was opened.
    created_by: Option<Value>,
    key_names: Vec<String>,
}

impl Tables {
    /// The names of the key attributes of `table`.
    pub(super) fn key_names(&self, table: &str) -> Option<&[String]> {
        self.0.get(table).map(|table| table.key_names.as_slice())
    }

    /// Every table this process created: its name and its CreateTable request.
    pub(super) fn created(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().filter_map(|(name, table)| Some((name.as_str(), table.created_by.as_ref()?)))
    }
}

/// The names of the key attributes in a CreateTable request or a description.
fn key_names(described: &Value) -> Vec<String> {
    let key_schema = described["KeySchema"].as_array().into_iter().flatten();
    key_schema.filter_map(|element| element["AttributeName"].as_str()).map(str::to_owned).collect()
}

/// The table a request names.
pub(super) fn named(body: &Value) -> &str {
    body.get("TableName").and_then(Value::as_str).unwrap_or_default()
}

impl DynamoDb {
    /// Opens the database in the folder `data`, or an empty one in memory.
    pub(crate) fn open(data: Option<&Path>, clock: MovableClock, names: Names) -> Result<DynamoDb, CloudError> {
        let database = match data {
            None => Database::memory_with_clock(Arc::new(EngineClock(clock.clone()))),
            Some(folder) => {
                let failed = |source| CloudError::DataFolder { path: folder.to_owned(), source };
                std::fs::create_dir_all(folder).map_err(failed)?;
                let path = folder.join(FILE);
                Database::new(path.to_str().ok_or_else(|| CloudError::DataPath { path: path.clone() })?)
            }
        };
        let failed = |source| CloudError::Database(Box::new(source));
        let streams = Mutex::new(Streams::new(clock.now()));
        let database = database.map_err(failed)?;
        let dynamodb = DynamoDb {
            database,
            clock,
            names,
            tables: Mutex::default(),
            tokens: Mutex::default(),
            streams,
            observers: Mutex::default(),
            seen: Mutex::default(),
            replica: Mutex::default(),
            turn: Mutex::default(),
        };
        dynamodb.find_tables().map_err(failed)?;
        Ok(dynamodb)
    }

    /// Finds again the tables and streams of a database that was there before.
    fn find_tables(&self) -> Result<(), DynoxideError> {
        for table in self.database.list_tables(Default::default())?.table_names {
            let described = self.run("DescribeTable", &json!({ "TableName": table }))?;
            let described = read(&described)?["Table"].take();
            let found = Table { created_by: None, key_names: key_names(&described) };
            locked(&self.tables).0.insert(table.clone(), found);
            let resource_arn = described["TableArn"].as_str().map(str::to_owned);
            let request = dynoxide::actions::list_tags_of_resource::ListTagsOfResourceRequest { resource_arn };
            let tags = self.database.list_tags_of_resource(request)?.tags;
            if let Some((view, label)) =
                tags.iter().find(|tag| tag.key == STREAM_TAG).and_then(|tag| tag.value.split_once('@'))
            {
                self.add_stream(&table, &described, view, label);
            }
        }
        Ok(())
    }

    fn add_stream(&self, table: &str, description: &Value, view: &str, label: &str) {
        let arn = format!("{}table/{table}/stream/{label}", self.names.dynamodb_arn_prefix());
        let feed = Feed::new(arn, label.to_owned(), View(view.to_owned()), key_names(description));
        locked(&self.streams).insert(table, feed);
    }

    /// Creates a table, and its stream here instead of in the engine.
    pub(super) fn create_table(&self, body: &Value) -> Result<String, DynoxideError> {
        let mut plain = body.clone();
        let stream = plain.as_object_mut().and_then(|plain| plain.remove("StreamSpecification"));
        let answer = self.run("CreateTable", &plain)?;
        let created = Table { key_names: key_names(&plain), created_by: Some(plain) };
        locked(&self.tables).0.insert(named(body).to_owned(), created);
        let view = stream.filter(|stream| stream["StreamEnabled"] == true);
        let Some(view) = view.as_ref().and_then(|stream| stream["StreamViewType"].as_str()) else {
            return Ok(answer);
        };
        // Like AWS, the label is the moment of creation without an offset.
        let label = self.clock.now().to_string().trim_end_matches('Z').to_owned();
        let description = read(&answer)?["TableDescription"].take();
        let tag = dynoxide::types::Tag { key: STREAM_TAG.to_owned(), value: format!("{view}@{label}") };
        self.database.tag_resource(dynoxide::actions::tag_resource::TagResourceRequest {
            resource_arn: description["TableArn"].as_str().map(str::to_owned),
            tags: vec![tag],
        })?;
        self.add_stream(named(body), &description, view, &label);
        Ok(self.with_stream(answer))
    }

    /// A description of a table, with its stream.
    pub(super) fn with_stream(&self, answer: String) -> String {
        let Ok(mut answer) = read(&answer) else { return answer };
        let member = if answer.get("Table").is_some() { "Table" } else { "TableDescription" };
        let streams = locked(&self.streams);
        if let Some(feed) = answer[member]["TableName"].as_str().and_then(|table| streams.of_table(table)) {
            let (arn, label, view) = (feed.arn.clone(), feed.label.clone(), feed.view.0.clone());
            answer[member]["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": view});
            answer[member]["LatestStreamArn"] = Value::from(arn);
            answer[member]["LatestStreamLabel"] = Value::from(label);
        }
        answer.to_string()
    }
}

fn read(answer: &str) -> Result<Value, DynoxideError> {
    serde_json::from_str(answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// The movable clock as the engine reads time.
struct EngineClock(MovableClock);

impl EngineClock {
    fn since_epoch(&self) -> Duration {
        self.0.now().since(Timestamp::EPOCH)
    }
}

impl dynoxide::storage_backend::Clock for EngineClock {
    fn now_unix_secs(&self) -> u64 {
        self.since_epoch().as_secs()
    }

    fn now_unix_secs_f64(&self) -> f64 {
        self.since_epoch().as_secs_f64()
    }
}
