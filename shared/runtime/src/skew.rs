//! Whether the local clock may be acted on (DESIGN §5 "Time"): the database's `Date` header is the authority.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use expiry_core::time::{Clock, Timestamp};

/// A clock further than this from the database's is not acted on.
pub const SKEW_LIMIT: Duration = Duration::from_millis(1_500);
/// A `Date` older than this says nothing about the clock any more.
pub const DATE_FRESH: Duration = Duration::from_secs(60);
/// A `Date` header names a second: the moment it was written lies within this time after it.
const DATE_PRECISION: Duration = Duration::from_secs(1);

/// Compares the injected clock with the database's, answer by answer.
///
/// Attach it once to the DynamoDB client (`config::Builder::interceptor(guard.interceptor())`); every answered attempt, also an
/// error, is then a reading. Clones share their readings. It adds no call of its own: a function reads its order first, which
/// brings a fresh `Date`, and asks [`trusted_now`](SkewGuard::trusted_now) afterwards.
#[derive(Clone, Debug)]
pub struct SkewGuard {
    clock: Arc<dyn Clock>,
    latest: Arc<Mutex<Option<Reading>>>,
}

/// One comparison of the two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    /// When the answer arrived, by the local clock.
    received: Timestamp,
    skew: Duration,
}

/// Why nothing may be acted on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntrustedClock {
    /// The local clock and the database's are further apart than [`SKEW_LIMIT`]: do nothing, count it, fail the event.
    #[error("the local clock is at least {} ms away from the database's", by.as_millis())]
    Skewed {
        /// The smallest distance that explains the latest answer.
        by: Duration,
    },
    /// No answer of the database is younger than [`DATE_FRESH`]: read first, then ask again.
    #[error("no answer of the database is younger than {} s", DATE_FRESH.as_secs())]
    Unread,
}

impl SkewGuard {
    /// A guard of `clock` without a reading yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> SkewGuard {
        SkewGuard { clock, latest: Arc::default() }
    }

    /// What the DynamoDB client is given so that the guard sees its answers.
    #[must_use]
    pub fn interceptor(&self) -> SkewInterceptor {
        SkewInterceptor(self.clone())
    }

    /// The present moment by the injected clock, if the latest answer of the database confirms that clock.
    ///
    /// # Errors
    /// [`UntrustedClock`]; the caller must then change nothing.
    pub fn trusted_now(&self) -> Result<Timestamp, UntrustedClock> {
        let now = self.clock.now();
        let latest = *self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match latest {
            // A clock that went back behind its own reading is a clock nothing is known about.
            Some(reading) if reading.received <= now && now.since(reading.received) < DATE_FRESH => {
                if reading.skew > SKEW_LIMIT {
                    return Err(UntrustedClock::Skewed { by: reading.skew });
                }
                Ok(now)
            }
            Some(_) | None => Err(UntrustedClock::Unread),
        }
    }

    fn record(&self, date: Timestamp, sent: Timestamp, received: Timestamp) {
        let reading = Reading { received, skew: distance(date, sent, received) };
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
    }
}

/// How far [`date`, `date` + 1 s] lies from [`sent`, `received`]; zero when they touch. Any clock that is right by the database's
/// makes them touch, however long the answer took.
fn distance(date: Timestamp, sent: Timestamp, received: Timestamp) -> Duration {
    // The local clock may have been set back while the answer was on its way.
    let (first, last) = if sent <= received { (sent, received) } else { (received, sent) };
    date.since(last).max(first.since(date.plus(DATE_PRECISION)))
}

/// The guard's ear on a DynamoDB client; made by [`SkewGuard::interceptor`]. It changes no request and fails none.
#[derive(Debug)]
pub struct SkewInterceptor(SkewGuard);

/// When the attempt under way was sent, by the local clock.
#[derive(Debug)]
struct SentAt(Timestamp);

impl Storable for SentAt {
    type Storer = StoreReplace<SentAt>;
}

impl Intercept for SkewInterceptor {
    fn name(&self) -> &'static str {
        "SkewGuard"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        bag.interceptor_state().store_put(SentAt(self.0.clock.now()));
        Ok(())
    }

    fn read_after_transmit(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let received = self.0.clock.now();
        let date = context.response().headers().get("date").and_then(parse_date);
        if let (Some(date), Some(SentAt(sent))) = (date, bag.load::<SentAt>()) {
            self.0.record(date, *sent, received);
        }
        Ok(())
    }
}

fn parse_date(header: &str) -> Option<Timestamp> {
    DateTime::from_str(header, DateTimeFormat::HttpDate).ok().and_then(|date| Timestamp::from_seconds(date.secs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{SetClock, Wire, at_millis};

    const T: i64 = 1_767_225_600_000;

    #[test]
    fn skew_is_the_distance_between_the_dates_second_and_the_time_on_the_wire() {
        // (date, sent, received, skew), in ms relative to T.
        for (date, sent, received, skew) in [
            (0, 0, 20, 0),
            (0, 900, 950, 0),
            (0, 1_000, 1_020, 0),
            (0, 1_001, 1_020, 1),
            (0, 2_500, 2_520, 1_500),
            (0, 2_501, 2_520, 1_501),
            (0, -20, 0, 0),
            (0, -40, -1, 1),
            (0, -1_520, -1_500, 1_500),
            (0, -1_521, -1_501, 1_501),
            (0, -5_000, 5_000, 0),
            (0, 4_000, -4_000, 0),
            (0, 4_000, 3_000, 2_000),
        ] {
            let measured = distance(at_millis(T + date), at_millis(T + sent), at_millis(T + received));
            assert_eq!(measured, Duration::from_millis(skew), "{date} {sent} {received}");
        }
    }

    #[test]
    fn a_clock_is_trusted_up_to_one_and_a_half_seconds_of_skew() {
        let clock = SetClock::at(at_millis(T + 2_520));
        let guard = SkewGuard::new(Arc::new(clock.clone()));
        guard.record(at_millis(T), at_millis(T + 2_500), at_millis(T + 2_520));
        assert_eq!(guard.trusted_now(), Ok(at_millis(T + 2_520)));
        guard.record(at_millis(T), at_millis(T + 2_501), at_millis(T + 2_520));
        assert_eq!(guard.trusted_now(), Err(UntrustedClock::Skewed { by: Duration::from_millis(1_501) }));
    }

    #[test]
    fn without_a_date_younger_than_a_minute_the_function_must_read_first() {
        let clock = SetClock::at(at_millis(T));
        let guard = SkewGuard::new(Arc::new(clock.clone()));
        assert_eq!(guard.trusted_now(), Err(UntrustedClock::Unread));
        guard.record(at_millis(T), at_millis(T), at_millis(T));
        for (now, trusted) in [(T, true), (T + 59_999, true), (T + 60_000, false), (T - 1, false)] {
            clock.set(at_millis(now));
            assert_eq!(guard.trusted_now().is_ok(), trusted, "{now}");
        }
    }

    #[tokio::test]
    async fn every_answered_attempt_is_a_reading_also_a_refusal() {
        let clock = SetClock::at(at_millis(T));
        let guard = SkewGuard::new(Arc::new(clock.clone()));
        let wire = Wire::default();
        wire.answer_with_date(400, "{}", "Thu, 01 Jan 2026 00:00:00 GMT");
        wire.answer_with_date(400, "{}", "Thu, 01 Jan 2026 00:00:03 GMT");
        wire.answer(400, "{}");
        let config = wire.configure(aws_sdk_dynamodb::Config::builder()).interceptor(guard.interceptor());
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        let read = || async { client.get_item().table_name("orders").send().await };

        assert!(read().await.is_err());
        assert_eq!(guard.trusted_now(), Ok(at_millis(T)));
        assert!(read().await.is_err());
        let skewed = Err(UntrustedClock::Skewed { by: Duration::from_secs(3) });
        assert_eq!(guard.trusted_now(), skewed);
        assert!(read().await.is_err(), "an answer without a Date");
        assert_eq!(guard.trusted_now(), skewed);
    }
}
