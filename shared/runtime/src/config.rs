//! Everything a function reads from its environment: read once, checked at the start, so that a bad or missing value stops the
//! start with a message that names it and never surfaces as a failed order later.

mod error;
mod read;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use expiry_core::expiry_rule::ExpiryRules;
use expiry_core::ids::ChannelId;

pub use self::error::ConfigError;
use self::read::Reader;
use crate::metrics::NAMESPACE;
use crate::queues::{QueueUrls, url_variable};
use expiry_core::message::Queue;

/// The channel of the local simulator, which is off unless `CHANNELS` names it.
pub const SIM_CHANNEL: &str = "sim";
/// The rules without `EXPIRY_RULES`: 30 minutes.
pub const DEFAULT_RULES: &str = r#"[{"id":"default","version":1,"seconds":1800}]"#;

/// The environment of a function, checked.
///
/// What only some functions have — queues, schedules — is asked for at the start by
/// [`queue_urls`](Config::queue_urls) and [`scheduler`](Config::scheduler), which name what is missing.
#[derive(Clone, Debug)]
pub struct Config {
    /// `ORDERS_TABLE`.
    pub orders_table: String,
    /// `RESOURCES_TABLE`.
    pub resources_table: String,
    /// `METRICS_NAMESPACE`, default [`NAMESPACE`]: two stacks in one account must not hear each other's metrics.
    pub metrics_namespace: String,
    /// `EXPIRY_RULES`, JSON; default [`DEFAULT_RULES`].
    pub expiry_rules: ExpiryRules,
    /// `LEASE_SECONDS`, 1 … 900, default 30: how long a closer owns an order.
    pub lease: Duration,
    /// `SCAN_GRACE_SECONDS`, 0 … 86,400, default 120: how long the scan leaves what is due to the wake-up.
    pub scan_grace: Duration,
    /// `SCAN_PERIOD_SECONDS`, 1 … 86,400, default 3,600: how often the scan runs.
    pub scan_period: Duration,
    /// `MAX_OPEN_ORDERS_PER_USER`, default 0: no cap.
    pub max_open_orders_per_user: Option<NonZeroU32>,
    /// `CHANNEL_CALL_SECONDS`, 1 … 20, default 3: the deadline of one call of a payment channel.
    pub channel_call: Duration,
    /// `CHANNELS`, separated by commas, default none: the enabled payment channels.
    pub channels: Vec<ChannelId>,
    /// The simulator, if `CHANNELS` names it: a function refuses to start without its channels' secrets.
    pub sim: Option<SimConfig>,
    queue_urls: BTreeMap<Queue, String>,
    scheduler: Option<SchedulerConfig>,
}

/// How the simulated channel is reached.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// `SIM_CHANNEL_URL`: where it answers, without a slash at its end.
    pub url: String,
    /// `SIM_CHANNEL_SECRET_ID`: the secret in Secrets Manager that signs, by ARN or name. There is no default.
    pub secret_id: String,
}

/// What a wake-up schedule is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// `SCHEDULE_GROUP`: the group all schedules are in.
    pub group: String,
    /// `SCHEDULE_ROLE_ARN`: the role by which the Scheduler may send to the close queue.
    pub role_arn: String,
    /// `CLOSE_QUEUE_ARN`: where a schedule sends its wake-up.
    pub close_queue_arn: String,
}

impl Config {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// [`ConfigError`], which names the variable.
    pub fn from_env() -> Result<Config, ConfigError> {
        // Text that is not UTF-8 is kept, changed, so that it is refused as a bad value and never taken for an absent one.
        Config::from_lookup(&|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads the variables that `lookup` knows.
    ///
    /// # Errors
    /// [`ConfigError`], which names the variable.
    pub fn from_lookup(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
        let read = Reader(lookup);
        let channels = read.channels("CHANNELS")?;
        let sim = channels.iter().any(|channel| channel.as_str() == SIM_CHANNEL);
        Ok(Config {
            orders_table: read.table("ORDERS_TABLE")?,
            resources_table: read.table("RESOURCES_TABLE")?,
            metrics_namespace: read.namespace("METRICS_NAMESPACE", NAMESPACE)?,
            expiry_rules: read.rules("EXPIRY_RULES", DEFAULT_RULES)?,
            lease: read.seconds("LEASE_SECONDS", 30, 1..=900)?,
            scan_grace: read.seconds("SCAN_GRACE_SECONDS", 120, 0..=86_400)?,
            scan_period: read.seconds("SCAN_PERIOD_SECONDS", 3_600, 1..=86_400)?,
            max_open_orders_per_user: read.count("MAX_OPEN_ORDERS_PER_USER")?,
            channel_call: read.seconds("CHANNEL_CALL_SECONDS", 3, 1..=20)?,
            sim: if sim { Some(sim_config(&read)?) } else { None },
            channels,
            queue_urls: queue_urls(&read)?,
            scheduler: scheduler(&read)?,
        })
    }

    /// The URLs of the queues that this function sends to, and of no others.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] for the first of `needed` that the environment does not name.
    pub fn queue_urls(&self, needed: &[Queue]) -> Result<QueueUrls, ConfigError> {
        let url = |queue: &Queue| match self.queue_urls.get(queue) {
            Some(url) => Ok((*queue, url.clone())),
            None => Err(ConfigError::Missing { variable: url_variable(*queue) }),
        };
        needed.iter().map(url).collect()
    }

    /// What schedules are made from, for the function that arms them.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] when the environment does not say.
    pub fn scheduler(&self) -> Result<&SchedulerConfig, ConfigError> {
        self.scheduler.as_ref().ok_or(ConfigError::Missing { variable: SCHEDULE_GROUP })
    }
}

const SCHEDULE_GROUP: &str = "SCHEDULE_GROUP";
const SCHEDULE_ROLE_ARN: &str = "SCHEDULE_ROLE_ARN";
const CLOSE_QUEUE_ARN: &str = "CLOSE_QUEUE_ARN";

fn queue_urls(read: &Reader<'_>) -> Result<BTreeMap<Queue, String>, ConfigError> {
    let mut urls = BTreeMap::new();
    for queue in Queue::ALL {
        if read.is_set(url_variable(queue)) {
            urls.insert(queue, read.url(url_variable(queue))?);
        }
    }
    Ok(urls)
}

/// All three or none: a function that was given one of them is meant to arm schedules.
fn scheduler(read: &Reader<'_>) -> Result<Option<SchedulerConfig>, ConfigError> {
    if ![SCHEDULE_GROUP, SCHEDULE_ROLE_ARN, CLOSE_QUEUE_ARN].iter().any(|variable| read.is_set(variable)) {
        return Ok(None);
    }
    Ok(Some(SchedulerConfig {
        group: read.text(SCHEDULE_GROUP)?,
        role_arn: read.arn(SCHEDULE_ROLE_ARN)?,
        close_queue_arn: read.arn(CLOSE_QUEUE_ARN)?,
    }))
}

fn sim_config(read: &Reader<'_>) -> Result<SimConfig, ConfigError> {
    Ok(SimConfig {
        url: read.url("SIM_CHANNEL_URL")?.trim_end_matches('/').to_owned(),
        secret_id: read.text("SIM_CHANNEL_SECRET_ID")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::chain;

    fn config(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let tables = [("ORDERS_TABLE", "orders"), ("RESOURCES_TABLE", "resources")];
        Config::from_lookup(&|name| {
            variables.iter().chain(&tables).find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn refusal(variables: &[(&str, &str)]) -> String {
        chain(&config(variables).expect_err("a refusal"))
    }

    #[test]
    fn an_environment_with_only_the_tables_gets_the_defaults() {
        let config = config(&[]).expect("valid");
        assert_eq!(config.lease, Duration::from_secs(30));
        assert_eq!(config.scan_grace, Duration::from_secs(120));
        assert_eq!(config.scan_period, Duration::from_secs(3_600));
        assert_eq!(config.channel_call, Duration::from_secs(3));
        assert_eq!(config.max_open_orders_per_user, None);
        assert!(config.channels.is_empty() && config.sim.is_none());
    }

    #[test]
    fn a_bad_value_is_refused_with_the_name_of_its_variable_and_what_is_allowed() {
        for (variable, value, message) in [
            ("ORDERS_TABLE", "", "ORDERS_TABLE is \"\": it must be a table name"),
            ("ORDERS_TABLE", "a table", "ORDERS_TABLE is \"a table\": it must be a table name"),
            ("LEASE_SECONDS", "0", "LEASE_SECONDS is \"0\": it must be a whole number from 1 to 900"),
            ("LEASE_SECONDS", "901", "LEASE_SECONDS is \"901\": it must be a whole number from 1 to 900"),
            ("LEASE_SECONDS", "", "LEASE_SECONDS is \"\": it must be a whole number from 1 to 900"),
            ("SCAN_GRACE_SECONDS", "-1", "SCAN_GRACE_SECONDS is \"-1\": it must be a whole number from 0 to 86400"),
            ("CHANNEL_CALL_SECONDS", "3.5", "CHANNEL_CALL_SECONDS is \"3.5\": it must be a whole number from 1 to 20"),
            ("EXPIRY_RULES", "[]", "EXPIRY_RULES is refused: there is no rule with the id \"default\""),
            (
                "EXPIRY_RULES",
                "",
                "EXPIRY_RULES is not a JSON list of rules: EOF while parsing a value at line 1 column 0",
            ),
            ("CHANNELS", "sim,,x", "CHANNELS names the channel \"\": must not be empty"),
            ("CHANNELS", "x,x", "CHANNELS names the channel x twice"),
            (
                "CLOSE_QUEUE_URL",
                "close",
                "CLOSE_QUEUE_URL is \"close\": it must be a URL that begins with http:// or https://",
            ),
        ] {
            let refused = refusal(&[(variable, value)]);
            assert!(refused.starts_with(message), "{refused}");
        }
        let zero = r#"[{"id":"default","version":1,"seconds":0}]"#;
        assert!(refusal(&[("EXPIRY_RULES", zero)]).starts_with("EXPIRY_RULES is refused: the rule default needs"));
    }

    #[test]
    fn the_simulator_starts_only_with_the_name_of_its_secret() {
        let url = ("SIM_CHANNEL_URL", "http://localhost:8787/_sim/");
        assert_eq!(refusal(&[("CHANNELS", "sim"), url]), "SIM_CHANNEL_SECRET_ID is not set");
        let config = config(&[("CHANNELS", "sim"), url, ("SIM_CHANNEL_SECRET_ID", "shop/sim")]).expect("valid");
        let sim = config.sim.as_ref().expect("the simulator");
        assert_eq!((sim.url.as_str(), sim.secret_id.as_str()), ("http://localhost:8787/_sim", "shop/sim"));
    }

    #[test]
    fn a_function_that_needs_a_queue_or_the_scheduler_does_not_start_without() {
        let url = "https://sqs.eu-central-1.amazonaws.com/1/close";
        let config = config(&[("CLOSE_QUEUE_URL", url)]).expect("valid");
        let missing = config.queue_urls(&[Queue::Close, Queue::Refund]).expect_err("no refund queue");
        assert_eq!(missing.to_string(), "REFUND_QUEUE_URL is not set");
        assert!(config.queue_urls(&[Queue::Close]).is_ok());
        assert_eq!(config.scheduler().expect_err("no scheduler").to_string(), "SCHEDULE_GROUP is not set");
        assert_eq!(refusal(&[("SCHEDULE_GROUP", "orders")]), "SCHEDULE_ROLE_ARN is not set");
    }

    #[test]
    fn a_cap_of_zero_open_orders_means_no_cap() {
        let cap = |value| config(&[("MAX_OPEN_ORDERS_PER_USER", value)]).expect("valid").max_open_orders_per_user;
        assert_eq!(cap("0"), None);
        assert_eq!(cap("5"), NonZeroU32::new(5));
    }
}
