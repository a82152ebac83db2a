//! A person has a failed refund tried again (DESIGN §3: FAILED may go back to PENDING by an audited retry).

use crate::closing::Turn;
use crate::decide::{Command, Decision, Draft, Knowledge, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::Cause;
use crate::ids::AttemptNo;
use crate::order::Order;
use crate::refund::RefundStatus;
use crate::time::Timestamp;

/// Try the refund of one attempt again, under the number it has.
#[derive(Clone, Debug)]
pub struct RetryRefund {
    /// Which attempt's.
    pub attempt: AttemptNo,
    /// Which of its refund numbers was meant: another one by now is another refund.
    pub k: u8,
    /// Who wants it.
    pub actor: Actor,
    /// In their words.
    pub reason: Cause,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryOutcome {
    /// It is worked on at once.
    Retried,
    /// There is no such refund.
    NotFound,
    /// It is not FAILED: the system is at it, or it is done.
    NotFailed(RefundStatus),
}

impl Command for RetryRefund {
    type Outcome = RetryOutcome;

    fn decide(&self, order: &Order, _: &Knowledge, now: Timestamp) -> Decision<RetryOutcome> {
        let because = Because {
            trigger: Trigger::Close(crate::closing::CloseTrigger::Operator),
            actor: self.actor.clone(),
            fact: DecidingFact::Asked(self.reason.clone()),
        };
        let mut draft = Draft::new(order, because, now);
        let refund = draft.order.attempts.get_mut(self.attempt.index()).and_then(|attempt| attempt.refund.as_mut());
        let Some(refund) = refund.filter(|refund| refund.k == self.k) else {
            return Decision::Done(RetryOutcome::NotFound);
        };
        if refund.status != RefundStatus::Failed {
            return Decision::Done(RetryOutcome::NotFailed(refund.status));
        }
        refund.status = RefundStatus::Pending;
        refund.tries = 0;
        // The stream turns the new turn into a message: nobody has to be told.
        refund.turn = Turn::at(now);
        draft.commit(Then::Done(RetryOutcome::Retried))
    }
}
