//! The item as an order. Everything is checked: an order that cannot be read is neither decided on nor written over.

use expiry_core::attempt::{Attempt, Receipt, Standing};
use expiry_core::closing::{AskTask, CloseTask, Turn};
use expiry_core::evidence::{Actor, Evidence};
use expiry_core::expiry_rule::RuleRef;
use expiry_core::fact::Cause;
use expiry_core::ids::{
    ActivityId, Batch, ChannelId, ChannelReference, CouponId, MerchantId, Method, OrderId, RuleId, Sku, Source,
    TransactionId, UserId, Warehouse, WorkerId,
};
use expiry_core::initiator::{Agent, AgentText, Initiator};
use expiry_core::limits;
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::refund::{Refund, RefundStatus};
use expiry_core::reservation::{
    CouponHold, CouponReason, CouponStatus, HoldStatus, Line, PointsHold, Quantity, QuotaHold, StockKey,
};

use super::attribute::{DecodeError, Item, Reader};
use super::codes::Code;
use super::encode::DEFAULT_PLACE;
use super::names::{self, agent, attempt, coupon, evidence, line, receipt, refund, task};

/// How a customer is stored as an actor.
pub(super) const CUSTOMER: &str = "#customer";

macro_rules! required {
    ($reader:expr, $name:expr, $found:expr) => {
        $reader.required($name, $found)?
    };
}

/// Reads the order in `item`.
///
/// # Errors
/// When anything in it is not what this program writes.
pub fn decode(item: &Item) -> Result<Order, DecodeError> {
    let reader = Reader::new(item);
    let id = reader.parsed(names::PK, "an order's key", |pk| OrderId::parse(pk.strip_prefix("O#")?).ok())?;
    let currency = reader.parsed(names::CURRENCY, "a currency", Currency::parse)?;
    let currency = required!(reader, names::CURRENCY, currency);
    let digest = reader.bytes(names::BODY_DIGEST)?.map(<[u8; 16]>::try_from);
    let digest = required!(reader, names::BODY_DIGEST, digest);
    let attempts = reader.list(names::ATTEMPTS)?;
    if attempts.len() > limits::ATTEMPTS {
        return Err(reader.unexpected(names::ATTEMPTS, "a list within its bound"));
    }
    Ok(Order {
        id: required!(reader, names::PK, id),
        version: required!(reader, names::VERSION, reader.number(names::VERSION)?),
        status: required!(reader, names::STATUS, reader.code(names::STATUS, OrderStatus::from_code)?),
        user: required!(reader, names::USER, reader.parsed(names::USER, "a user", |id| UserId::new(id).ok())?),
        currency,
        payable: required!(reader, names::PAYABLE, reader.amount(names::PAYABLE)?),
        created_at: required!(reader, names::CREATED_AT, reader.millis(names::CREATED_AT)?),
        expire_at: reader.millis(names::EXPIRE_AT)?,
        rule: RuleRef {
            id: required!(reader, names::RULE, reader.parsed(names::RULE, "a rule", |id| RuleId::new(id).ok())?),
            version: required!(reader, names::RULE_VERSION, reader.small(names::RULE_VERSION)?),
        },
        source: reader.parsed(names::SOURCE, "a source", |source| Source::new(source).ok())?,
        body_digest: digest.map_err(|_| reader.unexpected(names::BODY_DIGEST, "16 bytes"))?,
        lines: reader.list(names::LINES)?.iter().map(decode_line).collect::<Result<_, _>>()?,
        coupon: reader.map(names::COUPON)?.as_ref().map(decode_coupon).transpose()?,
        points: reader.map(names::POINTS)?.as_ref().map(decode_points).transpose()?,
        quotas: reader.list(names::QUOTAS)?.iter().map(decode_quota).collect::<Result<_, _>>()?,
        counted_open: reader.boolean(names::COUNTED_OPEN)?,
        attempts: attempts.iter().map(|reader| decode_attempt(reader, currency)).collect::<Result<_, _>>()?,
        pending: reader.set_of_text(names::PENDING)?.iter().map(|unit| Unit::parse(unit)).collect(),
        due_at: reader.millis(names::DUE_AT)?,
        closing: reader.map(names::CLOSING)?.as_ref().map(decode_close_task).transpose()?,
        asking: reader.map(names::ASKING)?.as_ref().map(decode_ask_task).transpose()?,
        close_reason: reader.code(names::CLOSE_REASON, Code::from_code)?,
        closed_at: reader.millis(names::CLOSED_AT)?,
        paid_at: reader.millis(names::PAID_AT)?,
        evidence: reader.list(names::EVIDENCE)?.iter().map(decode_evidence).collect::<Result<_, _>>()?,
    })
}

fn decode_quantity(reader: &Reader<'_>) -> Result<Quantity, DecodeError> {
    let quantity = required!(reader, line::QUANTITY, reader.number(line::QUANTITY)?);
    Quantity::new(quantity).ok_or_else(|| reader.unexpected(line::QUANTITY, "a quantity"))
}

fn decode_hold(reader: &Reader<'_>) -> Result<HoldStatus, DecodeError> {
    Ok(reader.code(line::HOLD, HoldStatus::from_code)?.unwrap_or(HoldStatus::Reserved))
}

fn decode_line(reader: &Reader<'_>) -> Result<Line, DecodeError> {
    let sku = reader.parsed(line::SKU, "a sku", |id| Sku::new(id).ok())?;
    let warehouse = Warehouse::new(reader.text(line::WAREHOUSE)?.unwrap_or(DEFAULT_PLACE));
    let batch = Batch::new(reader.text(line::BATCH)?.unwrap_or(DEFAULT_PLACE));
    Ok(Line {
        stock: StockKey {
            sku: required!(reader, line::SKU, sku),
            warehouse: warehouse.map_err(|_| reader.unexpected(line::WAREHOUSE, "a warehouse"))?,
            batch: batch.map_err(|_| reader.unexpected(line::BATCH, "a batch"))?,
        },
        quantity: decode_quantity(reader)?,
        unit_price: required!(reader, line::UNIT_PRICE, reader.amount(line::UNIT_PRICE)?),
        hold: decode_hold(reader)?,
    })
}

fn decode_coupon(reader: &Reader<'_>) -> Result<CouponHold, DecodeError> {
    let id = reader.parsed(coupon::ID, "a coupon", |id| CouponId::new(id).ok())?;
    Ok(CouponHold {
        id: required!(reader, coupon::ID, id),
        status: reader.code(coupon::STATUS, CouponStatus::from_code)?.unwrap_or(CouponStatus::Locked),
        reason: reader.code(coupon::REASON, CouponReason::from_code)?,
    })
}

fn decode_points(reader: &Reader<'_>) -> Result<PointsHold, DecodeError> {
    Ok(PointsHold { quantity: decode_quantity(reader)?, hold: decode_hold(reader)? })
}

fn decode_quota(reader: &Reader<'_>) -> Result<QuotaHold, DecodeError> {
    let activity = reader.parsed(names::ACTIVITY, "an activity", |id| ActivityId::new(id).ok())?;
    Ok(QuotaHold {
        activity: required!(reader, names::ACTIVITY, activity),
        quantity: decode_quantity(reader)?,
        hold: decode_hold(reader)?,
    })
}

fn decode_attempt(reader: &Reader<'_>, currency: Currency) -> Result<Attempt, DecodeError> {
    let channel = reader.parsed(attempt::CHANNEL, "a channel", |id| ChannelId::new(id).ok())?;
    let merchant = reader.parsed(attempt::MERCHANT, "a merchant", |id| MerchantId::new(id).ok())?;
    let amount = required!(reader, attempt::AMOUNT, reader.amount(attempt::AMOUNT)?);
    let receipt = reader.map(attempt::RECEIPT)?;
    let refund = reader.map(attempt::REFUND)?;
    Ok(Attempt {
        channel: required!(reader, attempt::CHANNEL, channel),
        merchant: required!(reader, attempt::MERCHANT, merchant),
        method: reader.parsed(attempt::METHOD, "a method", |id| Method::new(id).ok())?,
        amount,
        initiator: match reader.map(attempt::AGENT)? {
            None => Initiator::Customer,
            Some(reader) => Initiator::Agent(decode_agent(&reader)?),
        },
        status: required!(reader, attempt::STATUS, reader.code(attempt::STATUS, Code::from_code)?),
        place_before: reader.millis(attempt::PLACE_BEFORE)?,
        replaced: reader.boolean(attempt::REPLACED)?,
        asked_expiry: required!(reader, attempt::ASKED_EXPIRY, reader.millis(attempt::ASKED_EXPIRY)?),
        channel_expiry: reader.millis(attempt::CHANNEL_EXPIRY)?,
        reference: reader.parsed(attempt::REFERENCE, "a reference", |id| ChannelReference::new(id).ok())?,
        first_not_found: reader.millis(attempt::FIRST_NOT_FOUND)?,
        receipt: receipt.as_ref().map(|reader| decode_receipt(reader, amount, currency)).transpose()?,
        refund: refund.as_ref().map(|reader| decode_refund(reader, currency)).transpose()?,
    })
}

fn decode_agent(reader: &Reader<'_>) -> Result<Agent, DecodeError> {
    let read = |name| reader.parsed(name, "an agent's text", |value| AgentText::try_from(value.to_owned()).ok());
    Ok(Agent {
        protocol: required!(reader, agent::PROTOCOL, read(agent::PROTOCOL)?),
        session: required!(reader, agent::SESSION, read(agent::SESSION)?),
        mandate: read(agent::MANDATE)?,
    })
}

fn decode_receipt(reader: &Reader<'_>, amount: Amount, currency: Currency) -> Result<Receipt, DecodeError> {
    let transaction = reader.parsed(receipt::TRANSACTION, "a transaction", |id| TransactionId::new(id).ok())?;
    let paid_currency = reader.parsed(receipt::CURRENCY, "a currency", Currency::parse)?;
    Ok(Receipt {
        transaction: required!(reader, receipt::TRANSACTION, transaction),
        paid: Money {
            amount: reader.amount(receipt::AMOUNT)?.unwrap_or(amount),
            currency: paid_currency.unwrap_or(currency),
        },
        standing: reader.code(receipt::STANDING, Standing::from_code)?.unwrap_or(Standing::Counted),
    })
}

fn decode_turn(reader: &Reader<'_>, next: &str, owner: &str) -> Result<Turn, DecodeError> {
    Ok(Turn {
        next_check_at: reader.millis(next)?,
        owner: reader.parsed(owner, "a worker", |id| WorkerId::new(id).ok())?,
    })
}

fn decode_error(reader: &Reader<'_>, name: &str) -> Result<Option<Cause>, DecodeError> {
    Ok(reader.text(name)?.map(Cause::new))
}

fn decode_refund(reader: &Reader<'_>, currency: Currency) -> Result<Refund, DecodeError> {
    let own_currency = reader.parsed(refund::CURRENCY, "a currency", Currency::parse)?;
    Ok(Refund {
        money: Money {
            amount: required!(reader, refund::AMOUNT, reader.amount(refund::AMOUNT)?),
            currency: own_currency.unwrap_or(currency),
        },
        k: reader.small(refund::K)?.unwrap_or(1),
        status: required!(reader, refund::STATUS, reader.code(refund::STATUS, RefundStatus::from_code)?),
        sent: reader.boolean(refund::SENT)?,
        tries: reader.small(refund::TRIES)?.unwrap_or(0),
        turn: decode_turn(reader, refund::NEXT, refund::OWNER)?,
        last_error: decode_error(reader, refund::ERROR)?,
    })
}

fn decode_close_task(reader: &Reader<'_>) -> Result<CloseTask, DecodeError> {
    Ok(CloseTask {
        started_at: required!(reader, task::STARTED_AT, reader.millis(task::STARTED_AT)?),
        trigger: required!(reader, task::TRIGGER, reader.code(task::TRIGGER, Code::from_code)?),
        attempts: required!(reader, task::ATTEMPTS, reader.small(task::ATTEMPTS)?),
        turn: decode_turn(reader, task::NEXT, task::OWNER)?,
        needs_attention: reader.boolean(task::ATTENTION)?,
        last_error: decode_error(reader, task::ERROR)?,
    })
}

fn decode_ask_task(reader: &Reader<'_>) -> Result<AskTask, DecodeError> {
    Ok(AskTask {
        attempts: required!(reader, task::ATTEMPTS, reader.small(task::ATTEMPTS)?),
        turn: decode_turn(reader, task::NEXT, task::OWNER)?,
        needs_attention: reader.boolean(task::ATTENTION)?,
        last_error: decode_error(reader, task::ERROR)?,
    })
}

fn decode_evidence(reader: &Reader<'_>) -> Result<Evidence, DecodeError> {
    Ok(Evidence {
        version: required!(reader, evidence::VERSION, reader.number(evidence::VERSION)?),
        at: required!(reader, evidence::AT, reader.millis(evidence::AT)?),
        to: required!(reader, evidence::TO, reader.code(evidence::TO, Code::from_code)?),
        trigger: required!(reader, evidence::TRIGGER, reader.text(evidence::TRIGGER)?).to_owned(),
        actor: match reader.text(evidence::ACTOR)? {
            None => Actor::System,
            Some(CUSTOMER) => Actor::Customer,
            Some(name) => Actor::Named(name.to_owned()),
        },
        fact: required!(reader, evidence::FACT, reader.text(evidence::FACT)?).to_owned(),
    })
}
