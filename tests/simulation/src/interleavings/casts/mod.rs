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

/// Every cast, in the order in which they are shown.
pub const ALL: &[Cast] = &[
    closer_callback::CAST,
    closer_closer::CAST,
    closer_scan::CAST,
    closer_start::CAST,
    callback_callback::CAST,
    cancel_pay::CAST,
    create_create::CAST,
    create_repeat::CAST,
    settle_settle::CAST,
    refund_refund::CAST,
    late_settle::CAST,
    extend_wake::CAST,
    closer_recovery::CAST,
];
