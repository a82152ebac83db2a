//! What happened in a run, in the order in which it happened: the same seed gives the same lines.

use std::sync::{Arc, Mutex, PoisonError};

use expiry_core::order::Order;
use expiry_core::time::{Clock, Timestamp};
use local::clock::MovableClock;
use local::cloud::fate::{Call, CallFate};

/// Most lines kept of one run: far more than any run has.
const LINES: usize = 100_000;

/// The lines so far. Clones share them.
#[derive(Clone, Debug)]
pub struct Timeline {
    clock: MovableClock,
    began: Timestamp,
    lines: Arc<Mutex<Vec<Line>>>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether it tells the story by itself; the rest are calls that went as they should.
    pub is_story: bool,
    /// When, what.
    pub text: String,
}

impl Timeline {
    /// An empty one that begins now.
    #[must_use]
    pub fn new(clock: MovableClock) -> Timeline {
        Timeline { began: clock.now(), clock, lines: Arc::default() }
    }

    /// Something somebody did, or that was found.
    pub fn note(&self, what: &str) {
        self.add(true, what);
    }

    /// A call and what becomes of it.
    pub fn call(&self, call: &Call<'_>, fate: &CallFate) {
        let (is_story, became) = match fate {
            CallFate::Pass | CallFate::Held(_) => (false, "passes".to_owned()),
            CallFate::Delay(span) => (span.as_secs() > 0, format!("is {} µs late", span.as_micros())),
            CallFate::Stale(lag) => (true, format!("may miss the writes of the last {} ms", lag.as_millis())),
            CallFate::Fail(failure) => (true, format!("fails: {}", failure.code)),
            CallFate::LoseRequest => (true, "is lost".to_owned()),
            CallFate::LoseAnswer => (true, "is done, its answer lost".to_owned()),
        };
        let again = if call.attempt > 1 { format!(" (try {})", call.attempt) } else { String::new() };
        self.add(is_story, &format!("    {} {}{again} {became}", call.operation, call.resource));
    }

    /// An order was written.
    pub fn wrote(&self, before: Option<&Order>, after: &Order) {
        self.add(true, &format!("{} v{} {}", after.id, after.version, change(before, after)));
    }

    /// Every line.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, is_story: bool, what: &str) {
        let since = self.clock.now().since(self.began);
        let seconds = since.as_secs();
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        let text = format!("{hours}:{minutes:02}:{:02}.{:03} {what}", seconds % 60, since.subsec_millis());
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < LINES {
            lines.push(Line { is_story, text });
        }
    }
}

/// What a write changed, in words.
fn change(before: Option<&Order>, after: &Order) -> String {
    let mut words = Vec::new();
    match before {
        Some(before) if before.status == after.status => words.push(after.status.name().to_owned()),
        Some(before) => words.push(format!("{} → {}", before.status.name(), after.status.name())),
        None => words.push(format!("created {}, pays {}", after.status.name(), after.payable.minor())),
    }
    if before.is_none_or(|before| before.expire_at != after.expire_at) {
        words.push(format!("expires {}", after.expire_at.map_or("never".to_owned(), |at| at.to_string())));
    }
    for (no, attempt) in after.numbered_attempts() {
        let was = before.and_then(|before| before.attempt(no));
        if was.is_none_or(|was| was.status != attempt.status) {
            words.push(format!("attempt {no} {} {}", attempt.channel, attempt.status.name()));
        }
        if let Some(receipt) = attempt.receipt.as_ref().filter(|_| was.is_none_or(|was| was.receipt.is_none())) {
            words.push(format!("money {} {}", receipt.paid.amount.minor(), receipt.standing.name()));
        }
        let status = |refund: &expiry_core::refund::Refund| refund.status;
        if let Some(refund) = &attempt.refund
            && was.and_then(|was| was.refund.as_ref()).map(status) != Some(refund.status)
        {
            words.push(format!("refund {} of {no} {}", refund.money.amount.minor(), refund.status.name()));
        }
    }
    if before.is_none_or(|before| before.pending != after.pending) {
        let left: Vec<String> = after.pending.iter().map(ToString::to_string).collect();
        words.push(format!("left to do [{}]", left.join(" ")));
    }
    if let Some(task) = &after.closing
        && before.and_then(|before| before.closing.as_ref()) != Some(task)
    {
        let error = task.last_error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
        let next = task.turn.next_check_at.map_or_else(String::new, |at| format!(", next check {at}"));
        words.push(format!("close task {}{next}{error}", task.attempts));
    }
    words.join(", ")
}
