//! The scenes, in the order in which they are played. Each has goods and customers of its own.

mod faults;
mod goods;
mod payments;
mod unpaid;

use serde_json::{Value, json};

use super::scene::Scene;

/// Every scene.
pub(super) const ALL: [Scene; 13] = [
    payments::PAID,
    unpaid::ABANDONED,
    unpaid::EARLY_REMINDER,
    payments::LAST_SECOND,
    payments::TOO_LATE,
    faults::SILENT_CHANNEL,
    faults::WORKER_CRASH,
    faults::LOST_WAKE_UP,
    faults::DUPLICATES,
    payments::TWO_LEGS,
    goods::EVERYTHING_BACK,
    goods::FREE,
    goods::FLASH_SALE,
];

/// What everything in the shop costs, in minor units.
const PRICE: u64 = 1_000;

/// An order of `user` for one `sku` under `rule`.
fn order(user: &str, sku: &str, rule: &str) -> Value {
    json!({
        "user_id": user,
        "currency": "CNY",
        "lines": [{"sku": sku, "quantity": 1, "unit_price": PRICE}],
        "payable_amount": PRICE,
        "expiry_rule": rule,
        "source": "demo",
    })
}
