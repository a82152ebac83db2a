//! Why an environment is refused.

use expiry_core::expiry_rule::InvalidRules;
use expiry_core::ids::{ChannelId, InvalidId};

/// Why a function does not start. Each names its variable; none shows a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A variable this function needs is absent.
    #[error("{variable} is not set")]
    Missing {
        /// Which.
        variable: &'static str,
    },
    /// A text is blank.
    #[error("{variable} is set but blank")]
    Blank {
        /// Which.
        variable: &'static str,
    },
    /// A number is none, or out of its range.
    #[error("{variable} is {value:?}: it must be a whole number from {least} to {most}")]
    Number {
        /// Which.
        variable: &'static str,
        /// What it holds.
        value: String,
        /// The smallest allowed.
        least: u64,
        /// The largest allowed.
        most: u64,
    },
    /// A value has not the form it must have.
    #[error("{variable} is {value:?}: it must be {expected}")]
    Form {
        /// Which.
        variable: &'static str,
        /// What it holds.
        value: String,
        /// The form, as a noun phrase.
        expected: &'static str,
    },
    /// The rules are not a JSON list of rules.
    #[error("{variable} is not a JSON list of rules")]
    RulesText {
        /// Which.
        variable: &'static str,
        /// What the parser found.
        #[source]
        source: serde_json::Error,
    },
    /// The rules are refused (case b32).
    #[error("{variable} is refused")]
    Rules {
        /// Which.
        variable: &'static str,
        /// Why.
        #[source]
        source: InvalidRules,
    },
    /// What should be an identifier is none.
    #[error("{variable} names the {kind} {value:?}")]
    Id {
        /// Which.
        variable: &'static str,
        /// What it should name, as a noun.
        kind: &'static str,
        /// What it names.
        value: String,
        /// What is wrong with it.
        #[source]
        source: InvalidId,
    },
    /// A channel is enabled twice.
    #[error("{variable} names the channel {channel} twice")]
    ChannelTwice {
        /// Which.
        variable: &'static str,
        /// The channel.
        channel: ChannelId,
    },
}
