//! Orders and resources in DynamoDB: load, commit, and nothing decided here (DESIGN §6).

mod codec;
mod commit;
mod contention;
mod due;
mod error;
mod expression;
mod journal;
mod load;
mod meter;
mod operation;
mod resources;
mod rows;
mod scan_state;
mod tables;

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::ids::IdSource;
use expiry_core::order::Order;

pub use codec::{DecodeError, decode, names};
pub use due::{DueHit, DuePage, DuePosition};
pub use error::{CommitError, CreateError, ReadError, Unavailable};
pub use journal::{Entry, EntryKind, Finding, TimelinePage};
pub use meter::WriteMeter;
pub use resources::{Counter, CounterEditError, Coupon, CouponEdit};
pub use scan_state::ScanState;
pub use tables::{CreateTablesError, DUE_INDEX, Tables, create_tables};

/// The database as the system uses it.
#[derive(Debug)]
pub struct Store {
    client: Client,
    tables: Tables,
    ids: Arc<dyn IdSource>,
    meter: WriteMeter,
}

/// An order as it was read or written, with the item it came from: what this program does not know of it survives its writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The order.
    pub order: Order,
    item: HashMap<String, AttributeValue>,
}

impl Store {
    /// A store over `client`.
    #[must_use]
    pub fn new(client: Client, tables: Tables, ids: Arc<dyn IdSource>) -> Store {
        Store { client, tables, ids, meter: WriteMeter::default() }
    }

    /// What its writes have cost so far.
    #[must_use]
    pub fn meter(&self) -> &WriteMeter {
        &self.meter
    }
}
