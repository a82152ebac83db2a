//! The rows that change in one transaction with an order: each with its condition, each with the state it leads from and to above it.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use expiry_core::guard;
use expiry_core::ids::{ChannelId, CouponId, TransactionId, UserId};
use expiry_core::order::Order;
use expiry_core::reservation::{CounterKey, CouponStatus};
use expiry_core::row::{CounterChange, CouponChange, OpenOrdersChange, Row};

use crate::codec::names::{PK, SK};
use crate::codec::{boolean, millis, number, text};
use crate::tables::Tables;

/// Attribute names of the rows beside the order.
pub(crate) mod name {
    pub(crate) const AVAILABLE: &str = "av";
    pub(crate) const RESERVED: &str = "rs";
    pub(crate) const SOLD: &str = "so";
    /// The token of the last edit by a person.
    pub(crate) const EDIT: &str = "op";
    pub(crate) const COUPON_USER: &str = "us";
    pub(crate) const VALID_UNTIL: &str = "vu";
    pub(crate) const REFUNDABLE: &str = "rf";
    pub(crate) const CAMPAIGN_ACTIVE: &str = "ac";
    pub(crate) const COUPON_STATUS: &str = "st";
    pub(crate) const HOLDER: &str = "ho";
    pub(crate) const OPEN_ORDERS: &str = "n";
    pub(crate) const TRANSACTION_ORDER: &str = "o";
    pub(crate) const TRANSACTION_ATTEMPT: &str = "a";
    pub(crate) const NOTIFY_ID: &str = "ni";
    pub(crate) const RECORDED_AT_VERSION: &str = "v";
}

/// The key of a counter in the resources table.
pub(crate) fn counter_pk(key: &CounterKey) -> String {
    format!("{}#{key}", key.kind().name())
}

/// The key of a coupon in the resources table.
pub(crate) fn coupon_pk(id: &CouponId) -> String {
    format!("coupon#{id}")
}

pub(crate) fn transaction_pk(channel: &ChannelId, transaction: &TransactionId) -> String {
    format!("T#{channel}#{transaction}")
}

pub(crate) fn user_pk(user: &UserId) -> String {
    format!("U#{user}")
}

/// An update under construction: its expression, condition, names and values.
pub(crate) struct RowUpdate {
    table: String,
    key: Vec<(&'static str, String)>,
    update: String,
    condition: String,
    names: Vec<(&'static str, &'static str)>,
    values: Vec<(&'static str, AttributeValue)>,
}

impl RowUpdate {
    fn build(self) -> Result<TransactWriteItem, BuildError> {
        let mut update = Update::builder()
            .table_name(self.table)
            .update_expression(self.update)
            .condition_expression(self.condition)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for (name, value) in self.key {
            update = update.key(name, AttributeValue::S(value));
        }
        for (placeholder, name) in self.names {
            update = update.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in self.values {
            update = update.expression_attribute_values(placeholder, value);
        }
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }
}

/// Nothing is recorded yet; and what stands instead where that guard is taken away.
const ABSENT: &str = "attribute_not_exists(#pk)";
const ABSENT_OR_NOT: &str = "attribute_not_exists(#pk) OR attribute_exists(#pk)";

/// The coupon is where it leads from; and what stands instead where that guard is taken away.
fn from_there() -> &'static str {
    if guard::COUPON_HOLDER.stands() { "#st = :from" } else { "(#st = :from OR attribute_exists(#st))" }
}

/// The coupon is held by this order; and what stands instead where that guard is taken away.
fn held() -> &'static str {
    if guard::COUPON_HOLDER.stands() { "#ho = :order" } else { "(#ho = :order OR attribute_exists(#st))" }
}

/// The write of `row` beside `order`.
pub(crate) fn transact_item(tables: &Tables, order: &Order, row: &Row) -> Result<TransactWriteItem, BuildError> {
    match row {
        Row::Transaction { channel, transaction, attempt, notify_id } => {
            // absent → recorded, for ever
            let mut put = Put::builder()
                .table_name(&tables.orders)
                .item(PK, text(transaction_pk(channel, transaction)))
                .item(SK, text("T"))
                .item(name::TRANSACTION_ORDER, text(&order.id))
                .item(name::TRANSACTION_ATTEMPT, number(attempt))
                .item(name::RECORDED_AT_VERSION, number(order.version))
                .condition_expression(if guard::REFUND_UNIQUENESS.stands() { ABSENT } else { ABSENT_OR_NOT })
                .expression_attribute_names("#pk", PK)
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            if let Some(notify_id) = notify_id {
                put = put.item(name::NOTIFY_ID, text(notify_id));
            }
            Ok(TransactWriteItem::builder().put(put.build()?).build())
        }
        Row::Counter { key, change } => counter_update(tables, key, *change).build(),
        Row::Coupon { id, change } => coupon_update(tables, order, id, change).build(),
        Row::OpenOrders { user, change } => open_orders_update(tables, user, *change).build(),
    }
}

fn counter_update(tables: &Tables, key: &CounterKey, change: CounterChange) -> RowUpdate {
    let (from, to, quantity) = match change {
        // available ≥ q → available − q, reserved + q
        CounterChange::Reserve(quantity) => (name::AVAILABLE, name::RESERVED, quantity),
        // available ≥ q → available − q, sold + q
        CounterChange::Sell(quantity) => (name::AVAILABLE, name::SOLD, quantity),
        // reserved ≥ q → reserved − q, sold + q
        CounterChange::Confirm(quantity) => (name::RESERVED, name::SOLD, quantity),
        // reserved ≥ q → reserved − q, available + q
        CounterChange::Release(quantity) => (name::RESERVED, name::AVAILABLE, quantity),
    };
    RowUpdate {
        table: tables.resources.clone(),
        key: vec![(PK, counter_pk(key))],
        update: "SET #from = #from - :q, #to = #to + :q".to_owned(),
        condition: "#from >= :q".to_owned(),
        names: vec![("#from", from), ("#to", to)],
        values: vec![(":q", number(quantity.get()))],
    }
}

fn coupon_update(tables: &Tables, order: &Order, id: &CouponId, change: &CouponChange) -> RowUpdate {
    let mut update = RowUpdate {
        table: tables.resources.clone(),
        key: vec![(PK, coupon_pk(id))],
        update: String::new(),
        condition: String::new(),
        names: vec![("#st", name::COUPON_STATUS), ("#ho", name::HOLDER)],
        values: vec![(":order", text(&order.id))],
    };
    match change {
        // AVAILABLE, the user's, valid, campaign running → LOCKED | USED by this order
        CouponChange::Lock { user, now } | CouponChange::UseAtOnce { user, now } => {
            let to = match change {
                CouponChange::UseAtOnce { .. } => CouponStatus::Used,
                CouponChange::Lock { .. } | CouponChange::Use | CouponChange::GiveBack { .. } => CouponStatus::Locked,
            };
            update.update = "SET #st = :to, #ho = :order".to_owned();
            update.condition = format!("{} AND #us = :user AND #vu > :now AND #ac = :yes", from_there());
            update.names.extend([
                ("#us", name::COUPON_USER),
                ("#vu", name::VALID_UNTIL),
                ("#ac", name::CAMPAIGN_ACTIVE),
            ]);
            update.values.extend([
                (":to", text(to.name())),
                (":from", text(CouponStatus::Available.name())),
                (":user", text(user)),
                (":now", millis(*now)),
                (":yes", boolean(true)),
            ]);
        }
        // LOCKED by this order → USED
        CouponChange::Use => {
            update.update = "SET #st = :to".to_owned();
            update.condition = format!("{} AND {}", from_there(), held());
            update
                .values
                .extend([(":to", text(CouponStatus::Used.name())), (":from", text(CouponStatus::Locked.name()))]);
        }
        // LOCKED by this order, on the terms that were read → AVAILABLE | EXPIRED | VOID, held by nobody
        CouponChange::GiveBack { to, terms } => {
            update.update = "SET #st = :to REMOVE #ho".to_owned();
            update.condition = format!("{} AND {} AND #vu = :vu AND #rf = :rf AND #ac = :ac", from_there(), held());
            update.names.extend([
                ("#vu", name::VALID_UNTIL),
                ("#rf", name::REFUNDABLE),
                ("#ac", name::CAMPAIGN_ACTIVE),
            ]);
            update.values.extend([
                (":to", text(to.name())),
                (":from", text(CouponStatus::Locked.name())),
                (":vu", millis(terms.valid_until)),
                (":rf", boolean(terms.refundable)),
                (":ac", boolean(terms.campaign_active)),
            ]);
        }
    }
    update
}

fn open_orders_update(tables: &Tables, user: &UserId, change: OpenOrdersChange) -> RowUpdate {
    let mut update = RowUpdate {
        table: tables.orders.clone(),
        key: vec![(PK, user_pk(user)), (SK, "U".to_owned())],
        update: String::new(),
        condition: String::new(),
        names: vec![("#n", name::OPEN_ORDERS)],
        values: vec![(":one", number(1))],
    };
    match change {
        // n < most → n + 1
        OpenOrdersChange::Count { most } => {
            update.update = "ADD #n :one".to_owned();
            update.condition = "attribute_not_exists(#n) OR #n < :most".to_owned();
            update.values.push((":most", number(most)));
        }
        // n ≥ 1 → n − 1
        OpenOrdersChange::Uncount => {
            update.update = "SET #n = #n - :one".to_owned();
            update.condition = "#n >= :one".to_owned();
        }
    }
    update
}
