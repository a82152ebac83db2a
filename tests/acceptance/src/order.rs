//! Bodies of `POST /orders`.

use serde_json::{Value, json};

/// A body under construction.
#[derive(Clone, Debug)]
pub struct OrderBody(pub Value);

/// An order of user `u1` for one `SKU` at 1,000 CNY-cents.
#[must_use]
pub fn order() -> OrderBody {
    OrderBody(json!({
        "user_id": "u1",
        "currency": "CNY",
        "lines": [{"sku": "SKU", "quantity": 1, "unit_price": 1_000}],
        "payable_amount": 1_000,
    }))
}

impl OrderBody {
    /// Sets a field of the body.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> OrderBody {
        self.0[field] = value.into();
        self
    }

    /// Of another user.
    #[must_use]
    pub fn by(self, user: &str) -> OrderBody {
        self.with("user_id", user)
    }

    /// For `quantity` of the one sku.
    #[must_use]
    pub fn of(mut self, sku: &str, quantity: u64) -> OrderBody {
        self.0["lines"] = json!([{"sku": sku, "quantity": quantity, "unit_price": 1_000}]);
        self.with("payable_amount", quantity * 1_000)
    }
}
