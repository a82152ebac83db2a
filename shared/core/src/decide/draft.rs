//! A commit being put together, and the rules that hold for every commit: evidence (I11), asks on terminal orders (I13) and the due
//! index (I12) each stand here, once.

use crate::decide::{Commit, Decision, Then};
use crate::evidence::{Because, Evidence};
use crate::guard;
use crate::ids::AttemptNo;
use crate::invariants;
use crate::limits;
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::reservation::ResourceKind;
use crate::row::Row;
use crate::signal::Signal;
use crate::time::Timestamp;

/// A commit being put together from the order as it is.
#[derive(Debug)]
pub struct Draft<'a> {
    before: &'a Order,
    /// The order as it will be.
    pub order: Order,
    /// The rows that change with it.
    pub rows: Vec<Row>,
    /// What people must hear of.
    pub signals: Vec<Signal>,
    because: Because,
    after_deadline: Option<Timestamp>,
    now: Timestamp,
}

impl<'a> Draft<'a> {
    /// Begins a change of `before`.
    #[must_use]
    pub fn new(before: &'a Order, because: Because, now: Timestamp) -> Draft<'a> {
        Draft {
            before,
            order: before.clone(),
            rows: Vec::new(),
            signals: Vec::new(),
            because,
            after_deadline: None,
            now,
        }
    }

    /// The order as it is.
    #[must_use]
    pub fn before(&self) -> &'a Order {
        self.before
    }

    /// When it is made.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether anything has changed so far.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.order != *self.before
    }

    /// Whether it is written: something changed, or people must hear of something.
    #[must_use]
    pub fn is_worth_writing(&self) -> bool {
        self.changes() || !self.signals.is_empty()
    }

    /// The ground on which the status changes, when it does.
    pub(crate) fn ground(&self) -> Because {
        self.because.clone()
    }

    /// Changes that ground.
    pub(crate) fn because(&mut self, because: Because) {
        self.because = because;
    }

    /// Demands that the deadline has passed at the moment of writing as well (I7).
    pub fn only_after_deadline(&mut self) {
        self.after_deadline = Some(self.now);
    }

    /// The order is PAID: everything it holds is to be confirmed.
    pub fn pay(&mut self) {
        self.order.status = OrderStatus::Paid;
        self.order.paid_at = Some(self.now);
        self.order.close_reason = None;
        self.end_closing();
        self.settle_everything();
    }

    /// The order is CLOSED: everything it holds is to be released, and money that counted is to be given back.
    pub fn close(&mut self) {
        self.order.status = OrderStatus::Closed;
        self.order.closed_at = Some(self.now);
        self.end_closing();
        self.settle_everything();
        let counted: Vec<AttemptNo> = self
            .order
            .numbered_attempts()
            .filter(|(_, attempt)| attempt.counted().is_some() && attempt.refund.is_none())
            .map(|(no, _)| no)
            .collect();
        for no in counted {
            self.owe_whole_refund(no);
        }
    }

    /// A terminal commit clears lease and next check (DESIGN §5.4).
    fn end_closing(&mut self) {
        if let Some(task) = &mut self.order.closing {
            task.turn = crate::closing::Turn::default();
            task.needs_attention = false;
        }
    }

    fn settle_everything(&mut self) {
        for kind in ResourceKind::ALL {
            if self.order.holds(kind) {
                self.order.pending.insert(Unit::Settle(kind));
            }
        }
        if self.order.counted_open {
            self.order.pending.insert(Unit::Cap);
        }
    }

    /// Turns the draft into the decision to write it, applying the rules of every commit.
    #[must_use]
    pub fn commit<O>(mut self, then: Then<O>) -> Decision<O> {
        self.order.version += 1;
        self.record_evidence();
        self.ask_about_the_unsettled();
        self.end_asking();
        self.order.due_at = due_at(self.before, &self.order, self.now);
        debug_assert_eq!(
            invariants::new_breaches(self.before, &self.order),
            Vec::new(),
            "a decision must keep every invariant"
        );
        Decision::Commit(Box::new(Commit {
            on_version: self.before.version,
            on_status: self.before.status,
            after_deadline: self.after_deadline,
            order: self.order,
            rows: self.rows,
            signals: self.signals,
            then,
        }))
    }

    /// I11: a status change stores what set it off, who was behind it and on what ground, in the same write.
    fn record_evidence(&mut self) {
        if self.order.status == self.before.status {
            return;
        }
        self.order.evidence.push(Evidence {
            version: self.order.version,
            at: self.now,
            to: self.order.status,
            trigger: self.because.trigger.name().to_owned(),
            actor: self.because.actor.clone(),
            fact: self.because.fact.text(),
        });
        let surplus = self.order.evidence.len().saturating_sub(limits::EVIDENCE);
        self.order.evidence.drain(..surplus);
    }

    /// I13: on a terminal order every attempt is settled, SUCCEEDED, or has its `ask:<n>`.
    fn ask_about_the_unsettled(&mut self) {
        if self.order.status.is_terminal() {
            let unsettled: Vec<AttemptNo> = self.order.unsettled_attempts().map(|(no, _)| no).collect();
            self.order.pending.extend(unsettled.into_iter().map(Unit::Ask));
        }
    }

    /// The ask task ends with what it asks about, however that came to be known.
    fn end_asking(&mut self) {
        let asks = self.order.pending.iter().any(|unit| matches!(unit, Unit::Ask(_)));
        if !asks && self.order.unsettled_attempts().next().is_none() {
            self.order.asking = None;
        }
    }
}

/// I12: terminal with work left ⇔ in the due index; open ⇒ in it, except an order that never expires and has neither an unsettled
/// attempt nor work. Nothing postpones a `due_at` that has work.
fn due_at(before: &Order, after: &Order, now: Timestamp) -> Option<Timestamp> {
    let is_left_out = after.status.is_terminal() && !guard::DUE_INDEX.stands();
    if !belongs_in_due_index(after) || is_left_out {
        return None;
    }
    let has_work = !after.pending.is_empty();
    let Some(due_at) = after.due_at else {
        let credential = after.unsettled_attempts().map(|(_, attempt)| attempt.credential_expiry()).max();
        return Some(match (has_work, credential) {
            (false, Some(expiry)) => expiry,
            (true, _) | (false, None) => now,
        });
    };
    let begins_closing = after.status == OrderStatus::Closing && before.status != OrderStatus::Closing;
    let leaves_work = begins_closing || (after.status.is_terminal() && has_work);
    if leaves_work && due_at > now.plus(limits::DUE_AHEAD) { Some(now) } else { Some(due_at) }
}

/// Who stands in the due index (I12).
#[must_use]
pub(crate) fn belongs_in_due_index(order: &Order) -> bool {
    let has_work = !order.pending.is_empty();
    match order.status {
        OrderStatus::Paid | OrderStatus::Closed => has_work,
        OrderStatus::Closing => true,
        OrderStatus::PendingPayment | OrderStatus::Paying => {
            order.expire_at.is_some() || has_work || order.unsettled_attempts().next().is_some()
        }
    }
}
