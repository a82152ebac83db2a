//! More time to pay, given by a person before the deadline has passed (I7).

use std::time::Duration;

use crate::decide::{Command, Decision, Draft, Knowledge, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::Cause;
use crate::limits;
use crate::order::{Order, OrderStatus};
use crate::time::Timestamp;

/// Move the deadline of an order from what it is to a later moment. It names both: of two that were asked for at once one is done, and
/// the other hears that the deadline has changed.
#[derive(Clone, Debug)]
pub struct Extend {
    /// The deadline as it was when this was asked for.
    pub from: Timestamp,
    /// The deadline as it is to be.
    pub to: Timestamp,
    /// Who gives more time.
    pub actor: Actor,
    /// In their words.
    pub reason: Cause,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendOutcome {
    /// The deadline is the later one; credentials keep their expiry.
    Extended,
    /// The order is being closed, or is terminal.
    NotOpen(OrderStatus),
    /// The deadline has passed, or there is none.
    Passed,
    /// It is not later, or further from the creation than a window may be.
    OutOfBounds,
    /// The deadline is another one by now.
    Changed,
}

impl Command for Extend {
    type Outcome = ExtendOutcome;

    fn decide(&self, order: &Order, _: &Knowledge, now: Timestamp) -> Decision<ExtendOutcome> {
        match order.status {
            OrderStatus::PendingPayment | OrderStatus::Paying => {}
            OrderStatus::Closing | OrderStatus::Paid | OrderStatus::Closed => {
                return Decision::Done(ExtendOutcome::NotOpen(order.status));
            }
        }
        match order.expire_at {
            Some(expire_at) if expire_at <= now => return Decision::Done(ExtendOutcome::Passed),
            None => return Decision::Done(ExtendOutcome::Passed),
            Some(expire_at) if expire_at != self.from => return Decision::Done(ExtendOutcome::Changed),
            Some(_) => {}
        }
        let longest = order.created_at.plus(Duration::from_secs(limits::WINDOW_SECONDS));
        if self.to <= self.from || self.to > longest {
            return Decision::Done(ExtendOutcome::OutOfBounds);
        }
        let because = Because {
            trigger: Trigger::Close(crate::closing::CloseTrigger::Operator),
            actor: self.actor.clone(),
            fact: DecidingFact::Asked(self.reason.clone()),
        };
        let mut draft = Draft::new(order, because, now);
        draft.order.expire_at = Some(self.to);
        // Nothing postpones a `due_at` that has work (I12).
        if order.pending.is_empty() {
            draft.order.due_at = Some(self.to);
        }
        draft.commit(Then::Done(ExtendOutcome::Extended))
    }
}
