//! The same functions and drivers over an AWS endpoint: LocalStack, MiniStack or any other (DESIGN §9).
//!
//! What an endpoint has no call for is not here: no clock that moves, no faults. The channel is simulated in this process. The stream is
//! read from its one open shard, which is what emulators have: to AWS itself the template is deployed.

mod commands;
mod sdk;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use expiry_adjudication::Surroundings;
use expiry_channels::sim::signature::SigningKey;
use expiry_core::message::Queue;
use expiry_core::time::Clock;
use expiry_runtime::clock::SystemClock;
use expiry_runtime::config::Config;
use expiry_runtime::ids::SystemIds;
use expiry_runtime::metrics::Metrics;
use expiry_runtime::queues::url_variable;
use tokio::task::JoinSet;

use crate::drivers::bridge::Bridge;
use crate::drivers::stream::Progress;
use crate::drivers::{Every, queues, schedules, stream};
use crate::figures::Figures;
use crate::functions::Functions;
use crate::provision::{arn_of, provision};
use crate::settings::{self, Lookup, Settings};
use crate::sim::SimChannel;
use crate::system::StartError;
use crate::webhooks::Webhooks;

/// The pause before something is looked at again that was found empty.
const LOOK: Duration = Duration::from_millis(250);

/// Which endpoint, and what it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where all services answer.
    pub url: String,
    /// Whether its schedules never fire, so that they are delivered from here.
    pub deliver_schedules: bool,
}

/// Functions and drivers over an endpoint. They end when it is dropped.
pub struct Endpoint {
    functions: Arc<Functions>,
    sim: SimChannel,
    figures: Figures,
    sdk: SdkConfig,
    urls: BTreeMap<Queue, String>,
    _drivers: JoinSet<()>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Endpoint").field("urls", &self.urls).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates what the template defines and is not there yet, and starts the drivers.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(target: &Target, settings: &Settings, lookup: Lookup<'_>) -> Result<Endpoint, StartError> {
        let sdk = sdk::config(&target.url);
        let region = sdk.region().map(ToString::to_string).unwrap_or_default();
        let urls = provision(&sdk, &region, settings.visibility_seconds, &settings.sim_secret).await?;
        let config = config(&urls, &region, lookup)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let key = SigningKey::new(&settings.sim_secret).ok_or(StartError::NoSecret)?;
        let sim = SimChannel::new(key, Arc::clone(&clock));
        let figures = Figures::default();
        let surroundings = Surroundings {
            metrics: Metrics::new(Arc::clone(&clock), figures.sink()),
            clock: Arc::clone(&clock),
            ids: Arc::new(SystemIds),
        };
        let functions =
            Arc::new(Functions::new(&config, &sdk, surroundings, Arc::new(sim.clone())).map_err(StartError::Function)?);
        sim.set_callback_sink(Arc::new(Webhooks::of(&functions)));
        let mut drivers = drive(&sdk::patient(&sdk), &functions, &urls, settings.pollers, config.scan_period);
        if target.deliver_schedules {
            let scheduler = aws_sdk_scheduler::Client::new(&sdk);
            let (sqs, close_url) = (aws_sdk_sqs::Client::new(&sdk), urls[&Queue::Close].clone());
            drivers.spawn(Bridge { scheduler, sqs, close_url, clock }.run());
        }
        Ok(Endpoint { functions, sim, figures, sdk, urls, _drivers: drivers })
    }
}

/// The functions' settings: the environment's, and what the template would have given them.
fn config(urls: &BTreeMap<Queue, String>, region: &str, lookup: Lookup<'_>) -> Result<Config, StartError> {
    let close = &urls[&Queue::Close];
    let given = |name: &str| match name {
        "CLOSE_QUEUE_ARN" => arn_of(close, region),
        _ => urls.iter().find(|(queue, _)| url_variable(**queue) == name).map(|(_, url)| url.clone()),
    };
    Ok(settings::config(&|name| lookup(name).or_else(|| given(name)))?)
}

fn drive(
    sdk: &SdkConfig,
    functions: &Arc<Functions>,
    urls: &BTreeMap<Queue, String>,
    pollers: usize,
    scan_period: Duration,
) -> JoinSet<()> {
    let mut drivers = JoinSet::new();
    let sqs = aws_sdk_sqs::Client::new(sdk);
    for (queue, url) in urls {
        for _ in 0..pollers {
            let poller = queues::Poller {
                sqs: sqs.clone(),
                functions: Arc::clone(functions),
                queue: *queue,
                url: url.clone(),
                fails: Arc::new(|_| false),
                // The service itself waits for a message.
                is_receivable: Arc::new(|_| true),
            };
            drivers.spawn(poller.run(Every(LOOK)));
        }
    }
    let streams = aws_sdk_dynamodbstreams::Client::new(sdk);
    let reading = stream::poll(streams, Arc::clone(functions), Every(LOOK), Arc::new(|| None), Progress::default());
    drivers.spawn(reading);
    let scanning = Arc::clone(functions);
    drivers.spawn(async move {
        loop {
            tokio::time::sleep(scan_period).await;
            // Its error is logged where it arises; the next run goes on where this one stopped.
            let _ = schedules::scan(&scanning).await;
        }
    });
    drivers
}
