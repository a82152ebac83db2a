//! What disturbs a run: every disturbance has a name, so that a run can be repeated without some of them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What kind of thing disturbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A customer orders.
    Customer,
    /// A customer pays or cancels.
    Act,
    /// An operator clicks.
    Operator,
    /// Something breaks for a while, or dies.
    Trouble,
    /// A channel says something else than it will.
    Mood,
    /// A payer pays while the shop is closing the payment.
    LastMoment,
    /// A call of AWS goes wrong.
    Call,
    /// A call of the channel goes wrong.
    ChannelCall,
    /// A message is late.
    LateMessage,
    /// A message comes twice.
    Copy,
    /// A message is lost.
    LostMessage,
    /// A schedule fires very late.
    LateSchedule,
    /// A schedule fires before its time.
    EarlySchedule,
    /// The functions' clock is apart from the true one.
    Clock,
}

/// One disturbance of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disturbance {
    /// Its kind.
    pub kind: Kind,
    /// Its number within the kind.
    pub number: u64,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} {}", self.kind, self.number)
    }
}

/// What is spared, and what has disturbed so far. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    spared: BTreeSet<Disturbance>,
    happened: BTreeSet<Disturbance>,
}

impl Plan {
    pub(super) fn sparing(spared: BTreeSet<Disturbance>) -> Plan {
        Plan(Arc::new(Mutex::new(State { spared, happened: BTreeSet::new() })))
    }

    /// Whether this disturbance happens.
    pub(super) fn happens(&self, kind: Kind, number: u64) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let disturbance = Disturbance { kind, number };
        let happens = !state.spared.contains(&disturbance);
        if happens {
            state.happened.insert(disturbance);
        }
        happens
    }

    pub(super) fn happened(&self) -> BTreeSet<Disturbance> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).happened.clone()
    }
}
