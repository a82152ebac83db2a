//! Few names, so that steps meet.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use expiry_core::decide::create::{NewLine, NewOrder};
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::ids::{ActivityId, Batch, CouponId, IdSource, OrderId, RuleId, Sku, UserId, Warehouse, WorkerId};
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::reservation::{CounterKey, Quantity, StockKey};
use expiry_core::time::Timestamp;

use crate::step::Wish;

/// How long an order may be paid.
const WINDOW: i64 = 1_800;
/// Most open orders of a user, where there is a cap.
const MOST_OPEN: u32 = 2;

/// When everything begins.
pub(crate) fn beginning() -> Timestamp {
    Timestamp::from_seconds(1_767_225_600).expect("a time")
}

/// A moment after everything.
pub(crate) fn end() -> Timestamp {
    beginning().plus(Duration::from_secs(1_000_000_000))
}

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn order_id(slot: u8) -> OrderId {
    OrderId::from_bits([slot; 15])
}

pub(crate) fn user(name: bool) -> UserId {
    UserId::new(if name { "ann" } else { "bob" }).expect("a user")
}

pub(crate) fn coupon() -> CouponId {
    CouponId::new("COUPON").expect("a coupon")
}

pub(crate) fn worker() -> WorkerId {
    WorkerId::new("worker").expect("a worker")
}

pub(crate) fn euros(minor: u64) -> Money {
    Money { amount: Amount::new(minor).expect("an amount"), currency: Currency::parse("EUR").expect("a currency") }
}

fn stock(sku: &str) -> StockKey {
    let default = "default";
    StockKey {
        sku: Sku::new(sku).expect("a sku"),
        warehouse: Warehouse::new(default).expect("a warehouse"),
        batch: Batch::new(default).expect("a batch"),
    }
}

fn sale() -> ActivityId {
    ActivityId::new("SALE").expect("an activity")
}

/// Every counter there is.
pub(crate) fn counters() -> [CounterKey; 5] {
    [
        CounterKey::Stock(stock("A")),
        CounterKey::Stock(stock("B")),
        CounterKey::Points(user(true)),
        CounterKey::Points(user(false)),
        CounterKey::Quota(sale()),
    ]
}

pub(crate) fn rules() -> ExpiryRules {
    let rule =
        |id: &str, seconds, never| RuleDefinition { id: RuleId::new(id).expect("a rule"), version: 1, seconds, never };
    ExpiryRules::new(vec![rule("default", Some(WINDOW), None), rule("never", None, Some(true))]).expect("rules")
}

impl Wish {
    /// As the request it stands for.
    pub(crate) fn request(&self) -> NewOrder {
        let quantity = |units: u64| Quantity::new(units).expect("a quantity");
        let line = |sku: &str| NewLine {
            stock: stock(sku),
            quantity: quantity(self.quantity),
            unit_price: euros(1_000).amount,
        };
        let lines = if self.two_lines { vec![line("A"), line("B")] } else { vec![line("A")] };
        NewOrder {
            id: order_id(self.slot),
            body_digest: [self.slot; 16],
            user: user(self.ann),
            currency: euros(0).currency,
            lines,
            coupon: self.coupon.then(coupon),
            points: self.points.then(|| quantity(3)),
            quotas: if self.quota { vec![(sale(), quantity(1))] } else { Vec::new() },
            payable: euros(if self.free { 0 } else { 1_000 }).amount,
            rule: RuleId::new(if self.never { "never" } else { "default" }).expect("a rule"),
            source: None,
        }
    }

    pub(crate) fn most_open(&self) -> Option<u32> {
        self.capped.then_some(MOST_OPEN)
    }
}

/// Identifiers by counting.
#[derive(Debug, Default)]
pub(crate) struct Counted(AtomicU64);

impl IdSource for Counted {
    fn unique(&self) -> [u8; 15] {
        let mut bits = [0; 15];
        bits[..8].copy_from_slice(&self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        bits
    }
}
