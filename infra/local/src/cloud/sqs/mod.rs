//! A small SQS: standard queues in memory, with delay, visibility, long polling and dead-letter queues.
//!
//! It keeps no message longer or shorter than asked (no retention period), and it answers no MD5 sums: the Rust SDK checks none.

mod api;
mod queue;
mod requests;
mod send;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use expiry_core::time::Timestamp;
use serde_json::Value;

pub(crate) use api::{Context, execute, long_poll, queue_of};
pub use queue::QueueCounts;
use queue::{Message, Queue, Settings};

use super::chance::Chance;
use super::fate::is_wake;

/// Every queue.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    by_name: BTreeMap<String, Queue>,
    /// How many messages were put in so far: their order.
    puts: u64,
}

impl Queues {
    /// Sends `body` to `queue` at `at`, deliverable after `delay`, as often as chance says. Answers the id of the first copy;
    /// `None` when there is no such queue.
    pub(crate) fn send(
        &mut self,
        chance: &mut Chance,
        queue: &str,
        body: &str,
        attributes: &Value,
        at: Timestamp,
        delay: Option<Duration>,
    ) -> Option<String> {
        let found = self.by_name.get_mut(queue)?;
        let due = at.plus(delay.unwrap_or(found.settings.delay));
        let first = chance.uuid();
        for copy in 0..chance.copies_of(queue, body) {
            let id = if copy == 0 { first.clone() } else { chance.uuid() };
            self.puts += 1;
            found.put(
                chance.message_due(queue, due),
                self.puts,
                Message {
                    id,
                    body: body.to_owned(),
                    attributes: attributes.clone(),
                    sent_at: at,
                    first_received_at: None,
                    receives: 0,
                    receipt: None,
                },
            );
        }
        Some(first)
    }

    /// Makes deliverable what is due at `now`, loses the wake-ups among it that chance loses. Answers whether anything happened.
    pub(crate) fn settle(&mut self, chance: &Chance, now: Timestamp) -> bool {
        let drop_wakes = chance.faults.drop_wakes;
        let mut happened = false;
        for queue in self.by_name.values_mut() {
            happened |= queue.settle(now, |message| drop_wakes && is_wake(&message.body));
        }
        happened
    }

    /// How many messages each queue holds.
    pub(crate) fn counts(&self) -> BTreeMap<String, QueueCounts> {
        self.by_name.iter().map(|(name, queue)| (name.clone(), queue.counts())).collect()
    }

    /// Whether nothing can be received (from queues that are not held) and nothing is in flight. What a dead-letter queue holds waits
    /// for a person, not for a function.
    pub(crate) fn idle(&self, chance: &Chance) -> bool {
        let redrives = self.by_name.values().filter_map(|queue| queue.settings.redrive.as_ref());
        let dead_letters: BTreeSet<&str> = redrives.map(|redrive| redrive.queue.as_str()).collect();
        let rests = |name: &str, queue: &Queue| {
            (chance.faults.holds(name) || !queue.has_visible()) && queue.counts().in_flight == 0
        };
        self.by_name.iter().all(|(name, queue)| dead_letters.contains(name.as_str()) || rests(name, queue))
    }

    /// Whether a message of `queue` can be received.
    pub(crate) fn is_receivable(&self, chance: &Chance, queue: &str) -> bool {
        !chance.faults.holds(queue) && self.by_name.get(queue).is_some_and(Queue::has_visible)
    }

    /// When the next message becomes deliverable.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.by_name.values().filter_map(Queue::next_due).min()
    }

    /// Moves messages that were received too often to the dead-letter queue, where they can be received at once.
    fn bury(&mut self, queue: &str, dead: Vec<Message>, now: Timestamp) {
        for message in dead {
            self.puts += 1;
            if let Some(queue) = self.by_name.get_mut(queue) {
                queue.put(now, self.puts, Message { receives: 0, receipt: None, ..message });
            }
        }
    }

    fn create(&mut self, name: &str, settings: Settings, now: Timestamp) -> &Queue {
        self.by_name.entry(name.to_owned()).or_insert_with(|| Queue::new(settings, now))
    }
}
