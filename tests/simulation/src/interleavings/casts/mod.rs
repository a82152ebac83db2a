//! Every cast.

mod callback_callback;
mod cancel_pay;
mod closer_callback;
mod closer_closer;
mod closer_recovery;
mod closer_scan;
mod closer_start;
mod create_create;
mod create_repeat;
mod extend_wake;
mod late_settle;
mod refund_refund;
mod settle_settle;

use super::cast::Cast;

/// Every cast, the largest first: so two threads come to their ends at about the same time.
pub const ALL: &[Cast] = &[
    closer_start::CAST,
    closer_closer::CAST,
    refund_refund::CAST,
    closer_recovery::CAST,
    settle_settle::CAST,
    closer_callback::CAST,
    cancel_pay::CAST,
    closer_scan::CAST,
    late_settle::CAST,
    extend_wake::CAST,
    callback_callback::CAST,
    create_create::CAST,
    create_repeat::CAST,
];
