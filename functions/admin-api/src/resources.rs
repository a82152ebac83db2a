//! Stock, coupons, points and quotas, as people see and set them. An edit adds a difference; it never touches what orders hold.

use expiry_core::ids::{ActivityId, Batch, CouponId, InvalidId, OperatorId, Sku, UserId, Warehouse};
use expiry_core::limits;
use expiry_core::reservation::{CounterKey, StockKey};
use expiry_core::time::Timestamp;
use expiry_runtime::http::{Request, Response, checked_reason, json_body, json_response};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use expiry_store::{Counter, CounterEditError, Coupon, CouponEdit, ReadError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::AdminApi;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StockEdit {
    on_hand: u64,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointsEdit {
    balance: u64,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaEdit {
    limit: u64,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CouponRequest {
    user_id: UserId,
    valid_until: String,
    refundable: bool,
    campaign_active: bool,
    #[serde(default)]
    reason: Option<String>,
}

/// What a path names.
enum Resource {
    Counter(CounterKey),
    Coupon(CouponId),
}

impl AdminApi {
    /// A resource as it is.
    pub(crate) async fn resource(&self, kind: &str, key: &[&str]) -> Result<Response, Problem> {
        let body = match named(kind, key)? {
            Resource::Counter(key) => {
                let counter = self.context.store.counter(&key).await.map_err(unread)?;
                counter.map(|counter| counter_document(&key, counter))
            }
            Resource::Coupon(id) => self.context.store.coupon(&id).await.map_err(unread)?.map(|c| coupon_document(&c)),
        };
        body.map(|body| json_response(200, &body)).ok_or_else(|| Problem::new(Code::NotFound))
    }

    /// Sets a resource up, or changes what a person may change of it.
    pub(crate) async fn edit_resource(
        &self,
        kind: &str,
        key: &[&str],
        request: &Request,
        who: &OperatorId,
    ) -> Result<Response, Problem> {
        let resource = named(kind, key)?;
        let (document, reason) = match resource {
            Resource::Counter(key) => self.edit_counter(&key, request).await?,
            Resource::Coupon(id) => {
                let edit: CouponRequest = json_body(request)?;
                let valid_until = Timestamp::parse_rfc3339(&edit.valid_until)
                    .ok_or_else(|| Problem::invalid("#/valid_until", "is not a time of RFC 3339"))?;
                edit.reason.as_deref().map(checked_reason).transpose()?;
                let terms = CouponEdit {
                    user: edit.user_id,
                    valid_until,
                    refundable: edit.refundable,
                    campaign_active: edit.campaign_active,
                };
                let coupon = self.context.store.edit_coupon(&id, &terms).await.map_err(unedited)?;
                (coupon_document(&coupon), edit.reason)
            }
        };
        tracing::info!(who = %who, kind, key = key.join("/"), reason, after = %document, "resource edited");
        Ok(json_response(200, &document))
    }

    async fn edit_counter(&self, key: &CounterKey, request: &Request) -> Result<(Value, Option<String>), Problem> {
        let store = &self.context.store;
        let (counter, reason) = match key {
            CounterKey::Stock(_) => {
                let edit: StockEdit = json_body(request)?;
                let on_hand = bounded("#/on_hand", edit.on_hand, edit.reason.as_deref())?;
                (store.edit_counter(key, |_| on_hand).await, edit.reason)
            }
            CounterKey::Quota(_) => {
                let edit: QuotaEdit = json_body(request)?;
                let limit = bounded("#/limit", edit.limit, edit.reason.as_deref())?;
                (store.edit_counter(key, |_| limit).await, edit.reason)
            }
            CounterKey::Points(_) => {
                let edit: PointsEdit = json_body(request)?;
                let balance = bounded("#/balance", edit.balance, edit.reason.as_deref())?;
                // A balance is what can be spent: what is held or spent already is not part of it.
                (store.edit_counter(key, |held| balance + held.reserved + held.sold).await, edit.reason)
            }
        };
        Ok((counter_document(key, counter.map_err(unedited)?), reason))
    }
}

fn named(kind: &str, key: &[&str]) -> Result<Resource, Problem> {
    let invalid = |error: InvalidId| Problem::with_detail(Code::InvalidRequest, format!("The path {error}."));
    Ok(match (kind, key) {
        ("stock", [sku, warehouse, batch]) => Resource::Counter(CounterKey::Stock(StockKey {
            sku: Sku::new(*sku).map_err(invalid)?,
            warehouse: Warehouse::new(*warehouse).map_err(invalid)?,
            batch: Batch::new(*batch).map_err(invalid)?,
        })),
        ("points", [user]) => Resource::Counter(CounterKey::Points(UserId::new(*user).map_err(invalid)?)),
        ("quotas", [activity]) => Resource::Counter(CounterKey::Quota(ActivityId::new(*activity).map_err(invalid)?)),
        ("coupons", [id]) => Resource::Coupon(CouponId::new(*id).map_err(invalid)?),
        _ => return Err(Problem::new(Code::NotFound)),
    })
}

fn bounded(pointer: &'static str, units: u64, reason: Option<&str>) -> Result<u64, Problem> {
    reason.map(checked_reason).transpose()?;
    if units <= limits::QUANTITY {
        Ok(units)
    } else {
        Err(Problem::invalid(pointer, format!("must be from 0 to {}", limits::QUANTITY)))
    }
}

fn counter_document(key: &CounterKey, counter: Counter) -> Value {
    let Counter { available, reserved, sold } = counter;
    match key {
        CounterKey::Stock(_) => {
            json!({"on_hand": counter.on_hand(), "available": available, "reserved": reserved, "sold": sold})
        }
        CounterKey::Quota(_) => {
            json!({"limit": counter.on_hand(), "available": available, "reserved": reserved, "sold": sold})
        }
        CounterKey::Points(_) => json!({"balance": available, "reserved": reserved}),
    }
}

fn coupon_document(coupon: &Coupon) -> Value {
    json!({
        "user_id": coupon.user.as_str(),
        "valid_until": coupon.terms.valid_until.to_string(),
        "refundable": coupon.terms.refundable,
        "campaign_active": coupon.terms.campaign_active,
        "status": coupon.terms.status.name(),
    })
}

fn unread(error: ReadError) -> Problem {
    tracing::error!(error = %chain(&error), "the resource cannot be read");
    Problem::new(Code::TryAgain)
}

fn unedited(error: CounterEditError) -> Problem {
    match error {
        CounterEditError::BelowCommitted(counter) => Problem::with_detail(
            Code::StockBelowCommitted,
            format!("{} are reserved and {} sold.", counter.reserved, counter.sold),
        ),
        CounterEditError::Contended => Problem::new(Code::TryAgain),
        CounterEditError::Read(error) => unread(error),
    }
}
