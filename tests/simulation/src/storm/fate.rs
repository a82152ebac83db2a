//! The storm: what becomes of each call, message and schedule while it lasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use expiry_core::time::Timestamp;
use fastrand::Rng;
use local::cloud::fate::{Call, CallFate, Failure, Fate, Service};

use crate::history::History;

/// Of a thousand calls, how many meet each fault.
const LOST_REQUESTS: u32 = 15;
const LOST_ANSWERS: u32 = 25;
const THROTTLES: u32 = 10;
const CONFLICTS: u32 = 30;
const STALLS: u32 = 4;

/// A fate that lets little pass as it should until it is calm.
#[derive(Debug)]
pub(crate) struct Storm {
    rng: Rng,
    calm: Arc<AtomicBool>,
    history: History,
}

impl Storm {
    pub(crate) fn new(rng: Rng, calm: Arc<AtomicBool>, history: History) -> Storm {
        Storm { rng, calm, history }
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    fn decide(&mut self, call: &Call<'_>) -> CallFate {
        // Interleavings come from small delays, also in the calm.
        let jitter = CallFate::Delay(Duration::from_micros(self.rng.u64(0..5_000)));
        if self.is_calm() {
            return jitter;
        }
        let dice = self.rng.u32(0..1_000);
        let mut bound = 0;
        let mut falls = |share: u32| {
            bound += share;
            dice < bound
        };
        if falls(LOST_REQUESTS) {
            return CallFate::LoseRequest;
        }
        if falls(LOST_ANSWERS) {
            return CallFate::LoseAnswer;
        }
        if falls(THROTTLES) {
            return CallFate::Fail(Failure::new(400, "ThrottlingException"));
        }
        if falls(STALLS) {
            // Longer than a lease: the worker sleeps over it.
            return CallFate::Delay(Duration::from_millis(self.rng.u64(5_000..45_000)));
        }
        if call.operation == "TransactWriteItems" && falls(CONFLICTS) {
            let items = call.body["TransactItems"].as_array().map_or(1, Vec::len).max(1);
            return CallFate::Fail(Failure::transaction_conflict(items, self.rng.usize(0..items)));
        }
        jitter
    }
}

impl Fate for Storm {
    fn schedule_fires(&mut self, _: &str, due: Timestamp, window: Duration) -> Timestamp {
        let window = u64::try_from(window.as_millis()).unwrap_or(u64::MAX).max(1);
        let moment = due.plus(Duration::from_millis(self.rng.u64(0..window)));
        let is_late = !self.is_calm() && self.rng.u8(0..100) < 5;
        if is_late { moment.plus(Duration::from_secs(7_200)) } else { moment }
    }

    fn message_due(&mut self, _: &str, due: Timestamp) -> Timestamp {
        let is_late = !self.is_calm() && self.rng.u8(0..100) < 15;
        if is_late { due.plus(Duration::from_millis(self.rng.u64(0..20_000))) } else { due }
    }

    fn copies_of(&mut self, _: &str, _: &str) -> u32 {
        if self.is_calm() { 1 } else { 1 + u32::from(self.rng.u8(0..100) < 10) }
    }

    fn call(&mut self, call: &Call<'_>) -> CallFate {
        let fate = self.decide(call);
        // A poll that finds nothing is no event.
        if call.operation != "ReceiveMessage" && call.service != Service::Streams {
            self.history.call(call, &fate);
        }
        fate
    }
}
