//! Schedule expressions: `at(yyyy-mm-ddThh:mm:ss)` and `rate(value unit)`, in UTC.

use std::time::Duration;

use expiry_core::time::Timestamp;

/// When a schedule is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    /// Once.
    At(Timestamp),
    /// Again and again, this far apart.
    Rate(Duration),
}

/// Longest rate, in units of any kind: keeps the arithmetic far from its ends.
const MAX_RATE: u64 = 1_000_000;

impl Expression {
    /// Reads an expression; `None` for anything else, `cron(…)` included.
    pub(crate) fn parse(text: &str) -> Option<Expression> {
        let inner = |kind: &str| text.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(at) = inner("at") {
            // Whole seconds without an offset; Scheduler reads nothing else.
            return (at.len() == "yyyy-mm-ddThh:mm:ss".len())
                .then(|| Timestamp::parse_rfc3339(&format!("{at}Z")))
                .flatten()
                .map(Expression::At);
        }
        let (value, unit) = inner("rate")?.split_once(' ')?;
        let value: u64 = value.parse().ok().filter(|value| (1..=MAX_RATE).contains(value))?;
        let seconds = match unit {
            "minute" | "minutes" => 60,
            "hour" | "hours" => 3_600,
            "day" | "days" => 86_400,
            _ => return None,
        };
        Some(Expression::Rate(Duration::from_secs(value * seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_and_rate_expressions_are_read_and_anything_else_is_refused() {
        let at = Timestamp::parse_rfc3339("2026-03-01T10:00:05Z").expect("a time");
        assert_eq!(Expression::parse("at(2026-03-01T10:00:05)"), Some(Expression::At(at)));
        assert_eq!(Expression::parse("rate(1 hour)"), Some(Expression::Rate(Duration::from_secs(3_600))));
        assert_eq!(Expression::parse("rate(5 minutes)"), Some(Expression::Rate(Duration::from_secs(300))));
        for text in [
            "at(2026-03-01T10:00:05Z)",
            "at(2026-03-01T10:00:05.123)",
            "rate(0 hours)",
            "rate(1 week)",
            "cron(0 * * * ? *)",
            "at",
        ] {
            assert_eq!(Expression::parse(text), None, "{text}");
        }
    }
}
