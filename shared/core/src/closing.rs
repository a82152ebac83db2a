//! The close task: why an order is not closed yet, as attributes of the order (DESIGN §3).

use crate::fact::Cause;
use crate::guard;
use crate::ids::WorkerId;
use crate::time::Timestamp;

/// What made a close run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloseTrigger {
    /// The order's own reminder.
    Wake,
    /// The fallback scan.
    Scan,
    /// The delayed message of an earlier, undecided run.
    Retry,
    /// The customer.
    Cancel,
    /// A person of the shop.
    Operator,
}

impl CloseTrigger {
    /// Every trigger.
    pub const ALL: [CloseTrigger; 5] =
        [CloseTrigger::Wake, CloseTrigger::Scan, CloseTrigger::Retry, CloseTrigger::Cancel, CloseTrigger::Operator];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CloseTrigger::Wake => "wake",
            CloseTrigger::Scan => "scan",
            CloseTrigger::Retry => "retry",
            CloseTrigger::Cancel => "cancel",
            CloseTrigger::Operator => "operator",
        }
    }
}

/// Why an order is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloseReason {
    /// Its deadline passed.
    Expired,
    /// The customer cancelled it.
    CancelledByUser,
    /// The shop cancelled it.
    CancelledByOperator,
}

impl CloseReason {
    /// Every reason.
    pub const ALL: [CloseReason; 3] =
        [CloseReason::Expired, CloseReason::CancelledByUser, CloseReason::CancelledByOperator];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CloseReason::Expired => "expired",
            CloseReason::CancelledByUser => "cancelled_by_user",
            CloseReason::CancelledByOperator => "cancelled_by_operator",
        }
    }
}

/// When a task is taken up again, and by whom it is held until then.
///
/// One time serves both: while somebody is at the task, `next_check_at` is the end of that lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Turn {
    /// When it is taken up again; `None` when nothing is to be done.
    pub next_check_at: Option<Timestamp>,
    /// Who holds it until then.
    pub owner: Option<WorkerId>,
}

/// Whether a worker may take a task up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It may.
    Free,
    /// It holds the task already: a worker that lost by version goes on (DESIGN §5.1).
    Own,
    /// Another worker holds it until then.
    Leased(Timestamp),
    /// Its next turn is only then.
    Waiting(Timestamp),
}

impl Turn {
    /// A turn held by `owner` until `until`.
    #[must_use]
    pub fn leased(owner: WorkerId, until: Timestamp) -> Turn {
        Turn { next_check_at: Some(until), owner: Some(owner) }
    }

    /// A turn that is free from `at` on.
    #[must_use]
    pub fn at(at: Timestamp) -> Turn {
        Turn { next_check_at: Some(at), owner: None }
    }

    /// Whether `worker` may take it up at `now`.
    #[must_use]
    pub fn claim(&self, worker: &WorkerId, now: Timestamp) -> Claim {
        match (self.next_check_at, &self.owner) {
            (Some(_), Some(owner)) if owner == worker => Claim::Own,
            (Some(until), Some(_)) if guard::FENCING.stands() && until > now => Claim::Leased(until),
            (Some(at), None) if at > now => Claim::Waiting(at),
            (Some(_) | None, Some(_) | None) => Claim::Free,
        }
    }
}

/// The close task of an order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CloseTask {
    /// When closing began.
    pub started_at: Timestamp,
    /// What ran it last.
    pub trigger: CloseTrigger,
    /// How often it was claimed.
    pub attempts: u16,
    /// Whose turn it is, and when the next one is.
    pub turn: Turn,
    /// Whether the rhythm has run out, or only a person can say how it ends.
    pub needs_attention: bool,
    /// What the last run could not find out.
    pub last_error: Option<Cause>,
}

/// The task of asking channels about attempts by `ask:<n>`; its lease and next try are apart from the close's (DESIGN §5.6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AskTask {
    /// How often it was claimed.
    pub attempts: u16,
    /// Whose turn it is, and when the next one is.
    pub turn: Turn,
    /// Whether the rhythm has run out.
    pub needs_attention: bool,
    /// What the last run could not find out.
    pub last_error: Option<Cause>,
}
