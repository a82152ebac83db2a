//! A payment attempt and the money it brought (DESIGN §3).

use crate::ids::{ChannelId, ChannelReference, MerchantId, Method, TransactionId};
use crate::initiator::Initiator;
use crate::money::{Amount, Money};
use crate::refund::Refund;
use crate::time::Timestamp;

/// Where an attempt stands.
///
/// ```text
/// INITIATED ──► PROCESSING | UNKNOWN | FAILED | CLOSED | SUCCEEDED
/// ```
/// From every state a trusted success leads to SUCCEEDED, and nothing leads out of it. FAILED and CLOSED are settled without money;
/// the one permitted lowering takes them back to UNKNOWN when a credential turns up after all (DESIGN §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptStatus {
    /// An in-doubt create, until the channel's answer is stored.
    Initiated,
    /// The channel created it; it can be paid.
    Processing,
    /// Something was said that must be verified, or an answer meant nothing.
    Unknown,
    /// Settled: it ended without money.
    Failed,
    /// Settled: closed at the channel without money.
    Closed,
    /// The channel holds, or held, money for it.
    Succeeded,
}

impl AttemptStatus {
    /// Every status.
    pub const ALL: [AttemptStatus; 6] = [
        AttemptStatus::Initiated,
        AttemptStatus::Processing,
        AttemptStatus::Unknown,
        AttemptStatus::Failed,
        AttemptStatus::Closed,
        AttemptStatus::Succeeded,
    ];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AttemptStatus::Initiated => "INITIATED",
            AttemptStatus::Processing => "PROCESSING",
            AttemptStatus::Unknown => "UNKNOWN",
            AttemptStatus::Failed => "FAILED",
            AttemptStatus::Closed => "CLOSED",
            AttemptStatus::Succeeded => "SUCCEEDED",
        }
    }
}

/// What the money of a succeeded attempt is to the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It counts towards the payable amount.
    Counted,
    /// It is ours and whole, but the order did not need it: refunded whole.
    Surplus,
    /// Another amount or currency than the attempt's: never counts as paid, its actual amount is refunded.
    Mismatch,
    /// The channel had given it back, wholly or in part, before we knew of it: never counts as paid.
    RefundedElsewhere,
}

impl Standing {
    /// Every standing.
    pub const ALL: [Standing; 4] =
        [Standing::Counted, Standing::Surplus, Standing::Mismatch, Standing::RefundedElsewhere];

    /// Its name where it is shown and stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Counted => "counted",
            Standing::Surplus => "surplus",
            Standing::Mismatch => "mismatch",
            Standing::RefundedElsewhere => "refunded",
        }
    }
}

/// The money of a succeeded attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// The channel's number of it.
    pub transaction: TransactionId,
    /// What was really paid.
    pub paid: Money,
    /// What it is to the order.
    pub standing: Standing,
}

/// One attempt to pay one order, or a leg of it, through one channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Through which channel.
    pub channel: ChannelId,
    /// Our merchant there when it was begun; a success must name it.
    pub merchant: MerchantId,
    /// By which of the channel's methods.
    pub method: Option<Method>,
    /// How much of the order's currency.
    pub amount: Amount,
    /// Who began it.
    pub initiator: Initiator,
    /// Where it stands.
    pub status: AttemptStatus,
    /// Until when a create call of it may be sent; `None` once the channel's answer is stored.
    pub place_before: Option<Timestamp>,
    /// Whether it was placed more than once: then a refusal does not prove that nothing was created.
    pub replaced: bool,
    /// The credential's expiry that the channel was, is and will be asked for: part of the identical request.
    pub asked_expiry: Timestamp,
    /// The credential's expiry by the channel's own word, where it differs.
    pub channel_expiry: Option<Timestamp>,
    /// What to ask the channel about it with, besides our number.
    pub reference: Option<ChannelReference>,
    /// When the first of the present run of NOT_FOUND answers was asked for (rule NF).
    pub first_not_found: Option<Timestamp>,
    /// The money.
    pub receipt: Option<Receipt>,
    /// Its one refund.
    pub refund: Option<Refund>,
}

impl Attempt {
    /// Whether it is not known yet if money came or may come.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        match self.status {
            AttemptStatus::Initiated | AttemptStatus::Processing | AttemptStatus::Unknown => true,
            AttemptStatus::Failed | AttemptStatus::Closed | AttemptStatus::Succeeded => false,
        }
    }

    /// What of it counts towards the payable amount.
    #[must_use]
    pub fn counted(&self) -> Option<Amount> {
        match &self.receipt {
            Some(Receipt { standing: Standing::Counted, paid, .. }) => Some(paid.amount),
            Some(_) | None => None,
        }
    }

    /// The last moment at which its credential may still be good: the later of what was asked and what the channel said.
    #[must_use]
    pub fn credential_expiry(&self) -> Timestamp {
        self.channel_expiry.map_or(self.asked_expiry, |own| own.max(self.asked_expiry))
    }
}
