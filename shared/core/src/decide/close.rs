//! Closing an order: one use case for wake-up, delayed retry, scan, customer and operator (DESIGN §5).
//!
//! ```text
//! open ─ due? ─► no attempt ever ─────────────────────────────► CLOSED
//!                any attempt ─► CLOSING (lease) ─► ask ─► PAID | CLOSED | CLOSING, next check later
//! ```

use std::time::Duration;

use crate::closing::{Claim, CloseReason, CloseTask, CloseTrigger, Turn};
use crate::decide::rhythm::next_look;
use crate::decide::{Command, Decision, Draft, Knowledge, Question, Sequence, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::{AttemptAnswers, Cause};
use crate::guard;
use crate::ids::{AttemptNo, WorkerId};
use crate::limits;
use crate::order::{Order, OrderStatus};
use crate::signal::Signal;
use crate::time::Timestamp;

/// What occasioned a close run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The order's reminder; it names the deadline it was armed for.
    Wake {
        /// That deadline.
        expire_at: Timestamp,
    },
    /// The delayed message of an undecided run; it names the check it was sent for.
    Retry {
        /// That check.
        check_at: Timestamp,
    },
    /// The fallback scan.
    Scan,
    /// Somebody cancels the order, before or after its deadline.
    Cancel {
        /// Who.
        actor: Actor,
        /// Why the order will be closed.
        close_reason: CloseReason,
        /// In their words.
        reason: Cause,
    },
    /// A person of the shop wants an overdue order looked at now.
    Check {
        /// Who.
        actor: Actor,
        /// In their words.
        reason: Cause,
    },
}

impl Occasion {
    fn trigger(&self) -> CloseTrigger {
        match self {
            Occasion::Wake { .. } => CloseTrigger::Wake,
            Occasion::Retry { .. } => CloseTrigger::Retry,
            Occasion::Scan => CloseTrigger::Scan,
            Occasion::Cancel { .. } => CloseTrigger::Cancel,
            Occasion::Check { .. } => CloseTrigger::Operator,
        }
    }

    fn because(&self) -> Because {
        let (actor, fact) = match self {
            Occasion::Wake { .. } | Occasion::Retry { .. } | Occasion::Scan => {
                (Actor::System, DecidingFact::DeadlinePassed)
            }
            Occasion::Cancel { actor, reason, .. } | Occasion::Check { actor, reason } => {
                (actor.clone(), DecidingFact::Asked(reason.clone()))
            }
        };
        Because { trigger: Trigger::Close(self.trigger()), actor, fact }
    }

    fn close_reason(&self) -> CloseReason {
        match self {
            Occasion::Cancel { close_reason, .. } => *close_reason,
            Occasion::Wake { .. } | Occasion::Retry { .. } | Occasion::Scan | Occasion::Check { .. } => {
                CloseReason::Expired
            }
        }
    }
}

/// Close the order if it is due.
#[derive(Clone, Debug)]
pub struct Close {
    /// What occasioned it.
    pub occasion: Occasion,
    /// Who does it: the owner of the lease.
    pub worker: WorkerId,
    /// How long the lease lasts.
    pub lease: Duration,
    /// How often the fallback scan runs.
    pub scan_period: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseOutcome {
    /// The order is CLOSED by this run.
    Closed,
    /// The order is PAID by this run.
    Paid,
    /// The order was terminal before.
    Terminal(OrderStatus),
    /// It is not known yet; the order stays CLOSING and is looked at again then.
    Undecided {
        /// The next check.
        next_check_at: Timestamp,
    },
    /// Another worker has it, or its next check is only then: nothing is done, nothing queued.
    Busy {
        /// Until when.
        until: Timestamp,
    },
    /// The message came before its moment.
    Early {
        /// How long before.
        wait: Duration,
    },
    /// The deadline has not passed, and nobody cancels it. `None`: it never will.
    NotDue {
        /// When it will.
        due: Option<Timestamp>,
    },
    /// The message speaks of a deadline or check that is no longer the order's.
    Outdated,
}

impl Command for Close {
    type Outcome = CloseOutcome;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<CloseOutcome> {
        let claim = match self.may_act(order, now) {
            Ok(claim) => claim,
            Err(outcome) => return Decision::Done(outcome),
        };
        match claim {
            Claim::Own => {}
            Claim::Free => return self.claim(order, now),
            Claim::Leased(until) => {
                return Decision::Done(match self.occasion {
                    // Its check is the end of that lease: it came before its moment (DESIGN §5.1).
                    Occasion::Retry { .. } => CloseOutcome::Early { wait: until.since(now) },
                    Occasion::Wake { .. } | Occasion::Scan | Occasion::Cancel { .. } | Occasion::Check { .. } => {
                        CloseOutcome::Busy { until }
                    }
                });
            }
            Claim::Waiting(until) => {
                return match self.occasion {
                    Occasion::Check { .. } => self.claim(order, now),
                    Occasion::Retry { .. } => Decision::Done(CloseOutcome::Early { wait: until.since(now) }),
                    Occasion::Wake { .. } | Occasion::Scan | Occasion::Cancel { .. } => {
                        Decision::Done(CloseOutcome::Busy { until })
                    }
                };
            }
        }
        let unsettled: Vec<AttemptNo> = order.unsettled_attempts().map(|(no, _)| no).collect();
        let unanswered = known.unanswered(order, &unsettled);
        if unanswered.is_empty() || !guard::QUERY_BEFORE_CLOSE.stands() {
            return self.adjudicate(order, &known.payments(order), known, now);
        }
        let whole = |no| (no, Sequence::QueryCloseQuery);
        Decision::Ask(Question::Payments(unanswered.into_iter().map(whole).collect()))
    }
}

impl Close {
    /// Whether this occasion may act on the order now, and whose turn it is.
    fn may_act(&self, order: &Order, now: Timestamp) -> Result<Claim, CloseOutcome> {
        if let Occasion::Wake { expire_at } = self.occasion
            && order.expire_at != Some(expire_at)
        {
            return Err(CloseOutcome::Outdated);
        }
        match order.status {
            OrderStatus::Paid | OrderStatus::Closed => Err(CloseOutcome::Terminal(order.status)),
            OrderStatus::Closing => {
                let turn = order.closing.as_ref().map(|task| task.turn.clone()).unwrap_or_default();
                let claim = turn.claim(&self.worker, now);
                match self.occasion {
                    Occasion::Retry { check_at } if claim != Claim::Own && turn.next_check_at != Some(check_at) => {
                        Err(CloseOutcome::Outdated)
                    }
                    Occasion::Wake { .. }
                    | Occasion::Retry { .. }
                    | Occasion::Scan
                    | Occasion::Cancel { .. }
                    | Occasion::Check { .. } => Ok(claim),
                }
            }
            OrderStatus::PendingPayment | OrderStatus::Paying => self.may_begin(order, now).map(|()| Claim::Free),
        }
    }

    /// I7: the expiry path acts from `expire_at` + 0.5 s on, never before; only somebody who cancels may.
    fn may_begin(&self, order: &Order, now: Timestamp) -> Result<(), CloseOutcome> {
        if matches!(self.occasion, Occasion::Cancel { .. }) {
            return Ok(());
        }
        let Some(expire_at) = order.expire_at else {
            return Err(CloseOutcome::NotDue { due: None });
        };
        let due = expire_at.plus(limits::EXPIRY_SETTLE_TIME);
        if now >= due || !guard::EXPIRY_RECHECK.stands() {
            // A retry message belongs to a CLOSING order; an open one has no such check.
            return match self.occasion {
                Occasion::Retry { .. } => Err(CloseOutcome::Outdated),
                Occasion::Wake { .. } | Occasion::Scan | Occasion::Cancel { .. } | Occasion::Check { .. } => Ok(()),
            };
        }
        match self.occasion {
            Occasion::Wake { .. } => Err(CloseOutcome::Early { wait: due.since(now) }),
            Occasion::Retry { .. } => Err(CloseOutcome::Outdated),
            Occasion::Scan | Occasion::Cancel { .. } | Occasion::Check { .. } => {
                Err(CloseOutcome::NotDue { due: Some(due) })
            }
        }
    }

    /// With nobody to ask the order is closed at once; otherwise CLOSING is written with a lease, and nothing is released (I3).
    fn claim(&self, order: &Order, now: Timestamp) -> Decision<CloseOutcome> {
        let mut draft = Draft::new(order, self.occasion.because(), now);
        let begins = order.status != OrderStatus::Closing;
        if begins && !matches!(self.occasion, Occasion::Cancel { .. }) && guard::EXPIRY_RECHECK.stands() {
            draft.only_after_deadline();
        }
        let (started_at, attempts) = order.closing.as_ref().map_or((now, 0), |task| (task.started_at, task.attempts));
        let mut task = CloseTask {
            started_at,
            trigger: self.occasion.trigger(),
            attempts: attempts.saturating_add(1),
            turn: Turn::default(),
            needs_attention: order.closing.as_ref().is_some_and(|task| task.needs_attention),
            last_error: order.closing.as_ref().and_then(|task| task.last_error.clone()),
        };
        draft.order.close_reason = Some(order.close_reason.unwrap_or_else(|| self.occasion.close_reason()));
        let nobody_to_ask =
            (order.status == OrderStatus::PendingPayment && order.attempts.is_empty()) || !guard::DIRECT_CLOSE.stands();
        if nobody_to_ask && !order.has_confirmed() {
            draft.order.closing = Some(task);
            draft.close();
            return draft.commit(Then::Done(CloseOutcome::Closed));
        }
        task.turn = Turn::leased(self.worker.clone(), now.plus(self.lease));
        draft.order.closing = Some(task);
        draft.order.status = OrderStatus::Closing;
        draft.commit(Then::Continue)
    }

    /// PAID, CLOSED, or CLOSING with the next check: as long as it takes, never a guess, never back.
    fn adjudicate(
        &self,
        order: &Order,
        answers: &[AttemptAnswers],
        known: &Knowledge,
        now: Timestamp,
    ) -> Decision<CloseOutcome> {
        let mut draft = Draft::new(order, self.occasion.because(), now);
        let mut undecided = draft.apply(answers, known);
        if draft.order.status == OrderStatus::Paid {
            return draft.commit(Then::Done(CloseOutcome::Paid));
        }
        let settled = draft.order.unsettled_attempts().next().is_none() || !guard::QUERY_BEFORE_CLOSE.stands();
        if settled && !order.has_confirmed() {
            draft.because(Because { fact: DecidingFact::AttemptsSettled, ..self.occasion.because() });
            draft.close();
            return draft.commit(Then::Done(CloseOutcome::Closed));
        }
        if settled {
            undecided.error = Some(Cause::new("a reservation is confirmed on an order that is not paid"));
            undecided.needs_person = true;
            let held = Signal::ReservationAnomaly("confirmed on an unpaid order".to_owned());
            draft.signals.push(held);
        }
        let tries = draft.order.closing.as_ref().map_or(1, |task| task.attempts);
        let mut look = next_look(tries, now, undecided.not_found_at, self.scan_period);
        if undecided.needs_person {
            look.at = now.plus(self.scan_period);
            look.needs_attention = true;
        }
        if let Some(task) = &mut draft.order.closing {
            if look.needs_attention {
                draft.signals.push(Signal::NeedsAttention);
            }
            task.needs_attention = look.needs_attention;
            task.turn = Turn::at(look.at);
            task.last_error = undecided.error;
        }
        draft.commit(Then::Done(CloseOutcome::Undecided { next_check_at: look.at }))
    }
}
