//! What a function that moves orders works with.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use expiry_channels::{ChannelTransport, Channels, HttpTransport};
use expiry_core::decide::ask::Ask;
use expiry_core::decide::close::{Close, Occasion};
use expiry_core::ids::{IdSource, WorkerId};
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::boot::StartError;
use expiry_runtime::clock::SystemClock;
use expiry_runtime::config::Config;
use expiry_runtime::ids::SystemIds;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::{Metric, Metrics};
use expiry_runtime::skew::{SkewGuard, UntrustedClock};
use expiry_store::{Store, Tables};
use futures_util::future::join;

use crate::channels::{ChannelSource, ChannelsError, EnabledChannels, NoChannels};

/// What a function that moves orders works with: built once, when the function starts.
#[derive(Debug)]
pub struct Context {
    /// The database.
    pub store: Store,
    /// The one clock.
    pub clock: Arc<dyn Clock>,
    /// What the database's answers say about that clock.
    pub skew: SkewGuard,
    /// The one source of identifiers.
    pub ids: Arc<dyn IdSource>,
    /// Where figures go.
    pub metrics: Metrics,
    /// How long a lease lasts.
    pub lease: Duration,
    /// How often the fallback scan runs.
    pub scan_period: Duration,
    /// How long one call of a channel may take.
    pub channel_call: Duration,
    channels: Box<dyn ChannelSource>,
}

/// What differs between the cloud and a simulation, besides the ways out: time, identifiers, figures.
#[derive(Debug)]
pub struct Surroundings {
    /// The one clock.
    pub clock: Arc<dyn Clock>,
    /// The one source of identifiers.
    pub ids: Arc<dyn IdSource>,
    /// Where figures go.
    pub metrics: Metrics,
}

impl Surroundings {
    /// Those of a Lambda function.
    fn in_lambda(config: &Config) -> Surroundings {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let metrics = Metrics::on_stdout(Arc::clone(&clock), &config.metrics_namespace);
        Surroundings { clock, ids: Arc::new(SystemIds), metrics }
    }
}

impl Context {
    /// That of a Lambda function that talks to no channel, with its way to the database open.
    pub async fn in_lambda(config: &Config, sdk: &SdkConfig) -> Context {
        let context = Context::over(config, sdk, Surroundings::in_lambda(config), Box::new(NoChannels));
        context.warm().await;
        context
    }

    /// That of a Lambda function that talks to channels, with their secrets read as well.
    ///
    /// # Errors
    /// As [`new`](Context::new), and when a secret cannot be read: Lambda starts another.
    pub async fn in_lambda_with_channels(config: &Config, sdk: &SdkConfig) -> Result<Context, StartError> {
        let context = Context::new(config, sdk, Surroundings::in_lambda(config), Arc::new(HttpTransport::new()))?;
        let ((), channels) = join(context.warm(), context.channels()).await;
        channels?;
        Ok(context)
    }

    /// Builds it from the environment's settings, with `transport` as the way to the channels.
    ///
    /// # Errors
    /// When a channel that is switched on is not known: the function then does not start.
    pub fn new(
        config: &Config,
        sdk: &SdkConfig,
        surroundings: Surroundings,
        transport: Arc<dyn ChannelTransport>,
    ) -> Result<Context, StartError> {
        let channels = EnabledChannels::new(config, sdk, &surroundings, transport)?;
        Ok(Context::over(config, sdk, surroundings, Box::new(channels)))
    }

    fn over(config: &Config, sdk: &SdkConfig, surroundings: Surroundings, channels: Box<dyn ChannelSource>) -> Context {
        let Surroundings { clock, ids, metrics } = surroundings;
        let skew = SkewGuard::new(Arc::clone(&clock));
        let database = aws_sdk_dynamodb::config::Builder::from(sdk).interceptor(skew.interceptor()).build();
        let tables = Tables { orders: config.orders_table.clone(), resources: config.resources_table.clone() };
        let store = Store::new(aws_sdk_dynamodb::Client::from_conf(database), tables, Arc::clone(&ids));
        Context {
            store,
            clock,
            skew,
            ids,
            metrics,
            lease: config.lease,
            scan_period: config.scan_period,
            channel_call: config.channel_call,
            channels,
        }
    }

    async fn warm(&self) {
        if let Err(error) = self.store.warm().await {
            tracing::warn!(error = %chain(&error), "the database does not answer at the start");
        }
    }

    /// The payment channels that are switched on, with their secrets as they are now: read again when they are old, or when a channel
    /// signed with a key that none of them is.
    ///
    /// # Errors
    /// When a secret of theirs was never read and cannot be.
    pub async fn channels(&self) -> Result<Channels, ChannelsError> {
        self.channels.now().await
    }

    /// The time that may be decided by.
    ///
    /// # Errors
    /// When the clock is too far from the database's, or nothing was read lately that tells (DESIGN §5, Time).
    pub fn trusted_now(&self) -> Result<Timestamp, UntrustedClock> {
        let now = self.skew.trusted_now();
        if let Err(UntrustedClock::Skewed { .. }) = now {
            self.metrics.count(Metric::ClockSkew, 1, &[]);
        }
        now
    }

    /// A name for one run of one function: the owner of its leases.
    #[must_use]
    pub fn worker(&self) -> WorkerId {
        WorkerId::from_bits(self.ids.unique())
    }

    /// The close of an order on `occasion`, by a worker of its own: one use case for everybody who closes (DESIGN §5).
    #[must_use]
    pub fn close_by(&self, occasion: Occasion) -> Close {
        Close { occasion, worker: self.worker(), lease: self.lease, scan_period: self.scan_period }
    }

    /// Working off what has to be asked about an order; `at_once` does not wait for its next check.
    #[must_use]
    pub fn ask_again(&self, check_at: Option<Timestamp>, at_once: bool) -> Ask {
        Ask { check_at, worker: self.worker(), lease: self.lease, scan_period: self.scan_period, at_once }
    }
}
