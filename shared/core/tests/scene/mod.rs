//! The scene every test of the core plays on: orders that are built from what matters to the test, a channel that answers as it is
//! told to, and a run that decides, asks and commits like the real one. Every commit that passes here is checked against the rules of
//! every commit (I1, I3, I4, I9, I11, I12, I13), so that no test has to say so.

#![allow(dead_code, unused_imports, reason = "each test file plays on a part of the scene")]

mod channel;
mod orders;
mod run;

use std::time::Duration;

use expiry_core::ids::{AttemptNo, ChannelId, MerchantId, WorkerId};
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::time::Timestamp;

pub(crate) use channel::*;
pub(crate) use orders::*;
pub(crate) use run::*;

/// How long an order of the scene may be paid.
pub(crate) const WINDOW: Duration = Duration::from_secs(1_800);
/// How long a worker of the scene holds what it claimed.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// How often the scan runs.
pub(crate) const SCAN_PERIOD: Duration = Duration::from_secs(3_600);
/// What an order of the scene costs.
pub(crate) const PAYABLE: u64 = 10_000;

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// When every order of the scene was created.
pub(crate) fn created() -> Timestamp {
    Timestamp::from_seconds(1_767_225_600).expect("a time")
}

/// A moment at which it can be paid.
pub(crate) fn in_time() -> Timestamp {
    created().plus(seconds(60))
}

/// Its `expire_at`.
pub(crate) fn deadline() -> Timestamp {
    created().plus(WINDOW)
}

/// The first moment at which the expiry path acts: `expire_at` + 0.5 s (DESIGN §5.1).
pub(crate) fn due() -> Timestamp {
    deadline().plus(millis(500))
}

/// A moment well after it.
pub(crate) fn later() -> Timestamp {
    deadline().plus(seconds(5))
}

/// The worker that decides.
pub(crate) fn me() -> WorkerId {
    WorkerId::new("me").expect("a worker")
}

/// Any other.
pub(crate) fn another() -> WorkerId {
    WorkerId::new("another").expect("a worker")
}

pub(crate) fn amount(minor: u64) -> Amount {
    Amount::new(minor).expect("an amount")
}

pub(crate) fn currency(code: &str) -> Currency {
    Currency::parse(code).expect("a currency")
}

pub(crate) fn euros(minor: u64) -> Money {
    Money { amount: amount(minor), currency: currency("EUR") }
}

pub(crate) fn no(number: u64) -> AttemptNo {
    AttemptNo::new(number).expect("an attempt number")
}

pub(crate) fn channel(name: &str) -> ChannelId {
    ChannelId::new(name).expect("a channel")
}

pub(crate) fn merchant(name: &str) -> MerchantId {
    MerchantId::new(name).expect("a merchant")
}
