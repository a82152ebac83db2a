//! The invariants of DESIGN §2 after every committed write, and what was written, in words.
//!
//! ```text
//! a call of the database is carried out ─► all items it changed ─► the shop as it is now ─► what is wrong with it?
//! ```
//!
//! An order is judged by itself and by what it was before; counters, coupons and transactions by all orders together.

mod image;
mod ledger;
mod order;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use expiry_core::order::Order;
use expiry_core::time::{Clock, Timestamp};
use local::clock::MovableClock;
use local::cloud::{Cloud, Write};

use self::image::Image;
use self::ledger::Ledger;
use crate::timeline::Timeline;

/// How far a function's clock may be from the true one before it acts on nothing: the skew of DESIGN §5 (1.5 s), the whole second
/// that a `Date` does not show, and the way there.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(3);

/// Sees every write, and remembers what is wrong. Clones share it.
#[derive(Clone, Debug)]
pub struct Watch {
    seen: Arc<Mutex<Seen>>,
}

/// What else is wrong with the write of an order, from what it was to what it is.
type Judge = Box<dyn FnMut(Option<&Order>, &Order) -> Vec<String> + Send>;

struct Seen {
    clock: MovableClock,
    timeline: Timeline,
    ledger: Ledger,
    judges: Vec<Judge>,
    breaches: Vec<String>,
}

impl fmt::Debug for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Seen").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches `cloud` from now on; it must be empty.
    #[must_use]
    pub fn on(cloud: &Cloud, timeline: &Timeline) -> Watch {
        let (clock, timeline) = (cloud.clock().clone(), timeline.clone());
        let seen = Seen { clock, timeline, ledger: Ledger::default(), judges: Vec::new(), breaches: Vec::new() };
        let watch = Watch { seen: Arc::new(Mutex::new(seen)) };
        let observer = watch.clone();
        cloud.observe_writes(move |writes| observer.lock().see(writes));
        watch
    }

    /// What was wrong after some write, in the order of the writes; empty when nothing ever was.
    #[must_use]
    pub fn breaches(&self) -> Vec<String> {
        self.lock().breaches.clone()
    }

    /// Lets `judge` look at every write of an order as well, from what it was to what it is.
    pub fn also(&self, judge: impl FnMut(Option<&Order>, &Order) -> Vec<String> + Send + 'static) {
        self.lock().judges.push(Box::new(judge));
    }

    /// Adds what somebody else found wrong.
    pub fn report(&self, breach: String) {
        self.lock().report(breach);
    }

    /// Every order as it is stored now.
    #[must_use]
    pub fn orders(&self) -> Vec<Order> {
        self.lock().ledger.orders().cloned().collect()
    }

    /// How many orders are not terminal, or have work left.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.lock().ledger.unfinished()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn see(&mut self, writes: &[Write]) {
        let now = self.clock.now();
        let mut found = Vec::new();
        for write in writes {
            match Image::read(write) {
                Ok(image) => self.take(image, now, &mut found),
                Err(error) => found.push(format!("{} cannot be read: {error}", write.key)),
            }
        }
        self.ledger.judge(&mut found);
        found.into_iter().for_each(|breach| self.report(breach));
    }

    fn take(&mut self, image: Image, now: Timestamp, found: &mut Vec<String>) {
        if let Image::Order(after) = &image {
            let before = self.ledger.order(&after.id);
            self.timeline.wrote(before, after);
            found.extend(order::breaches(before, after, now));
            found.extend(self.judges.iter_mut().flat_map(|judge| judge(before, after)));
        }
        found.extend(self.ledger.take(image));
    }

    fn report(&mut self, breach: String) {
        self.timeline.note(&format!("BREACH {breach}"));
        self.breaches.push(breach);
    }
}
