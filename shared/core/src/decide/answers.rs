//! What answers of channels do to the attempts they are about: the fact table of CHANNELS §1 and rule NF.

use crate::attempt::{Attempt, AttemptStatus};
use crate::decide::money::{Comparison, compare, taken_within};
use crate::decide::{Draft, Knowledge};
use crate::fact::{Asked, AttemptAnswers, Cause, CloseOutcome, PaymentFact, Success};
use crate::ids::AttemptNo;
use crate::limits;
use crate::pending::Unit;
use crate::signal::Signal;
use crate::time::Timestamp;

/// What is left open after answers were applied.
#[derive(Debug, Default)]
pub(crate) struct Undecided {
    /// What could not be found out, of the last attempt that is open.
    pub(crate) error: Option<Cause>,
    /// The earliest moment at which rule NF can become true.
    pub(crate) not_found_at: Option<Timestamp>,
    /// Whether only a person can say how it ends.
    pub(crate) needs_person: bool,
}

/// What one answer says about one attempt.
enum Verdict {
    /// It ended without money, for good.
    Settled(AttemptStatus),
    /// The channel is sure of it, but it is not the end.
    Open(AttemptStatus),
    /// The channel does not know it, and rule NF does not hold yet.
    NotFound(Timestamp),
    /// Nothing is known.
    Unknown(Cause),
    /// Money.
    Money(Success),
}

impl Draft<'_> {
    /// Applies `answers` in attempt order.
    pub(crate) fn apply(&mut self, answers: &[AttemptAnswers], known: &Knowledge) -> Undecided {
        let mut undecided = Undecided::default();
        let mut ordered: Vec<&AttemptAnswers> = answers.iter().collect();
        ordered.sort_by_key(|answer| answer.attempt);
        for answer in ordered {
            self.apply_one(answer, known, &mut undecided);
        }
        undecided
    }

    fn apply_one(&mut self, answer: &AttemptAnswers, known: &Knowledge, undecided: &mut Undecided) {
        let no = answer.attempt;
        let Some(attempt) = self.order.attempts.get_mut(no.index()) else {
            return;
        };
        let verdict = verdict(attempt, answer);
        let definite = !matches!(verdict, Verdict::Unknown(_));
        match verdict {
            Verdict::Money(success) => {
                self.apply_money(no, &success, known, undecided);
                return;
            }
            Verdict::Settled(status) => {
                if attempt.is_unsettled() {
                    attempt.status = status;
                }
                attempt.first_not_found = None;
                attempt.place_before = None;
            }
            Verdict::Open(status) => {
                if attempt.is_unsettled() {
                    attempt.status = status;
                }
                attempt.first_not_found = None;
                undecided.error = Some(Cause::new(format!("attempt {no}: {}", fact_name(&answer.fact))));
            }
            Verdict::NotFound(at) => {
                attempt.first_not_found.get_or_insert(answer.sent_at);
                undecided.not_found_at = Some(undecided.not_found_at.map_or(at, |earlier| earlier.min(at)));
                undecided.error = Some(Cause::new(format!("attempt {no}: not found, may still come")));
            }
            Verdict::Unknown(cause) => {
                if attempt.status == AttemptStatus::Processing {
                    attempt.status = AttemptStatus::Unknown;
                }
                undecided.error = Some(Cause::new(format!("attempt {no}: {cause}")));
            }
        }
        // On an open order any definite answer ends an ask: the deadline asks again. On a terminal one only the end does (DESIGN §5.6).
        let settled = !attempt.is_unsettled();
        let still_open = matches!(answer.fact, PaymentFact::Open | PaymentFact::Processing);
        // A settled attempt that the channel calls open is asked about until it is closed there as well.
        let contradicts = settled && still_open;
        if definite && !contradicts && (settled || !self.order.status.is_terminal()) {
            self.order.pending.remove(&Unit::Ask(no));
        }
    }

    fn apply_money(&mut self, no: AttemptNo, success: &Success, known: &Knowledge, undecided: &mut Undecided) {
        let whole = match compare(&self.order, no, success) {
            Some(Comparison::Ours) => true,
            Some(Comparison::OtherAmount | Comparison::OtherCurrency) => false,
            Some(Comparison::OtherNumber | Comparison::OtherMerchant) | None => {
                self.doubt(no, "a success of another number or merchant", undecided);
                return;
            }
        };
        if known.taken(self.before(), no) || taken_within(&self.order, no, success) {
            self.signals.push(Signal::TransactionTaken(no));
            self.doubt(no, "its transaction belongs to another order or attempt", undecided);
            undecided.needs_person = true;
            return;
        }
        self.receive(no, success, whole, None);
    }

    /// A success that cannot be this attempt's: neither PAID nor CLOSED.
    fn doubt(&mut self, no: AttemptNo, why: &str, undecided: &mut Undecided) {
        if let Some(attempt) = self.order.attempts.get_mut(no.index())
            && attempt.status != AttemptStatus::Succeeded
        {
            attempt.status = AttemptStatus::Unknown;
        }
        undecided.error = Some(Cause::new(format!("attempt {no}: {why}")));
    }
}

fn verdict(attempt: &Attempt, answer: &AttemptAnswers) -> Verdict {
    match (&answer.fact, &answer.asked) {
        (PaymentFact::Succeeded(success), Asked::Query | Asked::Closed(_)) => Verdict::Money(success.clone()),
        (PaymentFact::NotPaidClosed, Asked::Closed(_)) => Verdict::Settled(AttemptStatus::Closed),
        (PaymentFact::Failed, Asked::Closed(close)) if was_closed(close) => Verdict::Settled(AttemptStatus::Failed),
        // An attempt that we never closed is never settled (DESIGN §3).
        (PaymentFact::NotPaidClosed, Asked::Query) | (PaymentFact::Failed, Asked::Query | Asked::Closed(_)) => {
            Verdict::Open(AttemptStatus::Unknown)
        }
        (PaymentFact::Open | PaymentFact::Processing, Asked::Query | Asked::Closed(_)) => {
            Verdict::Open(AttemptStatus::Processing)
        }
        (PaymentFact::NotFound, asked) => {
            let true_from = not_found_from(attempt, answer.sent_at);
            let asked_to_close = matches!(asked, Asked::Closed(_));
            let asked_twice = attempt.first_not_found.is_some();
            if asked_to_close && asked_twice && answer.sent_at >= true_from {
                Verdict::Settled(AttemptStatus::Closed)
            } else {
                Verdict::NotFound(true_from)
            }
        }
        (PaymentFact::Unknown(cause), Asked::Query | Asked::Closed(_)) => Verdict::Unknown(cause.clone()),
    }
}

/// Rule NF(b): from when on NOT_FOUND means that no money can come any more. Counted by the time queries are *sent*.
fn not_found_from(attempt: &Attempt, sent_at: Timestamp) -> Timestamp {
    let first = attempt.first_not_found.unwrap_or(sent_at);
    let after_credential = attempt.credential_expiry().plus(limits::NOT_FOUND_GRACE);
    after_credential.max(first.plus(limits::NOT_FOUND_APART))
}

/// Whether the channel definitely took the close. Its word alone proves nothing; the query after it does.
fn was_closed(close: &CloseOutcome) -> bool {
    match close {
        CloseOutcome::Accepted | CloseOutcome::AlreadyClosed | CloseOutcome::NotFound => true,
        CloseOutcome::AlreadyPaid
        | CloseOutcome::InProgress
        | CloseOutcome::TooEarly { .. }
        | CloseOutcome::Unknown(_) => false,
    }
}

/// The fact's name in errors and conversations.
#[must_use]
pub fn fact_name(fact: &PaymentFact) -> &'static str {
    match fact {
        PaymentFact::Succeeded(_) => "SUCCEEDED",
        PaymentFact::NotPaidClosed => "NOT_PAID_CLOSED",
        PaymentFact::Failed => "FAILED",
        PaymentFact::Open => "OPEN",
        PaymentFact::Processing => "PROCESSING",
        PaymentFact::NotFound => "NOT_FOUND",
        PaymentFact::Unknown(_) => "UNKNOWN",
    }
}
