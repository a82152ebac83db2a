//! Waiting out contention: bounded and jittered (DESIGN §6). The Rust SDK does not retry a cancelled transaction.

use std::time::Duration;

/// Most tries of one write against contention.
const TRIES: u32 = 8;
/// The first wait is up to this long; each further one up to twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// No single wait is longer.
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// The tries that one write has left.
#[derive(Debug)]
pub(crate) struct Contention {
    tried: u32,
}

impl Contention {
    pub(crate) fn new() -> Contention {
        Contention { tried: 1 }
    }

    /// Waits before the next try; `false` when there is none left.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.tried >= TRIES {
            return false;
        }
        let most = (FIRST_WAIT * 2_u32.saturating_pow(self.tried - 1)).min(LONGEST_WAIT);
        self.tried += 1;
        // Full jitter: those who collided do not collide again.
        let millis = fastrand::u64(0..=u64::try_from(most.as_millis()).unwrap_or(u64::MAX));
        tokio::time::sleep(Duration::from_millis(millis)).await;
        true
    }
}
