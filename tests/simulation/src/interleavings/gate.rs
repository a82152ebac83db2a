//! The gate: every call of every actor waits here for its turn, so that nothing happens but what the search has chosen.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use expiry_core::time::{Clock, Timestamp};
use local::clock::MovableClock;
use local::cloud::fate::{CallFate, Held};

use super::fingerprint::Fingerprint;

/// An actor, by its place in the cast.
pub type ActorNo = usize;

/// Where calls wait. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Mutex<Waiting>>);

#[derive(Debug)]
struct Waiting {
    clock: MovableClock,
    calls: Vec<ParkedCall>,
    histories: Vec<History>,
    /// The calls that are no choice; see [`Gate::let_through`].
    independent: BTreeSet<String>,
}

/// A call that waits.
#[derive(Clone, Debug)]
pub struct ParkedCall {
    /// Whose it is.
    pub actor: ActorNo,
    /// Which of its calls it is.
    pub number: usize,
    /// What it is, in words.
    pub line: String,
    /// Whether its answer can be lost: it goes over a network.
    pub is_remote: bool,
    held: Held,
}

/// What an actor has called and heard.
#[derive(Clone, Debug, Default)]
struct History {
    calls: usize,
    /// When the last of them was made.
    called_at: Option<Timestamp>,
    heard: Fingerprint,
}

impl Gate {
    /// A gate on `clock`.
    #[must_use]
    pub fn new(clock: MovableClock) -> Gate {
        let waiting = Waiting { clock, calls: Vec::new(), histories: Vec::new(), independent: BTreeSet::new() };
        Gate(Arc::new(Mutex::new(waiting)))
    }

    /// The clock of everything behind it.
    #[must_use]
    pub fn clock(&self) -> MovableClock {
        self.lock().clock.clone()
    }

    /// Lets the calls of these lines pass at once. They must touch nothing that any other actor ever reads or writes: where they
    /// stand in a schedule then changes no state, and they need not be chosen.
    pub fn let_through(&self, independent: impl IntoIterator<Item = String>) {
        self.lock().independent.extend(independent);
    }

    /// Waits until it is the turn of the call `line` of `actor`; answers what becomes of it.
    pub async fn turn(&self, actor: ActorNo, line: &str, is_remote: bool) -> CallFate {
        let held = Held::default();
        {
            let waiting = &mut *self.lock();
            if waiting.independent.contains(line) {
                return CallFate::Pass;
            }
            let now = waiting.clock.now();
            let history = waiting.history(actor);
            history.calls += 1;
            history.called_at = Some(now);
            let (number, line, held) = (history.calls, line.to_owned(), held.clone());
            waiting.calls.push(ParkedCall { actor, number, line, is_remote, held });
        }
        held.released().await
    }

    /// Something that `actor` does by itself, in its turn and in one piece: `act` answers what it hears of it.
    pub async fn step(&self, actor: ActorNo, line: &str, act: impl FnOnce() -> String) -> String {
        self.turn(actor, line, false).await;
        let answer = act();
        self.heard(actor, line, answer.as_bytes());
        answer
    }

    /// Keeps what `actor` was answered, and when: with its calls that is all it can know.
    pub fn heard(&self, actor: ActorNo, line: &str, answer: &[u8]) {
        let waiting = &mut *self.lock();
        let now = waiting.clock.now();
        waiting.history(actor).heard.add(&(line, answer, now.as_millis()));
    }

    /// The calls that wait, in the order of actors and of their calls.
    #[must_use]
    pub fn parked(&self) -> Vec<ParkedCall> {
        let mut calls = self.lock().calls.clone();
        calls.sort_by_key(|call| (call.actor, call.number));
        calls
    }

    /// Says what becomes of a call.
    pub fn release(&self, call: &ParkedCall, fate: CallFate) {
        self.lock().calls.retain(|parked| (parked.actor, parked.number) != (call.actor, call.number));
        call.held.release(fate);
    }

    /// Forgets the calls of an actor that is dead.
    pub fn forget(&self, actor: ActorNo) {
        self.lock().calls.retain(|parked| parked.actor != actor);
    }

    /// How many calls an actor has made.
    #[must_use]
    pub fn calls_of(&self, actor: ActorNo) -> usize {
        self.lock().history(actor).calls
    }

    /// When an actor made its last call: whatever it wrote with it was decided then.
    #[must_use]
    pub fn called_at(&self, actor: ActorNo) -> Option<Timestamp> {
        self.lock().history(actor).called_at
    }

    /// What an actor has heard so far.
    #[must_use]
    pub fn history_of(&self, actor: ActorNo) -> u128 {
        self.lock().history(actor).heard.value()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn history(&mut self, actor: ActorNo) -> &mut History {
        if self.histories.len() <= actor {
            self.histories.resize_with(actor + 1, History::default);
        }
        &mut self.histories[actor]
    }
}
