//! Points in time, as the system stores and compares them.

use std::fmt;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

/// A point in time: whole milliseconds since the Unix epoch, UTC.
///
/// Every time that is stored, sent or compared is one of these, so no comparison ever depends on a time zone (case b28).
///
/// ```
/// use expiry_core::time::Timestamp;
/// let at = Timestamp::from_millis(1_767_225_600_123).unwrap();
/// assert_eq!(at.to_string(), "2026-01-01T00:00:00.123Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The last representable moment, 9999-12-31T23:59:59.999Z: what RFC 3339 can still write with four digits.
const LAST_MILLIS: i64 = 253_402_300_799_999;

const RFC3339_MILLIS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The moment `millis` after the epoch; `None` before 1970 or after 9999, which no stored or received time can be.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Option<Timestamp> {
        if millis >= 0 && millis <= LAST_MILLIS { Some(Timestamp(millis)) } else { None }
    }

    /// The moment `seconds` after the epoch; `None` out of range.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Option<Timestamp> {
        match seconds.checked_mul(1_000) {
            Some(millis) => Timestamp::from_millis(millis),
            None => None,
        }
    }

    /// Reads RFC 3339 text of any offset; digits below the millisecond are dropped.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Timestamp> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000_000)).ok().and_then(Timestamp::from_millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// This moment moved forward by `span`; it saturates at the end of year 9999.
    #[must_use]
    pub fn plus(self, span: Duration) -> Timestamp {
        let millis = i64::try_from(span.as_millis()).unwrap_or(LAST_MILLIS);
        Timestamp(self.0.saturating_add(millis).min(LAST_MILLIS))
    }

    /// This moment moved back by `span`; it saturates at the epoch.
    #[must_use]
    pub fn minus(self, span: Duration) -> Timestamp {
        let millis = i64::try_from(span.as_millis()).unwrap_or(LAST_MILLIS);
        Timestamp(self.0.saturating_sub(millis).max(0))
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// RFC 3339, UTC, with milliseconds: the form of every time in the HTTP contract.
impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000).map_err(|_| fmt::Error)?;
        out.write_str(&at.format(RFC3339_MILLIS).map_err(|_| fmt::Error)?)
    }
}

/// `span` in whole seconds, rounded up: a countdown or a delay may end late, never early.
#[must_use]
pub fn seconds_rounded_up(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

/// The one clock of a process. Decisions take the time as a value; every shell crate asks this, so that a test can move it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_same_moment_whatever_offset_it_was_written_with() {
        let utc = Timestamp::parse_rfc3339("2026-01-01T00:00:00.5Z");
        assert_eq!(utc, Timestamp::parse_rfc3339("2026-01-01T14:00:00.500+14:00"));
        assert_eq!(utc, Timestamp::parse_rfc3339("2025-12-31T12:00:00.500999-12:00"));
        assert_eq!(utc.map(|at| at.to_string()).as_deref(), Some("2026-01-01T00:00:00.500Z"));
    }

    #[test]
    fn times_out_of_range_are_refused_and_arithmetic_saturates() {
        assert_eq!(Timestamp::from_millis(-1), None);
        assert_eq!(Timestamp::from_seconds(i64::MAX), None);
        assert_eq!(Timestamp(LAST_MILLIS).plus(Duration::from_secs(1)), Timestamp(LAST_MILLIS));
        assert_eq!(Timestamp::EPOCH.minus(Duration::from_secs(1)), Timestamp::EPOCH);
    }

    #[test]
    fn seconds_are_rounded_up_never_down() {
        assert_eq!(seconds_rounded_up(Duration::ZERO), 0);
        assert_eq!(seconds_rounded_up(Duration::from_millis(1)), 1);
        assert_eq!(seconds_rounded_up(Duration::from_millis(1_000)), 1);
    }
}
