//! The faults a person or a test can switch on (`PUT /_local/faults`).

use std::collections::BTreeMap;

use expiry_core::message::Queue;
use serde::{Deserialize, Serialize};

/// The queue name that means EventBridge Scheduler in [`Faults::send_errors`].
pub const SCHEDULER: &str = "scheduler";

/// The whole set of faults; the default injects nothing. Putting a set replaces the former one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Wake-ups (schedules, and the delayed messages that stand in for them) are consumed and lost when they become due. Messages
    /// of any other type are never lost.
    pub drop_wakes: bool,
    /// Stream records written while this is on are lost for every reader.
    pub drop_stream: bool,
    /// Queues whose messages wait: nothing is received from them.
    pub hold_queues: Vec<String>,
    /// The next `n` deliveries of a queue fail; the driver takes them one by one with [`Faults::take_failure`].
    pub fail_deliveries: BTreeMap<String, u32>,
    /// Queues that refuse every send; the name `scheduler` throttles the creation of schedules.
    pub send_errors: Vec<String>,
    /// Every message sent is delivered twice, as two messages with ids of their own.
    pub duplicate_deliveries: bool,
    /// Payment channels that cannot be reached; carried for the simulators.
    pub channel_down: Vec<String>,
}

impl Faults {
    /// A name in it that no queue, service or channel has: such a fault would inject nothing, and nobody would notice.
    #[must_use]
    pub fn unknown_name(&self) -> Option<&str> {
        let is_queue = |name: &&String| Queue::parse(name).is_some();
        let queues = self.hold_queues.iter().chain(self.fail_deliveries.keys()).find(|name| !is_queue(name));
        let sends = self.send_errors.iter().find(|name| !is_queue(name) && *name != SCHEDULER);
        let channels = self.channel_down.iter().find(|name| *name != expiry_channels::sim::CHANNEL);
        queues.or(sends).or(channels).map(String::as_str)
    }

    /// Whether nothing may be received from `queue` now.
    #[must_use]
    pub fn holds(&self, queue: &str) -> bool {
        self.hold_queues.iter().any(|held| held == queue)
    }

    /// Whether a send to `queue` is refused.
    #[must_use]
    pub fn refuses_send(&self, queue: &str) -> bool {
        self.send_errors.iter().any(|refused| refused == queue)
    }

    /// Whether `channel` cannot be reached.
    #[must_use]
    pub fn downs_channel(&self, channel: &str) -> bool {
        self.channel_down.iter().any(|down| down == channel)
    }

    /// Takes one failing delivery of `queue` from the stock of failures; `false` when none is left.
    pub fn take_failure(&mut self, queue: &str) -> bool {
        match self.fail_deliveries.get_mut(queue) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_object_clears_everything_and_an_unknown_name_is_refused() {
        assert_eq!(serde_json::from_str::<Faults>("{}").expect("reads"), Faults::default());
        assert!(serde_json::from_str::<Faults>(r#"{"drop_wake":true}"#).is_err());
    }

    #[test]
    fn failures_are_taken_one_by_one() {
        let mut faults: Faults = serde_json::from_str(r#"{"fail_deliveries":{"close":2}}"#).expect("reads");
        assert!(!faults.take_failure("refund"));
        assert!(faults.take_failure("close"));
        assert!(faults.take_failure("close"));
        assert!(!faults.take_failure("close"));
    }
}
