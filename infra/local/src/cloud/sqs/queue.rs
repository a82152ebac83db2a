//! One queue: what is in it, what of that can be received, and what becomes of what was received.
//!
//! ```text
//! send ──▶ waiting (delay) ──due──▶ visible ──receive──▶ waiting (visibility) ──delete──▶ gone
//!                                      ▲                        │
//!                                      └────────── due ─────────┘   received too often: ──▶ dead-letter queue
//! ```

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use expiry_core::time::Timestamp;
use serde_json::Value;

/// When a message becomes, or became, deliverable, and its place among those of the same moment: the order of delivery.
type Due = (Timestamp, u64);

/// How a queue treats its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How long a received message stays hidden.
    pub(crate) visibility: Duration,
    /// The delay of a message that names none.
    pub(crate) delay: Duration,
    /// Where a message goes that was received too often.
    pub(crate) redrive: Option<Redrive>,
}

/// The dead-letter rule of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redrive {
    /// The dead-letter queue's name.
    pub(crate) queue: String,
    /// How often a message may be received before it goes there.
    pub(crate) max_receives: u32,
}

/// A message, wherever it is.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) body: String,
    /// The `MessageAttributes` it was sent with.
    pub(crate) attributes: Value,
    pub(crate) sent_at: Timestamp,
    pub(crate) first_received_at: Option<Timestamp>,
    pub(crate) receives: u32,
    /// The handle of its latest receive; the only one that can delete it.
    pub(crate) receipt: Option<String>,
}

/// How many messages a queue holds, by what keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueCounts {
    /// Deliverable now (also while the queue is held).
    pub visible: usize,
    /// Sent with a delay that has not passed.
    pub delayed: usize,
    /// Received and neither deleted nor visible again.
    pub in_flight: usize,
}

/// One queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) settings: Settings,
    pub(crate) created_at: Timestamp,
    waiting: BTreeMap<Due, Message>,
    visible: BTreeMap<Due, Message>,
    /// Where each message is, by its id.
    places: HashMap<String, Due>,
}

impl Queue {
    pub(crate) fn new(settings: Settings, created_at: Timestamp) -> Queue {
        Queue { settings, created_at, waiting: BTreeMap::new(), visible: BTreeMap::new(), places: HashMap::new() }
    }

    /// Puts a message in, deliverable from `due` on; `order` decides among those of the same moment.
    pub(crate) fn put(&mut self, due: Timestamp, order: u64, message: Message) {
        self.places.insert(message.id.clone(), (due, order));
        self.waiting.insert((due, order), message);
    }

    /// Makes deliverable what is due at `now`, in due order. A message due for the first time that `is_lost` names is gone.
    /// Answers whether anything happened.
    pub(crate) fn settle(&mut self, now: Timestamp, is_lost: impl Fn(&Message) -> bool) -> bool {
        let mut happened = false;
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let (due, message) = entry.remove_entry();
            happened = true;
            if message.first_received_at.is_none() && is_lost(&message) {
                self.places.remove(&message.id);
            } else {
                self.visible.insert(due, message);
            }
        }
        happened
    }

    /// Receives up to `most` messages in due order and hides them for `visibility`. Second: what was received too often before and
    /// now leaves for the dead-letter queue.
    pub(crate) fn receive(
        &mut self,
        now: Timestamp,
        most: usize,
        visibility: Duration,
        mut receipt: impl FnMut() -> String,
    ) -> (Vec<Message>, Vec<Message>) {
        let (mut received, mut dead) = (Vec::new(), Vec::new());
        while received.len() < most {
            let Some(((_, order), mut message)) = self.visible.pop_first() else {
                break;
            };
            if self.settings.redrive.as_ref().is_some_and(|redrive| message.receives >= redrive.max_receives) {
                self.places.remove(&message.id);
                dead.push(message);
                continue;
            }
            message.receives += 1;
            message.first_received_at.get_or_insert(now);
            message.receipt = Some(receipt());
            received.push(message.clone());
            self.put(now.plus(visibility), order, message);
        }
        (received, dead)
    }

    /// Deletes the message of this handle. A handle that is not of the message's latest receive deletes nothing, as in SQS; either
    /// way there is no error.
    pub(crate) fn delete(&mut self, id: &str, receipt: &str) {
        let _ = self.take(id, receipt);
    }

    /// Hides the message of this handle until `until` instead; `false` when the handle is not of a message in flight.
    pub(crate) fn hide_until(&mut self, id: &str, receipt: &str, until: Timestamp) -> bool {
        let Some(&(due, order)) = self.places.get(id) else {
            return false;
        };
        let in_flight = self.waiting.get(&(due, order)).is_some_and(|found| found.receipt.as_deref() == Some(receipt));
        match in_flight.then(|| self.waiting.remove(&(due, order))).flatten() {
            Some(message) => {
                self.put(until, order, message);
                true
            }
            None => false,
        }
    }

    fn take(&mut self, id: &str, receipt: &str) -> Option<Message> {
        let due = *self.places.get(id)?;
        let from = if self.waiting.contains_key(&due) { &mut self.waiting } else { &mut self.visible };
        from.get(&due).filter(|found| found.receipt.as_deref() == Some(receipt))?;
        self.places.remove(id);
        from.remove(&due)
    }

    /// How many messages it holds.
    pub(crate) fn counts(&self) -> QueueCounts {
        let in_flight = self.waiting.values().filter(|message| message.receives > 0).count();
        QueueCounts { visible: self.visible.len(), delayed: self.waiting.len() - in_flight, in_flight }
    }

    /// Whether a message can be received now.
    pub(crate) fn has_visible(&self) -> bool {
        !self.visible.is_empty()
    }

    /// When its next message becomes deliverable.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first_key_value().map(|(due, _)| due.0)
    }
}
