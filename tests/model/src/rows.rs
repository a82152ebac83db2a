//! The rows beside the order, each with the condition the store gives it (DESIGN §6).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use expiry_core::ids::{OrderId, TransactionId};
use expiry_core::order::Order;
use expiry_core::reservation::{CounterKey, CouponStatus};
use expiry_core::row::{CounterChange, CouponChange, CouponTerms, Refusal, Row};

use crate::payer::taken;

/// A counter: `on_hand = available + reserved + sold` (I5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counter {
    /// Free.
    pub available: u64,
    /// Held by orders.
    pub reserved: u64,
    /// Sold.
    pub sold: u64,
}

/// How many units every counter begins with.
pub const ON_HAND: u64 = 15;
/// How many of them other orders hold: enough for a second release of the same hold to go unnoticed by the counter.
pub const OF_OTHERS: u64 = 5;

/// The rows beside the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    /// Counters; one that is not here has [`ON_HAND`] units, [`OF_OTHERS`] of them held by other orders.
    pub counters: BTreeMap<CounterKey, Counter>,
    /// The coupon the order holds.
    pub coupon: Option<CouponTerms>,
    /// `T#<channel>#<transaction>`: money that is recorded, for this order or another.
    pub transactions: BTreeSet<TransactionId>,
}

/// The rows before an order is created: more than one beginning where it holds a coupon, for that may be good, past its end when the
/// order is closed, not refundable, or of a campaign that stops.
#[must_use]
pub fn beginnings(order: &Order) -> Vec<Rows> {
    let rows = Rows { transactions: BTreeSet::from([taken()]), ..Rows::default() };
    if order.coupon.is_none() {
        return vec![rows];
    }
    let long = order.created_at.plus(Duration::from_secs(1_000_000));
    let soon = order.created_at.plus(Duration::from_secs(61));
    let coupon = |(valid_until, refundable, campaign_active)| Rows {
        coupon: Some(CouponTerms {
            valid_until,
            refundable,
            campaign_active,
            status: CouponStatus::Available,
            holder: None,
        }),
        ..rows.clone()
    };
    [(long, true, true), (soon, true, true), (long, false, true), (long, true, false)].map(coupon).to_vec()
}

impl Rows {
    /// The rows after `changes` of `order`, in one transaction.
    ///
    /// # Errors
    /// What the first row that objects is refused for; then nothing has changed.
    pub fn with(&self, order: &OrderId, changes: &[Row]) -> Result<Rows, Refusal> {
        let mut rows = self.clone();
        for change in changes {
            rows.apply(order, change)?;
        }
        Ok(rows)
    }

    fn apply(&mut self, order: &OrderId, change: &Row) -> Result<(), Refusal> {
        match change {
            Row::Transaction { transaction, attempt, .. } => {
                let is_new = self.transactions.insert(transaction.clone());
                is_new.then_some(()).ok_or(Refusal::TransactionTaken(*attempt))
            }
            Row::Counter { key, change } => {
                let start = Counter { available: ON_HAND - OF_OTHERS, reserved: OF_OTHERS, sold: 0 };
                let counter = self.counters.entry(key.clone()).or_insert(start);
                let Counter { available, reserved, sold } = counter;
                let (from, to, quantity) = match change {
                    CounterChange::Reserve(quantity) => (available, reserved, quantity),
                    CounterChange::Sell(quantity) => (available, sold, quantity),
                    CounterChange::Confirm(quantity) => (reserved, sold, quantity),
                    CounterChange::Release(quantity) => (reserved, available, quantity),
                };
                let left = from.checked_sub(quantity.get()).ok_or_else(|| Refusal::Counters(vec![key.clone()]))?;
                *from = left;
                *to += quantity.get();
                Ok(())
            }
            Row::Coupon { change, .. } => {
                let coupon = self.coupon.as_mut().ok_or(Refusal::Coupon)?;
                let (from, holder) = match change {
                    CouponChange::Lock { .. } | CouponChange::UseAtOnce { .. } => (CouponStatus::Available, None),
                    CouponChange::Use => (CouponStatus::Locked, Some(order)),
                    CouponChange::GiveBack { terms, .. } if terms != coupon => return Err(Refusal::Coupon),
                    CouponChange::GiveBack { .. } => (CouponStatus::Locked, Some(order)),
                };
                if coupon.status != from || coupon.holder.as_ref() != holder {
                    return Err(Refusal::Coupon);
                }
                let (to, holder) = match change {
                    CouponChange::Lock { .. } => (CouponStatus::Locked, Some(order)),
                    CouponChange::Use | CouponChange::UseAtOnce { .. } => (CouponStatus::Used, Some(order)),
                    CouponChange::GiveBack { to, .. } => (*to, None),
                };
                (coupon.status, coupon.holder) = (to, holder.cloned());
                Ok(())
            }
            // The cap on open orders is off in every cast: it is another order's concern.
            Row::OpenOrders { .. } => Err(Refusal::OpenOrders),
        }
    }
}
