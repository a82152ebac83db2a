//! What an order holds while it waits for its money: stock, a coupon, points, flash-sale slots (DESIGN §3).

use std::fmt;

use crate::ids::{ActivityId, Batch, CouponId, Sku, UserId, Warehouse};
use crate::money::Amount;

/// How many units of something, 1 … [`crate::limits::QUANTITY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(u64);

impl Quantity {
    /// Wraps `units`; `None` at zero or above the bound.
    #[must_use]
    pub const fn new(units: u64) -> Option<Quantity> {
        if units >= 1 && units <= crate::limits::QUANTITY { Some(Quantity(units)) } else { None }
    }

    /// The units.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Where a reservation of a counter stands: it leaves RESERVED once (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldStatus {
    /// Held for the order.
    Reserved,
    /// Sold: the order is PAID (I4).
    Confirmed,
    /// Given back: the order is CLOSED (I3).
    Released,
}

impl HoldStatus {
    /// Every status.
    pub const ALL: [HoldStatus; 3] = [HoldStatus::Reserved, HoldStatus::Confirmed, HoldStatus::Released];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            HoldStatus::Reserved => "RESERVED",
            HoldStatus::Confirmed => "CONFIRMED",
            HoldStatus::Released => "RELEASED",
        }
    }
}

/// Where the hold on a coupon stands, and where the coupon itself does once it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CouponStatus {
    /// Held for the order.
    Locked,
    /// Used: the order is PAID.
    Used,
    /// Given back, usable again.
    Available,
    /// Given back after its end.
    Expired,
    /// Given back, and not usable any more.
    Void,
}

impl CouponStatus {
    /// Every status.
    pub const ALL: [CouponStatus; 5] =
        [CouponStatus::Locked, CouponStatus::Used, CouponStatus::Available, CouponStatus::Expired, CouponStatus::Void];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CouponStatus::Locked => "LOCKED",
            CouponStatus::Used => "USED",
            CouponStatus::Available => "AVAILABLE",
            CouponStatus::Expired => "EXPIRED",
            CouponStatus::Void => "VOID",
        }
    }

    /// The status of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<CouponStatus> {
        CouponStatus::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Why a coupon did not simply become AVAILABLE again (case b26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CouponReason {
    /// Its campaign was stopped.
    CampaignStopped,
    /// It is spent by the attempt to use it.
    NotRefundable,
    /// Its end had passed when the order was closed.
    Expired,
}

impl CouponReason {
    /// Every reason.
    pub const ALL: [CouponReason; 3] =
        [CouponReason::CampaignStopped, CouponReason::NotRefundable, CouponReason::Expired];

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CouponReason::CampaignStopped => "campaign_stopped",
            CouponReason::NotRefundable => "not_refundable",
            CouponReason::Expired => "expired",
        }
    }
}

/// Where a stock counter lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StockKey {
    /// What.
    pub sku: Sku,
    /// Where.
    pub warehouse: Warehouse,
    /// Of which batch.
    pub batch: Batch,
}

impl fmt::Display for StockKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}", self.sku, self.warehouse, self.batch)
    }
}

/// A counter that orders reserve from: `on_hand = available + reserved + sold` (I5).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKey {
    /// Stock per sku, warehouse and batch.
    Stock(StockKey),
    /// Points per user.
    Points(UserId),
    /// Flash-sale slots per activity.
    Quota(ActivityId),
}

impl CounterKey {
    /// Which kind of resource it is.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        match self {
            CounterKey::Stock(_) => ResourceKind::Stock,
            CounterKey::Points(_) => ResourceKind::Points,
            CounterKey::Quota(_) => ResourceKind::Quota,
        }
    }
}

/// The key within its kind, as the order document shows it.
impl fmt::Display for CounterKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CounterKey::Stock(key) => key.fmt(out),
            CounterKey::Points(user) => user.fmt(out),
            CounterKey::Quota(activity) => activity.fmt(out),
        }
    }
}

/// The kinds of things an order holds; each is settled by its own unit of work on its own queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// Stock of its lines.
    Stock,
    /// Its coupon.
    Coupon,
    /// Its user's points.
    Points,
    /// Its flash-sale slots.
    Quota,
}

impl ResourceKind {
    /// Every kind.
    pub const ALL: [ResourceKind; 4] =
        [ResourceKind::Stock, ResourceKind::Coupon, ResourceKind::Points, ResourceKind::Quota];

    /// Its name in the HTTP contract and in `pending`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ResourceKind::Stock => "stock",
            ResourceKind::Coupon => "coupon",
            ResourceKind::Points => "points",
            ResourceKind::Quota => "quota",
        }
    }
}

/// One order line with its stock reservation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// From which counter.
    pub stock: StockKey,
    /// How many.
    pub quantity: Quantity,
    /// At what price each.
    pub unit_price: Amount,
    /// Where its reservation stands.
    pub hold: HoldStatus,
}

/// The coupon an order holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CouponHold {
    /// Which.
    pub id: CouponId,
    /// Where the hold stands.
    pub status: CouponStatus,
    /// Why it did not simply become available again.
    pub reason: Option<CouponReason>,
}

/// The points an order holds of its user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PointsHold {
    /// How many.
    pub quantity: Quantity,
    /// Where the hold stands.
    pub hold: HoldStatus,
}

/// Flash-sale slots an order holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaHold {
    /// Of which activity.
    pub activity: ActivityId,
    /// How many.
    pub quantity: Quantity,
    /// Where the hold stands.
    pub hold: HoldStatus,
}
