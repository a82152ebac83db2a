//! What chance decides: the time, order, duplication and loss of messages, and what becomes of each call. All of it stands here.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use expiry_core::time::Timestamp;
use serde_json::{Value, json};

/// How long after its time EventBridge Scheduler may still fire a schedule.
pub const FIRING_WINDOW: Duration = Duration::from_secs(60);

/// The embedded service a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// DynamoDB.
    DynamoDb,
    /// DynamoDB Streams.
    Streams,
    /// SQS.
    Sqs,
    /// EventBridge Scheduler.
    Scheduler,
    /// Secrets Manager.
    Secrets,
}

/// One HTTP request of an SDK client: every attempt of a retried operation is a call of its own.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The service it goes to.
    pub service: Service,
    /// The operation by its AWS name, such as `UpdateItem`.
    pub operation: &'a str,
    /// The table (of a batch or transaction: its first), queue or schedule it names; empty when it names none.
    pub resource: &'a str,
    /// Which attempt of the SDK's retries this is, from 1.
    pub attempt: u32,
    /// The request's JSON body; null when there is none.
    pub body: &'a Value,
}

/// What becomes of one call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallFate {
    /// It is carried out and answered.
    Pass,
    /// It arrives that much later, in real (tokio) time, and is then carried out and answered.
    Delay(Duration),
    /// It waits until somebody says what becomes of it.
    Held(Held),
    /// It is carried out and answered; an eventually consistent read is answered without the writes of that last span of the
    /// cloud's time. Needs [`Cloud::keep_replica`](super::Cloud::keep_replica).
    Stale(Duration),
    /// It is refused before anything is carried out.
    Fail(Failure),
    /// It never arrives: nothing is carried out, and the SDK sees a broken connection.
    LoseRequest,
    /// It is carried out and its answer is lost: the SDK sees a broken connection and sends it again.
    LoseAnswer,
}

/// A call that waits for its fate: whoever made it decides when it goes on, and how. Clones are the same call.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    fate: Option<CallFate>,
    waker: Option<Waker>,
}

impl Held {
    /// Lets the call go on. Only the first word counts.
    pub fn release(&self, fate: CallFate) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.fate.get_or_insert(fate);
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
    }

    /// Waits for what becomes of the call.
    pub async fn released(&self) -> CallFate {
        std::future::poll_fn(|context| {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match waiting.fate.clone() {
                Some(fate) => Poll::Ready(fate),
                None => {
                    waiting.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The error answer of a call that was made to fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The error's short code, such as `ThrottlingException`.
    pub code: String,
    /// Further members of the error's JSON body.
    pub members: Value,
}

impl Failure {
    /// An error with nothing but its code.
    #[must_use]
    pub fn new(status: u16, code: &str) -> Failure {
        Failure { status, code: code.to_owned(), members: json!({}) }
    }

    /// The answer of a TransactWriteItems of `items` members that met another transaction at its member `index`. DynamoDB proper
    /// gives this under contention; the embedded one runs one call after the other and never would.
    #[must_use]
    pub fn transaction_conflict(items: usize, index: usize) -> Failure {
        let reasons: Vec<Value> = (0..items)
            .map(|item| match item == index {
                true => json!({"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}),
                false => json!({"Code": "None"}),
            })
            .collect();
        Failure {
            status: 400,
            code: "TransactionCanceledException".to_owned(),
            members: json!({ "CancellationReasons": reasons }),
        }
    }
}

/// The source of chance. The default, [`SeededFate`], is kind: nothing is lost, delayed or doubled. A hostile scheduler overrides
/// what it wants to decide.
pub trait Fate: fmt::Debug + Send {
    /// When the one-time schedule `name` due at `due` really fires: in the cloud at or after `due`, within `window`.
    fn schedule_fires(&mut self, name: &str, due: Timestamp, window: Duration) -> Timestamp;

    /// When a message that should become deliverable at `due` really does: at or after `due`.
    fn message_due(&mut self, queue: &str, due: Timestamp) -> Timestamp {
        let _ = queue;
        due
    }

    /// How many copies of a sent message are delivered: SQS delivers one at least, and a hostile fate loses it.
    fn copies_of(&mut self, queue: &str, body: &str) -> u32 {
        let _ = (queue, body);
        1
    }

    /// What becomes of `call`.
    fn call(&mut self, call: &Call<'_>) -> CallFate {
        let _ = call;
        CallFate::Pass
    }
}

/// The default fate: a schedule fires at a moment of its window that follows from the seed, its name and its time alone, so that it
/// does not depend on who called when; nothing else happens.
#[derive(Debug)]
pub struct SeededFate {
    seed: u64,
}

impl SeededFate {
    /// The fate of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> SeededFate {
        SeededFate { seed }
    }
}

impl Fate for SeededFate {
    fn schedule_fires(&mut self, name: &str, due: Timestamp, window: Duration) -> Timestamp {
        let mut hasher = DefaultHasher::new();
        (self.seed, name, due).hash(&mut hasher);
        let mut rng = fastrand::Rng::with_seed(hasher.finish());
        let millis = u64::try_from(window.as_millis()).unwrap_or(u64::MAX).max(1);
        due.plus(Duration::from_millis(rng.u64(0..millis)))
    }
}

/// A rule a test set for calls: `None` leaves the call to the next rule.
pub(crate) type CallRule = Box<dyn FnMut(&Call<'_>) -> Option<CallFate> + Send>;

/// The rules of tests before the fate, in the order they were set.
#[derive(Default)]
pub(crate) struct CallRules(Vec<CallRule>);

impl CallRules {
    /// Adds a rule after the others.
    pub(crate) fn push(&mut self, rule: CallRule) {
        self.0.push(rule);
    }

    /// Forgets every rule.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What the first rule that cares about `call` says.
    pub(crate) fn decide(&mut self, call: &Call<'_>) -> Option<CallFate> {
        self.0.iter_mut().find_map(|rule| rule(call))
    }
}

impl fmt::Debug for CallRules {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CallRules({})", self.0.len())
    }
}

/// Whether `body` is a wake-up: the message that a schedule, or the delayed message in its place, sends.
#[must_use]
pub fn is_wake(body: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|body| body.get("type").and_then(Value::as_str) == Some("wake"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_of_type_wake_is_a_wake_up() {
        assert!(is_wake(r#"{"type":"wake","order_id":"o-1"}"#));
        assert!(!is_wake(r#"{"type":"close"}"#));
        assert!(!is_wake(r#""wake""#));
        assert!(!is_wake("wake"));
    }

    #[test]
    fn the_same_seed_fires_at_the_same_moments_all_inside_the_window() {
        let due = Timestamp::EPOCH.plus(Duration::from_secs(1_000));
        let moments = |seed| {
            let mut fate = SeededFate::new(seed);
            (0..50).map(|order| fate.schedule_fires(&format!("o-{order}"), due, FIRING_WINDOW)).collect::<Vec<_>>()
        };
        assert_eq!(moments(7), moments(7));
        assert_ne!(moments(7), moments(8));
        assert!(moments(7).iter().all(|at| *at >= due && at.since(due) < FIRING_WINDOW));
    }
}
