//! What the outside says: facts, and a channel that answers as it is told to.

use expiry_core::decide::notified::Notified;
use expiry_core::decide::{Answer, Question, Sequence};
use expiry_core::fact::{Asked, AttemptAnswers, Cause, CloseOutcome, Notification, PaymentFact, RefundFact, Success};
use expiry_core::ids::{NotifyId, TransactionId};
use expiry_core::money::Amount;
use expiry_core::order::Order;
use expiry_core::reservation::{CounterKey, CouponStatus};
use expiry_core::row::{CouponTerms, Refusal, Row};
use expiry_core::time::Timestamp;

use super::*;

/// The trusted success of attempt `number` of `order`.
pub(crate) fn success(order: &Order, number: u64) -> Success {
    let attempt = order.attempt(no(number)).expect("an attempt");
    Success {
        merchant: attempt.merchant.clone(),
        out_trade_no: order.out_trade_no(no(number)).to_string(),
        paid: Money { amount: attempt.amount, currency: order.currency },
        transaction: own_transaction(order, no(number)),
        refunded: Amount::ZERO,
    }
}

/// The channel says so of attempt `number` in a verified callback.
pub(crate) fn callback(order: &Order, number: u64, fact: PaymentFact) -> Notified {
    let attempt = order.attempt(no(number)).expect("an attempt");
    Notified {
        channel: attempt.channel.clone(),
        notification: Notification {
            notify_id: NotifyId::new("notification-1").expect("a notification"),
            payment: order.out_trade_no(no(number)),
            fact,
        },
    }
}

pub(crate) fn callback_of(order: &Order, number: u64, success: Success) -> Notified {
    callback(order, number, PaymentFact::Succeeded(success))
}

pub(crate) fn unknown() -> PaymentFact {
    PaymentFact::Unknown(Cause::new("timeout"))
}

/// The world outside the order: what the channel answers, and which rows object to a commit.
#[derive(Clone, Debug)]
pub(crate) struct World {
    facts: Vec<(AttemptNo, PaymentFact)>,
    others: PaymentFact,
    close: CloseOutcome,
    only_queries: bool,
    backwards: bool,
    sent_at: Option<Timestamp>,
    refund: RefundFact,
    coupon: Option<CouponTerms>,
    taken: Vec<TransactionId>,
    missing: Vec<CounterKey>,
}

/// A world in which the channel closes what it is asked to close.
pub(crate) fn world() -> World {
    World {
        facts: Vec::new(),
        others: PaymentFact::NotPaidClosed,
        close: CloseOutcome::Accepted,
        only_queries: false,
        backwards: false,
        sent_at: None,
        refund: RefundFact::Refunded,
        coupon: None,
        taken: Vec::new(),
        missing: Vec::new(),
    }
}

impl World {
    /// Of attempt `number` the last query says this.
    pub(crate) fn says(mut self, number: u64, fact: PaymentFact) -> World {
        self.facts.push((no(number), fact));
        self
    }

    /// Of every other attempt it says this.
    pub(crate) fn says_of_all(mut self, fact: PaymentFact) -> World {
        self.others = fact;
        self
    }

    /// Of attempt `number` of `order` it says that it is paid.
    pub(crate) fn paid(self, order: &Order, number: u64) -> World {
        self.says(number, PaymentFact::Succeeded(success(order, number)))
    }

    /// To a close it answers this.
    pub(crate) fn closes(mut self, outcome: CloseOutcome) -> World {
        self.close = outcome;
        self
    }

    /// Its answers come from one query, whatever was asked for: the close could not be sent.
    pub(crate) fn only_queried(mut self) -> World {
        self.only_queries = true;
        self
    }

    /// The answers come in another order than the questions.
    pub(crate) fn answers_backwards(mut self) -> World {
        self.backwards = true;
        self
    }

    /// The last query was sent then; otherwise at the moment of the decision.
    pub(crate) fn asked_at(mut self, at: Timestamp) -> World {
        self.sent_at = Some(at);
        self
    }

    pub(crate) fn refunds(mut self, fact: RefundFact) -> World {
        self.refund = fact;
        self
    }

    /// The coupon row is locked by `order` and says this besides.
    pub(crate) fn coupon(mut self, order: &Order, change: impl FnOnce(&mut CouponTerms)) -> World {
        let mut terms = CouponTerms {
            valid_until: deadline().plus(seconds(86_400)),
            refundable: true,
            campaign_active: true,
            status: CouponStatus::Locked,
            holder: Some(order.id.clone()),
        };
        change(&mut terms);
        self.coupon = Some(terms);
        self
    }

    /// The transaction is recorded for another order.
    pub(crate) fn has_taken(mut self, transaction: TransactionId) -> World {
        self.taken.push(transaction);
        self
    }

    /// The counter does not hold what the order reserved.
    pub(crate) fn misses(mut self, counter: CounterKey) -> World {
        self.missing.push(counter);
        self
    }

    pub(crate) fn answer(&self, question: &Question, now: Timestamp) -> Answer {
        match question {
            Question::Payments(attempts) => {
                let mut answers: Vec<_> =
                    attempts.iter().map(|(no, sequence)| self.answers(*no, *sequence, now)).collect();
                if self.backwards {
                    answers.reverse();
                }
                Answer::Payments(answers)
            }
            Question::RefundStatus(no) | Question::SubmitRefund(no) => Answer::Refund(*no, self.refund.clone()),
            Question::Coupon(_) => Answer::Coupon(self.coupon.clone()),
        }
    }

    fn answers(&self, no: AttemptNo, sequence: Sequence, now: Timestamp) -> AttemptAnswers {
        let fact = self.facts.iter().find(|(of, _)| *of == no).map_or(&self.others, |(_, fact)| fact);
        let asked = match sequence {
            Sequence::QueryCloseQuery if !self.only_queries => Asked::Closed(self.close.clone()),
            Sequence::QueryCloseQuery | Sequence::Query => Asked::Query,
        };
        AttemptAnswers { attempt: no, asked, fact: fact.clone(), sent_at: self.sent_at.unwrap_or(now) }
    }

    /// What a commit of `rows` is refused for, as the store reports it.
    pub(crate) fn refusal(&self, rows: &[Row]) -> Option<Refusal> {
        let counters: Vec<CounterKey> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Counter { key, .. } if self.missing.contains(key) => Some(key.clone()),
                Row::Counter { .. } | Row::Transaction { .. } | Row::Coupon { .. } | Row::OpenOrders { .. } => None,
            })
            .collect();
        if !counters.is_empty() {
            return Some(Refusal::Counters(counters));
        }
        rows.iter().find_map(|row| match row {
            Row::Transaction { transaction, attempt, .. } if self.taken.contains(transaction) => {
                Some(Refusal::TransactionTaken(*attempt))
            }
            Row::Transaction { .. } | Row::Counter { .. } | Row::Coupon { .. } | Row::OpenOrders { .. } => None,
        })
    }
}
