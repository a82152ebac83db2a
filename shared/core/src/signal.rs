//! What people must hear of: raised once the commit that found it is durable.

use std::fmt;

use crate::ids::AttemptNo;

/// Something that is counted, and that a person may have to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Money came for an order that is closed; it is refunded.
    LatePayment(AttemptNo),
    /// Money came for an order that is paid otherwise; it is refunded.
    SurplusPayment(AttemptNo),
    /// More was paid than was due; the excess is refunded.
    Overpaid(AttemptNo),
    /// Another amount or currency was paid than the attempt's.
    AmountMismatch(AttemptNo),
    /// The channel had given money back before we knew of it.
    RefundedElsewhere(AttemptNo),
    /// A second transaction for one attempt; nothing was changed.
    SecondTransaction(AttemptNo),
    /// The transaction is recorded for another order or attempt; nothing was changed.
    TransactionTaken(AttemptNo),
    /// The rhythm ran out, or only a person can say how it ends.
    NeedsAttention,
    /// An entry of a reservation was not what the order says (case b22).
    ReservationAnomaly(String),
    /// A refund failed for good.
    RefundFailed(AttemptNo),
    /// A refund reached its end at the channel.
    RefundSucceeded(AttemptNo),
}

impl Signal {
    /// Its stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Signal::LatePayment(_) => "late_payment",
            Signal::SurplusPayment(_) => "surplus_payment",
            Signal::Overpaid(_) => "overpaid",
            Signal::AmountMismatch(_) => "amount_mismatch",
            Signal::RefundedElsewhere(_) => "refunded_elsewhere",
            Signal::SecondTransaction(_) => "second_transaction",
            Signal::TransactionTaken(_) => "transaction_taken",
            Signal::NeedsAttention => "needs_attention",
            Signal::ReservationAnomaly(_) => "reservation_anomaly",
            Signal::RefundFailed(_) => "refund_failed",
            Signal::RefundSucceeded(_) => "refund_succeeded",
        }
    }

    /// Whether it is kept as a finding until a person has looked at it.
    #[must_use]
    pub const fn is_finding(&self) -> bool {
        match self {
            Signal::AmountMismatch(_)
            | Signal::RefundedElsewhere(_)
            | Signal::SecondTransaction(_)
            | Signal::TransactionTaken(_)
            | Signal::NeedsAttention
            | Signal::ReservationAnomaly(_)
            | Signal::RefundFailed(_) => true,
            Signal::LatePayment(_) | Signal::SurplusPayment(_) | Signal::Overpaid(_) | Signal::RefundSucceeded(_) => {
                false
            }
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Signal::LatePayment(n)
            | Signal::SurplusPayment(n)
            | Signal::Overpaid(n)
            | Signal::AmountMismatch(n)
            | Signal::RefundedElsewhere(n)
            | Signal::SecondTransaction(n)
            | Signal::TransactionTaken(n)
            | Signal::RefundFailed(n)
            | Signal::RefundSucceeded(n) => write!(out, "{} attempt {n}", self.name()),
            Signal::ReservationAnomaly(entry) => write!(out, "{} {entry}", self.name()),
            Signal::NeedsAttention => out.write_str(self.name()),
        }
    }
}
