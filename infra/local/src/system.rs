//! The whole: cloud, functions, drivers and the channel simulator, joined.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use bytes::Bytes;
use expiry_adjudication::Surroundings;
use expiry_channels::Headers;
use expiry_channels::sim::signature::SigningKey;
use expiry_core::ids::IdSource;
use expiry_core::message::Queue;
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::boot;
use expiry_runtime::ids::SystemIds;
use expiry_runtime::metrics::Metrics;
use expiry_store::{CreateTablesError, Tables, create_tables};
use tokio::task::JoinSet;

use crate::clock::MovableClock;
use crate::cloud::{Cloud, CloudConfig, CloudError, Faults};
use crate::drivers::gateway::{self, Incoming};
use crate::drivers::stream::Progress;
use crate::drivers::{queues, schedules, stream};
use crate::figures::Figures;
use crate::functions::Functions;
use crate::settings::{ACCOUNT, ORDERS_TABLE, REGION, SCHEDULE_GROUP, Settings, queue_arn, queue_url};
use crate::sim::{CallbackAnswer, CallbackError, CallbackFuture, CallbackSink, SimChannel};

/// Receives of a message before it goes to the dead-letter queue.
const RECEIVES: u32 = 5;
/// How long a clock move waits for what is due to finish (DESIGN §9).
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// The name of the scan's recurring schedule.
const SCAN_SCHEDULE: &str = "fallback-scan";

/// Why the system does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The cloud.
    #[error("the embedded cloud does not open")]
    Cloud(#[from] CloudError),
    /// A table.
    #[error("the tables do not open")]
    Tables(#[from] CreateTablesError),
    /// A queue or schedule.
    #[error("{0} cannot be created")]
    Service(&'static str, #[source] Box<dyn std::error::Error + Send + Sync>),
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
        provision(&sdk, settings.config.scan_period, settings.visibility_seconds).await?;
        let shared_clock: Arc<dyn Clock> = Arc::new(clock.clone());
        let key = SigningKey::new(&settings.sim_secret).ok_or(StartError::NoSecret)?;
        let sim = SimChannel::new(key, Arc::clone(&shared_clock));
        let figures = Figures::default();
        let functions_clock = functions_clock.unwrap_or(shared_clock);
        let surroundings = Surroundings {
            metrics: Metrics::new(Arc::clone(&functions_clock), figures.sink()),
            clock: functions_clock,
            ids,
            transport: Arc::new(sim.clone()),
        };
        let functions = Arc::new(Functions::new(&settings.config, &sdk, surroundings).map_err(StartError::Function)?);
        sim.set_callback_sink(Arc::new(Webhooks(Arc::downgrade(&functions))));
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

    /// Serves a request as API Gateway would.
    pub async fn serve(&self, incoming: Incoming) -> expiry_runtime::http::Response {
        gateway::serve(&self.functions, incoming).await
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
        let written: stream::RecordsWritten = Arc::new(move || records_written(&stream));
        let progress = self.progress.clone();
        drivers.spawn(stream::poll(streams, Arc::clone(functions), cloud.changes(), written, progress));
        let failing = cloud.clone();
        let fails: queues::FailsDelivery = Arc::new(move |queue| failing.take_failure(queue.name()));
        let sqs = aws_sdk_sqs::Client::new(&sdk);
        let queues = cloud.clone();
        let is_receivable: queues::IsReceivable = Arc::new(move |queue| queues.is_receivable(queue.name()));
        for queue in Queue::ALL {
            for _ in 0..self.pollers {
                let (fails, is_receivable) = (Arc::clone(&fails), Arc::clone(&is_receivable));
                let (sqs, functions, changes) = (sqs.clone(), Arc::clone(functions), cloud.changes());
                drivers.spawn(queues::poll(sqs, functions, queue, fails, changes, is_receivable));
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
    pub async fn deliver(&self, queue: Queue, body: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let sqs = aws_sdk_sqs::Client::new(&self.cloud.sdk_config());
        let sent = sqs.send_message().queue_url(queue_url(queue)).message_body(body).send().await?;
        Ok(sent.message_id.unwrap_or_default())
    }
}

/// The channel's callbacks come in by the same door as everybody's. The functions hold the channel, so it must not hold them.
#[derive(Debug)]
struct Webhooks(Weak<Functions>);

/// Why a callback finds nobody.
#[derive(Debug, thiserror::Error)]
#[error("the shop is gone")]
struct ShopGone;

impl CallbackSink for Webhooks {
    fn deliver(&self, path: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_> {
        let path = path.to_owned();
        Box::pin(async move {
            let failed = |error: http::Error| CallbackError(error.into());
            let mut request = http::Request::post(path);
            for (name, value) in headers.iter() {
                request = request.header(name, value);
            }
            let (parts, body) = request.body(body).map_err(failed)?.into_parts();
            let incoming = Incoming { method: parts.method, uri: parts.uri, headers: parts.headers, body };
            let functions = self.0.upgrade().ok_or_else(|| CallbackError(ShopGone.into()))?;
            let response = gateway::serve(&functions, incoming).await;
            let body = response.body.map(|body| Bytes::copy_from_slice(body.as_ref())).unwrap_or_default();
            Ok(CallbackAnswer { status: u16::try_from(response.status_code).unwrap_or(500), body })
        })
    }
}

/// How many records the stream of orders has had.
fn records_written(cloud: &Cloud) -> u64 {
    cloud.stream_records_written().get(ORDERS_TABLE).copied().unwrap_or(0)
}

/// Creates tables, queues with their dead-letter queues, the schedule group and the scan's schedule: what `template.yaml` does in the
/// cloud.
///
/// # Errors
/// When one of them cannot be created.
pub async fn provision(
    sdk: &aws_config::SdkConfig,
    scan_period: Duration,
    visibility_seconds: u64,
) -> Result<(), StartError> {
    let tables = Tables { orders: ORDERS_TABLE.to_owned(), resources: crate::settings::RESOURCES_TABLE.to_owned() };
    create_tables(&aws_sdk_dynamodb::Client::new(sdk), &tables).await?;
    let sqs = aws_sdk_sqs::Client::new(sdk);
    for queue in Queue::ALL {
        let failed = |error| StartError::Service("a queue", error);
        let dead_letters = format!("{queue}-dlq");
        sqs.create_queue().queue_name(&dead_letters).send().await.map_err(|error| failed(error.into()))?;
        let redrive =
            format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":"{RECEIVES}"}}"#, queue_arn(&dead_letters));
        sqs.create_queue()
            .queue_name(queue.name())
            .attributes(QueueAttributeName::VisibilityTimeout, visibility_seconds.to_string())
            .attributes(QueueAttributeName::RedrivePolicy, redrive)
            .send()
            .await
            .map_err(|error| failed(error.into()))?;
    }
    create_schedules(sdk, scan_period).await.map_err(|error| StartError::Service("a schedule", error))
}

async fn create_schedules(
    sdk: &aws_config::SdkConfig,
    scan_period: Duration,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    use aws_sdk_scheduler::types::{FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
    let scheduler = aws_sdk_scheduler::Client::new(sdk);
    scheduler.create_schedule_group().name(SCHEDULE_GROUP).send().await?;
    let minutes = (scan_period.as_secs() / 60).max(1);
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    let target = Target::builder()
        .arn(format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{SCAN_SCHEDULE}"))
        .role_arn(format!("arn:aws:iam::{ACCOUNT}:role/order-expiry-scheduler"))
        .input("{}")
        .build()?;
    scheduler
        .create_schedule()
        .name(SCAN_SCHEDULE)
        .schedule_expression(format!("rate({minutes} {unit})"))
        .flexible_time_window(FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build()?)
        .target(target)
        .send()
        .await?;
    Ok(())
}
