//! What happens at the channel without us: payers pay, others give back, callbacks are sent.

use std::collections::BTreeMap;

use expiry_core::fact::{Notification, PaymentFact, Success};
use expiry_core::ids::{AttemptNo, MerchantId, NotifyId, OutTradeNo, TransactionId};
use expiry_core::money::Money;

use crate::cast::{Odd, amount, currency, valid};
use crate::channel::{Given, Paid, Payment};
use crate::world::World;

impl World {
    /// What the channel has of attempt `no`.
    #[must_use]
    pub fn payment(&self, no: AttemptNo) -> &Payment {
        self.payments.get(no.index()).unwrap_or(&Payment::Unplaced)
    }

    pub(crate) fn payment_mut(&mut self, no: AttemptNo) -> Option<&mut Payment> {
        if self.payments.len() <= no.index() {
            self.payments.resize(no.index() + 1, Payment::Unplaced);
        }
        self.payments.get_mut(no.index())
    }

    /// The success that fits attempt `no` in every point.
    fn success(&self, no: AttemptNo) -> Option<Success> {
        let attempt = self.order.attempt(no)?;
        Some(Success {
            merchant: attempt.merchant.clone(),
            out_trade_no: self.order.out_trade_no(no).to_string(),
            paid: Money { amount: attempt.amount, currency: self.order.currency },
            transaction: transaction(&format!("txn-{no}")),
            refunded: amount(0),
        })
    }

    /// The payer pays.
    pub(crate) fn pay(&mut self, no: AttemptNo) -> Option<()> {
        let success = self.success(no)?;
        self.pay_by(no, success, false)
    }

    fn pay_by(&mut self, no: AttemptNo, success: Success, against_its_word: bool) -> Option<()> {
        *self.payment_mut(no)? = Payment::Paid(Paid { success, against_its_word, refunds: BTreeMap::new() });
        Some(())
    }

    /// Something odd happens to the payment itself.
    pub(crate) fn oddly(&mut self, no: AttemptNo, odd: Odd) -> Option<()> {
        let mut success = self.success(no)?;
        match odd {
            Odd::PaysOtherAmount => {
                success.paid.amount = amount(30);
                self.pay_by(no, success, false)
            }
            Odd::PaysByTaken => {
                success.transaction = taken();
                self.pay_by(no, success, false)
            }
            Odd::PaysAfterClose => self.pay_by(no, success, true),
            Odd::GivesBackPart => self.give_back_elsewhere(no, false),
            Odd::GivesBackAll => self.give_back_elsewhere(no, true),
            Odd::KillsRefund => self.end_refund(no, false),
            Odd::TellsHint
            | Odd::TellsOtherAmount
            | Odd::TellsOtherCurrency
            | Odd::TellsOtherMerchant
            | Odd::TellsOfUnknown
            | Odd::TellsOtherTransaction
            | Odd::TellsTaken
            | Odd::RefusesPlace
            | Odd::RefusesRefund => None,
        }
    }

    fn give_back_elsewhere(&mut self, no: AttemptNo, all: bool) -> Option<()> {
        let paid = self.payment_mut(no)?.paid_mut()?;
        let held = paid.held();
        paid.success.refunded = if all { held } else { amount(10) };
        (paid.success.refunded <= held).then_some(())
    }

    /// A refund that the channel had accepted ends.
    pub(crate) fn end_refund(&mut self, no: AttemptNo, done: bool) -> Option<()> {
        let paid = self.payment_mut(no)?.paid_mut()?;
        let held = paid.held();
        let given = paid.refunds.values_mut().find(|given| matches!(given, Given::Accepted(_)))?;
        *given = match *given {
            // What somebody else has given back meanwhile cannot go back twice.
            Given::Accepted(amount) if done && amount <= held => Given::Done(amount),
            Given::Accepted(_) | Given::Done(_) | Given::Dead => Given::Dead,
        };
        Some(())
    }

    /// The callback of money that is there.
    pub(crate) fn truth_told(&self, no: AttemptNo) -> Option<Notification> {
        match self.payment(no).query() {
            fact @ PaymentFact::Succeeded(_) => Some(self.notification(no, fact)),
            PaymentFact::NotPaidClosed
            | PaymentFact::Failed
            | PaymentFact::Open
            | PaymentFact::Processing
            | PaymentFact::NotFound
            | PaymentFact::Unknown(_) => None,
        }
    }

    /// A verified callback that says something else.
    pub(crate) fn oddly_told(&self, no: AttemptNo, odd: Odd) -> Option<Notification> {
        let mut success = self.success(no)?;
        match odd {
            Odd::TellsHint => return Some(self.notification(no, PaymentFact::NotPaidClosed)),
            Odd::TellsOtherAmount => success.paid.amount = amount(30),
            Odd::TellsOtherCurrency => success.paid.currency = currency("CNY"),
            Odd::TellsOtherMerchant => success.merchant = valid(MerchantId::new("another")),
            Odd::TellsOfUnknown => {
                let unknown = valid(AttemptNo::new(9).ok_or(9));
                success.out_trade_no = self.order.out_trade_no(unknown).to_string();
                return Some(self.notification(unknown, PaymentFact::Succeeded(success)));
            }
            // One that nobody has paid: where it is the first that is told of, the channel lies, and nothing can help.
            Odd::TellsOtherTransaction => {
                self.order.attempt(no)?.receipt.as_ref()?;
                success.transaction = transaction("txn-other");
            }
            Odd::TellsTaken => success.transaction = taken(),
            Odd::PaysOtherAmount
            | Odd::PaysByTaken
            | Odd::PaysAfterClose
            | Odd::GivesBackPart
            | Odd::GivesBackAll
            | Odd::RefusesPlace
            | Odd::RefusesRefund
            | Odd::KillsRefund => return None,
        }
        Some(self.notification(no, PaymentFact::Succeeded(success)))
    }

    fn notification(&self, no: AttemptNo, fact: PaymentFact) -> Notification {
        let payment = OutTradeNo::new(self.order.id.clone(), no);
        Notification { notify_id: valid(NotifyId::new("notification")), payment, fact }
    }
}

fn transaction(id: &str) -> TransactionId {
    valid(TransactionId::new(id))
}

/// A transaction that is recorded for another order.
pub(crate) fn taken() -> TransactionId {
    transaction("txn-of-another-order")
}
