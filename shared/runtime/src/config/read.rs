//! How each kind of variable is read.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::ids::ChannelId;

use super::ConfigError;

/// Reads variables from wherever they are.
pub(super) struct Reader<'a>(pub(super) &'a dyn Fn(&str) -> Option<String>);

impl Reader<'_> {
    pub(super) fn is_set(&self, variable: &str) -> bool {
        (self.0)(variable).is_some()
    }

    fn required(&self, variable: &'static str) -> Result<String, ConfigError> {
        (self.0)(variable).ok_or(ConfigError::Missing { variable })
    }

    /// Any text that is not blank.
    pub(super) fn text(&self, variable: &'static str) -> Result<String, ConfigError> {
        let value = self.required(variable)?;
        if value.trim().is_empty() { Err(ConfigError::Blank { variable }) } else { Ok(value) }
    }

    fn form(
        &self,
        variable: &'static str,
        expected: &'static str,
        fits: impl Fn(&str) -> bool,
    ) -> Result<String, ConfigError> {
        let value = self.required(variable)?;
        if fits(&value) { Ok(value) } else { Err(ConfigError::Form { variable, value, expected }) }
    }

    /// What DynamoDB takes for a table: a name or an ARN.
    pub(super) fn table(&self, variable: &'static str) -> Result<String, ConfigError> {
        self.form(variable, "a table name", |value| {
            !value.is_empty()
                && value
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b':' | b'/'))
        })
    }

    /// What CloudWatch takes for a namespace that is not AWS's.
    pub(super) fn namespace(&self, variable: &'static str, default: &str) -> Result<String, ConfigError> {
        if (self.0)(variable).is_none() {
            return Ok(default.to_owned());
        }
        self.form(variable, "a namespace of metrics: letters, digits and . - _ / #", |value| {
            let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/' | b'#');
            (1..=255).contains(&value.len()) && value.bytes().all(is_taken) && !value.starts_with("AWS/")
        })
    }

    pub(super) fn url(&self, variable: &'static str) -> Result<String, ConfigError> {
        self.form(variable, "a URL that begins with http:// or https://", |value| {
            ["http://", "https://"].iter().any(|scheme| value.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
        })
    }

    pub(super) fn arn(&self, variable: &'static str) -> Result<String, ConfigError> {
        self.form(variable, "an ARN", |value| value.starts_with("arn:"))
    }

    fn number(&self, variable: &'static str, default: u64, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let Some(value) = (self.0)(variable) else {
            return Ok(default);
        };
        match value.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            Ok(_) | Err(_) => Err(ConfigError::Number { variable, value, least: *range.start(), most: *range.end() }),
        }
    }

    pub(super) fn seconds(
        &self,
        variable: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<Duration, ConfigError> {
        self.number(variable, default, range).map(Duration::from_secs)
    }

    /// A count of which 0, the default, means "off".
    pub(super) fn count(&self, variable: &'static str) -> Result<Option<NonZeroU32>, ConfigError> {
        let number = self.number(variable, 0, 0..=u64::from(u32::MAX))?;
        Ok(u32::try_from(number).ok().and_then(NonZeroU32::new))
    }

    pub(super) fn rules(&self, variable: &'static str, default: &str) -> Result<ExpiryRules, ConfigError> {
        let text = (self.0)(variable).unwrap_or_else(|| default.to_owned());
        let definitions: Vec<RuleDefinition> =
            serde_json::from_str(&text).map_err(|source| ConfigError::RulesText { variable, source })?;
        ExpiryRules::new(definitions).map_err(|source| ConfigError::Rules { variable, source })
    }

    /// Names separated by commas; none when the variable is absent or blank.
    pub(super) fn channels(&self, variable: &'static str) -> Result<Vec<ChannelId>, ConfigError> {
        let text = (self.0)(variable).unwrap_or_default();
        let mut channels = Vec::new();
        if text.trim().is_empty() {
            return Ok(channels);
        }
        for name in text.split(',').map(str::trim) {
            let channel = ChannelId::new(name).map_err(|source| ConfigError::Id {
                variable,
                kind: "channel",
                value: name.to_owned(),
                source,
            })?;
            if channels.contains(&channel) {
                return Err(ConfigError::ChannelTwice { variable, channel });
            }
            channels.push(channel);
        }
        Ok(channels)
    }
}
