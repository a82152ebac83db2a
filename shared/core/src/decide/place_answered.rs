//! Starting a payment, second write: what the channel answered, in every order status (DESIGN §4.4). It only adds; the credential
//! leaves only if this write found the order payable and the attempt the newest and unsettled (I10).

use crate::attempt::AttemptStatus;
use crate::decide::start_payment::{StartRefusal, not_payable};
use crate::decide::{Command, Decision, Draft, Knowledge, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::{Cause, PlaceOutcome};
use crate::guard;
use crate::ids::AttemptNo;
use crate::order::Order;
use crate::pending::Unit;
use crate::time::Timestamp;

/// The channel answered a create call.
#[derive(Clone, Debug)]
pub struct PlaceAnswered {
    /// Of which attempt.
    pub attempt: AttemptNo,
    /// What it answered; the credential itself is not stored.
    pub outcome: PlaceOutcome<()>,
}

/// What may be answered to whoever started the payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacedOutcome {
    /// The credential may be handed out.
    HandOut,
    /// It must not: it is closed at the channel.
    Withhold(StartRefusal),
    /// The channel refused the payment.
    Refused(Cause),
    /// The channel refused to have it placed again, which says nothing of what it made of it before.
    Undecided(StartRefusal),
    /// Nobody knows; the attempt stays in doubt, and nothing is lost.
    InDoubt(Cause),
}

impl Command for PlaceAnswered {
    type Outcome = PlacedOutcome;

    fn decide(&self, order: &Order, _: &Knowledge, now: Timestamp) -> Decision<PlacedOutcome> {
        // This write changes no status, so its ground is never stored.
        let because =
            Because { trigger: Trigger::Payment, actor: Actor::System, fact: DecidingFact::AttemptBegun(self.attempt) };
        let newest = order.attempts.len() == self.attempt.index() + 1;
        let mut draft = Draft::new(order, because, now);
        let Some(attempt) = draft.order.attempts.get_mut(self.attempt.index()) else {
            return Decision::Done(PlacedOutcome::InDoubt(Cause::new("the order has no such attempt")));
        };
        match &self.outcome {
            PlaceOutcome::InDoubt(cause) => Decision::Done(PlacedOutcome::InDoubt(cause.clone())),
            PlaceOutcome::Credential(placed) => {
                let refusal = not_payable(order, now)
                    .or_else(|| (!newest || !attempt.is_unsettled()).then_some(StartRefusal::Undecided))
                    .filter(|_| guard::SECOND_WRITE.stands());
                attempt.place_before = None;
                if placed.reference.is_some() {
                    attempt.reference.clone_from(&placed.reference);
                }
                // Rule NF counts from the last moment at which any credential of it may be good: an expiry is never moved ahead.
                let own = placed.expires_at.filter(|own| *own != attempt.asked_expiry);
                attempt.channel_expiry = attempt.channel_expiry.max(own);
                match attempt.status {
                    AttemptStatus::Initiated => attempt.status = AttemptStatus::Processing,
                    AttemptStatus::Processing | AttemptStatus::Unknown | AttemptStatus::Succeeded => {}
                    // The one permitted lowering: what was settled turned out to exist after all.
                    AttemptStatus::Failed | AttemptStatus::Closed => {
                        attempt.status = AttemptStatus::Unknown;
                        draft.order.pending.insert(Unit::Ask(self.attempt));
                    }
                }
                draft.commit(Then::Done(refusal.map_or(PlacedOutcome::HandOut, PlacedOutcome::Withhold)))
            }
            PlaceOutcome::Refused(cause) => {
                // A number that was placed before is refused for what became of it, not for good.
                let undecided = not_payable(order, now).unwrap_or(StartRefusal::Undecided);
                let mut outcome = PlacedOutcome::Undecided(undecided);
                match attempt.status {
                    // Rule NF(a): nothing was ever created, so it is settled.
                    AttemptStatus::Initiated if !attempt.replaced => {
                        attempt.status = AttemptStatus::Failed;
                        attempt.place_before = None;
                        outcome = PlacedOutcome::Refused(cause.clone());
                    }
                    // An earlier create may have landed: the refusal of a later one proves nothing.
                    AttemptStatus::Initiated | AttemptStatus::Processing => {
                        attempt.status = AttemptStatus::Unknown;
                        attempt.place_before = None;
                        draft.order.pending.insert(Unit::Ask(self.attempt));
                    }
                    AttemptStatus::Unknown
                    | AttemptStatus::Failed
                    | AttemptStatus::Closed
                    | AttemptStatus::Succeeded => return Decision::Done(outcome),
                }
                draft.commit(Then::Done(outcome))
            }
        }
    }
}
