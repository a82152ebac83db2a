//! The payment channels that are switched on, each with its secret as it is now.

use std::sync::Arc;
use std::time::Duration;

use expiry_channels::sim::{self, Sim, SimConfigError};
use expiry_channels::{ChannelClient, ChannelTransport, Channels};
use expiry_core::time::Clock;
use expiry_runtime::boot::StartError;
use expiry_runtime::config::Config;
use expiry_runtime::secrets::{RotatingSecret, Secret, SecretError, Versions};

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

/// What the channels that are switched on are made of.
#[derive(Debug)]
pub(crate) struct EnabledChannels {
    sim: Option<SimParts>,
    transport: Arc<dyn ChannelTransport>,
    clock: Arc<dyn Clock>,
    call_deadline: Duration,
}

#[derive(Debug)]
struct SimParts {
    url: String,
    secret: RotatingSecret,
}

impl EnabledChannels {
    /// Those that `config` names; `secret` makes the one with an id.
    ///
    /// # Errors
    /// When one of them is not known to this program.
    pub(crate) fn new(
        config: &Config,
        secret: impl Fn(&str) -> RotatingSecret,
        transport: Arc<dyn ChannelTransport>,
        clock: Arc<dyn Clock>,
    ) -> Result<EnabledChannels, StartError> {
        if let Some(unknown) = config.channels.iter().find(|channel| channel.as_str() != sim::CHANNEL) {
            return Err(format!("CHANNELS names {unknown}, which this program does not know").into());
        }
        let sim = config.sim.as_ref().map(|sim| SimParts { url: sim.url.clone(), secret: secret(&sim.secret_id) });
        Ok(EnabledChannels { sim, transport, clock, call_deadline: config.channel_call })
    }

    /// All of them, with secrets that are fresh.
    pub(crate) async fn now(&self) -> Result<Channels, ChannelsError> {
        let Some(parts) = &self.sim else {
            return Ok(Channels::default());
        };
        self.with(parts, &parts.secret.versions().await?)
    }

    /// As [`now`](EnabledChannels::now), after something came that none of their secrets fits.
    pub(crate) async fn anew(&self) -> Result<Channels, ChannelsError> {
        let Some(parts) = &self.sim else {
            return Ok(Channels::default());
        };
        self.with(parts, &parts.secret.reread().await?)
    }

    fn with(&self, parts: &SimParts, secret: &Versions) -> Result<Channels, ChannelsError> {
        let previous = secret.previous.as_ref().map(Secret::expose);
        let codec = Sim::new(&parts.url, secret.current.expose())?.believing(previous);
        let (transport, clock) = (Arc::clone(&self.transport), Arc::clone(&self.clock));
        Ok(Channels::from_iter([ChannelClient::new(Arc::new(codec), transport, clock, self.call_deadline)]))
    }
}
