//! Faults, rules and fate together: what the services ask before they act.

use expiry_core::time::Timestamp;

use super::fate::{Call, CallFate, CallRules, FIRING_WINDOW, Failure, Fate, Service};
use super::faults::{Faults, SCHEDULER};

/// The answer to every question of chance; faults that were switched on come first, then rules of tests, then fate.
#[derive(Debug)]
pub(crate) struct Chance {
    pub(crate) faults: Faults,
    pub(crate) rules: CallRules,
    pub(crate) fate: Box<dyn Fate>,
    /// How many identifiers were given.
    identifiers: u64,
}

impl Chance {
    pub(crate) fn new(fate: Box<dyn Fate>) -> Chance {
        Chance { faults: Faults::default(), rules: CallRules::default(), fate, identifiers: 0 }
    }

    /// What becomes of `call`. A batch to a queue that refuses sends is not refused whole: the queue refuses its entries.
    pub(crate) fn call(&mut self, call: &Call<'_>) -> CallFate {
        match (call.service, call.operation) {
            (Service::Sqs, "SendMessage") if self.faults.refuses_send(call.resource) => {
                CallFate::Fail(Failure::new(500, "InternalError"))
            }
            (Service::Scheduler, "CreateSchedule") if self.faults.refuses_send(SCHEDULER) => {
                CallFate::Fail(Failure::new(429, "ThrottlingException"))
            }
            _ => self.rules.decide(call).unwrap_or_else(|| self.fate.call(call)),
        }
    }

    /// When the one-time schedule `name` due at `due` fires: a hostile fate may fire it early.
    pub(crate) fn schedule_fires(&mut self, name: &str, due: Timestamp) -> Timestamp {
        self.fate.schedule_fires(name, due, FIRING_WINDOW)
    }

    /// When a message due at `due` becomes deliverable.
    pub(crate) fn message_due(&mut self, queue: &str, due: Timestamp) -> Timestamp {
        self.fate.message_due(queue, due).max(due)
    }

    /// How many copies of a message are delivered; none when it is lost.
    pub(crate) fn copies_of(&mut self, queue: &str, body: &str) -> u32 {
        let least = if self.faults.duplicate_deliveries { 2 } else { 0 };
        self.fate.copies_of(queue, body).max(least)
    }

    /// A new identifier in the shape of a UUID. Counted, not drawn: identifiers must not shift what chance decides.
    pub(crate) fn uuid(&mut self) -> String {
        self.identifiers += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.identifiers)
    }
}
