//! What travels on the queues: names of orders and of work, never state (DESIGN §6). Whoever receives one reads the order.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::OrderId;
use crate::pending::Unit;
use crate::reservation::ResourceKind;
use crate::time::Timestamp;

/// A queue, named as in DESIGN §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// Wake-ups, retries, overdue orders and asks.
    Close,
    /// Stock to confirm or release.
    StockRelease,
    /// Coupons to use or give back.
    CouponRelease,
    /// Points to spend or give back.
    PointsRelease,
    /// Flash-sale slots, and the open-order count.
    QuotaRelease,
    /// Refunds.
    Refund,
}

impl Queue {
    /// Every queue.
    pub const ALL: [Queue; 6] = [
        Queue::Close,
        Queue::StockRelease,
        Queue::CouponRelease,
        Queue::PointsRelease,
        Queue::QuotaRelease,
        Queue::Refund,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Queue::Close => "close",
            Queue::StockRelease => "stock-release",
            Queue::CouponRelease => "coupon-release",
            Queue::PointsRelease => "points-release",
            Queue::QuotaRelease => "quota-release",
            Queue::Refund => "refund",
        }
    }

    /// The queue with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Queue> {
        Queue::ALL.into_iter().find(|queue| queue.name() == name)
    }

    /// The queue that carries `unit`; `None` for what only a person or a newer program can work on.
    #[must_use]
    pub const fn of(unit: &Unit) -> Option<Queue> {
        match unit {
            Unit::Settle(ResourceKind::Stock) => Some(Queue::StockRelease),
            Unit::Settle(ResourceKind::Coupon) => Some(Queue::CouponRelease),
            Unit::Settle(ResourceKind::Points) => Some(Queue::PointsRelease),
            Unit::Settle(ResourceKind::Quota) | Unit::Cap => Some(Queue::QuotaRelease),
            Unit::Refund(_) => Some(Queue::Refund),
            Unit::Ask(_) => Some(Queue::Close),
            Unit::Anomaly(..) | Unit::Foreign(_) => None,
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// One message. In JSON: `{"type":"wake","order_id":"…","expire_at":1767225600000,"hop":0}` and so on; times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// The reminder of an order, from its schedule or a stand-in for it.
    Wake {
        /// Which order.
        order_id: OrderId,
        /// The deadline it was armed for.
        #[serde(with = "millis")]
        expire_at: Timestamp,
        /// How often it stood in for a schedule that could not be created; 0 is no stand-in.
        #[serde(default)]
        hop: u8,
    },
    /// The next check of a CLOSING order.
    Check {
        /// Which order.
        order_id: OrderId,
        /// That check.
        #[serde(with = "millis")]
        check_at: Timestamp,
        /// Whether it has re-queued itself already: it does so once.
        #[serde(default)]
        again: bool,
    },
    /// An order that the scan found overdue.
    Overdue {
        /// Which order.
        order_id: OrderId,
    },
    /// A unit of work; with a check, the delayed retry of it.
    Unit {
        /// Which order.
        order_id: OrderId,
        /// Which unit, as it stands in `pending`.
        #[serde(with = "unit")]
        unit: Unit,
        /// The retry it was sent for.
        #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
        check_at: Option<Timestamp>,
    },
}

impl Message {
    /// The order it is about.
    #[must_use]
    pub const fn order_id(&self) -> &OrderId {
        match self {
            Message::Wake { order_id, .. }
            | Message::Check { order_id, .. }
            | Message::Overdue { order_id }
            | Message::Unit { order_id, .. } => order_id,
        }
    }
}

mod millis {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::time::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.as_millis())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let millis = i64::deserialize(deserializer)?;
        Timestamp::from_millis(millis).ok_or_else(|| D::Error::custom("a time out of range"))
    }
}

mod optional_millis {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::time::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&at.as_millis()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        let millis: Option<i64> = Option::deserialize(deserializer)?;
        millis
            .map(|millis| Timestamp::from_millis(millis).ok_or_else(|| D::Error::custom("a time out of range")))
            .transpose()
    }
}

mod unit {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::pending::Unit;

    pub(super) fn serialize<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(unit)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
        Ok(Unit::parse(&String::deserialize(deserializer)?))
    }
}
