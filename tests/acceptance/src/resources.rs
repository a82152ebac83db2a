//! What orders hold, as people see and set it: stock of every place, coupons, points, quotas.

use serde_json::{Value, json};

use crate::Shop;

/// The resource of `kind` and `key` in an order document.
///
/// # Panics
/// When the order has none.
#[must_use]
#[track_caller]
pub fn resource<'a>(order: &'a Value, kind: &str, key: &str) -> &'a Value {
    let resources = order["resources"].as_array().map_or(&[][..], Vec::as_slice);
    let found = resources.iter().find(|resource| resource["type"] == kind && resource["key"] == key);
    found.unwrap_or_else(|| panic!("no {kind} {key} in {order:#}"))
}

impl Shop {
    /// Sets a coupon of `user` up: refundable, of a running campaign, valid until `valid_until`.
    pub async fn put_coupon(&self, id: &str, user: &str, valid_until: &str) {
        self.edit_coupon(id, user, valid_until, json!({})).await;
    }

    /// Sets a coupon up, or changes it, with other terms than the usual ones.
    pub async fn edit_coupon(&self, id: &str, user: &str, valid_until: &str, terms: Value) {
        let mut body =
            json!({"user_id": user, "valid_until": valid_until, "refundable": true, "campaign_active": true});
        for (name, value) in terms.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let _ = self.admin("PUT", &format!("/coupons/{id}"), body).await.expect(200);
    }

    /// The coupon's own status.
    pub async fn coupon(&self, id: &str) -> String {
        self.admin("GET", &format!("/coupons/{id}"), Value::Null).await.expect(200).text("status").to_owned()
    }

    /// Sets a user's balance of points.
    pub async fn put_points(&self, user: &str, balance: u64) {
        let _ = self.admin("PUT", &format!("/points/{user}"), json!({"balance": balance})).await.expect(200);
    }

    /// A user's points: balance, reserved.
    pub async fn points(&self, user: &str) -> (u64, u64) {
        let points = self.admin("GET", &format!("/points/{user}"), Value::Null).await.expect(200).body;
        (number(&points, "balance"), number(&points, "reserved"))
    }

    /// Sets the slots of an activity.
    pub async fn put_quota(&self, activity: &str, limit: u64) {
        let _ = self.admin("PUT", &format!("/quotas/{activity}"), json!({"limit": limit})).await.expect(200);
    }

    /// The slots of an activity: available, reserved, sold.
    pub async fn quota(&self, activity: &str) -> (u64, u64, u64) {
        let quota = self.admin("GET", &format!("/quotas/{activity}"), Value::Null).await.expect(200).body;
        let counts = (number(&quota, "available"), number(&quota, "reserved"), number(&quota, "sold"));
        assert_eq!(number(&quota, "limit"), counts.0 + counts.1 + counts.2, "I5: {quota}");
        counts
    }
}

#[track_caller]
fn number(body: &Value, field: &str) -> u64 {
    body[field].as_u64().unwrap_or_else(|| panic!("{field} of {body}"))
}
