//! Starting payments, judged from outside: what leaves, what is sent, and how often something is begun (DESIGN §4, I10).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use expiry_core::limits::LAST_CREDENTIAL_BEFORE_EXPIRY;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::time::{Clock, Timestamp};
use local::clock::MovableClock;

/// How far the clock may be off that a function goes by, and how long a call is on its way.
const TOLERANCE: Duration = Duration::from_secs(3);

/// What is known of payments that were started. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    clock: MovableClock,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// By our number: whether the second write found the order payable.
    payable: BTreeMap<String, bool>,
    /// By our number: until when a create call may be sent.
    place_before: BTreeMap<String, Timestamp>,
    /// By order: how often an attempt was begun or resumed, and how often somebody asked for that.
    begun: BTreeMap<String, u32>,
    asked: BTreeMap<String, u32>,
    /// By order: the version that began or resumed one last.
    last: BTreeMap<String, u64>,
}

impl Known {
    /// Each request begins or resumes one attempt, also when the answer of its write was lost. Where somebody else has written since,
    /// it may find its own attempt and resume it.
    fn once_each(&mut self, order: &Order) -> Vec<String> {
        let id = order.id.to_string();
        let last = self.last.insert(id.clone(), order.version);
        let begun = self.begun.get(&id).copied().unwrap_or(0);
        let asked = self.asked.entry(id.clone()).or_default();
        if begun <= *asked {
            return Vec::new();
        }
        if last != Some(order.version - 1) {
            *asked = begun;
            return Vec::new();
        }
        vec![format!("{id}: payments were begun {begun} times, and asked for {asked} times")]
    }
}

impl Credentials {
    pub(super) fn new(clock: MovableClock) -> Credentials {
        Credentials { clock, known: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a write of an order; answers what is wrong.
    pub(super) fn see(&self, before: Option<&Order>, after: &Order) -> Vec<String> {
        let now = self.clock.now();
        let mut known = self.known();
        let mut begins = false;
        for (no, attempt) in after.numbered_attempts() {
            let number = after.out_trade_no(no).to_string();
            let was = before.and_then(|before| before.attempt(no));
            let was_placing = was.and_then(|was| was.place_before);
            let is_replaced = attempt.replaced && was.is_some_and(|was| !was.replaced);
            if let Some(last) = attempt.place_before
                && (was_placing != Some(last) || is_replaced)
            {
                known.place_before.insert(number.clone(), last);
                known.payable.remove(&number);
                *known.begun.entry(after.id.to_string()).or_default() += 1;
                begins = true;
            }
            // The second write takes the first one's mark away; so does a settlement, which hands out nothing.
            if was_placing.is_some() && attempt.place_before.is_none() {
                let newest = no.index() + 1 == after.attempts.len();
                let in_time =
                    after.expire_at.is_none_or(|at| now < at.minus(LAST_CREDENTIAL_BEFORE_EXPIRY).plus(TOLERANCE));
                let payable = after.status == OrderStatus::Paying && newest && attempt.is_unsettled() && in_time;
                known.payable.insert(number, payable);
            }
        }
        if begins { known.once_each(after) } else { Vec::new() }
    }

    /// Somebody asks for a payment of this order.
    pub(super) fn asked_for(&self, order: &str) {
        *self.known().asked.entry(order.to_owned()).or_default() += 1;
    }

    /// A credential left for this payment; answers what is wrong.
    pub(super) fn left(&self, number: &str) -> Option<String> {
        let payable = self.known().payable.get(number).copied();
        let breach =
            || format!("I10: a credential of {number} left, and the second write found it payable: {payable:?}");
        (payable != Some(true)).then(breach)
    }

    /// A create call is sent; answers what is wrong.
    pub(super) fn placed(&self, number: &str) -> Option<String> {
        let (now, last) = (self.clock.now(), self.known().place_before.get(number).copied());
        let breach = || format!("DESIGN §4.2: {number} is placed at {now}, and the last moment was {last:?}");
        last.is_none_or(|last| now > last.plus(TOLERANCE)).then(breach)
    }
}
