//! The money rules: what a success does to an order (DESIGN §3, the contest table). For callbacks and queries alike, so that no
//! channel can skip the comparison.

use crate::attempt::{AttemptStatus, Receipt, Standing};
use crate::decide::Draft;
use crate::evidence::{Because, DecidingFact};
use crate::fact::Success;
use crate::guard;
use crate::ids::{AttemptNo, NotifyId};
use crate::money::{Amount, Money};
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::refund::Refund;
use crate::row::Row;
use crate::signal::Signal;

/// How a success compares with what the attempt stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Number, merchant, currency and amount are those of the attempt.
    Ours,
    /// It names another number than the one asked about.
    OtherNumber,
    /// It is another merchant's.
    OtherMerchant,
    /// Another currency.
    OtherCurrency,
    /// Another amount.
    OtherAmount,
}

/// Compares `success` with attempt `no` of `order`; `None` when there is no such attempt.
pub(crate) fn compare(order: &Order, no: AttemptNo, success: &Success) -> Option<Comparison> {
    let attempt = order.attempt(no)?;
    if !guard::MONEY_MATCH.stands() {
        return Some(Comparison::Ours);
    }
    Some(if success.out_trade_no != order.out_trade_no(no).to_string() {
        Comparison::OtherNumber
    } else if success.merchant != attempt.merchant {
        Comparison::OtherMerchant
    } else if success.paid.currency != order.currency {
        Comparison::OtherCurrency
    } else if success.paid.amount != attempt.amount {
        Comparison::OtherAmount
    } else {
        Comparison::Ours
    })
}

/// Whether the money of `success` is recorded for another attempt of this very order: then it cannot be attempt `no`'s, and its row
/// could not stand in one transaction twice.
pub(crate) fn taken_within(order: &Order, no: AttemptNo, success: &Success) -> bool {
    let channel = order.attempt(no).map(|attempt| &attempt.channel);
    order.numbered_attempts().any(|(other, attempt)| {
        guard::REFUND_UNIQUENESS.stands()
            && other != no
            && Some(&attempt.channel) == channel
            && attempt.receipt.as_ref().is_some_and(|receipt| receipt.transaction == success.transaction)
    })
}

/// What a success did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// It is recorded; the draft says the rest.
    Recorded,
    /// The same transaction was recorded before: no change.
    Known,
    /// Another transaction is recorded for this attempt: no change, a person must look.
    SecondTransaction,
}

impl Draft<'_> {
    /// Records the money of attempt `no`. The caller has compared it: `whole` says that amount and currency are the attempt's.
    /// Several successes of one adjudication are recorded in attempt order: the one that takes the sum over is refunded by the excess.
    pub(crate) fn receive(
        &mut self,
        no: AttemptNo,
        success: &Success,
        whole: bool,
        notify_id: Option<&NotifyId>,
    ) -> Received {
        let Some(attempt) = self.order.attempts.get_mut(no.index()) else {
            return Received::Known;
        };
        match &attempt.receipt {
            Some(receipt) if receipt.transaction == success.transaction => return Received::Known,
            Some(_) => {
                self.signals.push(Signal::SecondTransaction(no));
                return Received::SecondTransaction;
            }
            None => {}
        }
        let standing = if !whole {
            Standing::Mismatch
        } else if !success.refunded.is_zero() {
            Standing::RefundedElsewhere
        } else if self.order.status.is_terminal() {
            Standing::Surplus
        } else {
            Standing::Counted
        };
        attempt.status = AttemptStatus::Succeeded;
        attempt.place_before = None;
        attempt.first_not_found = None;
        attempt.receipt = Some(Receipt { transaction: success.transaction.clone(), paid: success.paid, standing });
        let channel = attempt.channel.clone();
        self.order.pending.remove(&Unit::Ask(no));
        self.rows.push(Row::Transaction {
            channel,
            transaction: success.transaction.clone(),
            attempt: no,
            notify_id: notify_id.cloned(),
        });
        match standing {
            Standing::Counted if notify_id.is_some() => self.count(no, DecidingFact::NotifiedSuccess(no)),
            Standing::Counted => self.count(no, DecidingFact::QueriedSuccess(no)),
            Standing::Surplus => {
                self.owe_whole_refund(no);
                self.signals.push(match self.order.status {
                    OrderStatus::Closed => Signal::LatePayment(no),
                    OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing | OrderStatus::Paid => {
                        Signal::SurplusPayment(no)
                    }
                });
            }
            Standing::Mismatch => {
                self.owe_refund(no, success.paid.amount.less(success.refunded));
                self.signals.push(Signal::AmountMismatch(no));
            }
            Standing::RefundedElsewhere => {
                self.owe_refund(no, success.paid.amount.less(success.refunded));
                self.signals.push(Signal::RefundedElsewhere(no));
            }
        }
        Received::Recorded
    }

    /// Money of an open order: PAID as soon as it is enough.
    fn count(&mut self, no: AttemptNo, fact: DecidingFact) {
        let counted = self.order.counted();
        if counted < self.order.payable {
            return;
        }
        self.because(Because { fact, ..self.ground() });
        self.pay();
        let excess = counted.less(self.order.payable);
        if !excess.is_zero() {
            self.owe_refund(no, excess);
            self.signals.push(Signal::Overpaid(no));
        }
    }

    /// All that attempt `no` brought is to be given back.
    pub(crate) fn owe_whole_refund(&mut self, no: AttemptNo) {
        let paid =
            self.order.attempt(no).and_then(|attempt| attempt.receipt.as_ref()).map(|receipt| receipt.paid.amount);
        self.owe_refund(no, paid.unwrap_or(Amount::ZERO));
    }

    /// `amount` of what attempt `no` brought is to be given back: the one refund of its transaction (I9).
    fn owe_refund(&mut self, no: AttemptNo, amount: Amount) {
        if amount.is_zero() {
            return;
        }
        let Some(attempt) = self.order.attempts.get_mut(no.index()) else {
            return;
        };
        if let (Some(receipt), None) = (&attempt.receipt, &attempt.refund) {
            attempt.refund = Some(Refund::owed(Money { amount, currency: receipt.paid.currency }));
            self.order.pending.insert(Unit::Refund(no));
        }
    }
}
