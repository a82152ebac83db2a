//! A run: decide, ask, commit, decide again, as the shell does it; and what is checked of every commit on the way.

use std::collections::BTreeSet;
use std::fmt::Debug;

use expiry_core::closing::CloseReason;
use expiry_core::decide::ask::Ask;
use expiry_core::decide::close::{Close, Occasion};
use expiry_core::decide::refund::WorkRefund;
use expiry_core::decide::start_payment::StartPayment;
use expiry_core::decide::{Command, Commit, Decision, Knowledge, Question, Then, decide};
use expiry_core::evidence::Actor;
use expiry_core::fact::Cause;
use expiry_core::initiator::Initiator;
use expiry_core::invariants::{breaches, transition_breaches};
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::row::Row;
use expiry_core::signal::Signal;
use expiry_core::time::Timestamp;

use super::*;

/// How a run ended, and what it did.
#[derive(Clone, Debug)]
pub(crate) struct Run<O> {
    pub(crate) order: Order,
    pub(crate) outcome: O,
    pub(crate) signals: Vec<Signal>,
    pub(crate) rows: Vec<Row>,
    pub(crate) asked: Vec<Question>,
    pub(crate) commits: usize,
    /// Its status at first and after every commit.
    pub(crate) path: Vec<OrderStatus>,
}

impl<O> Run<O> {
    /// Whether anything was written.
    pub(crate) fn changed_nothing(&self) -> bool {
        self.commits == 0
    }
}

/// Carries `command` out on `order` at `now`, in `world`.
pub(crate) fn run<C>(order: &Order, command: &C, world: &World, now: Timestamp) -> Run<C::Outcome>
where
    C: Command,
    C::Outcome: Debug + Clone,
{
    let mut run_order = order.clone();
    let (mut signals, mut rows, mut asked, mut commits) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut path = vec![order.status];
    let mut known = Knowledge::default();
    for _ in 0..limits::DECISION_ROUNDS {
        match decide(&run_order, command, &known, now) {
            Decision::Done(outcome) => return Run { order: run_order, outcome, signals, rows, asked, commits, path },
            Decision::Ask(question) => {
                known.learn(&run_order, world.answer(&question, now));
                asked.push(question);
            }
            Decision::Commit(commit) => {
                check_commit(&run_order, &commit, now);
                if let Some(refusal) = world.refusal(&commit.rows) {
                    known.refuse(commit.on_version, refusal);
                    continue;
                }
                let Commit { order: written, rows: more_rows, signals: more_signals, then, .. } = *commit;
                run_order = written;
                rows.extend(more_rows);
                signals.extend(more_signals);
                commits += 1;
                path.push(run_order.status);
                if let Then::Done(outcome) = then {
                    return Run { order: run_order, outcome, signals, rows, asked, commits, path };
                }
            }
        }
    }
    panic!("the run did not end: {run_order:#?}");
}

/// What holds of every commit.
pub(crate) fn check_commit<O: Debug>(before: &Order, commit: &Commit<O>, now: Timestamp) {
    let after = &commit.order;
    let old = breaches(before);
    let new: Vec<_> = breaches(after).into_iter().filter(|breach| !old.iter().any(|o| o.what == breach.what)).collect();
    assert_eq!(new, Vec::new(), "an invariant is broken by {commit:#?}");
    assert_eq!(transition_breaches(before, after), Vec::new(), "by {commit:#?}");
    assert_eq!((commit.on_version, commit.on_status), (before.version, before.status), "the fence of {commit:#?}");
    assert_eq!(after.version, before.version + 1, "every write raises the version by one");
    if before.status != after.status {
        let last = after.evidence.last().expect("I11: a status change has evidence");
        assert_eq!((last.version, last.to, last.at), (after.version, after.status, now), "I11");
        assert!(!last.trigger.is_empty() && !last.fact.is_empty(), "I11: trigger and fact");
        assert!(after.evidence.len() <= limits::EVIDENCE, "at most five are kept");
    } else {
        assert_eq!(after.evidence, before.evidence, "I11: evidence is of status changes");
    }
    assert_eq!(after.due_at.is_some(), stands_in_due_index(after), "I12");
    if let (Some(was), Some(is)) = (before.due_at, after.due_at)
        && (before.expire_at == after.expire_at || !before.pending.is_empty())
    {
        assert!(is <= was.max(now), "I12: nothing postpones a due_at that has work");
    }
    if after.status.is_terminal() {
        for (no, attempt) in after.numbered_attempts() {
            assert!(!attempt.is_unsettled() || after.pending.contains(&Unit::Ask(no)), "I13: attempt {no}");
        }
        let turn = after.closing.as_ref().map(|task| &task.turn);
        assert!(turn.is_none_or(|turn| turn.next_check_at.is_none() && turn.owner.is_none()), "§5.4: a lease is left");
    }
    if after.status == OrderStatus::Closed && before.status != OrderStatus::Closing {
        let never_tried = before.status == OrderStatus::PendingPayment && before.attempts.is_empty();
        assert!(before.status == OrderStatus::Closed || never_tried, "closed directly though an attempt was written");
    }
    // One row may stand in a transaction only once.
    let mut keys = BTreeSet::new();
    for row in &commit.rows {
        let key = match row {
            Row::Transaction { channel, transaction, .. } => format!("T#{channel}#{transaction}"),
            Row::Counter { key, .. } => format!("{key:?}"),
            Row::Coupon { id, .. } => format!("C#{id}"),
            Row::OpenOrders { user, .. } => format!("U#{user}"),
        };
        assert!(keys.insert(key.clone()), "the row {key} stands in one transaction twice");
    }
}

/// I close it, occasioned so.
pub(crate) fn close(occasion: Occasion) -> Close {
    Close { occasion, worker: me(), lease: LEASE, scan_period: SCAN_PERIOD }
}

pub(crate) fn wake() -> Close {
    close(Occasion::Wake { expire_at: deadline() })
}

pub(crate) fn scan() -> Close {
    close(Occasion::Scan)
}

pub(crate) fn retry(check_at: Timestamp) -> Close {
    close(Occasion::Retry { check_at })
}

pub(crate) fn cancel() -> Close {
    close(Occasion::Cancel {
        actor: Actor::Customer,
        close_reason: CloseReason::CancelledByUser,
        reason: Cause::new("changed my mind"),
    })
}

pub(crate) fn check() -> Close {
    close(Occasion::Check { actor: Actor::Named("ops".to_owned()), reason: Cause::new("a call") })
}

pub(crate) fn ask() -> Ask {
    Ask { check_at: None, worker: me(), lease: LEASE, scan_period: SCAN_PERIOD, at_once: false }
}

/// The customer pays all that is unpaid through `sim`.
pub(crate) fn start() -> StartPayment {
    StartPayment {
        channel: channel("sim"),
        merchant: merchant("sim-merchant"),
        min_expiry: seconds(0),
        method: None,
        amount: None,
        initiator: Initiator::Customer,
        place_before: in_time().plus(seconds(20)),
    }
}

pub(crate) fn give_back(number: u64) -> WorkRefund {
    WorkRefund { attempt: no(number), check_at: None, worker: me(), lease: LEASE, scan_period: SCAN_PERIOD }
}
