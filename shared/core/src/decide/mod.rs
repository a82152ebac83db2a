//! What happens next to an order: pure decisions (DESIGN §6).
//!
//! A [`Command`] looks at the order, at what is known besides and at the time, and answers with a [`Decision`]: a commit, a question
//! that has to be asked first, or that there is nothing to write. Whoever runs it asks, or commits, and decides again; no decision
//! depends on anything that is not an argument here. Every command is idempotent over its own effect: decided again on an order that
//! already carries it, it finds nothing left to do. That is how a write whose answer was lost proves itself.

pub mod answers;
pub mod ask;
pub mod close;
pub mod create;
mod draft;
pub mod extend;
mod money;
pub mod notified;
pub mod place_answered;
pub mod refund;
pub mod retry_refund;
mod rhythm;
pub mod settle;
pub mod start_payment;

use crate::fact::{AttemptAnswers, RefundFact};
use crate::ids::{AttemptNo, CouponId};
use crate::order::{Order, OrderStatus};
use crate::row::{CouponTerms, Refusal, Row};
use crate::signal::Signal;
use crate::time::Timestamp;

pub use draft::Draft;
pub(crate) use draft::belongs_in_due_index;

/// One thing that may happen to an order.
pub trait Command {
    /// What it means to whoever gave the command.
    type Outcome;

    /// Decides; see [`decide`].
    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<Self::Outcome>;
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<O> {
    /// Write this, on the condition that the order is still what it was decided on.
    Commit(Box<Commit<O>>),
    /// Ask this first and decide again.
    Ask(Question),
    /// Nothing is to be written.
    Done(O),
}

/// One write of one order and of the rows that change with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit<O> {
    /// The version it was decided on.
    pub on_version: u64,
    /// The status it was decided on.
    pub on_status: OrderStatus,
    /// Whether the deadline must have passed at the moment of writing as well (I7).
    pub after_deadline: Option<Timestamp>,
    /// The order as it will be.
    pub order: Order,
    /// The rows that change with it.
    pub rows: Vec<Row>,
    /// What people must hear of once it is durable.
    pub signals: Vec<Signal>,
    /// What follows.
    pub then: Then<O>,
}

/// What follows a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then<O> {
    /// The command is done.
    Done(O),
    /// Decide again on the order as it is now.
    Continue,
}

/// A question that has to be asked before a decision can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Ask the channels about these attempts, side by side.
    Payments(Vec<(AttemptNo, Sequence)>),
    /// Ask the channel about the refund of this attempt, by its present number.
    RefundStatus(AttemptNo),
    /// Have the channel give back the refund of this attempt, under its present number.
    SubmitRefund(AttemptNo),
    /// Read the coupon's terms.
    Coupon(CouponId),
}

/// Which calls are made about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// One query.
    Query,
    /// Query → close → query again: only this settles an attempt (CHANNELS §0.3). A success ends it early.
    QueryCloseQuery,
}

/// What is known besides the order. Answers hold for the version they were gathered on: facts from before the order changed
/// are thrown away (DESIGN §5.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    version: u64,
    payments: Option<Vec<AttemptAnswers>>,
    refund: Option<RefundFact>,
    coupon: Option<Option<CouponTerms>>,
    refusals: Vec<Refusal>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// About attempts.
    Payments(Vec<AttemptAnswers>),
    /// About a refund.
    Refund(RefundFact),
    /// A coupon's terms; `None` when there is no such coupon.
    Coupon(Option<CouponTerms>),
}

impl Knowledge {
    /// Adds an answer that was gathered on `version`.
    pub fn learn(&mut self, version: u64, answer: Answer) {
        self.forget_older_than(version);
        match answer {
            Answer::Payments(answers) => self.payments = Some(answers),
            Answer::Refund(fact) => self.refund = Some(fact),
            Answer::Coupon(terms) => self.coupon = Some(terms),
        }
    }

    /// Adds what a commit that was decided on `version` was refused for. Coupon terms are then read anew.
    pub fn refuse(&mut self, version: u64, refusal: Refusal) {
        self.forget_older_than(version);
        if refusal == Refusal::Coupon {
            self.coupon = None;
        }
        self.refusals.push(refusal);
    }

    fn forget_older_than(&mut self, version: u64) {
        if self.version != version {
            *self = Knowledge { version, ..Knowledge::default() };
        }
    }

    fn payments(&self, order: &Order) -> Option<&[AttemptAnswers]> {
        self.payments.as_deref().filter(|_| self.version == order.version)
    }

    fn refund(&self, order: &Order) -> Option<&RefundFact> {
        self.refund.as_ref().filter(|_| self.version == order.version)
    }

    fn coupon(&self, order: &Order) -> Option<Option<&CouponTerms>> {
        self.coupon.as_ref().filter(|_| self.version == order.version).map(Option::as_ref)
    }

    fn refusals(&self, order: &Order) -> &[Refusal] {
        if self.version == order.version { &self.refusals } else { &[] }
    }

    fn taken(&self, order: &Order, attempt: AttemptNo) -> bool {
        self.refusals(order).contains(&Refusal::TransactionTaken(attempt))
    }
}

/// Decides what happens next: the one entry to every rule.
pub fn decide<C: Command>(order: &Order, command: &C, known: &Knowledge, now: Timestamp) -> Decision<C::Outcome> {
    command.decide(order, known, now)
}
