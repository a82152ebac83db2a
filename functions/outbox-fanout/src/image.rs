//! The images of a stream record as the store reads items.

use std::collections::HashMap;

use aws_lambda_events::event::dynamodb::EventRecord;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::order::Order;
use expiry_store::{DecodeError, decode, names};
use serde_dynamo::AttributeValue as Streamed;

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
    let values = item.inner();
    if values.is_empty() {
        return None;
    }
    Some(Image(values.iter().map(|(name, value)| (name.clone(), convert(value))).collect()))
}

impl Image {
    /// The order in it; `None` when the row is not an order.
    pub(crate) fn order(&self) -> Option<Result<Order, DecodeError>> {
        let is_order = matches!(self.0.get(names::SK), Some(AttributeValue::S(sk)) if sk == "O");
        is_order.then(|| decode(&self.0))
    }
}

fn convert(value: &Streamed) -> AttributeValue {
    match value {
        Streamed::N(number) => AttributeValue::N(number.clone()),
        Streamed::S(text) => AttributeValue::S(text.clone()),
        Streamed::Bool(value) => AttributeValue::Bool(*value),
        Streamed::B(bytes) => AttributeValue::B(Blob::new(bytes.clone())),
        Streamed::Null(value) => AttributeValue::Null(*value),
        Streamed::M(map) => AttributeValue::M(map.iter().map(|(name, value)| (name.clone(), convert(value))).collect()),
        Streamed::L(list) => AttributeValue::L(list.iter().map(convert).collect()),
        Streamed::Ss(set) => AttributeValue::Ss(set.clone()),
        Streamed::Ns(set) => AttributeValue::Ns(set.clone()),
        Streamed::Bs(set) => AttributeValue::Bs(set.iter().map(|bytes| Blob::new(bytes.clone())).collect()),
    }
}
