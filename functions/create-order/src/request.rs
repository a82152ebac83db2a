//! The body of `POST /orders`. A field that is not known is refused: money and stock may depend on what it was meant to say.

use expiry_core::decide::create::{NewLine, NewOrder};
use expiry_core::expiry_rule::DEFAULT_RULE;
use expiry_core::ids::{ActivityId, Batch, CouponId, OrderId, RuleId, Sku, Source, UserId, Warehouse};
use expiry_core::money::{Amount, Currency};
use expiry_core::order::BodyDigest;
use expiry_core::reservation::{Quantity, StockKey};
use expiry_runtime::http::Object;
use expiry_runtime::problem::Problem;
use serde::{Deserialize, Serialize, Serializer};

/// The body; serialised again, with its defaults filled in, it is what an idempotent repetition is compared by.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderRequest {
    pub(crate) user_id: UserId,
    currency: String,
    lines: Vec<Object<LineRequest>>,
    #[serde(default)]
    coupon_id: Option<CouponId>,
    #[serde(default)]
    points: Option<u64>,
    #[serde(default)]
    quotas: Vec<Object<QuotaRequest>>,
    payable_amount: u64,
    #[serde(default, serialize_with = "rule_or_default")]
    expiry_rule: Option<RuleId>,
    #[serde(default)]
    source: Option<Source>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LineRequest {
    sku: Sku,
    quantity: u64,
    unit_price: u64,
    #[serde(default, serialize_with = "place_or_default")]
    warehouse: Option<Warehouse>,
    #[serde(default, serialize_with = "place_or_default")]
    batch: Option<Batch>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct QuotaRequest {
    activity: ActivityId,
    quantity: u64,
}

const DEFAULT_PLACE: &str = "default";

/// A place that is left out is the same as the default one written out.
fn place_or_default<T: Serialize, S: Serializer>(place: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match place {
        Some(place) => place.serialize(serializer),
        None => DEFAULT_PLACE.serialize(serializer),
    }
}

/// A rule that is left out is the same as the default one written out.
fn rule_or_default<S: Serializer>(rule: &Option<RuleId>, serializer: S) -> Result<S::Ok, S::Error> {
    match rule {
        Some(rule) => rule.serialize(serializer),
        None => DEFAULT_RULE.serialize(serializer),
    }
}

impl OrderRequest {
    /// The order that is asked for, each value within its bounds.
    pub(crate) fn into_order(self, id: OrderId, body_digest: BodyDigest) -> Result<NewOrder, Problem> {
        let currency = Currency::parse(&self.currency)
            .ok_or_else(|| Problem::invalid("#/currency", "is not a currency of ISO 4217"))?;
        let numbered = self.lines.into_iter().enumerate();
        let lines: Result<Vec<NewLine>, Problem> = numbered.map(|(index, line)| line.0.into_line(index)).collect();
        let points = self.points.map(|points| quantity("#/points", points)).transpose()?;
        let mut quotas = Vec::with_capacity(self.quotas.len());
        for (index, Object(quota)) in self.quotas.into_iter().enumerate() {
            quotas.push((quota.activity, quantity(&format!("#/quotas/{index}/quantity"), quota.quantity)?));
        }
        let rule = match self.expiry_rule {
            Some(rule) => rule,
            None => fixed(RuleId::new(DEFAULT_RULE))?,
        };
        Ok(NewOrder {
            id,
            body_digest,
            user: self.user_id,
            currency,
            lines: lines?,
            coupon: self.coupon_id,
            points,
            quotas,
            payable: amount("#/payable_amount", self.payable_amount)?,
            rule,
            source: self.source,
        })
    }
}

impl LineRequest {
    fn into_line(self, index: usize) -> Result<NewLine, Problem> {
        let warehouse = self.warehouse.map_or_else(|| fixed(Warehouse::new(DEFAULT_PLACE)), Ok)?;
        let batch = self.batch.map_or_else(|| fixed(Batch::new(DEFAULT_PLACE)), Ok)?;
        Ok(NewLine {
            stock: StockKey { sku: self.sku, warehouse, batch },
            quantity: quantity(&format!("#/lines/{index}/quantity"), self.quantity)?,
            unit_price: amount(&format!("#/lines/{index}/unit_price"), self.unit_price)?,
        })
    }
}

/// A name of this program's own: always valid.
fn fixed<T>(name: Result<T, expiry_core::ids::InvalidId>) -> Result<T, Problem> {
    name.map_err(|_| Problem::new(expiry_runtime::problem::Code::Internal))
}

fn quantity(pointer: &str, units: u64) -> Result<Quantity, Problem> {
    Quantity::new(units).ok_or_else(|| {
        Problem::invalid(pointer.to_owned(), format!("must be from 1 to {}", expiry_core::limits::QUANTITY))
    })
}

fn amount(pointer: &str, minor: u64) -> Result<Amount, Problem> {
    Amount::new(minor).ok_or_else(|| {
        Problem::invalid(pointer.to_owned(), format!("must be from 0 to {}", expiry_core::limits::AMOUNT))
    })
}
