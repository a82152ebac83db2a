//! The local system's settings: the environment of DESIGN §9, and the names that `template.yaml` gives in the cloud.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use expiry_core::message::Queue;
use expiry_runtime::config::{Config, ConfigError};
use expiry_runtime::queues::url_variable;

/// The port when `PORT` is not set.
pub const PORT: u16 = 8787;
/// Batches of each queue at work at once, unless a simulation says otherwise.
pub const POLLERS: usize = 2;
/// Seconds that a received message stays invisible, unless a simulation says otherwise.
const VISIBILITY_SECONDS: u64 = 60;
/// The secret of the channel `sim` when `SIM_CHANNEL_SECRET` is not set; only this process has such a default.
pub const SIM_SECRET: &str = "sim-secret";
/// The table of orders.
pub const ORDERS_TABLE: &str = "orders";
/// The table of counters and coupons.
pub const RESOURCES_TABLE: &str = "resources";
/// The secret of the channel `sim`, by its name in Secrets Manager.
pub const SIM_SECRET_NAME: &str = "order-expiry/sim";
/// The group of all schedules.
pub const SCHEDULE_GROUP: &str = "order-expiry";
/// The region and account in every name.
pub const REGION: &str = "us-east-1";
/// The account in every name.
pub const ACCOUNT: &str = "000000000000";

/// The environment: what a variable holds.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the local system is started with.
#[derive(Debug)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where the database persists; `None` is an empty one in memory.
    pub data: Option<PathBuf>,
    /// Decides what chance decides.
    pub seed: u64,
    /// Batches of each queue at work at once: what `MaximumConcurrency` is in the cloud.
    pub pollers: usize,
    /// Seconds that a received message stays invisible: at least six times a function's time, and longer than the lease (DESIGN §7).
    pub visibility_seconds: u64,
    /// What the functions read from their environment.
    pub config: Config,
    /// The secret of the channel `sim`, which is put into Secrets Manager at the start.
    pub sim_secret: String,
}

/// Why the local system does not start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable of the functions.
    #[error("a setting is not valid")]
    Config(#[from] ConfigError),
    /// A variable of the local system.
    #[error("{variable} is {value:?}: it must be {expected}")]
    Invalid {
        /// Which.
        variable: &'static str,
        /// What it holds.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
}

impl Settings {
    /// Reads the environment through `lookup`.
    ///
    /// # Errors
    /// When a value is not valid: the start ends with a clear message.
    pub fn from_lookup(lookup: Lookup<'_>) -> Result<Settings, SettingsError> {
        let port = number(lookup, "PORT", PORT, "a port from 0 to 65535")?;
        let seed = number(lookup, "SEED", 0, "a whole number")?;
        let config = config(lookup)?;
        Ok(Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], port)),
            data: None,
            seed,
            pollers: POLLERS,
            visibility_seconds: VISIBILITY_SECONDS,
            config,
            sim_secret: lookup("SIM_CHANNEL_SECRET").unwrap_or_else(|| SIM_SECRET.to_owned()),
        })
    }
}

/// What the functions read: `lookup`, and where it says nothing what the template gives them.
///
/// # Errors
/// When a value is not valid.
pub fn config(lookup: Lookup<'_>) -> Result<Config, ConfigError> {
    Config::from_lookup(&|name| lookup(name).or_else(|| given_by_the_template(name)))
}

/// The number in `variable`, or `default` when it is not set.
fn number<T: FromStr>(
    lookup: Lookup<'_>,
    variable: &'static str,
    default: T,
    expected: &'static str,
) -> Result<T, SettingsError> {
    let Some(value) = lookup(variable) else {
        return Ok(default);
    };
    value.parse().map_err(|_| SettingsError::Invalid { variable, value, expected })
}

/// The URL of a queue of the embedded cloud.
#[must_use]
pub fn queue_url(queue: Queue) -> String {
    format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{queue}")
}

/// The ARN of a queue.
#[must_use]
pub fn queue_arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

fn given_by_the_template(name: &str) -> Option<String> {
    let fixed = match name {
        "ORDERS_TABLE" => ORDERS_TABLE.to_owned(),
        "RESOURCES_TABLE" => RESOURCES_TABLE.to_owned(),
        "CHANNELS" => "sim".to_owned(),
        "SIM_CHANNEL_SECRET_ID" => SIM_SECRET_NAME.to_owned(),
        // Reached in this process; the address is never dialled.
        "SIM_CHANNEL_URL" => "http://sim.local".to_owned(),
        "SCHEDULE_GROUP" => SCHEDULE_GROUP.to_owned(),
        "SCHEDULE_ROLE_ARN" => format!("arn:aws:iam::{ACCOUNT}:role/order-expiry-scheduler"),
        "CLOSE_QUEUE_ARN" => queue_arn(Queue::Close.name()),
        _ => return Queue::ALL.into_iter().find(|queue| url_variable(*queue) == name).map(queue_url),
    };
    Some(fixed)
}
