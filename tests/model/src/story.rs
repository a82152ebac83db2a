//! Steps and worlds in words, for whoever reads how it came to something.

use std::fmt;

use expiry_core::decide::Question;
use expiry_core::decide::answers::fact_name;
use expiry_core::fact::{PaymentFact, PlaceOutcome};

use crate::run::{Calls, Job, Next, Run};
use crate::world::{Line, Step, World};

/// A way through the model: the world, the step taken there, and so on. A world that looks as before is not told again.
#[derive(Clone, Debug)]
pub struct Story(Vec<(World, Option<Step>)>);

impl Story {
    /// The story of these steps.
    #[must_use]
    pub fn new(path: Vec<(World, Option<Step>)>) -> Story {
        Story(path)
    }

    /// How many steps it has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.0.iter().filter(|(_, step)| step.is_some()).count()
    }
}

impl fmt::Display for Story {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = String::new();
        for (number, (world, step)) in self.0.iter().enumerate() {
            let looks = world.to_string();
            if looks != told {
                writeln!(out, "      {looks}")?;
            }
            told = looks;
            if let Some(step) = step {
                writeln!(out, "{:>4}. {}", number + 1, world.tell(step))?;
            }
        }
        Ok(())
    }
}

impl World {
    /// What `step` is, taken here.
    #[must_use]
    pub fn tell(&self, step: &Step) -> String {
        let by = |at: &usize, does: &str| match self.runs.get(*at) {
            Some(run) => format!("{} ({}) {does}", run.worker, run.job),
            None => does.to_owned(),
        };
        match step {
            Step::Tick => "time goes on".to_owned(),
            Step::Pays(no) => format!("attempt {no} is paid"),
            Step::Lands(no) => format!("the create call of attempt {no} lands"),
            Step::RefundsAtLast(no) => format!("the channel does the refund of attempt {no}"),
            Step::Odd(no, odd) => format!("attempt {no}: {odd:?}"),
            Step::Begin(job) | Step::BeginOddly(job) => format!("a worker reads the order: {job}"),
            Step::Call(at, line) => by(at, &self.runs.get(*at).map_or_else(String::new, |run| call(run, *line))),
            Step::Commit(at) => by(at, "writes"),
            Step::CommitUnheard(at) => by(at, "writes, and does not hear the answer"),
            Step::Crash(at) => by(at, "dies"),
        }
    }
}

fn call(run: &Run, line: Line) -> String {
    let call = match (run.next.as_ref(), &run.calls) {
        (Next::Ask(Question::Payments(_)), Calls::Queried) => "has the payment closed",
        (Next::Ask(Question::Payments(_)), Calls::None | Calls::Closed(_)) => "queries the payment",
        (Next::Ask(Question::RefundStatus(_)), _) => "queries the refund",
        (Next::Ask(Question::SubmitRefund(_)), _) => "submits the refund",
        (Next::Ask(Question::Coupon(_)), _) => "reads the coupon",
        (Next::Place(_) | Next::Commit(_) | Next::Done(_) | Next::Broke(_), _) => "has the payment created",
    };
    let how = match line {
        Line::Heard => "",
        Line::Refused => ": refused",
        Line::Unheard => ": done, and the answer is lost",
        Line::Unsent => ": no answer",
    };
    format!("{call}{how}")
}

impl fmt::Display for Job {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Job::Start(leg) => match leg.amount {
                Some(amount) => write!(out, "start a payment of {amount} through {}", leg.channel),
                None => write!(out, "start a payment through {}", leg.channel),
            },
            Job::Place(no) => write!(out, "place attempt {no}"),
            Job::Answered(no, PlaceOutcome::Credential(_)) => write!(out, "attempt {no} is placed"),
            Job::Answered(no, PlaceOutcome::Refused(_)) => write!(out, "attempt {no} is refused"),
            Job::Answered(no, PlaceOutcome::InDoubt(_)) => write!(out, "attempt {no} is in doubt"),
            Job::Told(told) => {
                write!(out, "callback of attempt {}: ", told.payment.attempt())?;
                if let PaymentFact::Succeeded(success) = &told.fact {
                    return write!(out, "{} by {}", success.paid, success.transaction);
                }
                out.write_str(fact_name(&told.fact))
            }
            Job::Close(trigger) => write!(out, "close, {}", trigger.name()),
            Job::Extend => write!(out, "give more time"),
            Job::Ask => write!(out, "ask"),
            Job::Refund(no) => write!(out, "refund attempt {no}"),
            Job::RetryRefund(no) => write!(out, "retry the refund of attempt {no}"),
            Job::Settle(unit) => write!(out, "settle {unit}"),
        }
    }
}

/// The order in a line, with the truth at the channel, and what is wrong.
impl fmt::Display for World {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = &self.order;
        let age = self.now.since(order.created_at).as_secs();
        write!(out, "{age} s: {} v{}", order.status.name(), order.version)?;
        for (no, attempt) in order.numbered_attempts() {
            write!(out, ", attempt {no} {}", attempt.status.name())?;
            if let Some(receipt) = &attempt.receipt {
                write!(out, "({})", receipt.standing.name())?;
            }
            if let Some(refund) = &attempt.refund {
                write!(out, ", refund of {} {} r{}", refund.money.amount, refund.status.name(), refund.k)?;
            }
            match self.payment(no).paid() {
                Some(paid) => write!(out, " [channel: {} of {}]", paid.held(), paid.success.paid)?,
                None => write!(out, " [channel: {:?}]", self.payment(no))?,
            }
        }
        if !order.pending.is_empty() {
            let pending: Vec<String> = order.pending.iter().map(ToString::to_string).collect();
            write!(out, ", pending {}", pending.join(" "))?;
        }
        self.breaches.iter().try_for_each(|breach| write!(out, "\n      WRONG {breach}"))
    }
}
