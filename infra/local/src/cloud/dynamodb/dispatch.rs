//! Operations by name.

use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Carries out `operation` and answers its JSON.
pub(super) fn execute(database: &Database, operation: &str, body: &str) -> Result<String, DynoxideError> {
    let db = database;
    match operation {
        "CreateTable" => run(body, |request| db.create_table(request)),
        "DeleteTable" => run(body, |request| db.delete_table(request)),
        "DescribeTable" => run(body, |request| db.describe_table(request)),
        "ListTables" => run(body, |request| db.list_tables(request)),
        "UpdateTimeToLive" => run(body, |request| db.update_time_to_live(request)),
        "DescribeTimeToLive" => run(body, |request| db.describe_time_to_live(request)),
        "GetItem" => run(body, |request| db.get_item(request)),
        "PutItem" => run(body, |request| db.put_item(request)),
        "UpdateItem" => run(body, |request| db.update_item(request)),
        "DeleteItem" => run(body, |request| db.delete_item(request)),
        "Query" => run(body, |request| db.query(request)),
        "Scan" => run(body, |request| db.scan(request)),
        "BatchGetItem" => run(body, |request| db.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| db.batch_write_item(request)),
        "TransactGetItems" => run(body, |request| db.transact_get_items(request)),
        "TransactWriteItems" => run(body, |request| db.transact_write_items(request)),
        other => Err(DynoxideError::ValidationException(format!("{other} is not part of the embedded DynamoDB"))),
    }
}

fn run<Q: DeserializeOwned, A: Serialize>(
    body: &str,
    operation: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_str(body).map_err(|error| unreadable(&error.to_string()))?;
    let answer = operation(request)?;
    serde_json::to_string(&answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// What the engine's readers of requests mark their messages with to name the class of the error.
const VALIDATION_MARKS: [&str; 3] = ["VALIDATION_AS_READ:", "VALIDATION_REQUEST:", "VALIDATION:"];
const SERIALIZATION_MARKS: [&str; 2] = ["SERIALIZATION_AS_READ:", "SERIALIZATION:"];

/// A request that cannot be read. The SDK builds requests by their types, so what remains is a value DynamoDB refuses.
fn unreadable(message: &str) -> DynoxideError {
    let marked = |marks: &[&str]| marks.iter().find_map(|mark| message.strip_prefix(mark).map(str::to_owned));
    if let Some(message) = marked(&SERIALIZATION_MARKS) {
        return DynoxideError::SerializationException(message);
    }
    DynoxideError::ValidationException(marked(&VALIDATION_MARKS).unwrap_or_else(|| message.to_owned()))
}
