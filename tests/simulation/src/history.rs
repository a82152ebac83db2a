//! What was called, when, and what became of it: the same seed gives the same lines.

use std::sync::{Arc, Mutex, PoisonError};

use expiry_core::time::Clock;
use local::clock::MovableClock;
use local::cloud::fate::{Call, CallFate};

/// The lines so far. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct History {
    clock: MovableClock,
    lines: Arc<Mutex<Vec<String>>>,
}

impl History {
    pub(crate) fn new(clock: MovableClock) -> History {
        History { clock, lines: Arc::default() }
    }

    pub(crate) fn call(&self, call: &Call<'_>, fate: &CallFate) {
        let became = match fate {
            CallFate::Pass => "passes".to_owned(),
            CallFate::Delay(span) => format!("is {} ms late", span.as_millis()),
            CallFate::Fail(failure) => format!("fails: {}", failure.code),
            CallFate::LoseRequest => "is lost".to_owned(),
            CallFate::LoseAnswer => "is done, its answer lost".to_owned(),
        };
        let line = format!("{} {} {} {} {became}", self.clock.now(), call.operation, call.resource, call.attempt);
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
