//! The database and the queues as the actors have left them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use expiry_core::time::Clock;
use local::cloud::fate::{Call, Service};
use local::cloud::{Cloud, Write};

use crate::interleavings::fingerprint::Fingerprint;

/// Follows every write and every message. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct World(Arc<Mutex<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    /// What stands under each key, by its fingerprint.
    rows: BTreeMap<(String, String), u128>,
    /// Every image of every order, in the order of the stream: effects follow from those.
    stream: Fingerprint,
    /// What was sent to each queue and asked of each schedule, in order, and when.
    sent: BTreeMap<String, Fingerprint>,
}

impl World {
    /// Follows the writes of `cloud` from now on.
    pub(super) fn of(cloud: &Cloud) -> World {
        let world = World::default();
        let observer = world.clone();
        cloud.observe_writes(move |writes| writes.iter().for_each(|write| observer.lock().take(write)));
        let (observer, clock) = (world.clone(), cloud.clock().clone());
        cloud.on_call(move |call| {
            observer.lock().hear(call, clock.now().as_millis());
            None
        });
        world
    }

    /// All of it.
    pub(super) fn fingerprint(&self) -> u128 {
        let rows = self.lock();
        let sent: Vec<(&String, u128)> = rows.sent.iter().map(|(queue, sent)| (queue, sent.value())).collect();
        Fingerprint::of(&(&rows.rows, rows.stream.value(), sent))
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn hear(&mut self, call: &Call<'_>, now: i64) {
        match (call.service, call.operation) {
            (Service::Sqs, "SendMessage") | (Service::Scheduler, _) => {
                let sent = self.sent.entry(call.resource.to_owned()).or_default();
                sent.add(&(call.operation, call.body.to_string(), now));
            }
            (Service::DynamoDb | Service::Streams | Service::Sqs | Service::Secrets, _) => {}
        }
    }

    fn take(&mut self, write: &Write) {
        let kind = write.key["sk"]["S"].as_str().unwrap_or_default();
        // Conversations and findings are written for people: no function and no judgement here ever reads one.
        if kind.starts_with("E#") || write.key["pk"]["S"].as_str().is_some_and(|pk| pk.starts_with("F#")) {
            return;
        }
        let image = write.new.as_ref().map(ToString::to_string);
        if kind == "O" {
            self.stream.add(&image);
        }
        let key = (write.table.clone(), write.key.to_string());
        match image {
            Some(image) => self.rows.insert(key, Fingerprint::of(&image)),
            None => self.rows.remove(&key),
        };
    }
}
