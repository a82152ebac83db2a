//! The one clock of the local system.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use expiry_core::time::{Clock, Timestamp};

use crate::news::{Follower, News};

/// The one clock of everything local: leases, `next_check_at`, queue delays and visibility, schedules, signature tolerance.
///
/// It shows a base time plus everything [`advance`](MovableClock::advance) added. The base is the real time
/// ([`running`](MovableClock::running)) or a moment that stands still ([`paused`](MovableClock::paused)), so that a simulation
/// owns every millisecond. Clones share one clock. It never goes back.
#[derive(Clone, Debug)]
pub struct MovableClock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    base: Base,
    /// What `advance` added so far, in milliseconds.
    added: AtomicU64,
    /// Wakes sleepers when it grows.
    moved: News,
}

#[derive(Debug)]
enum Base {
    Running,
    Paused(Timestamp),
    /// Follows tokio's clock, which a test may have paused: then time passes only when every task waits for it.
    Tokio {
        began: tokio::time::Instant,
        at: Timestamp,
    },
}

impl MovableClock {
    /// The real time, plus what is added later.
    #[must_use]
    pub fn running() -> MovableClock {
        MovableClock::with_base(Base::Running)
    }

    /// A clock that stands at `at` and moves only by [`advance`](MovableClock::advance).
    #[must_use]
    pub fn paused(at: Timestamp) -> MovableClock {
        MovableClock::with_base(Base::Paused(at))
    }

    /// A clock that shows `at` now and follows tokio's: in a runtime whose time is paused it is the clock of a simulation.
    #[must_use]
    pub fn following_tokio(at: Timestamp) -> MovableClock {
        MovableClock::with_base(Base::Tokio { began: tokio::time::Instant::now(), at })
    }

    fn with_base(base: Base) -> MovableClock {
        MovableClock { inner: Arc::new(Inner { base, added: AtomicU64::new(0), moved: News::default() }) }
    }

    /// Moves the clock forward and wakes every sleeper whose moment has come. Answers the new time.
    pub fn advance(&self, span: Duration) -> Timestamp {
        self.inner.added.fetch_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
        self.inner.moved.announce();
        self.now()
    }

    /// Everything added so far.
    #[must_use]
    pub fn added(&self) -> Duration {
        Duration::from_millis(self.inner.added.load(Ordering::SeqCst))
    }

    /// Follows each [`advance`](MovableClock::advance) made after this call.
    pub(crate) fn moves(&self) -> Follower {
        self.inner.moved.follow()
    }

    /// Returns once the clock shows `at` or later, whether real time passed or the clock was advanced; on a paused clock only an
    /// advance can end it.
    pub async fn sleep_until(&self, at: Timestamp) {
        let mut moves = self.moves();
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            match self.inner.base {
                Base::Paused(_) => moves.next().await,
                Base::Running | Base::Tokio { .. } => tokio::select! {
                    biased;
                    () = moves.next() => {}
                    () = tokio::time::sleep(left) => {}
                },
            }
        }
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        let base = match self.inner.base {
            Base::Paused(at) => at,
            Base::Running => real_time(),
            Base::Tokio { began, at } => at.plus(began.elapsed()),
        };
        base.plus(self.added())
    }
}

fn real_time() -> Timestamp {
    Timestamp::EPOCH.plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_secs(u64::try_from(seconds).expect("positive")))
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_clock_is_advanced_past_its_moment_and_not_before() {
        let clock = MovableClock::paused(at(100));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(at(110)).await }
        });
        clock.advance(Duration::from_secs(9));
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_secs(1));
        sleeper.await.expect("woken");
        assert_eq!(clock.now(), at(110));
    }

    #[tokio::test]
    async fn a_running_clock_ends_a_sleep_by_real_time_alone() {
        let clock = MovableClock::running();
        let due = clock.now().plus(Duration::from_millis(20));
        clock.sleep_until(due).await;
        assert!(clock.now() >= due);
    }
}
