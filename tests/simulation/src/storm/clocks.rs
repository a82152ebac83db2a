//! The functions' clock: mostly a little apart from the true one, now and then far.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use expiry_core::time::{Clock, Timestamp};
use local::clock::MovableClock;

/// A clock that is apart from the true one.
#[derive(Debug)]
pub(super) struct ApartClock {
    truth: MovableClock,
    /// Milliseconds ahead.
    ahead: AtomicI64,
}

impl ApartClock {
    pub(super) fn new(truth: MovableClock) -> ApartClock {
        ApartClock { truth, ahead: AtomicI64::new(0) }
    }

    /// Sets it apart by so many milliseconds, ahead when positive.
    pub(super) fn set(&self, ahead: i64) {
        self.ahead.store(ahead, Ordering::SeqCst);
    }
}

impl Clock for ApartClock {
    fn now(&self) -> Timestamp {
        let ahead = self.ahead.load(Ordering::SeqCst);
        let apart = Duration::from_millis(ahead.unsigned_abs());
        if ahead < 0 { self.truth.now().minus(apart) } else { self.truth.now().plus(apart) }
    }
}
