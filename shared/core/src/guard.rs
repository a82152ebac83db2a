//! The guards: each is the one thing that stands between a fault and a loss. They always stand; a build without one exists only to
//! prove that its absence is seen (`WITHOUT_GUARD=version cargo run --profile sim …`, docs/SEMANTICS.md), and never for release.

/// A write needs the version and status it was decided on (DESIGN §6).
pub const VERSION: bool = !cfg!(without_guard = "version");
/// A write whose answer was lost recognises itself by its token (DESIGN §6).
pub const OPERATION_TOKEN: bool = !cfg!(without_guard = "operation_token");
/// Nobody takes up what another worker holds a live lease on (DESIGN §5.1).
pub const FENCING: bool = !cfg!(without_guard = "fencing");
/// The channel is asked about every unsettled attempt before an order is closed (DESIGN §5.3).
pub const QUERY_BEFORE_CLOSE: bool = !cfg!(without_guard = "query_before_close");
/// Only the query after the close says what became of an attempt, never the close's own answer (CHANNELS §0.3).
pub const SECOND_QUERY: bool = !cfg!(without_guard = "second_query");
/// Money counts only with the attempt's merchant, currency and amount (DESIGN §3).
pub const MONEY_MATCH: bool = !cfg!(without_guard = "money_match");
/// An order is closed at once only if no attempt was ever written (DESIGN §3).
pub const DIRECT_CLOSE: bool = !cfg!(without_guard = "direct_close");
/// No create call is sent once its last moment has passed (DESIGN §4.2).
pub const PLACE_BEFORE: bool = !cfg!(without_guard = "place_before");
/// A credential leaves only if the second write found the order payable (I10, DESIGN §4.4).
pub const SECOND_WRITE: bool = !cfg!(without_guard = "second_write");
/// A reservation leaves RESERVED once (I6).
pub const RESERVATION_STATUS: bool = !cfg!(without_guard = "reservation_status");
/// A coupon is locked while nobody holds it, and moved on by its holder alone.
pub const COUPON_HOLDER: bool = !cfg!(without_guard = "coupon_holder");
/// A channel's transaction is recorded once, for one attempt of one order (I9).
pub const REFUND_UNIQUENESS: bool = !cfg!(without_guard = "refund_uniqueness");
/// Whoever closes for expiry looks at the deadline itself, when deciding and when writing (I7).
pub const EXPIRY_RECHECK: bool = !cfg!(without_guard = "expiry_recheck");
/// A terminal order stays in the due index until its work is done (I12).
pub const DUE_INDEX: bool = !cfg!(without_guard = "due_index");
/// Each unit of work is a member of its own, removed only with the write that makes it final (DESIGN §6).
pub const PENDING_MEMBER: bool = !cfg!(without_guard = "pending_member");
/// Facts gathered before an attempt changed are thrown away (DESIGN §5.3).
pub const FRESH_FACTS: bool = !cfg!(without_guard = "fresh_facts");

const ALL: [bool; 16] = [
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

/// Whether every guard stands.
const fn all_stand() -> bool {
    let mut index = 0;
    while index < ALL.len() {
        if !ALL[index] {
            return false;
        }
        index += 1;
    }
    true
}

const _: () = assert!(all_stand() || cfg!(debug_assertions), "a release is built with every guard");
