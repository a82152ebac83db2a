//! Creating an order: a pure function of its own, for there is no order yet to decide on (DESIGN §6).

use std::collections::BTreeMap;

use crate::evidence::{Actor, Evidence, Trigger};
use crate::expiry_rule::ExpiryRules;
use crate::ids::{ActivityId, CouponId, OrderId, RuleId, Source, UserId};
use crate::limits;
use crate::money::{Amount, Currency};
use crate::order::{BodyDigest, Order, OrderStatus};
use crate::pending::Pending;
use crate::reservation::{
    CounterKey, CouponHold, CouponStatus, HoldStatus, Line, PointsHold, Quantity, QuotaHold, ResourceKind, StockKey,
};
use crate::row::{CounterChange, CouponChange, OpenOrdersChange, Row};
use crate::time::Timestamp;

/// What a shop asks for.
#[derive(Clone, Debug)]
pub struct NewOrder {
    /// Its id: from the user and the idempotency key, or new.
    pub id: OrderId,
    /// Digest of the request.
    pub body_digest: BodyDigest,
    /// Whose it is.
    pub user: UserId,
    /// What its amounts are in.
    pub currency: Currency,
    /// What is ordered.
    pub lines: Vec<NewLine>,
    /// A coupon to lock.
    pub coupon: Option<CouponId>,
    /// Points to hold.
    pub points: Option<Quantity>,
    /// Flash-sale slots to hold.
    pub quotas: Vec<(ActivityId, Quantity)>,
    /// What has to be paid.
    pub payable: Amount,
    /// Under which rule.
    pub rule: RuleId,
    /// Where it comes from.
    pub source: Option<Source>,
}

/// One line of a [`NewOrder`].
#[derive(Clone, Debug)]
pub struct NewLine {
    /// From which counter.
    pub stock: StockKey,
    /// How many.
    pub quantity: Quantity,
    /// At what price each.
    pub unit_price: Amount,
}

/// Why a request is not an order. Each names the field it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrder {
    /// No line, or more than [`limits::LINES`].
    #[error("an order has 1 to {} lines", limits::LINES)]
    Lines,
    /// The same sku, warehouse and batch twice.
    #[error("{0} stands in two lines")]
    LineTwice(StockKey),
    /// More than [`limits::QUOTAS`] quotas.
    #[error("an order has at most {} quotas", limits::QUOTAS)]
    Quotas,
    /// The quantities of one activity add up to too much.
    #[error("the quantities of the activity {0} add up to more than {max}", max = limits::QUANTITY)]
    QuotaQuantity(ActivityId),
    /// The lines cost more than any amount may be.
    #[error("the lines add up to more than {}", limits::AMOUNT)]
    Total,
    /// More is to be paid than the lines cost.
    #[error("must be from 0 to the sum of the lines, {0}")]
    Payable(Amount),
    /// There is no such rule.
    #[error("there is no expiry rule {0}")]
    Rule(RuleId),
}

impl InvalidOrder {
    /// The field of the request it is about.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            InvalidOrder::Lines | InvalidOrder::LineTwice(_) | InvalidOrder::Total => "lines",
            InvalidOrder::Quotas | InvalidOrder::QuotaQuantity(_) => "quotas",
            InvalidOrder::Payable(_) => "payable_amount",
            InvalidOrder::Rule(_) => "expiry_rule",
        }
    }
}

/// A new order with the rows that are reserved in the transaction that creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The order, at version 1.
    pub order: Order,
    /// What it reserves.
    pub rows: Vec<Row>,
}

/// Makes the order, held for its window from `now` on; with nothing to pay it is PAID and its resources are confirmed at once
/// (case b40). `most_open` is the cap on a user's open orders; `None` is off.
///
/// # Errors
/// When the request is not an order; nothing is held then.
pub fn create(
    request: NewOrder,
    rules: &ExpiryRules,
    most_open: Option<u32>,
    now: Timestamp,
) -> Result<Creation, InvalidOrder> {
    check_lines(&request.lines, request.payable)?;
    let quotas = merge_quotas(&request.quotas)?;
    let (rule, expire_at) =
        rules.deadline(&request.rule, now).ok_or_else(|| InvalidOrder::Rule(request.rule.clone()))?;
    let paid = request.payable.is_zero();
    let hold = if paid { HoldStatus::Confirmed } else { HoldStatus::Reserved };
    let evidence = paid.then(|| Evidence {
        version: 1,
        at: now,
        to: OrderStatus::Paid,
        trigger: Trigger::Create.name().to_owned(),
        actor: Actor::System,
        fact: crate::evidence::DecidingFact::NothingToPay.text(),
    });
    let counted_open = most_open.is_some() && !paid;
    let order = Order {
        id: request.id,
        version: 1,
        status: if paid { OrderStatus::Paid } else { OrderStatus::PendingPayment },
        user: request.user,
        currency: request.currency,
        payable: request.payable,
        created_at: now,
        expire_at,
        rule,
        source: request.source,
        body_digest: request.body_digest,
        lines: request
            .lines
            .into_iter()
            .map(|NewLine { stock, quantity, unit_price }| Line { stock, quantity, unit_price, hold })
            .collect(),
        coupon: request.coupon.map(|id| CouponHold {
            id,
            status: if paid { CouponStatus::Used } else { CouponStatus::Locked },
            reason: None,
        }),
        points: request.points.map(|quantity| PointsHold { quantity, hold }),
        quotas: quotas.into_iter().map(|(activity, quantity)| QuotaHold { activity, quantity, hold }).collect(),
        counted_open,
        attempts: Vec::new(),
        pending: Pending::new(),
        // Terminal without work, or open without a deadline: outside the index (I12).
        due_at: if paid { None } else { expire_at },
        closing: None,
        asking: None,
        close_reason: None,
        closed_at: None,
        paid_at: paid.then_some(now),
        evidence: evidence.into_iter().collect(),
    };
    let rows = reservations(&order, paid, most_open.filter(|_| counted_open));
    Ok(Creation { order, rows })
}

fn check_lines(lines: &[NewLine], payable: Amount) -> Result<(), InvalidOrder> {
    if lines.is_empty() || lines.len() > limits::LINES {
        return Err(InvalidOrder::Lines);
    }
    let mut seen = BTreeMap::new();
    let mut total = Amount::ZERO;
    for line in lines {
        if seen.insert(&line.stock, ()).is_some() {
            return Err(InvalidOrder::LineTwice(line.stock.clone()));
        }
        let cost = line.unit_price.times(line.quantity.get()).ok_or(InvalidOrder::Total)?;
        total = Amount::new(total.plus(cost).minor()).ok_or(InvalidOrder::Total)?;
    }
    if payable > total { Err(InvalidOrder::Payable(total)) } else { Ok(()) }
}

/// Equal keys are merged before any transaction: one row may appear in it only once.
fn merge_quotas(quotas: &[(ActivityId, Quantity)]) -> Result<BTreeMap<ActivityId, Quantity>, InvalidOrder> {
    if quotas.len() > limits::QUOTAS {
        return Err(InvalidOrder::Quotas);
    }
    let mut merged: BTreeMap<ActivityId, Quantity> = BTreeMap::new();
    for (activity, quantity) in quotas {
        let held = merged.get(activity).map_or(0, |held| held.get());
        let sum = Quantity::new(held + quantity.get());
        let sum = sum.ok_or_else(|| InvalidOrder::QuotaQuantity(activity.clone()))?;
        merged.insert(activity.clone(), sum);
    }
    Ok(merged)
}

fn reservations(order: &Order, paid: bool, most_open: Option<u32>) -> Vec<Row> {
    let counters = ResourceKind::ALL.into_iter().flat_map(|kind| order.counter_holds(kind));
    let mut rows: Vec<Row> = counters
        .map(|(key, quantity, _): (CounterKey, Quantity, HoldStatus)| Row::Counter {
            key,
            change: if paid { CounterChange::Sell(quantity) } else { CounterChange::Reserve(quantity) },
        })
        .collect();
    rows.extend(order.coupon.as_ref().map(|coupon| {
        let (user, now) = (order.user.clone(), order.created_at);
        let change = if paid { CouponChange::UseAtOnce { user, now } } else { CouponChange::Lock { user, now } };
        Row::Coupon { id: coupon.id.clone(), change }
    }));
    rows.extend(
        most_open.map(|most| Row::OpenOrders { user: order.user.clone(), change: OpenOrdersChange::Count { most } }),
    );
    rows
}
