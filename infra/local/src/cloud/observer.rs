//! Seeing every write of the database: how a simulation checks invariants after each of them.

use serde_json::Value;

/// One item that a call changed, as JSON of DynamoDB's attribute values.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Its table.
    pub table: String,
    /// Its key.
    pub key: Value,
    /// The item before; `None` when it was not there.
    pub old: Option<Value>,
    /// The item after; `None` when it is gone.
    pub new: Option<Value>,
}

/// Is shown what each call that changed something has changed, once it is done and before anything else is written: all items of a
/// transaction together. It must not call the cloud.
pub type WriteObserver = Box<dyn FnMut(&[Write]) + Send>;
