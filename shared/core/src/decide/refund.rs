//! Giving money back (DESIGN §6): verified first, SUBMITTED written, submitted, then asked about until final; one number until the
//! channel states it dead (I9).

use std::time::Duration;

use crate::attempt::{Receipt, Standing};
use crate::closing::{Claim, Turn};
use crate::decide::rhythm::next_look;
use crate::decide::{Command, Decision, Draft, Knowledge, Question, Sequence, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::{Cause, PaymentFact, RefundFact};
use crate::ids::{AttemptNo, WorkerId};
use crate::limits;
use crate::money::{Amount, Money};
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::refund::{Refund, RefundStatus};
use crate::signal::Signal;
use crate::time::Timestamp;

/// Work on the refund of one attempt.
#[derive(Clone, Debug)]
pub struct WorkRefund {
    /// Which attempt's.
    pub attempt: AttemptNo,
    /// The try this was sent for, when it is a delayed one.
    pub check_at: Option<Timestamp>,
    /// Who does it.
    pub worker: WorkerId,
    /// How long the lease lasts.
    pub lease: Duration,
    /// How often the fallback scan runs.
    pub scan_period: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefundOutcome {
    /// The channel says the money went back.
    Succeeded,
    /// Only a person can go on; the unit stays pending.
    Failed,
    /// Not final; worked on again then.
    Open {
        /// The next try.
        next_try_at: Timestamp,
    },
    /// Another worker has it, or its next try is only then.
    Busy {
        /// Until when.
        until: Timestamp,
    },
    /// There is nothing to give back, or it went back before.
    NothingToDo,
    /// The message speaks of a try that is no longer the refund's.
    Outdated,
}

impl Command for WorkRefund {
    type Outcome = RefundOutcome;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<RefundOutcome> {
        let refund = order.attempt(self.attempt).and_then(|attempt| attempt.refund.as_ref());
        let Some(refund) = refund.filter(|_| order.pending.contains(&Unit::Refund(self.attempt))) else {
            return Decision::Done(RefundOutcome::NothingToDo);
        };
        let claim = refund.turn.claim(&self.worker, now);
        if let Some(check_at) = self.check_at
            && claim != Claim::Own
            && refund.turn.next_check_at != Some(check_at)
        {
            return Decision::Done(RefundOutcome::Outdated);
        }
        let is_ours = match claim {
            Claim::Leased(until) | Claim::Waiting(until) => return Decision::Done(RefundOutcome::Busy { until }),
            Claim::Free => false,
            Claim::Own => true,
        };
        match (refund.status, known.refund(order, self.attempt)) {
            (RefundStatus::Succeeded, _) => Decision::Done(RefundOutcome::NothingToDo),
            (RefundStatus::Failed, _) => Decision::Done(RefundOutcome::Failed),
            (RefundStatus::Pending | RefundStatus::Submitted, _) if !refund.sent => {
                self.verify(order, refund, known, now)
            }
            (RefundStatus::Submitted, None) if is_ours => Decision::Ask(Question::SubmitRefund(self.attempt)),
            // A number that was sent once is asked about before anything else.
            (RefundStatus::Pending | RefundStatus::Submitted, None) => {
                Decision::Ask(Question::RefundStatus(self.attempt))
            }
            // It never arrived: the same number again, after the money was verified again.
            (RefundStatus::Pending | RefundStatus::Submitted, Some(RefundFact::NotFound)) if !is_ours => {
                self.verify(order, refund, known, now)
            }
            (RefundStatus::Pending | RefundStatus::Submitted, Some(fact)) => self.record(order, fact, now),
        }
    }
}

impl WorkRefund {
    fn draft<'a>(&self, order: &'a Order, now: Timestamp) -> Draft<'a> {
        // A refund changes no status, so this ground is never stored.
        let because = Because { trigger: Trigger::Query, actor: Actor::System, fact: DecidingFact::AttemptsSettled };
        Draft::new(order, because, now)
    }

    /// The channel must confirm the money and how much of it is left before anything is submitted.
    fn verify(&self, order: &Order, refund: &Refund, known: &Knowledge, now: Timestamp) -> Decision<RefundOutcome> {
        let answers = known.payments(order);
        if known.unanswered(order, &[self.attempt]).contains(&self.attempt) {
            return Decision::Ask(Question::Payments(vec![(self.attempt, Sequence::Query)]));
        }
        let receipt = order.attempt(self.attempt).and_then(|attempt| attempt.receipt.as_ref());
        let confirmed =
            answers.iter().find(|answer| answer.attempt == self.attempt).and_then(|answer| match &answer.fact {
                PaymentFact::Succeeded(success)
                    if receipt.is_some_and(|receipt| {
                        receipt.transaction == success.transaction && receipt.paid == success.paid
                    }) =>
                {
                    // What a PAID order counts on must stay: only the rest may go back.
                    let left = success.paid.amount.less(success.refunded);
                    Some(left.less(needed(order, receipt, refund)))
                }
                PaymentFact::Succeeded(_)
                | PaymentFact::NotPaidClosed
                | PaymentFact::Failed
                | PaymentFact::Open
                | PaymentFact::Processing
                | PaymentFact::NotFound
                | PaymentFact::Unknown(_) => None,
            });
        let mut draft = self.draft(order, now);
        match confirmed {
            None => self.again(draft, refund.status, Cause::new("the channel does not confirm the money"), now),
            Some(left) if left >= refund.money.amount => self.submit(draft, refund.money, now),
            Some(Amount::ZERO) => {
                draft.signals.push(Signal::RefundedElsewhere(self.attempt));
                self.succeed(draft, Some(Cause::new("given back at the channel by somebody else")))
            }
            Some(left) if !refund.sent => {
                draft.signals.push(Signal::RefundedElsewhere(self.attempt));
                self.submit(draft, Money { amount: left, ..refund.money }, now)
            }
            // Under a number that was sent before, another amount would be another refund.
            Some(_) => self.fail(draft, Cause::new("less is left at the channel than was submitted")),
        }
    }

    /// SUBMITTED with a lease, durable before the channel hears of it.
    fn submit(&self, mut draft: Draft<'_>, money: Money, now: Timestamp) -> Decision<RefundOutcome> {
        if let Some(refund) = self.refund_of(&mut draft) {
            refund.money = money;
            refund.status = RefundStatus::Submitted;
            refund.sent = true;
            refund.tries = refund.tries.saturating_add(1);
            refund.turn = Turn::leased(self.worker.clone(), now.plus(self.lease));
        }
        draft.commit(Then::Continue)
    }

    fn record(&self, order: &Order, fact: &RefundFact, now: Timestamp) -> Decision<RefundOutcome> {
        let mut draft = self.draft(order, now);
        match fact {
            RefundFact::Refunded => {
                draft.signals.push(Signal::RefundSucceeded(self.attempt));
                self.succeed(draft, None)
            }
            RefundFact::Pending => {
                self.again(draft, RefundStatus::Submitted, Cause::new("accepted, not done at the channel yet"), now)
            }
            RefundFact::NotFound => {
                self.again(draft, RefundStatus::Submitted, Cause::new("the channel does not know it"), now)
            }
            RefundFact::Unknown(cause) => self.again(draft, RefundStatus::Submitted, cause.clone(), now),
            RefundFact::Closed(cause) => {
                let numbers_left = self.refund_of(&mut draft).is_some_and(|refund| {
                    refund.k = refund.k.saturating_add(1);
                    refund.sent = false;
                    refund.k <= limits::REFUND_NUMBERS
                });
                if numbers_left {
                    self.again(draft, RefundStatus::Pending, cause.clone(), now)
                } else {
                    self.fail(self.draft(order, now), cause.clone())
                }
            }
            RefundFact::NeedsManual(cause) | RefundFact::Rejected(cause) => self.fail(draft, cause.clone()),
        }
    }

    fn again(
        &self,
        mut draft: Draft<'_>,
        status: RefundStatus,
        cause: Cause,
        now: Timestamp,
    ) -> Decision<RefundOutcome> {
        let mut next_try_at = now;
        let mut needs_attention = false;
        if let Some(refund) = self.refund_of(&mut draft) {
            // A try that got no further than the verification counts as well, or the rhythm would stand still.
            if refund.status == RefundStatus::Pending || refund.turn.owner.as_ref() != Some(&self.worker) {
                refund.tries = refund.tries.saturating_add(1);
            }
            let look = next_look(refund.tries, now, None, self.scan_period);
            next_try_at = look.at;
            needs_attention = look.needs_attention;
            refund.status = status;
            refund.turn = Turn::at(look.at);
            refund.last_error = Some(cause);
        }
        if needs_attention {
            draft.signals.push(Signal::NeedsAttention);
        }
        draft.commit(Then::Done(RefundOutcome::Open { next_try_at }))
    }

    fn succeed(&self, mut draft: Draft<'_>, note: Option<Cause>) -> Decision<RefundOutcome> {
        if let Some(refund) = self.refund_of(&mut draft) {
            refund.status = RefundStatus::Succeeded;
            refund.turn = Turn::default();
            refund.last_error = note;
        }
        draft.order.pending.remove(&Unit::Refund(self.attempt));
        draft.commit(Then::Done(RefundOutcome::Succeeded))
    }

    fn fail(&self, mut draft: Draft<'_>, cause: Cause) -> Decision<RefundOutcome> {
        if let Some(refund) = self.refund_of(&mut draft) {
            refund.status = RefundStatus::Failed;
            refund.turn = Turn::default();
            refund.last_error = Some(cause);
        }
        draft.signals.push(Signal::RefundFailed(self.attempt));
        draft.commit(Then::Done(RefundOutcome::Failed))
    }

    fn refund_of<'d>(&self, draft: &'d mut Draft<'_>) -> Option<&'d mut Refund> {
        draft.order.attempts.get_mut(self.attempt.index()).and_then(|attempt| attempt.refund.as_mut())
    }
}

/// How much of the receipt the order needs: of a payment that is refunded by its excess, all but the excess.
fn needed(order: &Order, receipt: Option<&Receipt>, refund: &Refund) -> Amount {
    match receipt {
        Some(receipt) if order.status == OrderStatus::Paid && receipt.standing == Standing::Counted => {
            receipt.paid.amount.less(refund.money.amount)
        }
        Some(_) | None => Amount::ZERO,
    }
}
