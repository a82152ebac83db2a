//! What a written item is.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::order::Order;
use local::cloud::Write;
use local::settings::{ORDERS_TABLE, RESOURCES_TABLE};

/// A written item, as far as invariants speak of it.
#[derive(Debug)]
pub(super) enum Image {
    /// An order.
    Order(Box<Order>),
    /// A counter of stock, points or quota.
    Counter {
        /// Its key, such as `stock#SHIRT/default/default`.
        key: String,
        /// What it holds.
        counter: Counter,
    },
    /// A coupon.
    Coupon {
        /// Its key, such as `coupon#C-1`.
        key: String,
        /// Where it stands.
        status: String,
        /// The order that holds it.
        holder: Option<String>,
    },
    /// The row that makes a channel's transaction one order's.
    Transaction {
        /// Its key, such as `T#sim#txn-1`.
        key: String,
        /// The order and its attempt.
        of: (String, String),
    },
    /// Anything else: cursors, findings, conversations.
    Other,
}

/// The three parts of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counter {
    /// Free to be ordered.
    pub(super) available: u64,
    /// Held by open orders.
    pub(super) reserved: u64,
    /// Gone with paid orders.
    pub(super) sold: u64,
}

impl Counter {
    /// All there is, with what is sold.
    pub(super) fn on_hand(self) -> u64 {
        self.available + self.reserved + self.sold
    }
}

/// Why a written item makes no sense.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it is no item")]
    Item(#[from] serde_json::Error),
    #[error("it is no order")]
    Order(#[from] expiry_store::DecodeError),
    #[error("its {0} is missing or no number")]
    Attribute(&'static str),
    #[error("an order, a counter, a coupon or a transaction was deleted")]
    Deleted,
}

impl Image {
    /// Reads what was written.
    pub(super) fn read(write: &Write) -> Result<Image, Unreadable> {
        let text = |item: &serde_json::Value, name: &str| item[name]["S"].as_str().map(str::to_owned);
        let key = text(&write.key, "pk").unwrap_or_default();
        let kind = text(&write.key, "sk").unwrap_or_default();
        let is_kept = write.table == RESOURCES_TABLE || matches!(kind.as_str(), "O" | "T");
        let Some(item) = write.new.as_ref().filter(|_| is_kept) else {
            return if is_kept { Err(Unreadable::Deleted) } else { Ok(Image::Other) };
        };
        let number = |name: &'static str| {
            let number = item[name]["N"].as_str().and_then(|number| number.parse().ok());
            number.ok_or(Unreadable::Attribute(name))
        };
        if write.table == ORDERS_TABLE && kind == "O" {
            let item: serde_dynamo::Item = serde_json::from_value(item.clone())?;
            let item: HashMap<String, AttributeValue> = item.into();
            return Ok(Image::Order(Box::new(expiry_store::decode(&item)?)));
        }
        if write.table == ORDERS_TABLE {
            let of = text(item, "o").zip(item["a"]["N"].as_str().map(str::to_owned));
            return Ok(Image::Transaction { key, of: of.ok_or(Unreadable::Attribute("order"))? });
        }
        if key.starts_with("coupon#") {
            let status = text(item, "st").ok_or(Unreadable::Attribute("status"))?;
            return Ok(Image::Coupon { key, status, holder: text(item, "ho") });
        }
        let counter = Counter { available: number("av")?, reserved: number("rs")?, sold: number("so")? };
        Ok(Image::Counter { key, counter })
    }
}
