//! The whole shop as it is stored now: what orders hold, and what counters, coupons and transactions say of it.

use std::collections::{BTreeMap, BTreeSet};

use expiry_core::ids::OrderId;
use expiry_core::order::Order;
use expiry_core::reservation::{CouponStatus, HoldStatus, ResourceKind};

use super::image::{Counter, Image};

/// Every row that invariants speak of.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    orders: BTreeMap<OrderId, Order>,
    /// Orders that are not terminal, or have work left.
    unfinished: BTreeSet<OrderId>,
    counters: BTreeMap<String, Counter>,
    coupons: BTreeMap<String, (String, Option<String>)>,
    transactions: BTreeMap<String, (String, String)>,
    /// What orders hold and have bought of each counter.
    held: BTreeMap<String, Held>,
    /// What changed since it was judged last.
    changed: BTreeSet<String>,
}

/// What all orders together hold of one counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    reserved: u64,
    sold: u64,
}

impl Ledger {
    pub(super) fn order(&self, id: &OrderId) -> Option<&Order> {
        self.orders.get(id)
    }

    pub(super) fn orders(&self) -> impl Iterator<Item = &Order> {
        self.orders.values()
    }

    pub(super) fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// Takes a row as it is now, and answers what is wrong with its change.
    pub(super) fn take(&mut self, image: Image) -> Option<String> {
        match image {
            Image::Order(order) => {
                self.take_order(*order);
                None
            }
            Image::Counter { key, counter } => {
                self.changed.insert(key.clone());
                let was = self.counters.insert(key.clone(), counter)?;
                // Only an operator's edit changes how much there is, and it touches nothing that orders hold.
                let is_edit = (was.reserved, was.sold) == (counter.reserved, counter.sold);
                let is_whole = was.on_hand() == counter.on_hand();
                (!is_edit && !is_whole).then(|| format!("I5: {key} was {was:?} and became {counter:?}"))
            }
            Image::Coupon { key, status, holder } => {
                self.changed.insert(key.clone());
                self.coupons.insert(key, (status, holder));
                None
            }
            Image::Transaction { key, of } => {
                let was = self.transactions.insert(key.clone(), of.clone());
                let moved = was.filter(|was| *was != of)?;
                Some(format!("I9: {key} was {moved:?}'s and became {of:?}'s"))
            }
            Image::Other => None,
        }
    }

    fn take_order(&mut self, order: Order) {
        if let Some(before) = self.orders.get(&order.id).cloned() {
            self.count(&before, |held, by| *held -= by);
        }
        self.count(&order, |held, by| *held += by);
        if order.status.is_terminal() && order.pending.is_empty() && order.due_at.is_none() {
            self.unfinished.remove(&order.id);
        } else {
            self.unfinished.insert(order.id.clone());
        }
        self.orders.insert(order.id.clone(), order);
    }

    fn count(&mut self, order: &Order, change: impl Fn(&mut u64, u64)) {
        for kind in ResourceKind::ALL {
            for (key, quantity, hold) in order.counter_holds(kind) {
                let key = format!("{}#{key}", kind.name());
                let held = self.held.entry(key.clone()).or_default();
                match hold {
                    HoldStatus::Reserved => change(&mut held.reserved, quantity.get()),
                    HoldStatus::Confirmed => change(&mut held.sold, quantity.get()),
                    HoldStatus::Released => {}
                }
                self.changed.insert(key);
            }
        }
        if let Some(coupon) = &order.coupon {
            self.changed.insert(format!("coupon#{}", coupon.id));
        }
    }

    /// Judges what changed, once everything that one call wrote was taken.
    pub(super) fn judge(&mut self, found: &mut Vec<String>) {
        for key in std::mem::take(&mut self.changed) {
            if key.starts_with("coupon#") {
                found.extend(self.judge_coupon(&key));
            } else {
                found.extend(self.judge_counter(&key));
            }
        }
    }

    /// I5: `reserved` is the sum of what orders hold, and `sold` of what they bought.
    fn judge_counter(&self, key: &str) -> Option<String> {
        let counter = self.counters.get(key).copied().unwrap_or_default();
        let held = self.held.get(key).copied().unwrap_or_default();
        let agrees = counter.reserved == held.reserved && counter.sold == held.sold;
        (!agrees).then(|| format!("I5: {key} is {counter:?}, and orders have {held:?}"))
    }

    /// A coupon is LOCKED or USED by the one order that says so of it.
    fn judge_coupon(&self, key: &str) -> Option<String> {
        let (status, holder) = self.coupons.get(key)?;
        let mut said = self.orders.values().filter_map(|order| {
            let coupon = order.coupon.as_ref().filter(|coupon| format!("coupon#{}", coupon.id) == key)?;
            matches!(coupon.status, CouponStatus::Locked | CouponStatus::Used)
                .then(|| (coupon.status.name(), order.id.to_string()))
        });
        let (first, another) = (said.next(), said.next());
        let expected = match &first {
            Some((status, order)) => (*status, Some(order.clone())),
            None if matches!(status.as_str(), "AVAILABLE" | "EXPIRED" | "VOID") => (status.as_str(), None),
            None => ("free", None),
        };
        let agrees = another.is_none() && (status.as_str(), holder.clone()) == expected;
        (!agrees).then(|| format!("I6: {key} is {status} by {holder:?}, and orders say {first:?}, {another:?}"))
    }
}
