//! One worker's run of one command: what it has read, what it has heard, and what follows from that. What follows is decided by
//! `expiry_core` alone.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use expiry_core::closing::{CloseReason, CloseTrigger};
use expiry_core::decide::ask::Ask;
use expiry_core::decide::close::{Close, Occasion};
use expiry_core::decide::extend::Extend;
use expiry_core::decide::notified::{Notified, NotifiedOutcome};
use expiry_core::decide::place_answered::{PlaceAnswered, PlacedOutcome};
use expiry_core::decide::refund::WorkRefund;
use expiry_core::decide::retry_refund::RetryRefund;
use expiry_core::decide::settle::Settle;
use expiry_core::decide::start_payment::{StartOutcome, StartPayment};
use expiry_core::decide::{Command, Commit, Decision, Knowledge, Question, Then, decide};
use expiry_core::evidence::Actor;
use expiry_core::fact::{Cause, CloseOutcome, Notification, PlaceOutcome, Success};
use expiry_core::ids::{AttemptNo, WorkerId};
use expiry_core::initiator::Initiator;
use expiry_core::invariants::Breach;
use expiry_core::order::Order;
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;

use crate::cast::{Leg, merchant};
use crate::image::Image;

/// How long a lease lasts.
const LEASE: Duration = Duration::from_secs(30);
/// How often the scan runs.
const SCAN_PERIOD: Duration = Duration::from_secs(3_600);

/// What a worker is to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Job {
    /// A payer starts a payment.
    Start(Leg),
    /// The attempt is durable: have the channel create it.
    Place(AttemptNo),
    /// The channel answered to that.
    Answered(AttemptNo, PlaceOutcome<()>),
    /// The channel told something.
    Told(Notification),
    /// Close the order.
    Close(CloseTrigger),
    /// A person gives ten minutes more.
    Extend,
    /// Work off `ask:<n>`.
    Ask,
    /// Work off `refund:<n>`.
    Refund(AttemptNo),
    /// A person has a failed refund tried again.
    RetryRefund(AttemptNo),
    /// Work off a unit of settlement.
    Settle(Unit),
}

/// A worker at its job, between two steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name: the owner of its leases.
    pub worker: WorkerId,
    /// What it does.
    pub job: Job,
    /// The order as it read it, which others may have changed since.
    pub seen: Image<Order>,
    /// What it has heard.
    pub known: Knowledge,
    /// When it decided what to do next.
    pub at: Timestamp,
    /// How far it is with asking about one attempt.
    pub calls: Calls,
    /// Whether it has lost by version.
    pub lost: bool,
    /// The money it has heard of, for the properties.
    pub heard: Vec<(AttemptNo, Success)>,
    /// What it does next: it follows from all the rest.
    pub next: Arc<Next>,
}

impl Hash for Run {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.worker, &self.job, &self.seen, &self.known, self.at, &self.calls, self.lost, &self.heard).hash(hasher);
    }
}

/// How far the sequence query → close → query went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Calls {
    /// Nothing was called.
    #[default]
    None,
    /// The first query found no money.
    Queried,
    /// The close was answered so.
    Closed(CloseOutcome),
}

/// What a worker does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Have the channel create the attempt.
    Place(AttemptNo),
    /// Ask.
    Ask(Question),
    /// Write.
    Commit(Box<Commit<Came>>),
    /// Nothing.
    Done(Came),
    /// An assertion of the core failed; the model goes on to tell how it came to that.
    Broke(Breach),
}

/// What a command came to, as far as something follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// The attempt is to be placed.
    ToPlace(AttemptNo),
    /// The credential leaves the system (I10).
    HandedOut,
    /// The notification is acknowledged or refused.
    Told(NotifiedOutcome),
    /// Nothing follows.
    Nothing,
}

impl Run {
    /// A worker that has just read the order.
    #[must_use]
    pub fn begin(worker: WorkerId, job: Job, order: &Image<Order>, now: Timestamp) -> Run {
        let (known, calls, heard) = (Knowledge::default(), Calls::None, Vec::new());
        let next = Arc::new(Next::Done(Came::Nothing));
        Run { worker, job, seen: order.clone(), known, at: now, calls, lost: false, heard, next }
    }

    /// It reads the order again. Facts hold for attempts as they were (DESIGN §5.3).
    pub fn read_again(&mut self, order: &Image<Order>, now: Timestamp) {
        self.heard.retain(|(no, _)| self.seen.attempt(*no) == order.attempt(*no));
        (self.seen, self.at, self.calls) = (order.clone(), now, Calls::None);
    }

    /// It decides what to do next. In a build with debug assertions the core asserts its own decisions: here that is a finding, not
    /// the end.
    pub fn decide(&mut self) {
        let next = match (&self.job, catch_unwind(AssertUnwindSafe(|| self.decision()))) {
            (Job::Place(no), _) => Next::Place(*no),
            (_, Ok(Decision::Ask(question))) => Next::Ask(question),
            (_, Ok(Decision::Commit(commit))) => Next::Commit(commit),
            (_, Ok(Decision::Done(came))) => Next::Done(came),
            (_, Err(panic)) => {
                let what = panic.downcast::<String>().map_or_else(|_| "it panicked".to_owned(), |text| *text);
                Next::Broke(Breach { invariant: "assertion", what })
            }
        };
        self.next = Arc::new(next);
    }

    fn decision(&self) -> Decision<Came> {
        let (worker, lease, scan_period) = (self.worker.clone(), LEASE, SCAN_PERIOD);
        match self.job.clone() {
            Job::Place(_) => Decision::Done(Came::Nothing),
            Job::Start(leg) => self.decided(&start(&self.seen, leg), |outcome| match outcome {
                StartOutcome::Place(no) => Came::ToPlace(no),
                StartOutcome::Refused(_) => Came::Nothing,
            }),
            Job::Answered(attempt, outcome) => {
                self.decided(&PlaceAnswered { attempt, outcome }, |outcome| match outcome {
                    PlacedOutcome::HandOut => Came::HandedOut,
                    PlacedOutcome::Withhold(_)
                    | PlacedOutcome::Refused(_)
                    | PlacedOutcome::Undecided(_)
                    | PlacedOutcome::InDoubt(_) => Came::Nothing,
                })
            }
            Job::Told(_) => match self.told() {
                Some(told) => self.decided(&told, Came::Told),
                None => Decision::Done(Came::Nothing),
            },
            Job::Close(trigger) => {
                let occasion = occasion(trigger, &self.seen);
                self.decided(&Close { occasion, worker, lease, scan_period }, |_| Came::Nothing)
            }
            Job::Extend => {
                let from = self.seen.expire_at.unwrap_or(self.seen.created_at);
                let to = from.plus(Duration::from_secs(600));
                self.decided(&Extend { from, to, actor: person(), reason: reason() }, |_| Came::Nothing)
            }
            Job::Ask => {
                self.decided(&Ask { check_at: None, worker, lease, scan_period, at_once: false }, |_| Came::Nothing)
            }
            Job::Refund(attempt) => {
                self.decided(&WorkRefund { attempt, check_at: None, worker, lease, scan_period }, |_| Came::Nothing)
            }
            Job::RetryRefund(attempt) => {
                let k = self.seen.attempt(attempt).and_then(|attempt| attempt.refund.as_ref()).map_or(1, |it| it.k);
                self.decided(&RetryRefund { attempt, k, actor: person(), reason: reason() }, |_| Came::Nothing)
            }
            Job::Settle(unit) => self.decided(&Settle { unit }, |_| Came::Nothing),
        }
    }

    /// The notification it was told of, if it was.
    #[must_use]
    pub fn told(&self) -> Option<Notified> {
        let Job::Told(notification) = &self.job else { return None };
        let attempt = self.seen.attempt(notification.payment.attempt()).or_else(|| self.seen.attempts.first())?;
        Some(Notified { channel: attempt.channel.clone(), notification: notification.clone() })
    }

    fn decided<C: Command>(&self, command: &C, came: impl Fn(C::Outcome) -> Came) -> Decision<Came> {
        match decide(&self.seen, command, &self.known, self.at) {
            Decision::Ask(question) => Decision::Ask(question),
            Decision::Done(outcome) => Decision::Done(came(outcome)),
            Decision::Commit(commit) => {
                let Commit { on_version, on_status, after_deadline, order, rows, signals, then } = *commit;
                let then = match then {
                    Then::Done(outcome) => Then::Done(came(outcome)),
                    Then::Continue => Then::Continue,
                };
                Decision::Commit(Box::new(Commit { on_version, on_status, after_deadline, order, rows, signals, then }))
            }
        }
    }
}

fn start(order: &Order, leg: Leg) -> StartPayment {
    StartPayment {
        channel: leg.channel(),
        merchant: merchant(),
        min_expiry: Duration::ZERO,
        method: None,
        amount: leg.amount(),
        initiator: Initiator::Customer,
        // As late as the order itself lets it be.
        place_before: order.expire_at.unwrap_or(order.created_at.plus(SCAN_PERIOD)),
    }
}

/// The occasion of a message that is up to date; one that is not is dropped and changes nothing.
fn occasion(trigger: CloseTrigger, order: &Order) -> Occasion {
    let check_at = order.closing.as_ref().and_then(|task| task.turn.next_check_at);
    match trigger {
        CloseTrigger::Wake => Occasion::Wake { expire_at: order.expire_at.unwrap_or(order.created_at) },
        CloseTrigger::Retry => Occasion::Retry { check_at: check_at.unwrap_or(order.created_at) },
        CloseTrigger::Scan => Occasion::Scan,
        CloseTrigger::Cancel => {
            Occasion::Cancel { actor: Actor::Customer, close_reason: CloseReason::CancelledByUser, reason: reason() }
        }
        CloseTrigger::Operator => Occasion::Check { actor: person(), reason: reason() },
    }
}

fn person() -> Actor {
    Actor::Named("operator".to_owned())
}

fn reason() -> Cause {
    Cause::new("a reason")
}
