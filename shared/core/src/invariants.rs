//! The invariants of one order as one function (DESIGN §2): asserted on every decision, checked in production on every stream image.

use std::fmt;

use crate::attempt::Standing;
use crate::decide::belongs_in_due_index;
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::refund::RefundStatus;
use crate::reservation::{CouponStatus, HoldStatus, ResourceKind};

/// An invariant of DESIGN §2 that an image of an order breaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// Its number, for example `I4`.
    pub invariant: &'static str,
    /// What breaks it.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.invariant, self.what)
    }
}

/// What one image breaks by itself.
#[must_use]
pub fn breaches(order: &Order) -> Vec<Breach> {
    let mut found = Vec::new();
    let mut breach = |invariant, what: String| found.push(Breach { invariant, what });
    let holds = ResourceKind::ALL.into_iter().flat_map(|kind| order.counter_holds(kind));
    for (key, _, status) in holds {
        match status {
            HoldStatus::Released if order.status == OrderStatus::Paid => {
                breach("I4", format!("{key} is released on an order that is not CLOSED"));
            }
            HoldStatus::Released if order.status != OrderStatus::Closed => {
                breach("I3", format!("{key} is released on an order that is not CLOSED"));
            }
            HoldStatus::Confirmed if order.status != OrderStatus::Paid => {
                breach("I4", format!("{key} is confirmed on an order that is not PAID"));
            }
            HoldStatus::Released | HoldStatus::Confirmed | HoldStatus::Reserved => {}
        }
    }
    if let Some(coupon) = &order.coupon {
        let held = || format!("coupon {} is {}", coupon.id, coupon.status.name());
        match coupon.status {
            CouponStatus::Used if order.status != OrderStatus::Paid => {
                breach("I4", format!("{} on an order that is not PAID", held()));
            }
            CouponStatus::Available | CouponStatus::Expired | CouponStatus::Void
                if order.status != OrderStatus::Closed =>
            {
                let invariant = if order.status == OrderStatus::Paid { "I4" } else { "I3" };
                breach(invariant, format!("{} on an order that is not CLOSED", held()));
            }
            CouponStatus::Locked
            | CouponStatus::Used
            | CouponStatus::Available
            | CouponStatus::Expired
            | CouponStatus::Void => {}
        }
    }
    if order.status == OrderStatus::Paid && order.counted() < order.payable {
        breach("I2", "PAID without enough money".to_owned());
    }
    if order.status != OrderStatus::Paid && !order.payable.is_zero() && order.counted() >= order.payable {
        breach("I2", "enough money counts, and the order is not PAID".to_owned());
    }
    for (no, attempt) in order.numbered_attempts() {
        let Some(refund) = &attempt.refund else {
            let kept = attempt.receipt.as_ref().is_some_and(|receipt| {
                receipt.standing == Standing::Surplus
                    || (receipt.standing == Standing::Counted && order.status == OrderStatus::Closed)
            });
            if kept {
                breach("I2", format!("the money of attempt {no} is neither needed nor refunded"));
            }
            continue;
        };
        let within = attempt.receipt.as_ref().is_some_and(|receipt| refund.money.amount <= receipt.paid.amount);
        if !within {
            breach("I9", format!("more is refunded of attempt {no} than came"));
        }
        let is_open = refund.status != RefundStatus::Succeeded;
        if is_open != order.pending.contains(&Unit::Refund(no)) {
            breach("I12", format!("the refund of attempt {no} and its unit of work disagree"));
        }
    }
    match (order.evidence.last(), order.status) {
        (None, OrderStatus::PendingPayment) => {}
        (Some(last), status) if last.to == status => {}
        (Some(_) | None, status) => breach("I11", format!("no evidence of how it became {}", status.name())),
    }
    if belongs_in_due_index(order) != order.due_at.is_some() {
        breach("I12", format!("its place in the due index is {:?}", order.due_at));
    }
    if order.status.is_terminal() {
        for (no, _) in order.unsettled_attempts() {
            if !order.pending.contains(&Unit::Ask(no)) {
                breach("I13", format!("attempt {no} is unsettled and not asked about"));
            }
        }
    }
    found
}

/// What the change from `before` to `after` breaks.
#[must_use]
pub fn transition_breaches(before: &Order, after: &Order) -> Vec<Breach> {
    let mut found = Vec::new();
    let mut breach = |invariant, what: String| found.push(Breach { invariant, what });
    if before.status.is_terminal() && before.status != after.status {
        breach("I1", format!("{} became {}", before.status.name(), after.status.name()));
    }
    if after.status == OrderStatus::PendingPayment && before.status != OrderStatus::PendingPayment {
        breach("I1", "the order went back to PENDING_PAYMENT".to_owned());
    }
    if before.status == OrderStatus::Closing
        && !matches!(after.status, OrderStatus::Closing | OrderStatus::Closed | OrderStatus::Paid)
    {
        breach("I1", format!("CLOSING became {}", after.status.name()));
    }
    let nobody_to_ask = before.status == OrderStatus::PendingPayment && after.attempts.is_empty();
    if after.status == OrderStatus::Closed
        && matches!(before.status, OrderStatus::PendingPayment | OrderStatus::Paying)
        && !nobody_to_ask
    {
        breach("I3", format!("{} became CLOSED though an attempt was written", before.status.name()));
    }
    if after.status == OrderStatus::Closed && before.status != OrderStatus::Closed {
        for (no, _) in after.unsettled_attempts() {
            breach("I3", format!("it became CLOSED, and what became of attempt {no} is not known"));
        }
    }
    let decreased = match (before.expire_at, after.expire_at) {
        (Some(was), Some(is)) => is < was,
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    };
    if decreased {
        breach("I7", "expire_at was moved to an earlier time".to_owned());
    }
    for kind in ResourceKind::ALL {
        for ((key, _, was), (_, _, is)) in before.counter_holds(kind).iter().zip(after.counter_holds(kind)) {
            if *was != HoldStatus::Reserved && *was != is {
                breach("I6", format!("{key} left {} again", was.name()));
            }
        }
    }
    if let (Some(was), Some(is)) = (&before.coupon, &after.coupon)
        && was.status != CouponStatus::Locked
        && was.status != is.status
    {
        breach("I6", format!("coupon {} left {} again", was.id, was.status.name()));
    }
    for ((no, was), is) in before.numbered_attempts().zip(&after.attempts) {
        if was.receipt.is_some() && was.receipt != is.receipt {
            breach("I2", format!("the recorded money of attempt {no} changed"));
        }
        if was.refund.as_ref().is_some_and(|refund| refund.status == RefundStatus::Succeeded) && was.refund != is.refund
        {
            breach("I9", format!("the finished refund of attempt {no} changed"));
        }
    }
    if after.attempts.len() < before.attempts.len() {
        breach("I2", "an attempt disappeared".to_owned());
    }
    found
}

/// What a change breaks that was not broken before: a damaged order may still be written, but never damaged further. The same damage
/// may offend another invariant once the status has changed (I3 becomes I4), so it is told by what it is.
#[must_use]
pub(crate) fn new_breaches(before: &Order, after: &Order) -> Vec<Breach> {
    let old = breaches(before);
    let mut found = transition_breaches(before, after);
    found.extend(breaches(after).into_iter().filter(|breach| !old.iter().any(|old| old.what == breach.what)));
    found
}
