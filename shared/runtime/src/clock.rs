//! The clock of a process in the cloud.

use std::time::{SystemTime, UNIX_EPOCH};

use expiry_core::time::{Clock, Timestamp};

/// The operating system's clock. Whether it can be trusted is said by [`SkewGuard`](crate::skew::SkewGuard).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// The present moment; the epoch when the system's clock stands before it, which the skew guard then refuses.
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}
