//! The guards: each is the one thing that stands between a fault and a loss. They always stand; only where assertions are checked, in
//! tests and simulations, one can be taken away, to prove that its absence is seen (`WITHOUT_GUARD`, docs/SEMANTICS.md). A release
//! has no way to.

use std::sync::OnceLock;

/// One of the guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard(&'static str);

/// A write needs the version and status it was decided on (DESIGN §6).
pub const VERSION: Guard = Guard("version");
/// A write whose answer was lost recognises itself by its token (DESIGN §6).
pub const OPERATION_TOKEN: Guard = Guard("operation_token");
/// Nobody takes up what another worker holds a live lease on (DESIGN §5.1).
pub const FENCING: Guard = Guard("fencing");
/// The channel is asked about every unsettled attempt before an order is closed (DESIGN §5.3).
pub const QUERY_BEFORE_CLOSE: Guard = Guard("query_before_close");
/// Only the query after the close says what became of an attempt, never the close's own answer (CHANNELS §0.3).
pub const SECOND_QUERY: Guard = Guard("second_query");
/// Money counts only with the attempt's merchant, currency and amount (DESIGN §3).
pub const MONEY_MATCH: Guard = Guard("money_match");
/// An order is closed at once only if no attempt was ever written (DESIGN §3).
pub const DIRECT_CLOSE: Guard = Guard("direct_close");
/// No create call is sent once its last moment has passed (DESIGN §4.2).
pub const PLACE_BEFORE: Guard = Guard("place_before");
/// A credential leaves only if the second write found the order payable (I10, DESIGN §4.4).
pub const SECOND_WRITE: Guard = Guard("second_write");
/// A reservation leaves RESERVED once (I6).
pub const RESERVATION_STATUS: Guard = Guard("reservation_status");
/// A coupon is locked while nobody holds it, and moved on by its holder alone.
pub const COUPON_HOLDER: Guard = Guard("coupon_holder");
/// A channel's transaction is recorded once, for one attempt of one order (I9).
pub const REFUND_UNIQUENESS: Guard = Guard("refund_uniqueness");
/// Whoever closes for expiry looks at the deadline itself, when deciding and when writing (I7).
pub const EXPIRY_RECHECK: Guard = Guard("expiry_recheck");
/// A terminal order stays in the due index until its work is done (I12).
pub const DUE_INDEX: Guard = Guard("due_index");
/// Each unit of work is a member of its own, removed only with the write that makes it final (DESIGN §6).
pub const PENDING_MEMBER: Guard = Guard("pending_member");
/// Facts gathered before an attempt changed are thrown away (DESIGN §5.3).
pub const FRESH_FACTS: Guard = Guard("fresh_facts");

/// All of them.
pub const ALL: [Guard; 16] = [
    VERSION,
    OPERATION_TOKEN,
    FENCING,
    QUERY_BEFORE_CLOSE,
    SECOND_QUERY,
    MONEY_MATCH,
    DIRECT_CLOSE,
    PLACE_BEFORE,
    SECOND_WRITE,
    RESERVATION_STATUS,
    COUPON_HOLDER,
    REFUND_UNIQUENESS,
    EXPIRY_RECHECK,
    DUE_INDEX,
    PENDING_MEMBER,
    FRESH_FACTS,
];

static REMOVED: OnceLock<Guard> = OnceLock::new();

impl Guard {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Whether it stands.
    #[inline]
    #[must_use]
    pub fn stands(self) -> bool {
        !cfg!(debug_assertions) || REMOVED.get() != Some(&self)
    }

    /// Takes it out of this process for good, and says whether it is out: a release keeps its guards, and only one is ever taken.
    pub fn remove(self) -> bool {
        cfg!(debug_assertions) && *REMOVED.get_or_init(|| self) == self
    }
}
