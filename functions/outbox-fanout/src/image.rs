//! The images of a stream record as the store reads items.

use std::collections::HashMap;

use aws_lambda_events::event::dynamodb::EventRecord;
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::order::Order;
use expiry_store::{DecodeError, decode, names};

/// One image of one row.
pub(crate) struct Image(HashMap<String, AttributeValue>);

/// The row as it is now; `None` when it was removed.
pub(crate) fn new(record: &EventRecord) -> Option<Image> {
    image(&record.change.new_image)
}

/// The row as it was; `None` when it is new.
pub(crate) fn old(record: &EventRecord) -> Option<Image> {
    image(&record.change.old_image)
}

fn image(item: &serde_dynamo::Item) -> Option<Image> {
    (!item.inner().is_empty()).then(|| Image(item.clone().into()))
}

impl Image {
    /// The order in it; `None` when the row is not an order.
    pub(crate) fn order(&self) -> Option<Result<Order, DecodeError>> {
        let is_order = matches!(self.0.get(names::SK), Some(AttributeValue::S(sk)) if sk == "O");
        is_order.then(|| decode(&self.0))
    }
}
