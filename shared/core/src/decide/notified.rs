//! A channel's verified notification (DESIGN §3, money rules). A success is compared with the attempt and counts or is refunded;
//! anything else is a hint: an unsettled attempt becomes UNKNOWN and is asked.

use crate::attempt::AttemptStatus;
use crate::decide::money::{Comparison, Received, compare, taken_within};
use crate::decide::{Command, Decision, Draft, Knowledge, Then};
use crate::evidence::{Actor, Because, DecidingFact, Trigger};
use crate::fact::{Notification, PaymentFact, Success};
use crate::ids::{AttemptNo, ChannelId};
use crate::order::Order;
use crate::pending::Unit;
use crate::signal::Signal;
use crate::time::Timestamp;

/// A channel told something of an attempt.
#[derive(Clone, Debug)]
pub struct Notified {
    /// Which channel.
    pub channel: ChannelId,
    /// What.
    pub notification: Notification,
}

/// What it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifiedOutcome {
    /// Its consequence is durable, or it has none: it is acknowledged.
    Accepted,
    /// It is refused and never acknowledged.
    Refused(NotificationRefusal),
}

/// Why a verified notification is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationRefusal {
    /// The order has no such attempt at this channel.
    UnknownAttempt,
    /// Another merchant's money.
    OtherMerchant,
    /// Another currency.
    OtherCurrency,
    /// Another amount.
    OtherAmount,
    /// The transaction is recorded for another order or attempt.
    TransactionTaken,
}

impl NotificationRefusal {
    /// The reason it is counted under.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            NotificationRefusal::UnknownAttempt => "unknown_order",
            NotificationRefusal::OtherMerchant => "merchant_mismatch",
            NotificationRefusal::OtherCurrency => "currency_mismatch",
            NotificationRefusal::OtherAmount => "amount_mismatch",
            NotificationRefusal::TransactionTaken => "transaction_taken",
        }
    }
}

impl Command for Notified {
    type Outcome = NotifiedOutcome;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<NotifiedOutcome> {
        let no = self.notification.payment.attempt();
        let refused = |refusal| Decision::Done(NotifiedOutcome::Refused(refusal));
        match order.attempt(no) {
            Some(attempt) if attempt.channel == self.channel => {}
            Some(_) | None => return refused(NotificationRefusal::UnknownAttempt),
        }
        let PaymentFact::Succeeded(success) = &self.notification.fact else {
            return self.hint(order, no, now);
        };
        let mismatch = match compare(order, no, success) {
            Some(Comparison::Ours) => return self.money(order, no, success, known, now),
            None => return refused(NotificationRefusal::UnknownAttempt),
            Some(Comparison::OtherNumber) => NotificationRefusal::UnknownAttempt,
            Some(Comparison::OtherMerchant) => NotificationRefusal::OtherMerchant,
            Some(Comparison::OtherCurrency) => NotificationRefusal::OtherCurrency,
            Some(Comparison::OtherAmount) => NotificationRefusal::OtherAmount,
        };
        self.ask_instead(order, no, mismatch, now)
    }
}

impl Notified {
    fn because(&self) -> Because {
        Because {
            trigger: Trigger::Callback,
            actor: Actor::Named(self.channel.to_string()),
            // Only a success changes the status here, and that replaces the ground by its own.
            fact: DecidingFact::AttemptsSettled,
        }
    }

    fn money(
        &self,
        order: &Order,
        no: AttemptNo,
        success: &Success,
        known: &Knowledge,
        now: Timestamp,
    ) -> Decision<NotifiedOutcome> {
        if known.taken(order, no) || taken_within(order, no, success) {
            return Decision::Done(NotifiedOutcome::Refused(NotificationRefusal::TransactionTaken));
        }
        let mut draft = Draft::new(order, self.because(), now);
        match draft.receive(no, success, true, Some(&self.notification.notify_id)) {
            Received::Recorded => draft.commit(Then::Done(NotifiedOutcome::Accepted)),
            Received::Known | Received::SecondTransaction => Decision::Done(NotifiedOutcome::Accepted),
        }
    }

    /// Not a success: changes nothing on a settled attempt, or one already being asked (cases b06, b09, b45).
    fn hint(&self, order: &Order, no: AttemptNo, now: Timestamp) -> Decision<NotifiedOutcome> {
        let mut draft = Draft::new(order, self.because(), now);
        match draft.order.attempts.get_mut(no.index()) {
            Some(attempt) if attempt.is_unsettled() && draft.order.pending.insert(Unit::Ask(no)) => {
                attempt.status = AttemptStatus::Unknown;
                draft.commit(Then::Done(NotifiedOutcome::Accepted))
            }
            Some(_) | None => Decision::Done(NotifiedOutcome::Accepted),
        }
    }

    /// A success of ours that does not fit is refused, and the channel is asked what is true (case b44).
    fn ask_instead(
        &self,
        order: &Order,
        no: AttemptNo,
        refusal: NotificationRefusal,
        now: Timestamp,
    ) -> Decision<NotifiedOutcome> {
        let outcome = NotifiedOutcome::Refused(refusal);
        let mut draft = Draft::new(order, self.because(), now);
        let has_money = order.attempt(no).is_none_or(|attempt| attempt.receipt.is_some());
        if has_money || !draft.order.pending.insert(Unit::Ask(no)) {
            return Decision::Done(outcome);
        }
        draft.commit(Then::Done(outcome))
    }
}

/// What people must hear of when a success was refused or changed nothing, though nothing was committed.
#[must_use]
pub fn signal_without_commit(order: &Order, notified: &Notified, outcome: &NotifiedOutcome) -> Option<Signal> {
    let no = notified.notification.payment.attempt();
    match outcome {
        NotifiedOutcome::Refused(NotificationRefusal::TransactionTaken) => Some(Signal::TransactionTaken(no)),
        NotifiedOutcome::Refused(
            NotificationRefusal::UnknownAttempt
            | NotificationRefusal::OtherMerchant
            | NotificationRefusal::OtherCurrency
            | NotificationRefusal::OtherAmount,
        ) => None,
        NotifiedOutcome::Accepted => {
            let receipt = order.attempt(no)?.receipt.as_ref()?;
            match &notified.notification.fact {
                PaymentFact::Succeeded(success) if success.transaction != receipt.transaction => {
                    Some(Signal::SecondTransaction(no))
                }
                PaymentFact::Succeeded(_)
                | PaymentFact::NotPaidClosed
                | PaymentFact::Failed
                | PaymentFact::Open
                | PaymentFact::Processing
                | PaymentFact::NotFound
                | PaymentFact::Unknown(_) => None,
            }
        }
    }
}
