//! The outbox on the order: one member per unit of work that is not done (DESIGN §6).

use std::collections::BTreeSet;
use std::fmt;

use crate::ids::AttemptNo;
use crate::reservation::ResourceKind;

/// One unit of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Confirm or release everything of one kind.
    Settle(ResourceKind),
    /// Count the order out of its user's open orders.
    Cap,
    /// Give back the money of an attempt.
    Refund(AttemptNo),
    /// Ask the channel about an attempt.
    Ask(AttemptNo),
    /// A reservation whose own condition failed: evidence for a person, until `resettle` succeeds.
    Anomaly(ResourceKind, String),
    /// A member of a newer version of this program: it counts as work, and is carried along (DESIGN §6).
    Foreign(String),
}

impl Unit {
    /// Reads a member; what it does not know is [`Unit::Foreign`].
    #[must_use]
    pub fn parse(text: &str) -> Unit {
        let kind = |name: &str| ResourceKind::ALL.into_iter().find(|kind| kind.name() == name);
        let number = |digits: &str| digits.parse().ok().and_then(AttemptNo::new);
        let known = match text.split_once(':') {
            None if text == "cap" => Some(Unit::Cap),
            None => kind(text).map(Unit::Settle),
            Some(("refund", n)) => number(n).map(Unit::Refund),
            Some(("ask", n)) => number(n).map(Unit::Ask),
            Some(("anomaly", rest)) => {
                rest.split_once(':').and_then(|(name, key)| Some(Unit::Anomaly(kind(name)?, key.to_owned())))
            }
            Some(_) => None,
        };
        // Whatever would not be written back letter by letter stays as it was found.
        known.filter(|unit| unit.to_string() == text).unwrap_or_else(|| Unit::Foreign(text.to_owned()))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Settle(kind) => out.write_str(kind.name()),
            Unit::Cap => out.write_str("cap"),
            Unit::Refund(n) => write!(out, "refund:{n}"),
            Unit::Ask(n) => write!(out, "ask:{n}"),
            Unit::Anomaly(kind, key) => write!(out, "anomaly:{}:{key}", kind.name()),
            Unit::Foreign(text) => out.write_str(text),
        }
    }
}

/// The units of an order that are not done.
pub type Pending = BTreeSet<Unit>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_read_back_as_it_was_written_and_an_unknown_one_is_kept() {
        for text in [
            "stock",
            "coupon",
            "points",
            "quota",
            "cap",
            "refund:1",
            "ask:20",
            "anomaly:stock:a/b/c",
            "anomaly:coupon:x:y",
            "new-work",
            "ask:0",
            "ask:01",
            "refund:",
            "anomaly:other:x",
            "",
        ] {
            assert_eq!(Unit::parse(text).to_string(), text);
        }
        assert_eq!(Unit::parse("ask:01"), Unit::Foreign("ask:01".into()));
    }
}
