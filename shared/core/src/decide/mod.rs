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

use crate::attempt::Attempt;
use crate::fact::{AttemptAnswers, RefundFact};
use crate::guard;
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

/// What is known besides the order. An answer about an attempt holds while the attempt is as it was when it was asked about: facts
/// from before it changed are thrown away (DESIGN §5.3), and what others do to the rest of the order costs no second question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Knowledge {
    payments: Vec<(Attempt, AttemptAnswers)>,
    refund: Option<(Attempt, AttemptNo, RefundFact)>,
    coupon: Option<Option<CouponTerms>>,
    refusals: Vec<(u64, Refusal)>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// About attempts.
    Payments(Vec<AttemptAnswers>),
    /// About the refund of an attempt.
    Refund(AttemptNo, RefundFact),
    /// A coupon's terms; `None` when there is no such coupon.
    Coupon(Option<CouponTerms>),
}

impl Knowledge {
    /// Adds an answer to a question that was put about `order` as it was.
    pub fn learn(&mut self, order: &Order, answer: Answer) {
        match answer {
            Answer::Payments(answers) => {
                for answer in answers {
                    self.payments.retain(|(_, known)| known.attempt != answer.attempt);
                    self.payments.extend(order.attempt(answer.attempt).map(|attempt| (attempt.clone(), answer)));
                }
            }
            Answer::Refund(no, fact) => self.refund = order.attempt(no).map(|attempt| (attempt.clone(), no, fact)),
            Answer::Coupon(terms) => self.coupon = Some(terms),
        }
    }

    /// Adds what a commit that was decided on `version` was refused for. Coupon terms are then read anew.
    pub fn refuse(&mut self, version: u64, refusal: Refusal) {
        if refusal == Refusal::Coupon {
            self.coupon = None;
        }
        self.refusals.push((version, refusal));
    }

    /// The answers about attempts that are as they were.
    fn payments(&self, order: &Order) -> Vec<AttemptAnswers> {
        let is_as_it_was =
            |as_it_was: &Attempt, no| order.attempt(no) == Some(as_it_was) || !guard::FRESH_FACTS.stands();
        let holds = |(as_it_was, answer): &&(Attempt, AttemptAnswers)| is_as_it_was(as_it_was, answer.attempt);
        self.payments.iter().filter(holds).map(|(_, answer)| answer.clone()).collect()
    }

    /// Those of `attempts` about which nothing is known.
    fn unanswered(&self, order: &Order, attempts: &[AttemptNo]) -> Vec<AttemptNo> {
        let answers = self.payments(order);
        attempts.iter().copied().filter(|no| answers.iter().all(|answer| answer.attempt != *no)).collect()
    }

    fn refund(&self, order: &Order, no: AttemptNo) -> Option<&RefundFact> {
        let (as_it_was, of, fact) = self.refund.as_ref()?;
        (*of == no && (order.attempt(no) == Some(as_it_was) || !guard::FRESH_FACTS.stands())).then_some(fact)
    }

    /// Terms may be old: the write that uses them has them as its condition.
    fn coupon(&self) -> Option<Option<&CouponTerms>> {
        self.coupon.as_ref().map(Option::as_ref)
    }

    /// What was refused on the order as it is.
    fn refusals(&self, order: &Order) -> impl Iterator<Item = &Refusal> {
        self.refusals.iter().filter(|(version, _)| *version == order.version).map(|(_, refusal)| refusal)
    }

    fn taken(&self, order: &Order, attempt: AttemptNo) -> bool {
        self.refusals(order).any(|refusal| *refusal == Refusal::TransactionTaken(attempt))
    }
}

/// Decides what happens next: the one entry to every rule.
pub fn decide<C: Command>(order: &Order, command: &C, known: &Knowledge, now: Timestamp) -> Decision<C::Outcome> {
    command.decide(order, known, now)
}
