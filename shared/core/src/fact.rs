//! What a payment channel states, in our words. CHANNELS §1 is the source of every variant.
//!
//! A channel turns bytes into these; whether a success is *ours* is never its judgement but the domain's (see `money rules`).

use std::fmt;

use crate::ids::{AttemptNo, ChannelReference, MerchantId, NotifyId, OutTradeNo, TransactionId};
use crate::limits;
use crate::money::{Amount, Money};
use crate::time::Timestamp;

/// Money that the channel states it received for a number of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Success {
    /// Whose money it is, as the channel names the merchant.
    pub merchant: MerchantId,
    /// The number it was paid for, as the channel names it: not necessarily the one we asked about.
    pub out_trade_no: String,
    /// What was paid.
    pub paid: Money,
    /// The channel's canonical number of it.
    pub transaction: TransactionId,
    /// How much of it the channel states to have given back already; at most what was paid.
    pub refunded: Amount,
}

/// What a channel states about one payment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PaymentFact {
    /// It holds, or held, the money.
    Succeeded(Success),
    /// No money, and no later success is possible.
    NotPaidClosed,
    /// This attempt ended without money.
    Failed,
    /// No money now, can be paid.
    Open,
    /// Money in flight, or the payer is in the cashier.
    Processing,
    /// It knows no such payment: not the same as "not paid" (rule NF).
    NotFound,
    /// No answer that means anything.
    Unknown(Cause),
}

/// Why an answer means nothing. A short, stable text: it is stored and shown as `last_error`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cause(String);

impl Cause {
    /// Keeps the first [`limits::LAST_ERROR_BYTES`] bytes of `text`, control characters replaced.
    #[must_use]
    pub fn new(text: impl AsRef<str>) -> Cause {
        let mut kept = String::new();
        for character in text.as_ref().chars() {
            let character = if character.is_control() { ' ' } else { character };
            if kept.len() + character.len_utf8() > limits::LAST_ERROR_BYTES {
                break;
            }
            kept.push(character);
        }
        Cause(kept)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// What a channel answered to "close this payment". Never a proof by itself: a query follows (CHANNELS §0.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CloseOutcome {
    /// It will not be payable any more.
    Accepted,
    /// It was closed before.
    AlreadyClosed,
    /// It is paid.
    AlreadyPaid,
    /// Money is in flight; nothing was closed.
    InProgress,
    /// It knows no such payment.
    NotFound,
    /// The channel closes nothing this young.
    TooEarly {
        /// From when on it will.
        not_before: Timestamp,
    },
    /// No answer that means anything.
    Unknown(Cause),
}

/// What a channel answered to "start this payment".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlaceOutcome<C> {
    /// It can be paid with this.
    Credential(Placed<C>),
    /// It refuses, and nothing was created.
    Refused(Cause),
    /// Nobody knows whether it was created.
    InDoubt(Cause),
}

/// A payment that the channel created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placed<C> {
    /// What to ask the channel about it with, where our own number is not enough.
    pub reference: Option<ChannelReference>,
    /// The credential's expiry as the channel states it; `None` when it kept what was asked for.
    pub expires_at: Option<Timestamp>,
    /// What the payer needs; opaque here.
    pub credential: C,
}

/// What a channel states about one refund.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RefundFact {
    /// The money went back.
    Refunded,
    /// Accepted, not done.
    Pending,
    /// This number is dead, and no money went back by it.
    Closed(Cause),
    /// Only a person can go on.
    NeedsManual(Cause),
    /// Refused.
    Rejected(Cause),
    /// It knows no such refund.
    NotFound,
    /// No answer that means anything.
    Unknown(Cause),
}

/// A verified notification of a channel about one of our payments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// Its number, unchanged over re-sends.
    pub notify_id: NotifyId,
    /// Which payment it is about.
    pub payment: OutTradeNo,
    /// What it states; anything but a success is only a hint.
    pub fact: PaymentFact,
}

/// What the calls for one attempt answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttemptAnswers {
    /// Which attempt was asked about.
    pub attempt: AttemptNo,
    /// What was called, and how far it went.
    pub asked: Asked,
    /// What the last query said.
    pub fact: PaymentFact,
    /// When the last query was sent: rule NF counts from here, not from the commit.
    pub sent_at: Timestamp,
}

/// How far the sequence query → close → query went.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// One query only; it settles nothing but money.
    Query,
    /// The whole sequence, with what the close answered.
    Closed(CloseOutcome),
}
