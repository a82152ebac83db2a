//! Taking a step. Reading, every call and every write are steps of their own: whatever may come between them does.

use std::sync::Arc;

use expiry_core::decide::notified::{NotifiedOutcome, signal_without_commit};
use expiry_core::decide::{Commit, Then};
use expiry_core::fact::PaymentFact;
use expiry_core::ids::WorkerId;
use expiry_core::invariants::{Breach, breaches, transition_breaches};
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::signal::Signal;

use crate::cast::{Cast, valid};
use crate::channel::Payment;
use crate::image::Image;
use crate::run::{Came, Job, Next, Run};
use crate::world::{Line, Met, Step, World};

impl World {
    /// The world after `step`; `None` when it changes nothing.
    #[must_use]
    pub fn after(&self, cast: &Cast, step: Step) -> Option<World> {
        let mut world = World { met: None, ..self.clone() };
        match step {
            Step::Tick => {
                world.moment += 1;
                world.now = cast.moment(world.moment)?;
            }
            Step::Pays(no) => world.pay(no)?,
            Step::Lands(no) => *world.payment_mut(no)? = Payment::NotPay,
            Step::RefundsAtLast(no) => world.end_refund(no, true)?,
            Step::Odd(no, odd) => {
                world.may.oddities -= 1;
                world.oddly(no, odd)?;
            }
            Step::Begin(job) => {
                world.spend(&job);
                world.begin(job)?;
            }
            Step::BeginOddly(job) => {
                world.may.oddities -= 1;
                world.begin(job)?;
            }
            Step::Call(run, line) => {
                match line {
                    Line::Heard => {}
                    Line::Refused => world.may.oddities -= 1,
                    Line::Unheard | Line::Unsent => world.may.faults -= 1,
                }
                world.call(run, line)?;
            }
            Step::Commit(run) => world.commit(run, true)?,
            Step::CommitUnheard(run) => {
                world.may.faults -= 1;
                world.commit(run, false)?;
            }
            Step::Crash(run) => {
                world.may.faults -= 1;
                world.runs.remove(run);
            }
        }
        Some(world)
    }

    fn spend(&mut self, job: &Job) {
        let may = &mut self.may;
        let kind = match job {
            Job::Start(_) | Job::Place(_) | Job::Answered(..) => &mut may.starts,
            Job::Told(_) => &mut may.told,
            Job::Close(_) => &mut may.closes,
            Job::Extend => &mut may.extends,
            Job::Ask => &mut may.asks,
            Job::Refund(_) | Job::RetryRefund(_) => &mut may.refunds,
            Job::Settle(_) => &mut may.settles,
        };
        *kind -= 1;
    }

    /// A worker takes `job` up; `None` when it finds nothing to do.
    pub(crate) fn begin(&mut self, job: Job) -> Option<()> {
        let run = Run::begin(self.new_worker(), job, &self.order, self.now);
        self.go_on(run).then_some(())
    }

    /// A name that nobody at work has, nor any lease: which name it is makes no difference, that it is another one does.
    fn new_worker(&self) -> WorkerId {
        let order = &self.order;
        let turns = [order.closing.as_ref().map(|it| &it.turn), order.asking.as_ref().map(|it| &it.turn)];
        let refunds = order.attempts.iter().filter_map(|attempt| attempt.refund.as_ref()).map(|it| &it.turn);
        let owners: Vec<&WorkerId> =
            turns.into_iter().flatten().chain(refunds).filter_map(|turn| turn.owner.as_ref()).collect();
        let taken = |name: &WorkerId| owners.contains(&name) || self.runs.iter().any(|run| run.worker == *name);
        let mut names = (1..).map(|number: u32| valid(WorkerId::new(format!("w{number}"))));
        valid(names.find(|name| !taken(name)).ok_or("a name"))
    }

    /// A run goes on to its next step, or ends; says whether anything came of it.
    pub(crate) fn go_on(&mut self, mut run: Run) -> bool {
        run.decide();
        match run.next.as_ref() {
            Next::Done(came) => {
                // A callback that changes nothing is an end of its own; any other run just finds nothing to do.
                if matches!(run.job, Job::Told(_)) && run.seen == self.order {
                    self.meet(&run, self.order.clone(), Some(came.clone()), Vec::new());
                }
                self.met.is_some()
            }
            Next::Broke(breach) => {
                self.breaches.push(breach.clone());
                true
            }
            Next::Place(_) | Next::Ask(_) | Next::Commit(_) => {
                self.runs.push(Image::new(run));
                // The order in which they began makes no difference.
                self.runs.sort_by(|one, other| one.worker.cmp(&other.worker));
                true
            }
        }
    }

    /// The conditional write of run `at`.
    pub(crate) fn commit(&mut self, at: usize, heard: bool) -> Option<()> {
        let mut run = Run::clone(&self.runs.remove(at));
        let next = Arc::clone(&run.next);
        let Next::Commit(commit) = next.as_ref() else { return None };
        let Commit { on_version, on_status, after_deadline, order, rows, signals, then } = commit.as_ref();
        let stored = &self.order;
        let in_time = after_deadline.is_none_or(|now| stored.expire_at.is_some_and(|expire_at| expire_at <= now));
        if (stored.version, stored.status) != (*on_version, *on_status) || !in_time {
            run.lost = true;
            run.read_again(&self.order, self.now);
            self.go_on(run);
            return Some(());
        }
        match self.rows.with(&stored.id, rows) {
            Ok(rows) => self.rows = Image::new(rows),
            Err(refusal) => {
                run.known.refuse(*on_version, refusal);
                run.at = self.now;
                self.go_on(run);
                return Some(());
            }
        }
        let before = std::mem::replace(&mut self.order, Image::new(order.clone()));
        self.breaches = breaches(&self.order);
        self.breaches.extend(transition_breaches(&before, &self.order));
        self.breaches.extend(self.closed_unasked(&before));
        let came = match then {
            Then::Done(came) => Some(came.clone()),
            Then::Continue => None,
        };
        // A claim writes nothing of what was heard.
        if came.is_some() || before.attempts != self.order.attempts {
            self.meet(&run, before, came.clone(), signals.clone());
        }
        run.heard.clear();
        match (heard, came) {
            (true, Some(Came::ToPlace(no))) => {
                let worker = run.worker;
                let run = Run::begin(worker, Job::Place(no), &self.order, self.now);
                self.go_on(run);
            }
            (true, Some(came)) => self.check_credential(&run, &came),
            (true, None) | (false, _) => {
                let met = self.met.take();
                run.read_again(&self.order, self.now);
                self.go_on(run);
                self.met = met.or(self.met.take());
            }
        }
        Some(())
    }

    /// I3: an order becomes CLOSED only when it is known of every attempt how it ended. (Later one may be in doubt again: DESIGN §4.4.)
    fn closed_unasked(&self, before: &Order) -> Option<Breach> {
        let closes = before.status != OrderStatus::Closed && self.order.status == OrderStatus::Closed;
        let (no, _) = self.order.unsettled_attempts().next().filter(|_| closes)?;
        Some(Breach { invariant: "I3", what: format!("CLOSED while nobody knows how attempt {no} ends") })
    }

    /// I10: the second write hands a credential out only for a payable order, up to 1 s before its deadline.
    fn check_credential(&mut self, run: &Run, came: &Came) {
        let payable = self.order.status == OrderStatus::Paying;
        let last = self.order.expire_at.map(|expire_at| expire_at.minus(limits::LAST_CREDENTIAL_BEFORE_EXPIRY));
        if *came == Came::HandedOut && !(payable && last.is_none_or(|last| run.at < last)) {
            let what = format!("a credential left the system at {} in {}", run.at, self.order.status.name());
            self.breaches.push(Breach { invariant: "I10", what });
        }
    }

    /// Keeps what money met the order. A refund's own questions are about money that is recorded.
    fn meet(&mut self, run: &Run, before: Image<Order>, came: Option<Came>, mut signals: Vec<Signal>) {
        let mut acknowledged = None;
        if let (Some(told), Some(Came::Told(outcome))) = (run.told(), &came) {
            acknowledged = Some(*outcome == NotifiedOutcome::Accepted);
            if before == self.order {
                signals.extend(signal_without_commit(&self.order, &told, outcome));
            }
        }
        let mut heard = if matches!(run.job, Job::Refund(_)) { Vec::new() } else { run.heard.clone() };
        if let Job::Told(notification) = &run.job
            && let PaymentFact::Succeeded(success) = &notification.fact
        {
            heard.push((notification.payment.attempt(), success.clone()));
        }
        if !heard.is_empty() {
            self.met = Some(Met { before, heard, acknowledged, signals });
        }
    }
}
