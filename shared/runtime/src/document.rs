//! The order document of the HTTP contract (DESIGN §8).

use std::time::Duration;

use expiry_core::attempt::Attempt;
use expiry_core::ids::{AttemptNo, RefundNo};
use expiry_core::limits;
use expiry_core::order::Order;
use expiry_core::reservation::ResourceKind;
use expiry_core::time::{Timestamp, seconds_rounded_up};
use serde::Serialize;

/// An order as everybody outside sees it. Arrays are always there; what is not known yet is left out or null as the contract says.
#[derive(Clone, Debug, Serialize)]
pub struct OrderDocument {
    order_id: String,
    status: &'static str,
    version: u64,
    user_id: String,
    created_at: String,
    expire_at: Option<String>,
    server_time: String,
    seconds_left: Option<u64>,
    expiry_rule: RuleDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    currency: &'static str,
    payable_amount: u64,
    paid_amount: u64,
    lines: Vec<LineDocument>,
    resources: Vec<ResourceDocument>,
    payments: Vec<PaymentDocument>,
    refunds: Vec<RefundDocument>,
    pending: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closing: Option<ClosingDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    close_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_at: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct RuleDocument {
    id: String,
    version: u32,
}

#[derive(Clone, Debug, Serialize)]
struct LineDocument {
    sku: String,
    warehouse: String,
    batch: String,
    quantity: u64,
    unit_price: u64,
}

#[derive(Clone, Debug, Serialize)]
struct ResourceDocument {
    #[serde(rename = "type")]
    kind: &'static str,
    key: String,
    quantity: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct PaymentDocument {
    attempt_no: u8,
    out_trade_no: String,
    channel: String,
    amount: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// Set when the money does not simply count: `surplus`, `mismatch` or `refunded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    qualifier: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct RefundDocument {
    refund_no: String,
    channel: String,
    amount: u64,
    currency: &'static str,
    status: &'static str,
    tries: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ClosingDocument {
    started_at: String,
    trigger: &'static str,
    attempts: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_check_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    needs_attention: bool,
}

impl OrderDocument {
    /// The document of `order` at `now`.
    #[must_use]
    pub fn new(order: &Order, now: Timestamp) -> OrderDocument {
        OrderDocument {
            order_id: order.id.to_string(),
            status: order.status.name(),
            version: order.version,
            user_id: order.user.to_string(),
            created_at: order.created_at.to_string(),
            expire_at: order.expire_at.map(|at| at.to_string()),
            server_time: now.to_string(),
            seconds_left: order.expire_at.map(|at| seconds_rounded_up(at.since(now))),
            expiry_rule: RuleDocument { id: order.rule.id.to_string(), version: order.rule.version },
            source: order.source.as_ref().map(ToString::to_string),
            currency: order.currency.code(),
            payable_amount: order.payable.minor(),
            paid_amount: order.paid_amount().minor(),
            lines: lines(order),
            resources: resources(order),
            payments: order.numbered_attempts().map(|(no, attempt)| payment(order, no, attempt)).collect(),
            refunds: order.numbered_attempts().filter_map(|(no, attempt)| refund(order, no, attempt)).collect(),
            pending: order.pending.iter().map(ToString::to_string).collect(),
            closing: order.closing.as_ref().map(|task| ClosingDocument {
                started_at: task.started_at.to_string(),
                trigger: task.trigger.name(),
                attempts: task.attempts,
                next_check_at: task.turn.next_check_at.map(|at| at.to_string()),
                last_error: task.last_error.as_ref().map(ToString::to_string),
                needs_attention: task.needs_attention,
            }),
            closed_at: order.closed_at.map(|at| at.to_string()),
            close_reason: order.close_reason.map(expiry_core::closing::CloseReason::name),
            paid_at: order.paid_at.map(|at| at.to_string()),
        }
    }
}

fn lines(order: &Order) -> Vec<LineDocument> {
    let line = |line: &expiry_core::reservation::Line| LineDocument {
        sku: line.stock.sku.to_string(),
        warehouse: line.stock.warehouse.to_string(),
        batch: line.stock.batch.to_string(),
        quantity: line.quantity.get(),
        unit_price: line.unit_price.minor(),
    };
    order.lines.iter().map(line).collect()
}

fn resources(order: &Order) -> Vec<ResourceDocument> {
    let counters = ResourceKind::ALL.into_iter().flat_map(|kind| order.counter_holds(kind));
    let mut resources: Vec<ResourceDocument> = counters
        .map(|(key, quantity, hold)| ResourceDocument {
            kind: key.kind().name(),
            key: key.to_string(),
            quantity: quantity.get(),
            status: hold.name(),
            reason: None,
        })
        .collect();
    resources.extend(order.coupon.as_ref().map(|coupon| ResourceDocument {
        kind: ResourceKind::Coupon.name(),
        key: coupon.id.to_string(),
        quantity: 1,
        status: coupon.status.name(),
        reason: coupon.reason.map(expiry_core::reservation::CouponReason::name),
    }));
    resources
}

fn payment(order: &Order, no: AttemptNo, attempt: &Attempt) -> PaymentDocument {
    let receipt = attempt.receipt.as_ref();
    PaymentDocument {
        attempt_no: no.get(),
        out_trade_no: order.out_trade_no(no).to_string(),
        channel: attempt.channel.to_string(),
        amount: attempt.amount.minor(),
        status: attempt.status.name(),
        transaction_id: receipt.map(|receipt| receipt.transaction.to_string()),
        qualifier: receipt
            .map(|receipt| receipt.standing)
            .filter(|standing| *standing != expiry_core::attempt::Standing::Counted)
            .map(expiry_core::attempt::Standing::name),
    }
}

fn refund(order: &Order, no: AttemptNo, attempt: &Attempt) -> Option<RefundDocument> {
    let refund = attempt.refund.as_ref()?;
    Some(RefundDocument {
        refund_no: RefundNo::new(order.out_trade_no(no), refund.k).to_string(),
        channel: attempt.channel.to_string(),
        amount: refund.money.amount.minor(),
        currency: refund.money.currency.code(),
        status: refund.status.name(),
        tries: refund.tries,
        next_try_at: refund.turn.next_check_at.map(|at| at.to_string()),
        last_error: refund.last_error.as_ref().map(ToString::to_string),
    })
}

/// How long after its deadline an order was closed; `None` when it never expired.
#[must_use]
pub fn expire_to_closed(order: &Order) -> Option<Duration> {
    let (expire_at, closed_at) = (order.expire_at?, order.closed_at?);
    (closed_at >= expire_at.plus(limits::EXPIRY_SETTLE_TIME)).then(|| closed_at.since(expire_at))
}
