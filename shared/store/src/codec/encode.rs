//! The order as an item. What can be derived is not stored: the ordinary order stays within 1,024 bytes (DESIGN §6).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::attempt::{Attempt, Receipt, Standing};
use expiry_core::closing::{AskTask, CloseTask, Turn};
use expiry_core::evidence::{Actor, Evidence};
use expiry_core::fact::Cause;
use expiry_core::ids::OrderId;
use expiry_core::initiator::Initiator;
use expiry_core::limits;
use expiry_core::money::Amount;
use expiry_core::order::Order;
use expiry_core::refund::Refund;
use expiry_core::reservation::{CouponHold, CouponStatus, HoldStatus, Line, Quantity};

use super::attribute::{Item, boolean, bytes, millis, number, set_of_text, text};
use super::codes::Code;
use super::names::{self, agent, attempt, coupon, evidence, line, receipt, refund, task};

/// The name that is left out where it stands.
pub(super) const DEFAULT_PLACE: &str = "default";

/// Collects the attributes of one map; what is not there is not stored.
struct Writer(HashMap<String, AttributeValue>);

impl Writer {
    fn new() -> Writer {
        Writer(HashMap::new())
    }

    fn put(&mut self, name: &str, value: AttributeValue) -> &mut Writer {
        self.0.insert(name.to_owned(), value);
        self
    }

    fn put_some(&mut self, name: &str, value: Option<AttributeValue>) -> &mut Writer {
        if let Some(value) = value {
            self.put(name, value);
        }
        self
    }

    /// Stores `value` unless it is the one that is meant when nothing stands there.
    fn put_unless<T: PartialEq>(
        &mut self,
        name: &str,
        value: T,
        meant: T,
        encode: impl FnOnce(T) -> AttributeValue,
    ) -> &mut Writer {
        if value != meant {
            self.put(name, encode(value));
        }
        self
    }

    fn turn(&mut self, turn: &Turn, next: &str, owner: &str) -> &mut Writer {
        self.put_some(next, turn.next_check_at.map(millis)).put_some(owner, turn.owner.as_ref().map(text))
    }

    fn map(self) -> AttributeValue {
        AttributeValue::M(self.0)
    }
}

fn list<T>(values: &[T], encode: impl Fn(&T) -> AttributeValue) -> Option<AttributeValue> {
    (!values.is_empty()).then(|| AttributeValue::L(values.iter().map(encode).collect()))
}

/// The partition key of everything that belongs to `order`.
pub(crate) fn order_pk(order: &OrderId) -> String {
    format!("O#{order}")
}

/// The shard of the due index that `order` stands in: its id is evenly spread already, so the bytes are simply folded.
pub(crate) fn due_shard(order: &OrderId) -> u8 {
    let folded = order.as_str().bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    u8::try_from(folded % u32::from(limits::DUE_SHARDS)).unwrap_or(0)
}

/// The item of `order`, with the token of the write that stores it.
pub(crate) fn encode(order: &Order, operation: &[u8]) -> Item {
    let mut item = Writer::new();
    item.put(names::PK, text(order_pk(&order.id)))
        .put(names::SK, text("O"))
        .put(names::OPERATION, bytes(operation))
        .put(names::VERSION, number(order.version))
        .put(names::STATUS, text(order.status.code()))
        .put(names::USER, text(&order.user))
        .put(names::CURRENCY, text(order.currency))
        .put(names::PAYABLE, number(order.payable))
        .put(names::CREATED_AT, millis(order.created_at))
        .put_some(names::EXPIRE_AT, order.expire_at.map(millis))
        .put(names::RULE, text(&order.rule.id))
        .put(names::RULE_VERSION, number(order.rule.version))
        .put_some(names::SOURCE, order.source.as_ref().map(text))
        .put(names::BODY_DIGEST, bytes(&order.body_digest))
        .put_some(names::LINES, list(&order.lines, encode_line))
        .put_some(names::COUPON, order.coupon.as_ref().map(encode_coupon))
        .put_some(names::POINTS, order.points.map(|points| encode_hold(Writer::new(), points.quantity, points.hold)))
        .put_some(
            names::QUOTAS,
            list(&order.quotas, |quota| {
                let mut map = Writer::new();
                map.put(names::ACTIVITY, text(&quota.activity));
                encode_hold(map, quota.quantity, quota.hold)
            }),
        )
        .put_unless(names::COUNTED_OPEN, order.counted_open, false, boolean)
        .put_some(names::ATTEMPTS, list(&order.attempts, |attempt| encode_attempt(order, attempt)))
        .put_some(
            names::PENDING,
            (!order.pending.is_empty()).then(|| set_of_text(order.pending.iter().map(ToString::to_string))),
        )
        .put_some(names::DUE_AT, order.due_at.map(millis))
        .put_some(names::DUE_SHARD, order.due_at.map(|_| number(due_shard(&order.id))))
        .put_some(names::CLOSING, order.closing.as_ref().map(encode_close_task))
        .put_some(names::ASKING, order.asking.as_ref().map(encode_ask_task))
        .put_some(names::CLOSE_REASON, order.close_reason.map(|reason| text(reason.code())))
        .put_some(names::CLOSED_AT, order.closed_at.map(millis))
        .put_some(names::PAID_AT, order.paid_at.map(millis))
        .put_some(names::EVIDENCE, list(&order.evidence, encode_evidence));
    item.0
}

fn encode_line(value: &Line) -> AttributeValue {
    let mut map = Writer::new();
    map.put(line::SKU, text(&value.stock.sku))
        .put_unless(line::WAREHOUSE, value.stock.warehouse.as_str(), DEFAULT_PLACE, text)
        .put_unless(line::BATCH, value.stock.batch.as_str(), DEFAULT_PLACE, text)
        .put(line::UNIT_PRICE, number(value.unit_price));
    encode_hold(map, value.quantity, value.hold)
}

fn encode_hold(mut map: Writer, quantity: Quantity, hold: HoldStatus) -> AttributeValue {
    map.put(line::QUANTITY, number(quantity.get()))
        .put_unless(line::HOLD, hold, HoldStatus::Reserved, |hold| text(hold.code()));
    map.map()
}

fn encode_coupon(value: &CouponHold) -> AttributeValue {
    let mut map = Writer::new();
    map.put(coupon::ID, text(&value.id))
        .put_unless(coupon::STATUS, value.status, CouponStatus::Locked, |status| text(status.code()))
        .put_some(coupon::REASON, value.reason.map(|reason| text(reason.code())));
    map.map()
}

fn encode_attempt(order: &Order, value: &Attempt) -> AttributeValue {
    let mut map = Writer::new();
    map.put(attempt::CHANNEL, text(&value.channel))
        .put(attempt::MERCHANT, text(&value.merchant))
        .put_some(attempt::METHOD, value.method.as_ref().map(text))
        .put(attempt::AMOUNT, number(value.amount))
        .put_some(attempt::AGENT, encode_agent(&value.initiator))
        .put(attempt::STATUS, text(value.status.code()))
        .put_some(attempt::PLACE_BEFORE, value.place_before.map(millis))
        .put_unless(attempt::REPLACED, value.replaced, false, boolean)
        .put(attempt::ASKED_EXPIRY, millis(value.asked_expiry))
        .put_some(attempt::CHANNEL_EXPIRY, value.channel_expiry.map(millis))
        .put_some(attempt::REFERENCE, value.reference.as_ref().map(text))
        .put_some(attempt::FIRST_NOT_FOUND, value.first_not_found.map(millis))
        .put_some(attempt::RECEIPT, value.receipt.as_ref().map(|receipt| encode_receipt(order, value.amount, receipt)))
        .put_some(attempt::REFUND, value.refund.as_ref().map(|refund| encode_refund(order, refund)));
    map.map()
}

fn encode_agent(initiator: &Initiator) -> Option<AttributeValue> {
    let Initiator::Agent(value) = initiator else {
        return None;
    };
    let mut map = Writer::new();
    map.put(agent::PROTOCOL, text(value.protocol.as_str()))
        .put(agent::SESSION, text(value.session.as_str()))
        .put_some(agent::MANDATE, value.mandate.as_ref().map(|mandate| text(mandate.as_str())));
    Some(map.map())
}

fn encode_receipt(order: &Order, amount: Amount, value: &Receipt) -> AttributeValue {
    let mut map = Writer::new();
    map.put(receipt::TRANSACTION, text(&value.transaction))
        .put_unless(receipt::AMOUNT, value.paid.amount, amount, number)
        .put_unless(receipt::CURRENCY, value.paid.currency, order.currency, text)
        .put_unless(receipt::STANDING, value.standing, Standing::Counted, |standing| text(standing.code()));
    map.map()
}

fn encode_refund(order: &Order, value: &Refund) -> AttributeValue {
    let mut map = Writer::new();
    map.put(refund::AMOUNT, number(value.money.amount))
        .put_unless(refund::CURRENCY, value.money.currency, order.currency, text)
        .put_unless(refund::K, value.k, 1, number)
        .put(refund::STATUS, text(value.status.code()))
        .put_unless(refund::SENT, value.sent, false, boolean)
        .put_unless(refund::TRIES, value.tries, 0, number)
        .turn(&value.turn, refund::NEXT, refund::OWNER)
        .put_some(refund::ERROR, encode_error(value.last_error.as_ref()));
    map.map()
}

fn encode_error(error: Option<&Cause>) -> Option<AttributeValue> {
    error.map(text)
}

fn encode_close_task(value: &CloseTask) -> AttributeValue {
    let mut map = Writer::new();
    map.put(task::STARTED_AT, millis(value.started_at))
        .put(task::TRIGGER, text(value.trigger.code()))
        .put(task::ATTEMPTS, number(value.attempts))
        .turn(&value.turn, task::NEXT, task::OWNER)
        .put_unless(task::ATTENTION, value.needs_attention, false, boolean)
        .put_some(task::ERROR, encode_error(value.last_error.as_ref()));
    map.map()
}

fn encode_ask_task(value: &AskTask) -> AttributeValue {
    let mut map = Writer::new();
    map.put(task::ATTEMPTS, number(value.attempts))
        .turn(&value.turn, task::NEXT, task::OWNER)
        .put_unless(task::ATTENTION, value.needs_attention, false, boolean)
        .put_some(task::ERROR, encode_error(value.last_error.as_ref()));
    map.map()
}

fn encode_evidence(value: &Evidence) -> AttributeValue {
    let mut map = Writer::new();
    map.put(evidence::VERSION, number(value.version))
        .put(evidence::AT, millis(value.at))
        .put(evidence::TO, text(value.to.code()))
        .put(evidence::TRIGGER, text(&value.trigger))
        .put(evidence::FACT, text(&value.fact));
    match &value.actor {
        Actor::System => {}
        // No channel and no operator may be named so: names have no `#`.
        Actor::Customer => {
            map.put(evidence::ACTOR, text(super::decode::CUSTOMER));
        }
        Actor::Named(name) => {
            map.put(evidence::ACTOR, text(name));
        }
    }
    map.map()
}
