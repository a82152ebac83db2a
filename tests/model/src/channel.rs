//! The truth at the channel, which the system learns of only by asking, or by being told.

use std::collections::BTreeMap;

use expiry_core::fact::{Cause, CloseOutcome, PaymentFact, RefundFact, Success};
use expiry_core::money::Amount;

/// What the channel has of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Payment {
    /// It never heard of it.
    Unplaced,
    /// A create call is under way: NOT_FOUND until it lands, if it ever does.
    UnderWay,
    /// It can be paid.
    NotPay,
    /// It was closed without money.
    Closed,
    /// It holds, or held, the money.
    Paid(Paid),
}

/// Money at the channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Paid {
    /// As it tells it; `refunded` is what somebody else than this system gave back.
    pub success: Success,
    /// It had called the payment closed before: the one case in which money may come that nobody waits for.
    pub against_its_word: bool,
    /// Our refunds, by the `k` of their numbers.
    pub refunds: BTreeMap<u8, Given>,
}

/// A refund under one number of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Given {
    /// Taken, not done.
    Accepted(Amount),
    /// The money went back.
    Done(Amount),
    /// The number is dead, and no money went back by it.
    Dead,
}

impl Payment {
    /// The answer to a query.
    #[must_use]
    pub fn query(&self) -> PaymentFact {
        match self {
            Payment::Unplaced | Payment::UnderWay => PaymentFact::NotFound,
            Payment::NotPay => PaymentFact::Open,
            Payment::Closed => PaymentFact::NotPaidClosed,
            Payment::Paid(paid) => PaymentFact::Succeeded(Success {
                refunded: paid.success.refunded.plus(paid.given_back()),
                ..paid.success.clone()
            }),
        }
    }

    /// Has it closed; the answer proves nothing (CHANNELS §0.3).
    pub fn close(&mut self) -> CloseOutcome {
        match self {
            Payment::Unplaced | Payment::UnderWay => CloseOutcome::NotFound,
            Payment::Closed => CloseOutcome::AlreadyClosed,
            Payment::Paid(_) => CloseOutcome::AlreadyPaid,
            Payment::NotPay => {
                *self = Payment::Closed;
                CloseOutcome::Accepted
            }
        }
    }

    /// The money it holds.
    #[must_use]
    pub fn paid(&self) -> Option<&Paid> {
        match self {
            Payment::Paid(paid) => Some(paid),
            Payment::Unplaced | Payment::UnderWay | Payment::NotPay | Payment::Closed => None,
        }
    }

    /// The money it holds, to be changed.
    pub fn paid_mut(&mut self) -> Option<&mut Paid> {
        match self {
            Payment::Paid(paid) => Some(paid),
            Payment::Unplaced | Payment::UnderWay | Payment::NotPay | Payment::Closed => None,
        }
    }
}

impl Paid {
    /// How much went back by refunds of ours.
    #[must_use]
    pub fn given_back(&self) -> Amount {
        self.refunds
            .values()
            .map(|given| match given {
                Given::Done(amount) => *amount,
                Given::Accepted(_) | Given::Dead => Amount::ZERO,
            })
            .sum()
    }

    /// How much is there.
    #[must_use]
    pub fn held(&self) -> Amount {
        self.success.paid.amount.less(self.success.refunded).less(self.given_back())
    }

    /// Gives `amount` back under number `k`: one number, many requests, one refund (CHANNELS §2.5). More than there is it refuses.
    pub fn refund(&mut self, k: u8, amount: Amount) -> RefundFact {
        if !self.refunds.contains_key(&k) {
            if amount > self.held() {
                return RefundFact::Rejected(Cause::new("more than there is"));
            }
            self.refunds.insert(k, Given::Done(amount));
        }
        self.refund_status(k)
    }

    /// The answer to a query of the refund under number `k`.
    #[must_use]
    pub fn refund_status(&self, k: u8) -> RefundFact {
        match self.refunds.get(&k) {
            None => RefundFact::NotFound,
            Some(Given::Accepted(_)) => RefundFact::Pending,
            Some(Given::Done(_)) => RefundFact::Refunded,
            Some(Given::Dead) => RefundFact::Closed(Cause::new("the number is dead")),
        }
    }
}
