//! The one refund of a channel transaction (I9), kept with its attempt.

use crate::closing::Turn;
use crate::fact::Cause;
use crate::money::Money;

/// Where a refund stands: `PENDING → SUBMITTED → SUCCEEDED | FAILED`; FAILED may go back to PENDING by an audited retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefundStatus {
    /// Owed, nothing sent under its present number.
    Pending,
    /// Sent, or about to be: the channel has to be asked about the number before anything else.
    Submitted,
    /// The channel says the money went back.
    Succeeded,
    /// Only a person can go on.
    Failed,
}

impl RefundStatus {
    /// Every status.
    pub const ALL: [RefundStatus; 4] =
        [RefundStatus::Pending, RefundStatus::Submitted, RefundStatus::Succeeded, RefundStatus::Failed];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RefundStatus::Pending => "PENDING",
            RefundStatus::Submitted => "SUBMITTED",
            RefundStatus::Succeeded => "SUCCEEDED",
            RefundStatus::Failed => "FAILED",
        }
    }
}

/// A refund. Its work is the pending unit `refund:<n>`, which stays until SUCCEEDED.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refund {
    /// What goes back.
    pub money: Money,
    /// Which refund number of the payment it is at, from 1.
    pub k: u8,
    /// Where it stands.
    pub status: RefundStatus,
    /// Whether its present number was ever sent: then the channel is asked about that number before anything else.
    pub sent: bool,
    /// How often it was worked on.
    pub tries: u16,
    /// Whose turn it is, and when the next one is.
    pub turn: Turn,
    /// What went wrong last.
    pub last_error: Option<Cause>,
}

impl Refund {
    /// A refund that is owed and that nobody has worked on.
    #[must_use]
    pub fn owed(money: Money) -> Refund {
        Refund {
            money,
            k: 1,
            status: RefundStatus::Pending,
            sent: false,
            tries: 0,
            turn: Turn::default(),
            last_error: None,
        }
    }
}
