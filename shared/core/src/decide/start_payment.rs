//! Starting a payment, first write: the attempt is durable before the channel hears of it (DESIGN §4.1–4.2).

use std::time::Duration;

use crate::attempt::{Attempt, AttemptStatus};
use crate::decide::{Command, Decision, Draft, Knowledge, Question, Sequence, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::{AttemptAnswers, PaymentFact};
use crate::ids::{AttemptNo, ChannelId, MerchantId, Method};
use crate::initiator::Initiator;
use crate::limits;
use crate::money::Amount;
use crate::order::{Order, OrderStatus};
use crate::time::Timestamp;

/// A customer, or an agent, wants to pay an order or a leg of it.
#[derive(Clone, Debug)]
pub struct StartPayment {
    /// Through which channel.
    pub channel: ChannelId,
    /// Our merchant there.
    pub merchant: MerchantId,
    /// The shortest time after which the channel lets a credential expire.
    pub min_expiry: Duration,
    /// By which method.
    pub method: Option<Method>,
    /// How much; `None` is all that is unpaid.
    pub amount: Option<Amount>,
    /// Who begins it.
    pub initiator: Initiator,
    /// Until when this run can send a create call: its own deadline.
    pub place_before: Timestamp,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// Durable: have the channel create this attempt now.
    Place(AttemptNo),
    /// No payment may be started.
    Refused(StartRefusal),
}

/// Why no payment may be started, or its credential not be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRefusal {
    /// Less than a second is left, or none (I10).
    Expired,
    /// The order is being closed.
    Closing,
    /// The order is CLOSED.
    Closed,
    /// The order is PAID.
    Paid,
    /// The amount is zero, or above what is unpaid.
    Amount,
    /// Of the open attempt it is not known yet how it ends.
    Undecided,
    /// There are [`limits::ATTEMPTS`] attempts.
    TooMany,
}

impl Command for StartPayment {
    type Outcome = StartOutcome;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<StartOutcome> {
        let refused = |refusal| Decision::Done(StartOutcome::Refused(refusal));
        if let Some(refusal) = not_payable(order, now) {
            return refused(refusal);
        }
        let amount = self.amount.unwrap_or_else(|| order.unpaid());
        if amount.is_zero() || amount > order.unpaid() {
            return refused(StartRefusal::Amount);
        }
        let Some((no, attempt)) = order.unsettled_attempts().last() else {
            return self.begin(Draft::new(order, self.because(order), now), amount);
        };
        // The second write hands out the credential of the newest attempt only, so no other is worth resuming.
        let newest = no.index() + 1 == order.attempts.len();
        if newest && self.resumes(attempt, amount, now) {
            return self.resume(order, no, now);
        }
        if order.attempts.len() >= limits::ATTEMPTS {
            return refused(StartRefusal::TooMany);
        }
        if known.unanswered(order, &[no]).is_empty() {
            self.change(order, no, &known.payments(order), known, amount, now)
        } else {
            Decision::Ask(Question::Payments(vec![(no, Sequence::QueryCloseQuery)]))
        }
    }
}

/// I10: why the order is not payable now, if it is not.
#[must_use]
pub fn not_payable(order: &Order, now: Timestamp) -> Option<StartRefusal> {
    match order.status {
        OrderStatus::Closing => Some(StartRefusal::Closing),
        OrderStatus::Closed => Some(StartRefusal::Closed),
        OrderStatus::Paid => Some(StartRefusal::Paid),
        OrderStatus::PendingPayment | OrderStatus::Paying => {
            last_credential(order).is_some_and(|last| now >= last).then_some(StartRefusal::Expired)
        }
    }
}

/// From when on no credential leaves.
fn last_credential(order: &Order) -> Option<Timestamp> {
    order.expire_at.map(|expire_at| expire_at.minus(limits::LAST_CREDENTIAL_BEFORE_EXPIRY))
}

impl StartPayment {
    fn because(&self, order: &Order) -> Because {
        let number = AttemptNo::at_index(order.attempts.len()).unwrap_or(AttemptNo::FIRST);
        let actor = match &self.initiator {
            Initiator::Customer => Actor::Customer,
            Initiator::Agent(agent) => Actor::Named(format!("agent:{}", agent.protocol.as_str())),
        };
        Because { trigger: Trigger::Payment, actor, fact: DecidingFact::AttemptBegun(number) }
    }

    /// The same channel, method and amount resume the newest open attempt while its state and credential allow it.
    fn resumes(&self, attempt: &Attempt, amount: Amount, now: Timestamp) -> bool {
        let same = attempt.channel == self.channel
            && attempt.merchant == self.merchant
            && attempt.method == self.method
            && attempt.amount == amount;
        // The channel's own word on its credential, where it gave one: rule NF waits for the later, a payer needs the one that works.
        let expires_at = attempt.channel_expiry.unwrap_or(attempt.asked_expiry);
        let state = match attempt.status {
            AttemptStatus::Initiated | AttemptStatus::Processing => true,
            AttemptStatus::Unknown | AttemptStatus::Failed | AttemptStatus::Closed | AttemptStatus::Succeeded => false,
        };
        same && state && now < expires_at
    }

    /// The latest moment at which a create call may be sent.
    fn place_before(&self, order: &Order) -> Timestamp {
        last_credential(order).map_or(self.place_before, |last| last.min(self.place_before))
    }

    fn resume(&self, order: &Order, no: AttemptNo, now: Timestamp) -> Decision<StartOutcome> {
        let mut draft = Draft::new(order, self.because(order), now);
        let place_before = self.place_before(order);
        if let Some(attempt) = draft.order.attempts.get_mut(no.index()) {
            attempt.place_before = Some(place_before);
            attempt.replaced = true;
        }
        draft.commit(Then::Done(StartOutcome::Place(no)))
    }

    fn begin(&self, mut draft: Draft<'_>, amount: Amount) -> Decision<StartOutcome> {
        let Some(no) = AttemptNo::at_index(draft.order.attempts.len()) else {
            return Decision::Done(StartOutcome::Refused(StartRefusal::TooMany));
        };
        let now = draft.now();
        let wanted = draft.order.expire_at.unwrap_or_else(|| now.plus(limits::NEVER_RULE_CREDENTIAL));
        draft.order.attempts.push(Attempt {
            channel: self.channel.clone(),
            merchant: self.merchant.clone(),
            method: self.method.clone(),
            amount,
            initiator: self.initiator.clone(),
            status: AttemptStatus::Initiated,
            place_before: Some(self.place_before(draft.before())),
            replaced: false,
            asked_expiry: wanted.max(now.plus(self.min_expiry)),
            channel_expiry: None,
            reference: None,
            first_not_found: None,
            receipt: None,
            refund: None,
        });
        draft.order.status = OrderStatus::Paying;
        draft.commit(Then::Done(StartOutcome::Place(no)))
    }

    /// The open attempt was queried, closed and queried. Found paid: what is unpaid is judged again. NOT_FOUND: the new one is
    /// allowed, and the old one stays under adjudication.
    fn change(
        &self,
        order: &Order,
        no: AttemptNo,
        answers: &[AttemptAnswers],
        known: &Knowledge,
        amount: Amount,
        now: Timestamp,
    ) -> Decision<StartOutcome> {
        let mut draft = Draft::new(order, self.because(order), now);
        draft.apply(answers, known);
        let status = draft.order.attempt(no).map(|attempt| attempt.status);
        let not_found =
            answers.iter().any(|answer| answer.attempt == no && matches!(answer.fact, PaymentFact::NotFound));
        match status {
            Some(AttemptStatus::Succeeded) => draft.commit(Then::Continue),
            Some(AttemptStatus::Failed | AttemptStatus::Closed) | None => self.begin(draft, amount),
            Some(AttemptStatus::Initiated | AttemptStatus::Processing | AttemptStatus::Unknown) if not_found => {
                self.begin(draft, amount)
            }
            Some(AttemptStatus::Initiated | AttemptStatus::Processing | AttemptStatus::Unknown) => {
                let outcome = StartOutcome::Refused(StartRefusal::Undecided);
                if draft.is_worth_writing() { draft.commit(Then::Done(outcome)) } else { Decision::Done(outcome) }
            }
        }
    }
}
