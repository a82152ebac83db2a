//! Settling what an order holds: the action follows from its status, PAID → confirm, CLOSED → release (DESIGN §6).

use crate::decide::{Command, Decision, Draft, Knowledge, Question, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::guard;
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::reservation::{CounterKey, CouponReason, CouponStatus, HoldStatus, ResourceKind};
use crate::row::{CounterChange, CouponChange, CouponTerms, OpenOrdersChange, Refusal, Row};
use crate::signal::Signal;
use crate::time::Timestamp;

/// Make one unit of settlement final.
#[derive(Clone, Debug)]
pub struct Settle {
    /// Which: a kind of resource, or the open-order count.
    pub unit: Unit,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    /// It is final now.
    Settled,
    /// An entry that was set aside still is not what the order says.
    StillAside,
    /// It was final before, or is nothing to settle.
    NothingToDo,
    /// The order is not terminal: nothing may be settled (I3, I4).
    NotTerminal,
}

/// Which way everything goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Confirm,
    Release,
}

impl Command for Settle {
    type Outcome = SettleOutcome;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<SettleOutcome> {
        if !order.pending.contains(&self.unit) {
            return Decision::Done(SettleOutcome::NothingToDo);
        }
        let direction = match order.status {
            OrderStatus::Paid => Direction::Confirm,
            OrderStatus::Closed => Direction::Release,
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => {
                return Decision::Done(SettleOutcome::NotTerminal);
            }
        };
        // Settling changes no status, so this ground is never stored.
        let because = Because { trigger: Trigger::Query, actor: Actor::System, fact: DecidingFact::AttemptsSettled };
        let mut draft = Draft::new(order, because, now);
        if guard::PENDING_MEMBER.stands() {
            draft.order.pending.remove(&self.unit);
        } else {
            draft.order.pending.clear();
        }
        match &self.unit {
            Unit::Settle(ResourceKind::Coupon) => return settle_coupon(draft, direction, known),
            Unit::Settle(kind) => settle_counters(&mut draft, *kind, None, direction, known),
            Unit::Cap => uncount(&mut draft, known),
            Unit::Anomaly(ResourceKind::Coupon, _) => return settle_coupon(draft, direction, known),
            Unit::Anomaly(kind, key) => settle_counters(&mut draft, *kind, Some(key), direction, known),
            Unit::Refund(_) | Unit::Ask(_) | Unit::Foreign(_) => {
                return Decision::Done(SettleOutcome::NothingToDo);
            }
        }
        if draft.order.pending.contains(&self.unit) {
            return Decision::Done(SettleOutcome::StillAside);
        }
        draft.commit(Then::Done(SettleOutcome::Settled))
    }
}

/// One transaction for all entries of a kind, or for the one that was set aside. An entry whose counter does not hold it is set aside
/// as an anomaly; the rest commits.
fn settle_counters(
    draft: &mut Draft<'_>,
    kind: ResourceKind,
    only: Option<&str>,
    direction: Direction,
    known: &Knowledge,
) {
    let before = draft.before();
    let refused: Vec<&CounterKey> = known
        .refusals(before)
        .flat_map(|refusal| match refusal {
            Refusal::Counters(keys) => keys.as_slice(),
            Refusal::TransactionTaken(_) | Refusal::Coupon | Refusal::OpenOrders => &[],
        })
        .collect();
    for (key, quantity, hold) in before.counter_holds(kind) {
        if only.is_some_and(|only| only != key.to_string()) {
            continue;
        }
        if hold != HoldStatus::Reserved && guard::RESERVATION_STATUS.stands() {
            // It left RESERVED once, and once only (I6).
            draft.signals.push(Signal::ReservationAnomaly(format!("{}:{key} is {}", kind.name(), hold.name())));
        } else if refused.contains(&&key) {
            set_aside(draft, kind, key.to_string());
        } else {
            let (status, change) = match direction {
                Direction::Confirm => (HoldStatus::Confirmed, CounterChange::Confirm(quantity)),
                Direction::Release => (HoldStatus::Released, CounterChange::Release(quantity)),
            };
            draft.order.set_hold(&key, status);
            draft.rows.push(Row::Counter { key, change });
        }
    }
}

fn set_aside(draft: &mut Draft<'_>, kind: ResourceKind, key: String) {
    draft.signals.push(Signal::ReservationAnomaly(format!("{}:{key}", kind.name())));
    draft.order.pending.insert(Unit::Anomaly(kind, key));
}

fn settle_coupon(mut draft: Draft<'_>, direction: Direction, known: &Knowledge) -> Decision<SettleOutcome> {
    let settled = Then::Done(SettleOutcome::Settled);
    let before = draft.before();
    let Some(hold) = before.coupon.clone() else {
        return draft.commit(settled);
    };
    if hold.status != CouponStatus::Locked {
        draft.signals.push(Signal::ReservationAnomaly(format!("coupon:{} is {}", hold.id, hold.status.name())));
        return draft.commit(settled);
    }
    let Some(terms) = known.coupon() else {
        return Decision::Ask(Question::Coupon(hold.id));
    };
    let Some(terms) = terms.filter(|terms| holds(terms, before)) else {
        set_aside(&mut draft, ResourceKind::Coupon, hold.id.to_string());
        return if draft.changes() { draft.commit(settled) } else { Decision::Done(SettleOutcome::StillAside) };
    };
    let (status, reason, change) = match direction {
        Direction::Confirm => (CouponStatus::Used, None, CouponChange::Use),
        Direction::Release => {
            let (to, reason) = given_back(terms, before.closed_at.unwrap_or(draft.now()));
            (to, reason, CouponChange::GiveBack { to, terms: terms.clone() })
        }
    };
    if let Some(coupon) = &mut draft.order.coupon {
        coupon.status = status;
        coupon.reason = reason;
    }
    draft.rows.push(Row::Coupon { id: hold.id, change });
    draft.commit(settled)
}

fn holds(terms: &CouponTerms, order: &Order) -> bool {
    (terms.status == CouponStatus::Locked && terms.holder.as_ref() == Some(&order.id)) || !guard::COUPON_HOLDER.stands()
}

/// What becomes of a coupon that is given back (DESIGN §3): a stopped campaign or a coupon that does not come back → VOID, else past
/// its end, judged at the order's `closed_at` → EXPIRED, else AVAILABLE.
fn given_back(terms: &CouponTerms, closed_at: Timestamp) -> (CouponStatus, Option<CouponReason>) {
    if !terms.campaign_active {
        (CouponStatus::Void, Some(CouponReason::CampaignStopped))
    } else if !terms.refundable {
        (CouponStatus::Void, Some(CouponReason::NotRefundable))
    } else if terms.valid_until <= closed_at {
        (CouponStatus::Expired, Some(CouponReason::Expired))
    } else {
        (CouponStatus::Available, None)
    }
}

fn uncount(draft: &mut Draft<'_>, known: &Knowledge) {
    draft.order.counted_open = false;
    let user = draft.order.user.clone();
    if known.refusals(draft.before()).any(|refusal| *refusal == Refusal::OpenOrders) {
        draft.signals.push(Signal::ReservationAnomaly(format!("open orders of {user} are not above zero")));
    } else {
        draft.rows.push(Row::OpenOrders { user, change: OpenOrdersChange::Uncount });
    }
}
