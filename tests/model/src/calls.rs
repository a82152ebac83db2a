//! Calls: a worker asks, and the channel answers what is true, or is not heard.

use std::mem::take;
use std::sync::Arc;

use expiry_core::decide::{Answer, Question, Sequence};
use expiry_core::fact::{Asked, AttemptAnswers, Cause, CloseOutcome, PaymentFact, PlaceOutcome, Placed, RefundFact};
use expiry_core::ids::AttemptNo;

use crate::channel::{Given, Payment};
use crate::run::{Calls, Job, Next, Run};
use crate::world::{Line, World};

impl World {
    /// Run `at` makes its next call.
    pub(crate) fn call(&mut self, at: usize, line: Line) -> Option<()> {
        let mut run = Run::clone(&self.runs.remove(at));
        let now = self.now;
        match *Arc::clone(&run.next) {
            Next::Place(no) => {
                let outcome = self.place(&run, no, line)?;
                run.job = Job::Answered(no, outcome);
            }
            Next::Ask(Question::Payments(ref attempts)) => {
                let (no, sequence) = attempts.first().copied()?;
                if let Some(answers) = self.ask(&mut run.calls, no, sequence, line)? {
                    run.heard.retain(|(of, _)| *of != no);
                    if let PaymentFact::Succeeded(success) = &answers.fact {
                        run.heard.push((no, success.clone()));
                    }
                    run.known.learn(&run.seen, Answer::Payments(vec![answers]));
                }
            }
            Next::Ask(Question::RefundStatus(no)) => {
                let fact = self.refund(&run, no, line, false)?;
                run.known.learn(&run.seen, Answer::Refund(no, fact));
            }
            Next::Ask(Question::SubmitRefund(no)) => {
                let fact = self.refund(&run, no, line, true)?;
                run.known.learn(&run.seen, Answer::Refund(no, fact));
            }
            Next::Ask(Question::Coupon(_)) => run.known.learn(&run.seen, Answer::Coupon(self.rows.coupon.clone())),
            Next::Commit(_) | Next::Done(_) | Next::Broke(_) => return None,
        }
        run.at = now;
        self.go_on(run);
        Some(())
    }

    fn place(&mut self, run: &Run, no: AttemptNo, line: Line) -> Option<PlaceOutcome<()>> {
        let in_time = run.seen.attempt(no).and_then(|attempt| attempt.place_before).is_some_and(|last| self.now < last);
        if !in_time {
            return Some(PlaceOutcome::InDoubt(Cause::new("no time left")));
        }
        let payment = self.payment_mut(no)?;
        Some(match (line, &payment) {
            (Line::Unheard | Line::Unsent, Payment::Unplaced) => {
                *payment = Payment::UnderWay;
                PlaceOutcome::InDoubt(Cause::new("timeout"))
            }
            (Line::Unheard | Line::Unsent, _) => PlaceOutcome::InDoubt(Cause::new("timeout")),
            // A number that is closed or paid is not placed again (CHANNELS §2.4).
            (Line::Refused, _) | (Line::Heard, Payment::Closed | Payment::Paid(_)) => {
                PlaceOutcome::Refused(Cause::new("refused"))
            }
            (Line::Heard, Payment::Unplaced | Payment::UnderWay | Payment::NotPay) => {
                *payment = Payment::NotPay;
                PlaceOutcome::Credential(Placed { reference: None, expires_at: None, credential: () })
            }
        })
    }

    /// One call of the sequence; `Some(None)` when another one follows.
    fn ask(
        &mut self,
        calls: &mut Calls,
        no: AttemptNo,
        sequence: Sequence,
        line: Line,
    ) -> Option<Option<AttemptAnswers>> {
        let timeout = || Cause::new("timeout");
        let sent_at = self.now;
        let payment = self.payment_mut(no)?;
        if *calls == Calls::Queried {
            let unsent = CloseOutcome::Unknown(timeout());
            let outcome = if line == Line::Unsent { unsent.clone() } else { payment.close() };
            *calls = Calls::Closed(if line == Line::Heard { outcome } else { unsent });
            return Some(None);
        }
        let fact = if line == Line::Heard { payment.query() } else { PaymentFact::Unknown(timeout()) };
        let asked = match take(calls) {
            Calls::None if sequence == Sequence::QueryCloseQuery && !matches!(fact, PaymentFact::Succeeded(_)) => {
                *calls = Calls::Queried;
                return Some(None);
            }
            Calls::None | Calls::Queried => Asked::Query,
            Calls::Closed(outcome) => Asked::Closed(outcome),
        };
        Some(Some(AttemptAnswers { attempt: no, asked, fact, sent_at }))
    }

    fn refund(&mut self, run: &Run, no: AttemptNo, line: Line, submit: bool) -> Option<RefundFact> {
        let refund = run.seen.attempt(no)?.refund.clone()?;
        let paid = self.payment_mut(no)?.paid_mut()?;
        let answer = match (line, submit) {
            (Line::Refused, _) => return Some(RefundFact::Rejected(Cause::new("refused"))),
            (Line::Unsent, _) => return Some(RefundFact::Unknown(Cause::new("timeout"))),
            (Line::Heard | Line::Unheard, true) => paid.refund(refund.k, refund.money.amount),
            (Line::Heard | Line::Unheard, false) => paid.refund_status(refund.k),
        };
        if line == Line::Unheard {
            // Taken, and not done yet either.
            if let Some(given) = paid.refunds.get_mut(&refund.k)
                && let Given::Done(amount) = *given
            {
                *given = Given::Accepted(amount);
            }
            return Some(RefundFact::Unknown(Cause::new("timeout")));
        }
        Some(answer)
    }
}
