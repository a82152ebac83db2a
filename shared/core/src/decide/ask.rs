//! Asking channels about attempts without closing the order (DESIGN §5.6).
//!
//! * A terminal order with `ask:<n>` left: claimed, asked by the whole sequence, retried, with the status unchanged; money found is
//!   refunded.
//! * An order that never expires whose credentials have: the same, so that its attempts get settled and it leaves the due index.
//! * An open order with `ask:<n>`: one query, no lease, no retry; any definite answer ends it, the deadline asks again.

use std::time::Duration;

use crate::closing::{AskTask, Claim, Turn};
use crate::decide::rhythm::next_look;
use crate::decide::{Command, Decision, Draft, Knowledge, Question, Sequence, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::AttemptAnswers;
use crate::ids::{AttemptNo, WorkerId};
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::signal::Signal;
use crate::time::Timestamp;

/// Work off what has to be asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The check this was sent for, when it is a delayed retry.
    pub check_at: Option<Timestamp>,
    /// Who does it.
    pub worker: WorkerId,
    /// How long the lease lasts.
    pub lease: Duration,
    /// How often the fallback scan runs.
    pub scan_period: Duration,
    /// A person asks for it: the next check is not waited for.
    pub at_once: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskOutcome {
    /// There is nothing to ask about.
    NothingToAsk,
    /// Everything that was asked about is known.
    Answered,
    /// It is not known yet; it is asked again then.
    Undecided {
        /// The next check; `None` on an open order, where the deadline asks again.
        next_check_at: Option<Timestamp>,
    },
    /// Another worker has it, or its next check is only then.
    Busy {
        /// Until when.
        until: Timestamp,
    },
    /// The message speaks of a check that is no longer the order's.
    Outdated,
}

impl Command for Ask {
    type Outcome = AskOutcome;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<AskOutcome> {
        if order.status.is_terminal() {
            return self.with_lease(order, units(order), known, now);
        }
        let overdue = never_expiring_overdue(order, now);
        if !overdue.is_empty() {
            return self.with_lease(order, overdue, known, now);
        }
        match order.status {
            // The closer asks about every unsettled attempt anyhow.
            OrderStatus::Closing => Decision::Done(AskOutcome::NothingToAsk),
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Paid | OrderStatus::Closed => {
                Ask::once(order, known, now)
            }
        }
    }
}

/// The attempts that have their `ask:<n>`.
fn units(order: &Order) -> Vec<AttemptNo> {
    let asked = |unit: &Unit| match unit {
        Unit::Ask(no) => Some(*no),
        Unit::Settle(_) | Unit::Cap | Unit::Refund(_) | Unit::Anomaly(..) | Unit::Foreign(_) => None,
    };
    order.pending.iter().filter_map(asked).collect()
}

/// The unsettled attempts of an open order that never expires, whose credential has expired.
#[must_use]
pub fn never_expiring_overdue(order: &Order, now: Timestamp) -> Vec<AttemptNo> {
    let open = matches!(order.status, OrderStatus::PendingPayment | OrderStatus::Paying);
    if !open || order.expire_at.is_some() {
        return Vec::new();
    }
    let overdue = order.unsettled_attempts().filter(|(_, attempt)| attempt.credential_expiry() <= now);
    overdue.map(|(no, _)| no).collect()
}

fn because() -> Because {
    Because { trigger: Trigger::Query, actor: Actor::System, fact: DecidingFact::AttemptsSettled }
}

impl Ask {
    fn with_lease(
        &self,
        order: &Order,
        attempts: Vec<AttemptNo>,
        known: &Knowledge,
        now: Timestamp,
    ) -> Decision<AskOutcome> {
        if attempts.is_empty() {
            return Decision::Done(AskOutcome::NothingToAsk);
        }
        let turn = order.asking.as_ref().map(|task| task.turn.clone()).unwrap_or_default();
        let claim = turn.claim(&self.worker, now);
        if let Some(check_at) = self.check_at
            && claim != Claim::Own
            && turn.next_check_at != Some(check_at)
        {
            return Decision::Done(AskOutcome::Outdated);
        }
        match claim {
            Claim::Leased(until) => return Decision::Done(AskOutcome::Busy { until }),
            Claim::Waiting(until) if !self.at_once => return Decision::Done(AskOutcome::Busy { until }),
            Claim::Free | Claim::Waiting(_) => {
                let mut draft = Draft::new(order, because(), now);
                let task = draft.order.asking.get_or_insert_default();
                task.attempts = task.attempts.saturating_add(1);
                task.turn = Turn::leased(self.worker.clone(), now.plus(self.lease));
                return draft.commit(Then::Continue);
            }
            Claim::Own => {}
        }
        let unanswered = known.unanswered(order, &attempts);
        if unanswered.is_empty() {
            return self.record(order, &known.payments(order), known, now);
        }
        let whole = |no| (no, Sequence::QueryCloseQuery);
        Decision::Ask(Question::Payments(unanswered.into_iter().map(whole).collect()))
    }

    fn record(
        &self,
        order: &Order,
        answers: &[AttemptAnswers],
        known: &Knowledge,
        now: Timestamp,
    ) -> Decision<AskOutcome> {
        let mut draft = Draft::new(order, because(), now);
        let undecided = draft.apply(answers, known);
        let open = if draft.order.status.is_terminal() {
            !units(&draft.order).is_empty()
        } else {
            !never_expiring_overdue(&draft.order, now).is_empty()
        };
        if !open {
            draft.order.asking = None;
            return draft.commit(Then::Done(AskOutcome::Answered));
        }
        let tries = order.asking.as_ref().map_or(1, |task| task.attempts);
        let mut look = next_look(tries, now, undecided.not_found_at, self.scan_period);
        if undecided.needs_person {
            look.at = now.plus(self.scan_period);
            look.needs_attention = true;
        }
        if look.needs_attention {
            draft.signals.push(Signal::NeedsAttention);
        }
        draft.order.asking = Some(AskTask {
            attempts: tries,
            turn: Turn::at(look.at),
            needs_attention: look.needs_attention,
            last_error: undecided.error,
        });
        draft.commit(Then::Done(AskOutcome::Undecided { next_check_at: Some(look.at) }))
    }

    /// One query about each `ask:<n>` of an open order.
    fn once(order: &Order, known: &Knowledge, now: Timestamp) -> Decision<AskOutcome> {
        let attempts = units(order);
        if attempts.is_empty() {
            return Decision::Done(AskOutcome::NothingToAsk);
        }
        let unanswered = known.unanswered(order, &attempts);
        if !unanswered.is_empty() {
            let query = |no| (no, Sequence::Query);
            return Decision::Ask(Question::Payments(unanswered.into_iter().map(query).collect()));
        }
        let mut draft = Draft::new(order, because(), now);
        draft.apply(&known.payments(order), known);
        let outcome = if units(&draft.order).is_empty() {
            AskOutcome::Answered
        } else {
            AskOutcome::Undecided { next_check_at: None }
        };
        if draft.is_worth_writing() { draft.commit(Then::Done(outcome)) } else { Decision::Done(outcome) }
    }
}
