//! The environment: what is accepted is within its bounds, what is refused names its variable.

use std::time::Duration;

use expiry_core::expiry_rule::DEFAULT_RULE;
use expiry_core::ids::RuleId;
use expiry_core::limits;
use expiry_runtime::config::{Config, ConfigError};
use serde_json::Value;

use super::assert_tells_its_part;
use crate::shop::now;

/// Lines of `NAME=value`.
pub(crate) fn environment(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let variables: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let lookup = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let config = match Config::from_lookup(&lookup) {
        Ok(config) => config,
        Err(error) => return assert_names_its_variable(&error),
    };
    let within = |span: Duration, least, most| assert!((least..=most).contains(&span.as_secs()), "{span:?}");
    within(config.lease, 1, 900);
    within(config.scan_grace, 0, 86_400);
    within(config.scan_period, 1, 86_400);
    within(config.channel_call, 1, 20);
    assert!(!config.orders_table.is_empty() && !config.resources_table.is_empty());
    assert_eq!(config.sim.is_some(), config.channels.iter().any(|channel| channel.as_str() == "sim"));
    if let Some(sim) = &config.sim {
        assert!(!sim.secret_id.trim().is_empty());
    }
}

fn assert_names_its_variable(error: &ConfigError) {
    let told = error.to_string();
    let name: String =
        told.chars().take_while(|character| character.is_ascii_uppercase() || *character == '_').collect();
    assert!(name.len() > 3, "{told:?} names no variable");
    assert_tells_its_part(error);
}

/// `EXPIRY_RULES`: every accepted rule is a window of its bounds, or says `never`.
pub(crate) fn expiry_rules(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lookup = |name: &str| match name {
        "ORDERS_TABLE" | "RESOURCES_TABLE" => Some("table".to_owned()),
        "EXPIRY_RULES" => Some(text.to_owned()),
        _ => None,
    };
    let rules = match Config::from_lookup(&lookup) {
        Ok(config) => config.expiry_rules,
        Err(error) => return assert_names_its_variable(&error),
    };
    let deadline = |id: &str| rules.deadline(&RuleId::new(id).expect("a rule"), now());
    assert!(deadline(DEFAULT_RULE).is_some(), "an order without a rule has the default one");
    let Ok(Value::Array(stated)) = serde_json::from_str(text) else { panic!("what is accepted is a JSON list") };
    for rule in stated {
        // A rule may be written as an array of its fields, too.
        let Some(id) = rule["id"].as_str() else { continue };
        let (reference, deadline) = deadline(id).expect("every accepted rule is there");
        assert_eq!(rule["version"], reference.version);
        match (rule["seconds"].as_u64(), deadline) {
            (Some(seconds), Some(at)) => {
                assert!((1..=limits::WINDOW_SECONDS).contains(&seconds));
                assert_eq!(at.since(now()).as_secs(), seconds);
            }
            (None, None) => assert_eq!(rule["never"], true),
            (seconds, deadline) => panic!("{seconds:?} became {deadline:?}"),
        }
    }
}
