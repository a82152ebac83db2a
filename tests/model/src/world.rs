//! The state of the model, and its steps.

use expiry_core::closing::CloseTrigger;
use expiry_core::decide::Question;
use expiry_core::fact::Success;
use expiry_core::ids::AttemptNo;
use expiry_core::invariants::{Breach, breaches};
use expiry_core::limits;
use expiry_core::order::Order;
use expiry_core::pending::Unit;
use expiry_core::refund::RefundStatus;
use expiry_core::signal::Signal;
use expiry_core::time::Timestamp;

use crate::cast::{Cast, May, Odd, Opening, valid};
use crate::casts::{PART, WHOLE};
use crate::channel::{Given, Payment};
use crate::image::Image;
use crate::rows::Rows;
use crate::run::{Calls, Job, Next, Run};

/// Everything there is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Which moment it is.
    pub moment: usize,
    /// The time.
    pub now: Timestamp,
    /// The stored order.
    pub order: Image<Order>,
    /// The rows beside it.
    pub rows: Image<Rows>,
    /// The truth at the channels, attempt by attempt.
    pub payments: Vec<Payment>,
    /// The workers at work; at most two.
    pub runs: Vec<Image<Run>>,
    /// What may still happen.
    pub may: May,
    /// What money met the order in the last step.
    pub met: Option<Met>,
    /// What was found wrong.
    pub breaches: Vec<Breach>,
}

/// Money that met the order, with what came of it; the order as it is now is the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Met {
    /// The order before.
    pub before: Image<Order>,
    /// The successes that were heard of.
    pub heard: Vec<(AttemptNo, Success)>,
    /// Whether a callback told of it, and then whether it is acknowledged.
    pub acknowledged: Option<bool>,
    /// What people hear of.
    pub signals: Vec<Signal>,
}

/// One step. Runs are named by their place among the workers at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Time goes on to the next moment.
    Tick,
    /// The payer of this attempt pays.
    Pays(AttemptNo),
    /// A create call that nobody heard the answer of lands.
    Lands(AttemptNo),
    /// The channel does a refund it had accepted.
    RefundsAtLast(AttemptNo),
    /// Something odd happens to the payment.
    Odd(AttemptNo, Odd),
    /// A worker takes this up, and reads the order.
    Begin(Job),
    /// The same, because of something odd.
    BeginOddly(Job),
    /// It makes its next call, or reads the coupon.
    Call(usize, Line),
    /// It writes what it has decided, if the order is still what it was decided on.
    Commit(usize),
    /// It does, and the answer is lost; it reads the order and decides again (DESIGN §6: a retried conditional write lies).
    CommitUnheard(usize),
    /// It dies.
    Crash(usize),
}

/// How a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// As it should.
    Heard,
    /// The channel refuses.
    Refused,
    /// It is done, and the answer is lost.
    Unheard,
    /// It never arrives.
    Unsent,
}

const WORKERS: usize = 2;

impl World {
    /// The worlds that a cast begins with: more than one where the coupon makes a difference.
    #[must_use]
    pub fn beginnings(cast: &Cast) -> Vec<World> {
        let creation = valid(cast.creation());
        crate::rows::beginnings(&creation.order)
            .into_iter()
            .map(|rows| {
                let rows = valid(rows.with(&creation.order.id, &creation.rows));
                let now = valid(cast.moment(0).ok_or("a first moment"));
                let world = World {
                    moment: 0,
                    now,
                    order: Image::new(creation.order.clone()),
                    rows: Image::new(rows),
                    payments: Vec::new(),
                    runs: Vec::new(),
                    may: cast.may,
                    met: None,
                    breaches: breaches(&creation.order),
                };
                world.opened(cast.opening)
            })
            .collect()
    }

    fn opened(mut self, opening: Opening) -> World {
        match opening {
            Opening::Created => {}
            Opening::Placed => self.play(Job::Start(WHOLE)),
            Opening::OwesRefund => {
                self.play(Job::Start(PART));
                self.pay(AttemptNo::FIRST);
                self.truth_told(AttemptNo::FIRST).into_iter().for_each(|told| self.play(Job::Told(told)));
                self.play(Job::Close(CloseTrigger::Cancel));
            }
            Opening::RefundStalls => {
                self = self.opened(Opening::OwesRefund);
                self.begin(Job::Refund(AttemptNo::FIRST));
                self.call(0, Line::Heard);
                self.commit(0, true);
                self.call(0, Line::Unheard);
                self.commit(0, true);
            }
        }
        World { met: None, ..self }
    }

    /// A worker does all of `job`, with nobody else about.
    fn play(&mut self, job: Job) {
        self.begin(job);
        while let Some(run) = self.runs.first().cloned() {
            let played =
                if matches!(*run.next, Next::Commit(_)) { self.commit(0, true) } else { self.call(0, Line::Heard) };
            valid(played.ok_or("a step"));
        }
    }

    /// Every step that can be taken.
    pub fn steps(&self, cast: &Cast, steps: &mut Vec<Step>) {
        if !self.breaches.is_empty() {
            return;
        }
        if cast.moment(self.moment + 1).is_some() {
            steps.push(Step::Tick);
        }
        for (no, _) in self.order.numbered_attempts() {
            self.steps_of_payment(cast, no, steps);
        }
        if self.runs.len() < WORKERS {
            self.jobs(cast, steps);
        }
        for (run, at_work) in self.runs.iter().enumerate() {
            let faults = self.may.faults > 0;
            match at_work.next.as_ref() {
                Next::Commit(_) => {
                    steps.push(Step::Commit(run));
                    steps.extend(faults.then_some(Step::CommitUnheard(run)));
                }
                Next::Place(_) => {
                    steps.push(Step::Call(run, Line::Heard));
                    steps.extend(self.odd(cast, Odd::RefusesPlace).then_some(Step::Call(run, Line::Refused)));
                    steps.extend(faults.then_some(Step::Call(run, Line::Unsent)));
                }
                Next::Ask(Question::Coupon(_)) => steps.push(Step::Call(run, Line::Heard)),
                Next::Ask(question) => {
                    steps.push(Step::Call(run, Line::Heard));
                    let submits = matches!(question, Question::SubmitRefund(_));
                    let refuses = submits && self.odd(cast, Odd::RefusesRefund);
                    steps.extend(refuses.then_some(Step::Call(run, Line::Refused)));
                    let changes = submits || at_work.calls == Calls::Queried;
                    steps.extend((faults && changes).then_some(Step::Call(run, Line::Unheard)));
                    steps.extend(faults.then_some(Step::Call(run, Line::Unsent)));
                }
                Next::Done(_) | Next::Broke(_) => {}
            }
            steps.extend(faults.then_some(Step::Crash(run)));
        }
    }

    fn odd(&self, cast: &Cast, odd: Odd) -> bool {
        self.may.oddities > 0 && cast.odd.contains(&odd)
    }

    fn steps_of_payment(&self, cast: &Cast, no: AttemptNo, steps: &mut Vec<Step>) {
        let mut oddly = |odd| steps.extend(self.odd(cast, odd).then_some(Step::Odd(no, odd)));
        match self.payment(no) {
            Payment::Unplaced => {}
            Payment::UnderWay => {
                steps.extend(self.may_land(no).then_some(Step::Lands(no)));
            }
            Payment::NotPay => {
                oddly(Odd::PaysOtherAmount);
                oddly(Odd::PaysByTaken);
                steps.push(Step::Pays(no));
            }
            Payment::Closed => oddly(Odd::PaysAfterClose),
            Payment::Paid(paid) => {
                if paid.success.refunded.is_zero() && !paid.held().is_zero() {
                    oddly(Odd::GivesBackPart);
                    oddly(Odd::GivesBackAll);
                }
                if paid.refunds.values().any(|given| matches!(given, Given::Accepted(_))) {
                    oddly(Odd::KillsRefund);
                    steps.push(Step::RefundsAtLast(no));
                }
            }
        }
    }

    /// The one assumption of rule NF: no create lands later than the credential's end and the grace.
    pub(crate) fn may_land(&self, no: AttemptNo) -> bool {
        let attempt = self.order.attempt(no);
        attempt.is_some_and(|attempt| self.now < attempt.credential_expiry().plus(limits::NOT_FOUND_GRACE))
    }

    /// What a worker may take up. A job that would find nothing to do is left out when it is begun.
    fn jobs(&self, cast: &Cast, steps: &mut Vec<Step>) {
        let May { starts, told, closes, extends, asks, refunds, settles, .. } = self.may;
        if starts > 0 {
            steps.extend(cast.legs.iter().map(|leg| Step::Begin(Job::Start(*leg))));
        }
        if closes > 0 {
            steps.extend(cast.closes.iter().map(|trigger| Step::Begin(Job::Close(*trigger))));
        }
        if extends > 0 {
            steps.push(Step::Begin(Job::Extend));
        }
        if asks > 0 {
            steps.push(Step::Begin(Job::Ask));
        }
        if settles > 0 {
            let settling = |unit: &&Unit| matches!(unit, Unit::Settle(_) | Unit::Anomaly(..));
            // Units touch different rows, so it makes no difference in which order they are taken.
            let first = self.order.pending.iter().find(settling);
            steps.extend(first.map(|unit| Step::Begin(Job::Settle(unit.clone()))));
        }
        for (no, attempt) in self.order.numbered_attempts() {
            if refunds > 0 {
                let failed = attempt.refund.as_ref().is_some_and(|refund| refund.status == RefundStatus::Failed);
                let job = if failed { Job::RetryRefund(no) } else { Job::Refund(no) };
                steps.extend(attempt.refund.is_some().then_some(Step::Begin(job)));
            }
            if told > 0 {
                steps.extend(self.truth_told(no).map(|it| Step::Begin(Job::Told(it))));
            }
            for odd in cast.odd.iter().filter(|_| self.may.oddities > 0) {
                steps.extend(self.oddly_told(no, *odd).map(|it| Step::BeginOddly(Job::Told(it))));
            }
        }
    }
}
