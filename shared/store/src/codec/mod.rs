//! The order as a DynamoDB item, and back (DESIGN §6).

mod attribute;
mod codes;
mod decode;
mod encode;
pub mod names;
mod overlay;
#[cfg(test)]
mod tests;

pub use attribute::DecodeError;
pub(crate) use attribute::{Item, Reader, boolean, bytes, millis, number, text};
pub use decode::decode;
pub(crate) use encode::{encode, order_pk};
pub(crate) use overlay::overlay;

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::order::OrderStatus;

/// An order's status as it is stored, for conditions.
pub(crate) fn status_code(status: OrderStatus) -> AttributeValue {
    text(codes::Code::code(status))
}
