//! The model of the database: maps, and what each write does to them, all of it or nothing.

use std::collections::BTreeMap;

use expiry_core::decide::Commit;
use expiry_core::decide::create::Creation;
use expiry_core::ids::{AttemptNo, OrderId, UserId};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::reservation::{CounterKey, CouponStatus};
use expiry_core::row::{CounterChange, CouponChange, OpenOrdersChange, Refusal, Row};
use expiry_store::{Counter, Coupon, DuePosition};

use crate::scene::coupon;

/// Everything that is stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) orders: BTreeMap<OrderId, Order>,
    pub(crate) counters: BTreeMap<CounterKey, Counter>,
    pub(crate) coupon: Option<Coupon>,
    /// `<channel>#<transaction>` → whose money it is.
    pub(crate) transactions: BTreeMap<String, (OrderId, AttemptNo)>,
    pub(crate) open_orders: BTreeMap<UserId, u32>,
}

/// What a write of an order comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// It is done, or was before: the order is this.
    Stored(Order),
    /// The order is not what it was decided on.
    Lost(Order),
    /// A row beside it is not.
    Refused(Refusal),
}

impl Tables {
    /// A new order with what it reserves; one that is there already is answered, whatever else there is to say.
    pub(crate) fn create(&mut self, creation: &Creation) -> Written {
        match self.orders.get(&creation.order.id) {
            Some(existing) => Written::Stored(existing.clone()),
            None => self.write(&creation.order, &creation.rows),
        }
    }

    /// A decision, on the condition that the order is what it was decided on.
    pub(crate) fn commit(&mut self, commit: &Commit<()>) -> Written {
        let order = &self.orders[&commit.order.id];
        let is_as_decided_on = order.version == commit.on_version && order.status == commit.on_status;
        let is_past = |now| order.expire_at.is_some_and(|expire_at| expire_at <= now);
        if !is_as_decided_on || !commit.after_deadline.is_none_or(is_past) {
            return Written::Lost(order.clone());
        }
        self.write(&commit.order, &commit.rows)
    }

    fn write(&mut self, order: &Order, rows: &[Row]) -> Written {
        let mut after = self.clone();
        after.orders.insert(order.id.clone(), order.clone());
        let refused: Vec<&Row> = rows.iter().filter(|row| !after.change(order, row)).collect();
        match refusal(&refused) {
            Some(refusal) => Written::Refused(refusal),
            None => {
                *self = after;
                Written::Stored(order.clone())
            }
        }
    }

    /// Changes one row; `false` when it is not as it has to be.
    fn change(&mut self, order: &Order, row: &Row) -> bool {
        match row {
            Row::Transaction { channel, transaction, attempt, .. } => {
                let owner = (order.id.clone(), *attempt);
                self.transactions.insert(format!("{channel}#{transaction}"), owner).is_none()
            }
            Row::Counter { key, change } => self.move_counter(key, *change).is_some(),
            Row::Coupon { id, change } => *id == coupon() && self.move_coupon(order, change).is_some(),
            Row::OpenOrders { user, change } => {
                let open = self.open_orders.entry(user.clone()).or_default();
                let moved = match change {
                    OpenOrdersChange::Count { most } => (*open < *most).then(|| *open + 1),
                    OpenOrdersChange::Uncount => open.checked_sub(1),
                };
                moved.map(|moved| *open = moved).is_some()
            }
        }
    }

    fn move_counter(&mut self, key: &CounterKey, change: CounterChange) -> Option<()> {
        let Counter { available, reserved, sold } = self.counters.get_mut(key)?;
        let (from, to, quantity) = match change {
            CounterChange::Reserve(quantity) => (available, reserved, quantity),
            CounterChange::Sell(quantity) => (available, sold, quantity),
            CounterChange::Confirm(quantity) => (reserved, sold, quantity),
            CounterChange::Release(quantity) => (reserved, available, quantity),
        };
        *from = from.checked_sub(quantity.get())?;
        *to += quantity.get();
        Some(())
    }

    fn move_coupon(&mut self, order: &Order, change: &CouponChange) -> Option<()> {
        let Coupon { user, terms } = self.coupon.as_mut()?;
        let is_mine = terms.status == CouponStatus::Locked && terms.holder.as_ref() == Some(&order.id);
        let is_free = |by, now| {
            terms.status == CouponStatus::Available && user == by && terms.valid_until > now && terms.campaign_active
        };
        let (allowed, to) = match change {
            CouponChange::Lock { user, now } => (is_free(user, *now), CouponStatus::Locked),
            CouponChange::UseAtOnce { user, now } => (is_free(user, *now), CouponStatus::Used),
            CouponChange::Use => (is_mine, CouponStatus::Used),
            CouponChange::GiveBack { to, terms: read } => (is_mine && terms == read, *to),
        };
        terms.status = to;
        terms.holder = match change {
            CouponChange::GiveBack { .. } => None,
            CouponChange::Lock { .. } | CouponChange::UseAtOnce { .. } | CouponChange::Use => Some(order.id.clone()),
        };
        allowed.then_some(())
    }

    /// What stands in the due index, earliest first: I12, said once more.
    pub(crate) fn due(&self) -> Vec<DuePosition> {
        let due = self.orders.values().filter(|order| {
            let has_work = !order.pending.is_empty();
            match order.status {
                OrderStatus::Paid | OrderStatus::Closed => has_work,
                OrderStatus::Closing => true,
                OrderStatus::PendingPayment | OrderStatus::Paying => {
                    order.expire_at.is_some() || has_work || order.unsettled_attempts().next().is_some()
                }
            }
        });
        let position = |order: &Order| DuePosition { due_at: order.due_at.expect("I12"), order: order.id.clone() };
        let mut due: Vec<DuePosition> = due.map(position).collect();
        due.sort();
        due
    }
}

/// Reservations are named before anything else, all of them; money that is another's before coupon and cap.
fn refusal(refused: &[&Row]) -> Option<Refusal> {
    let counters: Vec<CounterKey> = refused.iter().filter_map(|row| counter(row)).collect();
    if !counters.is_empty() {
        return Some(Refusal::Counters(counters));
    }
    let taken = refused.iter().find_map(|row| taken(row));
    taken.or_else(|| refused.first().and_then(|row| other(row)))
}

fn counter(row: &Row) -> Option<CounterKey> {
    match row {
        Row::Counter { key, .. } => Some(key.clone()),
        Row::Transaction { .. } | Row::Coupon { .. } | Row::OpenOrders { .. } => None,
    }
}

fn taken(row: &Row) -> Option<Refusal> {
    match row {
        Row::Transaction { attempt, .. } => Some(Refusal::TransactionTaken(*attempt)),
        Row::Counter { .. } | Row::Coupon { .. } | Row::OpenOrders { .. } => None,
    }
}

fn other(row: &Row) -> Option<Refusal> {
    match row {
        Row::Coupon { .. } => Some(Refusal::Coupon),
        Row::OpenOrders { .. } => Some(Refusal::OpenOrders),
        Row::Transaction { .. } | Row::Counter { .. } => None,
    }
}
