//! The rows beside the order that change in the same transaction with it (DESIGN §6). The store gives each its condition.

use crate::ids::{AttemptNo, ChannelId, CouponId, NotifyId, OrderId, TransactionId, UserId};
use crate::reservation::{CounterKey, CouponStatus, Quantity};
use crate::time::Timestamp;

/// One change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// `T#<channel>#<transaction>`: this money belongs to this attempt and to no other (I9). Must not exist.
    Transaction {
        /// Of which channel.
        channel: ChannelId,
        /// Its number there.
        transaction: TransactionId,
        /// The attempt of this order it was paid for.
        attempt: AttemptNo,
        /// The notification that told of it; `None` when it was found by asking.
        notify_id: Option<NotifyId>,
    },
    /// A counter.
    Counter {
        /// Which.
        key: CounterKey,
        /// How it moves.
        change: CounterChange,
    },
    /// A coupon.
    Coupon {
        /// Which.
        id: CouponId,
        /// How it moves.
        change: CouponChange,
    },
    /// `U#<user>`: how many open orders a user has.
    OpenOrders {
        /// Whose.
        user: UserId,
        /// How it moves.
        change: OpenOrdersChange,
    },
}

/// How a counter moves; `on_hand = available + reserved + sold` holds before and after (I5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterChange {
    /// available → reserved, while there is enough available.
    Reserve(Quantity),
    /// available → sold at once: an order with nothing to pay.
    Sell(Quantity),
    /// reserved → sold.
    Confirm(Quantity),
    /// reserved → available.
    Release(Quantity),
}

/// How a coupon moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CouponChange {
    /// AVAILABLE → LOCKED by this order: it must be the user's, valid at `now`, its campaign running.
    Lock {
        /// Whose it must be.
        user: UserId,
        /// When it must be valid.
        now: Timestamp,
    },
    /// AVAILABLE → USED at once: an order with nothing to pay.
    UseAtOnce {
        /// Whose it must be.
        user: UserId,
        /// When it must be valid.
        now: Timestamp,
    },
    /// LOCKED by this order → USED.
    Use,
    /// LOCKED by this order → what its terms say; the terms must still be those that were read.
    GiveBack {
        /// AVAILABLE, EXPIRED or VOID.
        to: CouponStatus,
        /// The terms that say so.
        terms: CouponTerms,
    },
}

/// What a coupon row says, as far as giving it back depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CouponTerms {
    /// Until when it is valid.
    pub valid_until: Timestamp,
    /// Whether it comes back from an order that was not paid.
    pub refundable: bool,
    /// Whether its campaign runs.
    pub campaign_active: bool,
    /// Where it stands.
    pub status: CouponStatus,
    /// The order that holds it.
    pub holder: Option<OrderId>,
}

/// How a user's count of open orders moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenOrdersChange {
    /// One more, while there are fewer than this.
    Count {
        /// Most open orders of one user.
        most: u32,
    },
    /// One less.
    Uncount,
}

/// What only the commit could know: the condition of a row beside the order failed, and the order itself was as expected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The transaction is recorded for another order or attempt.
    TransactionTaken(AttemptNo),
    /// These counters do not hold what the order reserved.
    Counters(Vec<CounterKey>),
    /// The coupon is not as it was read.
    Coupon,
    /// The user's count is not above zero.
    OpenOrders,
}
