//! Expiry rules: how long a customer may take to pay (DESIGN §8). An order stores the id and version of the rule it was created
//! under; changing a rule never moves an existing order (I7).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::RuleId;
use crate::limits;
use crate::time::Timestamp;

/// One rule as it is configured. Exactly one of `seconds` and `never` says when an order expires.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleDefinition {
    /// Its name in `expiry_rule` of an order.
    pub id: RuleId,
    /// Raised with every change, so that an order tells which text of the rule it was created under.
    pub version: u32,
    /// The payment window, 1 … [`limits::WINDOW_SECONDS`] seconds.
    #[serde(default)]
    pub seconds: Option<i64>,
    /// `true`: orders of this rule never expire (case b32).
    #[serde(default)]
    pub never: Option<bool>,
}

/// Why a set of rules is refused. A deployment with such rules does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRules {
    /// There is no rule `default`, which an order without `expiry_rule` uses.
    #[error("there is no rule with the id \"default\"")]
    NoDefault,
    /// Two rules have one id.
    #[error("the rule {0} is there twice")]
    Twice(RuleId),
    /// Neither a window of the allowed length nor `never`, or both.
    #[error("the rule {0} needs either \"seconds\" from 1 to {max} or \"never\": true", max = limits::WINDOW_SECONDS)]
    Window(RuleId),
    /// More than [`limits::EXPIRY_RULES`].
    #[error("there are more than {} rules", limits::EXPIRY_RULES)]
    TooMany,
}

/// The rule an order was created under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuleRef {
    /// Which rule.
    pub id: RuleId,
    /// Which text of it.
    pub version: u32,
}

/// A valid set of rules.
#[derive(Clone, Debug)]
pub struct ExpiryRules(BTreeMap<RuleId, (u32, Option<Duration>)>);

/// The id of the rule that an order without `expiry_rule` uses.
pub const DEFAULT_RULE: &str = "default";

impl ExpiryRules {
    /// Checks `definitions`.
    ///
    /// # Errors
    /// When a rule is blank, zero, negative, too long, doubled, or `default` is missing: an order must never be without a deadline
    /// because a setting was empty (case b32).
    pub fn new(definitions: Vec<RuleDefinition>) -> Result<ExpiryRules, InvalidRules> {
        if definitions.len() > limits::EXPIRY_RULES {
            return Err(InvalidRules::TooMany);
        }
        let mut rules = BTreeMap::new();
        for RuleDefinition { id, version, seconds, never } in definitions {
            let window = match (seconds.map(u64::try_from), never) {
                (Some(Ok(seconds @ 1..=limits::WINDOW_SECONDS)), None | Some(false)) => {
                    Some(Duration::from_secs(seconds))
                }
                (None, Some(true)) => None,
                (Some(_) | None, None | Some(_)) => return Err(InvalidRules::Window(id)),
            };
            if rules.insert(id.clone(), (version, window)).is_some() {
                return Err(InvalidRules::Twice(id));
            }
        }
        if !rules.keys().any(|id: &RuleId| id.as_str() == DEFAULT_RULE) {
            return Err(InvalidRules::NoDefault);
        }
        Ok(ExpiryRules(rules))
    }

    /// The rule `id` and the deadline of an order created under it at `now`; a deadline of `None` is never. `None` when there is
    /// no such rule.
    #[must_use]
    pub fn deadline(&self, id: &RuleId, now: Timestamp) -> Option<(RuleRef, Option<Timestamp>)> {
        let (version, window) = self.0.get(id)?;
        Some((RuleRef { id: id.clone(), version: *version }, window.map(|window| now.plus(window))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str, seconds: Option<i64>, never: Option<bool>) -> RuleDefinition {
        RuleDefinition { id: RuleId::new(id).expect("an id"), version: 1, seconds, never }
    }

    #[test]
    fn blank_zero_negative_and_endless_windows_are_refused() {
        for (seconds, never) in [
            (None, None),
            (None, Some(false)),
            (Some(0), None),
            (Some(-1), None),
            (Some(31_622_401), None),
            (Some(60), Some(true)),
        ] {
            let refused = ExpiryRules::new(vec![rule("default", seconds, never)]);
            assert!(matches!(refused, Err(InvalidRules::Window(_))), "{seconds:?} {never:?}");
        }
        assert_eq!(ExpiryRules::new(vec![]).err(), Some(InvalidRules::NoDefault));
        let twice = vec![rule("default", Some(1), None), rule("default", Some(2), None)];
        assert!(matches!(ExpiryRules::new(twice), Err(InvalidRules::Twice(_))));
    }

    #[test]
    fn the_deadline_is_the_servers_time_plus_the_window_or_never() {
        let rules = ExpiryRules::new(vec![rule("default", Some(1800), None), rule("forever", None, Some(true))]);
        let rules = rules.expect("valid rules");
        let now = Timestamp::EPOCH;
        let deadline = |id| rules.deadline(&RuleId::new(id).expect("an id"), now).map(|(_, at)| at);
        assert_eq!(deadline("default"), Some(Some(now.plus(Duration::from_secs(1800)))));
        assert_eq!(deadline("forever"), Some(None));
        assert_eq!(deadline("other"), None);
    }
}
