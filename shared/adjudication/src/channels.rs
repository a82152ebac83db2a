//! The payment channels that are switched on, each with its secret as it is now.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use expiry_channels::sim::{self, Sim, SimConfigError};
use expiry_channels::{ChannelClient, ChannelTransport, Channels, Doubt};
use expiry_core::time::Clock;
use expiry_runtime::boot::StartError;
use expiry_runtime::config::{Config, SimConfig};
use expiry_runtime::secrets::{FRESH, REREAD, RotatingSecret, Secret, SecretError};

use crate::Surroundings;

/// Why no channel can be talked to now. It passes, or somebody mends it; until then nothing is known of any payment.
#[derive(Debug, thiserror::Error)]
pub enum ChannelsError {
    /// A secret.
    #[error("a channel has no secret")]
    Secret(#[from] SecretError),
    /// A codec refuses what it was given.
    #[error("the channel sim cannot be set up")]
    Sim(#[from] SimConfigError),
}

/// The future of [`ChannelSource::now`].
pub(crate) type ChannelsFuture<'a> = Pin<Box<dyn Future<Output = Result<Channels, ChannelsError>> + Send + 'a>>;

/// Where the channels come from. Behind a trait, so that a function without channels links neither their secrets nor the way to them.
pub(crate) trait ChannelSource: fmt::Debug + Send + Sync {
    /// The channels with their secrets as they are now.
    fn now(&self) -> ChannelsFuture<'_>;
}

/// Of a function that talks to no channel.
#[derive(Debug)]
pub(crate) struct NoChannels;

impl ChannelSource for NoChannels {
    fn now(&self) -> ChannelsFuture<'_> {
        Box::pin(async { Ok(Channels::default()) })
    }
}

/// What the channels that are switched on are made of.
#[derive(Debug)]
pub(crate) struct EnabledChannels {
    sim: Option<SimParts>,
    transport: Arc<dyn ChannelTransport>,
    clock: Arc<dyn Clock>,
    call_deadline: Duration,
    doubt: Doubt,
}

#[derive(Debug)]
struct SimParts {
    url: String,
    secret: RotatingSecret,
}

impl EnabledChannels {
    /// Those that `config` names.
    ///
    /// # Errors
    /// When one of them is not known to this program.
    pub(crate) fn new(
        config: &Config,
        sdk: &SdkConfig,
        surroundings: &Surroundings,
        transport: Arc<dyn ChannelTransport>,
    ) -> Result<EnabledChannels, StartError> {
        if let Some(unknown) = config.channels.iter().find(|channel| channel.as_str() != sim::CHANNEL) {
            return Err(format!("CHANNELS names {unknown}, which this program does not know").into());
        }
        let Surroundings { clock, metrics, .. } = surroundings;
        let parts = |sim: &SimConfig| {
            let secrets = aws_sdk_secretsmanager::Client::new(sdk);
            let secret = RotatingSecret::new(secrets, sim.secret_id.clone(), Arc::clone(clock), metrics.clone());
            SimParts { url: sim.url.clone(), secret }
        };
        let sim = config.sim.as_ref().map(parts);
        Ok(EnabledChannels {
            sim,
            transport,
            clock: Arc::clone(clock),
            call_deadline: config.channel_call,
            doubt: Doubt::default(),
        })
    }

    async fn sim(&self, parts: &SimParts) -> Result<ChannelClient, ChannelsError> {
        // What the channel last said was signed by none of its keys that we hold: they may be old.
        let age = if self.doubt.take() { REREAD } else { FRESH };
        let secret = parts.secret.no_older_than(age).await?;
        let previous = secret.previous.as_ref().map(Secret::expose);
        let codec = Sim::new(&parts.url, secret.current.expose())?.believing(previous);
        let (transport, clock) = (Arc::clone(&self.transport), Arc::clone(&self.clock));
        Ok(ChannelClient::new(Arc::new(codec), transport, clock, self.call_deadline).raising(self.doubt.clone()))
    }
}

impl ChannelSource for EnabledChannels {
    fn now(&self) -> ChannelsFuture<'_> {
        Box::pin(async move {
            match &self.sim {
                Some(parts) => Ok(Channels::from_iter([self.sim(parts).await?])),
                None => Ok(Channels::default()),
            }
        })
    }
}
