//! The guards: each is the one thing that stands between a fault and a loss. They always stand; only where assertions are checked, in
//! tests and simulations, one can be taken away, to prove that its absence is seen (`WITHOUT_GUARD`, docs/SEMANTICS.md). A release
//! has no way to.

use std::sync::OnceLock;

/// One of the guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard(&'static str);

/// Names the guards, and all of them: what is not in the list of all is never taken away.
macro_rules! guards {
    ($($(#[$doc:meta])* $guard:ident = $name:literal;)*) => {
        $($(#[$doc])* pub const $guard: Guard = Guard($name);)*

        /// All of them.
        pub const ALL: &[Guard] = &[$($guard),*];
    };
}

guards! {
    /// A write needs the version and status it was decided on (DESIGN §6).
    VERSION = "version";
    /// A write whose answer was lost recognises itself by its token (DESIGN §6).
    OPERATION_TOKEN = "operation_token";
    /// Nobody takes up what another worker holds a live lease on (DESIGN §5.1).
    FENCING = "fencing";
    /// The channel is asked about every unsettled attempt before an order is closed (DESIGN §5.3).
    QUERY_BEFORE_CLOSE = "query_before_close";
    /// Only the query after the close says what became of an attempt, never the close's own answer (CHANNELS §0.3).
    SECOND_QUERY = "second_query";
    /// Money counts only with the attempt's merchant, currency and amount (DESIGN §3).
    MONEY_MATCH = "money_match";
    /// An order is closed at once only if no attempt was ever written (DESIGN §3).
    DIRECT_CLOSE = "direct_close";
    /// No create call is sent once its last moment has passed (DESIGN §4.2).
    PLACE_BEFORE = "place_before";
    /// A credential leaves only if the second write found the order payable (I10, DESIGN §4.4).
    SECOND_WRITE = "second_write";
    /// A reservation leaves RESERVED once (I6).
    RESERVATION_STATUS = "reservation_status";
    /// A coupon is locked while nobody holds it, and moved on by its holder alone.
    COUPON_HOLDER = "coupon_holder";
    /// A channel's transaction is recorded once, for one attempt of one order (I9).
    REFUND_UNIQUENESS = "refund_uniqueness";
    /// Whoever closes for expiry looks at the deadline itself, when deciding and when writing (I7).
    EXPIRY_RECHECK = "expiry_recheck";
    /// A terminal order stays in the due index until its work is done (I12).
    DUE_INDEX = "due_index";
    /// Each unit of work is a member of its own, removed only with the write that makes it final (DESIGN §6).
    PENDING_MEMBER = "pending_member";
    /// Facts gathered before an attempt changed are thrown away (DESIGN §5.3).
    FRESH_FACTS = "fresh_facts";
}

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
