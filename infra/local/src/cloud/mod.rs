//! The embedded cloud: DynamoDB and its streams, SQS, EventBridge Scheduler and Secrets Manager in this process, behind the real AWS SDK clients.
//!
//! ```text
//! SDK client ──HTTP request──▶ connector ──▶ chance ──▶ dynamodb | sqs | scheduler | secrets
//!                                 ▲  (passes, fails, is lost)            │
//!                                 └───────────HTTP answer────────────────┘
//! ```
//!
//! - `connector` reads a request and gives every answer its `Date`.
//! - `fate`, `faults` and `chance` decide time, order, duplication and loss, in one place and seeded.
//! - `clock` of the crate is the only time; given the same seed, clock and calls, everything happens alike.
//!
//! Architecture invariant: nothing outside this module knows that the cloud is embedded, except by asking for what AWS has no call
//! for ([`Cloud::set_faults`], [`Cloud::schedules`], [`Cloud::changes`] …).

mod chance;
mod changes;
mod connector;
mod dynamodb;
pub mod fate;
mod faults;
mod names;
mod observer;
mod scheduler;
mod sdk;
mod secrets;
mod sqs;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_config::SdkConfig;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use expiry_core::time::{Clock, Timestamp};
use serde_json::Value;

pub use self::faults::{Faults, SCHEDULER};
pub use self::observer::{Write, WriteObserver};
pub(crate) use self::scheduler::Expression;
pub use self::scheduler::{Invocation, ScheduleView};
pub use self::sqs::QueueCounts;

use self::chance::Chance;
use self::connector::Connector;
use self::dynamodb::DynamoDb;
use self::fate::{Call, CallFate, Fate, SeededFate};
use self::names::{Names, queue_of_arn};
use self::scheduler::Schedules;
use self::secrets::Secrets;
use self::sqs::Queues;
use crate::clock::MovableClock;
use crate::news::News;

/// What a cloud is made of.
#[derive(Clone, Debug)]
pub struct CloudConfig {
    /// The clock everything in it reads.
    pub clock: MovableClock,
    /// Decides what chance decides.
    pub seed: u64,
    /// The folder in which tables persist; without one every start is empty. Queues and schedules never persist.
    pub data: Option<PathBuf>,
    /// The region all names carry.
    pub region: String,
    /// The twelve-digit account all names carry.
    pub account: String,
}

impl CloudConfig {
    /// An empty cloud in memory, with the usual local names.
    #[must_use]
    pub fn in_memory(clock: MovableClock, seed: u64) -> CloudConfig {
        CloudConfig { clock, seed, data: None, region: "us-east-1".to_owned(), account: "000000000000".to_owned() }
    }
}

/// Why a cloud could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    /// The data folder could not be made.
    #[error("the data folder {} cannot be created", path.display())]
    DataFolder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database takes only paths that are UTF-8.
    #[error("the data path {} is not UTF-8", path.display())]
    DataPath {
        /// The path.
        path: PathBuf,
    },
    /// The database file could not be opened, or is none.
    #[error("the database cannot be opened")]
    Database(#[source] Box<dynoxide::DynoxideError>),
}

/// The embedded cloud. Clones share it.
#[derive(Clone, Debug)]
pub struct Cloud {
    shared: Arc<Shared>,
}

/// Follows what happens in a cloud, so that a driver need not ask again and again. Nothing that happens between two
/// [`next`](Changes::next) is missed: make it first, then look, then wait.
#[derive(Debug)]
pub struct Changes {
    shared: Arc<Shared>,
    changes: changes::Changes,
}

impl Changes {
    /// Returns when something happened since the last call: a message or stream record was written, a message or schedule became
    /// due, the clock was moved, the faults changed. May return when nothing that matters to the caller did.
    pub async fn next(&mut self) {
        self.changes.next(&self.shared).await;
    }
}

impl Cloud {
    /// Opens a cloud.
    ///
    /// # Errors
    /// Only with a data folder: it cannot be made, or the database in it cannot be opened.
    pub fn new(config: CloudConfig) -> Result<Cloud, CloudError> {
        let names = Names { region: config.region, account: config.account };
        let dynamodb = DynamoDb::open(config.data.as_deref(), config.clock.clone(), names.clone())?;
        let state = State {
            chance: Chance::new(Box::new(SeededFate::new(config.seed))),
            queues: Queues::default(),
            schedules: Schedules::default(),
            secrets: Secrets::default(),
            invocations: Vec::new(),
        };
        let shared = Shared { clock: config.clock, names, dynamodb, state: Mutex::new(state), news: News::default() };
        Ok(Cloud { shared: Arc::new(shared) })
    }

    /// The HTTP client through which an SDK client of any of its services reaches this cloud.
    #[must_use]
    pub fn http_client(&self) -> SharedHttpClient {
        SharedHttpClient::new(Connector(Arc::clone(&self.shared)))
    }

    /// The SDK configuration of this cloud: its HTTP client, fixed credentials, its clock as the time, three attempts.
    #[must_use]
    pub fn sdk_config(&self) -> SdkConfig {
        sdk::config(&self.shared.names.region, self.http_client(), self.shared.clock.clone())
    }

    /// The clock of this cloud.
    #[must_use]
    pub fn clock(&self) -> &MovableClock {
        &self.shared.clock
    }

    /// Replaces the faults. What was due or written before is still treated by the former ones.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.settle();
        self.shared.lock().chance.faults = faults;
        self.shared.announce();
    }

    /// The faults in force.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.shared.lock().chance.faults.clone()
    }

    /// Takes one of the failing deliveries of `queue` that [`Faults::fail_deliveries`] asks for; `false` when none is left.
    #[must_use]
    pub fn take_failure(&self, queue: &str) -> bool {
        self.shared.lock().chance.faults.take_failure(queue)
    }

    /// Replaces what decides by chance.
    pub fn set_fate(&self, fate: impl Fate + 'static) {
        self.shared.lock().chance.fate = Box::new(fate);
    }

    /// Adds a rule for calls: the first rule that does not answer `None` decides what becomes of a call; without one it is fate.
    /// The rule must not call this cloud.
    pub fn on_call(&self, rule: impl FnMut(&Call<'_>) -> Option<CallFate> + Send + 'static) {
        self.shared.lock().chance.rules.push(Box::new(rule));
    }

    /// Shows every write of the database from now on to `observer`, besides former ones.
    pub fn observe_writes(&self, observer: impl FnMut(&[Write]) + Send + 'static) {
        self.shared.dynamodb.observe(Box::new(observer));
    }

    /// Keeps a lagging copy of the tables created so far, without which [`CallFate::Stale`] changes nothing.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn keep_replica(&self) -> Result<(), CloudError> {
        self.shared.dynamodb.keep_replica().map_err(|error| CloudError::Database(Box::new(error)))
    }

    /// Forgets the rules for calls.
    pub fn clear_call_rules(&self) {
        self.shared.lock().chance.rules.clear();
    }

    /// How many messages each queue holds now.
    #[must_use]
    pub fn queue_counts(&self) -> BTreeMap<String, QueueCounts> {
        self.shared.settle();
        self.shared.lock().queues.counts()
    }

    /// Whether a message of `queue` can be received now: a poller that asks first need not call in vain.
    #[must_use]
    pub fn is_receivable(&self, queue: &str) -> bool {
        let state = self.shared.lock();
        state.queues.is_receivable(&state.chance, queue)
    }

    /// Every schedule, by group and name.
    #[must_use]
    pub fn schedules(&self) -> Vec<ScheduleView> {
        self.shared.settle();
        self.shared.lock().schedules.views()
    }

    /// Takes what schedules with a target other than a queue have invoked since the last call, in order of firing.
    #[must_use]
    pub fn take_invocations(&self) -> Vec<Invocation> {
        self.shared.settle();
        std::mem::take(&mut self.shared.lock().invocations)
    }

    /// How many records each table's stream has shown its readers, by table: a driver that has read as many has read all.
    #[must_use]
    pub fn stream_records_written(&self) -> BTreeMap<String, u64> {
        self.shared.dynamodb.records_written()
    }

    /// Whether nothing is left to do now: no message can be received (held queues apart) or is in flight, every due schedule has
    /// fired and its invocation was taken. Whether the stream is read is known to its reader alone
    /// ([`stream_records_written`](Cloud::stream_records_written)).
    #[must_use]
    pub fn idle(&self) -> bool {
        self.shared.settle();
        let state = self.shared.lock();
        state.queues.idle(&state.chance) && state.invocations.is_empty()
    }

    /// Follows what happens from now on.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes { shared: Arc::clone(&self.shared), changes: changes::Changes::new(&self.shared) }
    }

    /// Fires schedules and makes messages deliverable as their time comes; never ends. Every call does the same for what is due
    /// then, so that without this future nothing is missed, only later: it is what fires a schedule while nobody calls.
    pub async fn run_scheduler(&self) {
        let mut changes = self.changes();
        self.shared.settle();
        loop {
            changes.next().await;
        }
    }
}

/// What clones, connectors and followers share.
pub(crate) struct Shared {
    pub(crate) clock: MovableClock,
    names: Names,
    dynamodb: DynamoDb,
    state: Mutex<State>,
    /// Counts what happened; followers watch it.
    news: News,
}

/// Everything in memory but the database.
#[derive(Debug)]
struct State {
    chance: Chance,
    queues: Queues,
    schedules: Schedules,
    secrets: Secrets,
    invocations: Vec<Invocation>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Cloud").field("names", &self.names).field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Tells followers that something happened.
    fn announce(&self) {
        self.news.announce();
    }

    /// Does everything that is due by now, in the order in which it became due: schedules fire, messages become deliverable.
    fn settle(&self) {
        let now = self.clock.now();
        let happened = {
            let State { chance, queues, schedules, invocations, .. } = &mut *self.lock();
            let fired = schedules.fire(now);
            let mut happened = !fired.is_empty();
            for invocation in fired {
                match queue_of_arn(&invocation.target) {
                    None => invocations.push(invocation),
                    Some(queue) => {
                        let sent =
                            queues.send(chance, queue, &invocation.input, &Value::Null, invocation.fired_at, None);
                        if sent.is_none() {
                            tracing::warn!(
                                schedule = invocation.schedule,
                                queue,
                                "a schedule fired at a queue that does not exist"
                            );
                        }
                    }
                }
            }
            happened |= queues.settle(chance, now);
            happened
        };
        if happened {
            self.announce();
        }
    }

    /// When something next becomes due by itself.
    fn next_due(&self) -> Option<Timestamp> {
        let state = self.lock();
        state.queues.next_due().into_iter().chain(state.schedules.next_due()).min()
    }
}

/// Locks, also after a panic elsewhere: every change under these locks is complete before anything can panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
