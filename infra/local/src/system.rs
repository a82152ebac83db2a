//! The whole: cloud, functions, drivers and the channel simulator, joined.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use expiry_adjudication::Surroundings;
use expiry_channels::sim::signature::SigningKey;
use expiry_core::ids::IdSource;
use expiry_core::message::Queue;
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::boot;
use expiry_runtime::config::ConfigError;
use expiry_runtime::ids::SystemIds;
use expiry_runtime::metrics::Metrics;
use tokio::task::JoinSet;

use crate::AnyError;
use crate::clock::MovableClock;
use crate::cloud::{Cloud, CloudConfig, CloudError, Faults};
use crate::drivers::stream::Progress;
use crate::drivers::{queues, schedules, stream};
use crate::figures::Figures;
use crate::functions::Functions;
use crate::provision::{ProvisionError, provision, schedule_scan};
use crate::settings::{ACCOUNT, ORDERS_TABLE, REGION, Settings, queue_url};
use crate::sim::SimChannel;
use crate::webhooks::Webhooks;

/// How long a clock move waits for what is due to finish (DESIGN §9).
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Why the system does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The cloud.
    #[error("the embedded cloud does not open")]
    Cloud(#[from] CloudError),
    /// What is in the cloud.
    #[error("what the template creates is not there")]
    Provision(#[from] ProvisionError),
    /// A setting of the functions.
    #[error("a setting is not valid")]
    Settings(#[from] ConfigError),
    /// A function.
    #[error("a function does not start")]
    Function(#[source] boot::StartError),
    /// The simulator's secret is empty.
    #[error("SIM_CHANNEL_SECRET is empty")]
    NoSecret,
}

/// A running local system. Its drivers end when it is dropped.
#[derive(Debug)]
pub struct System {
    /// The one clock.
    pub clock: MovableClock,
    /// The embedded cloud.
    pub cloud: Cloud,
    /// The functions.
    pub functions: Arc<Functions>,
    /// The channel simulator.
    pub sim: SimChannel,
    /// What the metric lines add up to.
    pub figures: Figures,
    pollers: usize,
    progress: Progress,
    /// Whether a run of the scan is under way that a schedule set off.
    scanning: Arc<AtomicBool>,
    drivers: Mutex<JoinSet<()>>,
}

/// What a caller may replace before the start.
#[derive(Debug)]
pub struct Parts {
    /// The one clock.
    pub clock: MovableClock,
    /// What the functions' own clocks show, where it is not that.
    pub functions_clock: Option<Arc<dyn Clock>>,
    /// The one source of identifiers.
    pub ids: Arc<dyn IdSource>,
}

impl Parts {
    /// Functions on `clock` like everything else.
    #[must_use]
    pub fn new(clock: MovableClock, ids: Arc<dyn IdSource>) -> Parts {
        Parts { clock, functions_clock: None, ids }
    }
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::new(MovableClock::running(), Arc::new(SystemIds))
    }
}

impl System {
    /// Opens everything and starts the drivers.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(settings: &Settings, parts: Parts) -> Result<System, StartError> {
        let Parts { clock, functions_clock, ids } = parts;
        let cloud = Cloud::new(CloudConfig {
            clock: clock.clone(),
            seed: settings.seed,
            data: settings.data.clone(),
            region: REGION.to_owned(),
            account: ACCOUNT.to_owned(),
        })?;
        let sdk = cloud.sdk_config();
        provision(&sdk, REGION, settings.visibility_seconds, &settings.sim_secret).await?;
        schedule_scan(&sdk, settings.config.scan_period).await?;
        let shared_clock: Arc<dyn Clock> = Arc::new(clock.clone());
        let key = SigningKey::new(&settings.sim_secret).ok_or(StartError::NoSecret)?;
        let sim = SimChannel::new(key, Arc::clone(&shared_clock));
        let figures = Figures::default();
        let functions_clock = functions_clock.unwrap_or(shared_clock);
        let surroundings = Surroundings {
            metrics: Metrics::new(Arc::clone(&functions_clock), figures.sink()),
            clock: functions_clock,
            ids,
        };
        let functions = Arc::new(
            Functions::new(&settings.config, &sdk, surroundings, Arc::new(sim.clone()))
                .map_err(StartError::Function)?,
        );
        sim.set_callback_sink(Arc::new(Webhooks::of(&functions)));
        let system = System {
            clock,
            cloud,
            functions,
            sim,
            figures,
            pollers: settings.pollers,
            progress: Progress::default(),
            scanning: Arc::default(),
            drivers: Mutex::default(),
        };
        system.resume();
        Ok(system)
    }

    /// Lets what is due finish, then moves the one clock; what becomes due is delivered with no further call (DESIGN §9).
    pub async fn advance(&self, span: Duration) -> Timestamp {
        self.settled(SETTLE_TIME).await;
        self.clock.advance(span)
    }

    /// Waits until nothing is left to do now, at most `most` of real time; whether it came to that.
    pub async fn settled(&self, most: Duration) -> bool {
        let mut changes = self.cloud.changes();
        let quiet = async {
            while !self.is_quiet() {
                // Handlers that are at work announce nothing until they write.
                let _ = tokio::time::timeout(Duration::from_millis(2), changes.next()).await;
            }
        };
        tokio::time::timeout(most, quiet).await.is_ok()
    }

    /// Whether nothing is left to do now.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // How many records the stream has, if all are handled and no scan runs.
        let all_handled = || {
            let written = records_written(&self.cloud);
            (self.progress.handled() >= written && !self.scanning.load(Ordering::SeqCst)).then_some(written)
        };
        let before = all_handled();
        // Asked on both sides of the queues: a handler may have written and deleted its message in between.
        before.is_some() && self.cloud.idle() && all_handled() == before
    }

    /// Every function dies wherever it is, and is started anew: what it had not finished is delivered again.
    pub fn crash(&self) {
        self.stop();
        self.resume();
    }

    /// The stream is read again from its oldest record on.
    pub fn replay_stream(&self) {
        self.progress.forget();
        self.crash();
    }

    /// Every function that a queue, a stream or a schedule runs dies wherever it is, and none runs until [`resume`](System::resume).
    pub fn stop(&self) {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.scanning.store(false, Ordering::SeqCst);
    }

    /// Starts the drivers again after [`stop`](System::stop).
    pub fn resume(&self) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        *drivers = self.drive();
    }

    fn drive(&self) -> JoinSet<()> {
        let (cloud, functions) = (&self.cloud, &self.functions);
        let mut drivers = JoinSet::new();
        let sdk = cloud.sdk_config();
        let scheduler = cloud.clone();
        drivers.spawn(async move { scheduler.run_scheduler().await });
        let streams = aws_sdk_dynamodbstreams::Client::new(&sdk);
        let stream = cloud.clone();
        let written: stream::RecordsWritten = Arc::new(move || Some(records_written(&stream)));
        let progress = self.progress.clone();
        drivers.spawn(stream::poll(streams, Arc::clone(functions), cloud.changes(), written, progress));
        let failing = cloud.clone();
        let fails: queues::FailsDelivery = Arc::new(move |queue| failing.take_failure(queue.name()));
        let sqs = aws_sdk_sqs::Client::new(&sdk);
        let queues = cloud.clone();
        let is_receivable: queues::IsReceivable = Arc::new(move |queue| queues.is_receivable(queue.name()));
        for queue in Queue::ALL {
            for _ in 0..self.pollers {
                let poller = queues::Poller {
                    sqs: sqs.clone(),
                    functions: Arc::clone(functions),
                    queue,
                    url: queue_url(queue),
                    fails: Arc::clone(&fails),
                    is_receivable: Arc::clone(&is_receivable),
                };
                drivers.spawn(poller.run(cloud.changes()));
            }
        }
        let (invoked, functions, scanning) = (cloud.clone(), Arc::clone(functions), Arc::clone(&self.scanning));
        drivers.spawn(async move {
            let mut changes = invoked.changes();
            loop {
                scanning.store(true, Ordering::SeqCst);
                for _ in invoked.take_invocations() {
                    // Its error is logged where it arises; the next run goes on where this one stopped.
                    let _ = schedules::scan(&functions).await;
                }
                scanning.store(false, Ordering::SeqCst);
                changes.next().await;
            }
        });
        drivers
    }

    /// Replaces the whole set of faults.
    pub fn set_faults(&self, faults: Faults) {
        self.sim.set_down(faults.downs_channel(expiry_channels::sim::CHANNEL));
        self.cloud.set_faults(faults);
    }

    /// Sends a message to a queue as anybody could.
    ///
    /// # Errors
    /// When the queue does not take it.
    pub async fn deliver(&self, queue: Queue, body: &str) -> Result<String, AnyError> {
        queues::send(&self.cloud.sdk_config(), &queue_url(queue), body).await
    }
}

/// How many records the stream of orders has had.
fn records_written(cloud: &Cloud) -> u64 {
    cloud.stream_records_written().get(ORDERS_TABLE).copied().unwrap_or(0)
}
