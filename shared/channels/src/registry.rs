//! The channels that are enabled.

use std::collections::BTreeMap;

use expiry_core::ids::ChannelId;

use crate::client::ChannelClient;

/// Every enabled channel, by its name. A channel that is not in it does not exist for this process.
#[derive(Clone, Debug, Default)]
pub struct Channels(BTreeMap<ChannelId, ChannelClient>);

impl Channels {
    /// The channel `id`; `None` when it is not enabled.
    #[must_use]
    pub fn get(&self, id: &ChannelId) -> Option<&ChannelClient> {
        self.0.get(id)
    }

    /// The names of the enabled channels, in order.
    pub fn ids(&self) -> impl Iterator<Item = &ChannelId> {
        self.0.keys()
    }
}

/// Of two clients of one channel the later stays.
impl FromIterator<ChannelClient> for Channels {
    fn from_iter<I: IntoIterator<Item = ChannelClient>>(clients: I) -> Channels {
        Channels(clients.into_iter().map(|client| (client.channel().id().clone(), client)).collect())
    }
}
