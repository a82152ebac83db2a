//! The order aggregate: one order, one item (DESIGN §3, §6). Everything here is plain data; what may happen to it stands in
//! [`crate::decide`], what must always hold of it in [`crate::invariants`].

use crate::attempt::Attempt;
use crate::closing::{AskTask, CloseReason, CloseTask};
use crate::evidence::Evidence;
use crate::expiry_rule::RuleRef;
use crate::ids::{AttemptNo, OrderId, OutTradeNo, Source, UserId};
use crate::money::{Amount, Currency};
use crate::pending::Pending;
use crate::reservation::{
    CounterKey, CouponHold, CouponStatus, HoldStatus, Line, PointsHold, Quantity, QuotaHold, ResourceKind,
};
use crate::time::Timestamp;

/// Where an order stands.
///
/// ```text
/// PENDING_PAYMENT ──► PAYING ──► PAID
///        │   └──────────┴──► CLOSING ──► CLOSED | PAID
///        └──► CLOSED            (only while no attempt was ever written: there is nobody to ask)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderStatus {
    /// Nobody has begun to pay.
    PendingPayment,
    /// An attempt was begun.
    Paying,
    /// Being closed: the channels are asked, nothing is released.
    Closing,
    /// Final: paid.
    Paid,
    /// Final: not paid, everything given back.
    Closed,
}

impl OrderStatus {
    /// Every status, in the order of the diagram.
    pub const ALL: [OrderStatus; 5] = [
        OrderStatus::PendingPayment,
        OrderStatus::Paying,
        OrderStatus::Closing,
        OrderStatus::Paid,
        OrderStatus::Closed,
    ];

    /// Whether nothing leads out of it (I1).
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            OrderStatus::Paid | OrderStatus::Closed => true,
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => false,
        }
    }

    /// Its name in the HTTP contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OrderStatus::PendingPayment => "PENDING_PAYMENT",
            OrderStatus::Paying => "PAYING",
            OrderStatus::Closing => "CLOSING",
            OrderStatus::Paid => "PAID",
            OrderStatus::Closed => "CLOSED",
        }
    }

    /// The status of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<OrderStatus> {
        OrderStatus::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A digest of the request that created the order: the same key with another body is refused by it.
pub type BodyDigest = [u8; 16];

/// One order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// Raised by one with every write; the fence of every condition.
    pub version: u64,
    /// Where it stands.
    pub status: OrderStatus,
    /// Whose it is.
    pub user: UserId,
    /// What its amounts are in.
    pub currency: Currency,
    /// What has to be paid.
    pub payable: Amount,
    /// When it was created, by the server's clock.
    pub created_at: Timestamp,
    /// When it must be closed if it is not paid; `None` is never. Never decreases (I7).
    pub expire_at: Option<Timestamp>,
    /// The rule that gave it its deadline.
    pub rule: RuleRef,
    /// Where it came from.
    pub source: Option<Source>,
    /// Of the request that created it.
    pub body_digest: BodyDigest,
    /// What was ordered, each with its stock reservation.
    pub lines: Vec<Line>,
    /// The coupon it holds.
    pub coupon: Option<CouponHold>,
    /// The points it holds.
    pub points: Option<PointsHold>,
    /// The flash-sale slots it holds.
    pub quotas: Vec<QuotaHold>,
    /// Whether it was counted as one of its user's open orders.
    pub counted_open: bool,
    /// Every payment attempt ever begun, in order.
    pub attempts: Vec<Attempt>,
    /// Work that is not done: the outbox.
    pub pending: Pending,
    /// Its place in the due index; `None` is outside (I12).
    pub due_at: Option<Timestamp>,
    /// The close task, from the first claim on.
    pub closing: Option<CloseTask>,
    /// The task of asking about attempts by `ask:<n>`, apart from the close's.
    pub asking: Option<AskTask>,
    /// Why it is, or will be, closed.
    pub close_reason: Option<CloseReason>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// When it was paid.
    pub paid_at: Option<Timestamp>,
    /// Its last status changes, oldest first (I11).
    pub evidence: Vec<Evidence>,
}

impl Order {
    /// The attempt numbered `no`.
    #[must_use]
    pub fn attempt(&self, no: AttemptNo) -> Option<&Attempt> {
        self.attempts.get(no.index())
    }

    /// Every attempt with its number.
    pub fn numbered_attempts(&self) -> impl Iterator<Item = (AttemptNo, &Attempt)> {
        self.attempts.iter().enumerate().filter_map(|(index, attempt)| Some((AttemptNo::at_index(index)?, attempt)))
    }

    /// The attempts of which it is not known whether money came or may come.
    pub fn unsettled_attempts(&self) -> impl Iterator<Item = (AttemptNo, &Attempt)> {
        self.numbered_attempts().filter(|(_, attempt)| attempt.is_unsettled())
    }

    /// Our number of attempt `no` at its channel.
    #[must_use]
    pub fn out_trade_no(&self, no: AttemptNo) -> OutTradeNo {
        OutTradeNo::new(self.id.clone(), no)
    }

    /// The money that counts towards the payable amount, with what is too much of it.
    #[must_use]
    pub fn counted(&self) -> Amount {
        self.attempts.iter().filter_map(Attempt::counted).sum()
    }

    /// `paid_amount` of the contract: counted money less its excess. What was refunded stands in the refunds.
    #[must_use]
    pub fn paid_amount(&self) -> Amount {
        let counted = self.counted();
        if counted > self.payable { self.payable } else { counted }
    }

    /// What is still to be paid.
    #[must_use]
    pub fn unpaid(&self) -> Amount {
        self.payable.less(self.counted())
    }

    /// Whether it holds, or held, anything of `kind`.
    #[must_use]
    pub fn holds(&self, kind: ResourceKind) -> bool {
        match kind {
            ResourceKind::Stock => !self.lines.is_empty(),
            ResourceKind::Coupon => self.coupon.is_some(),
            ResourceKind::Points => self.points.is_some(),
            ResourceKind::Quota => !self.quotas.is_empty(),
        }
    }

    /// Its reservations of counters of `kind`, each with what it reserved and where it stands.
    pub fn counter_holds(&self, kind: ResourceKind) -> Vec<(CounterKey, Quantity, HoldStatus)> {
        match kind {
            ResourceKind::Stock => self
                .lines
                .iter()
                .map(|line| (CounterKey::Stock(line.stock.clone()), line.quantity, line.hold))
                .collect(),
            ResourceKind::Points => self
                .points
                .iter()
                .map(|points| (CounterKey::Points(self.user.clone()), points.quantity, points.hold))
                .collect(),
            ResourceKind::Quota => self
                .quotas
                .iter()
                .map(|quota| (CounterKey::Quota(quota.activity.clone()), quota.quantity, quota.hold))
                .collect(),
            ResourceKind::Coupon => Vec::new(),
        }
    }

    /// Moves the reservation of `key` to `status`.
    pub(crate) fn set_hold(&mut self, key: &CounterKey, status: HoldStatus) {
        match key {
            CounterKey::Stock(stock) => {
                self.lines.iter_mut().filter(|line| line.stock == *stock).for_each(|line| line.hold = status);
            }
            CounterKey::Points(_) => self.points.iter_mut().for_each(|points| points.hold = status),
            CounterKey::Quota(activity) => {
                self.quotas
                    .iter_mut()
                    .filter(|quota| quota.activity == *activity)
                    .for_each(|quota| quota.hold = status);
            }
        }
    }

    /// Whether anything it holds is already confirmed or used: then no adjudication may close it (I4, case b22).
    #[must_use]
    pub fn has_confirmed(&self) -> bool {
        let counters = ResourceKind::ALL.into_iter().flat_map(|kind| self.counter_holds(kind));
        let mut statuses = counters.map(|(_, _, status)| status);
        statuses.any(|status| status == HoldStatus::Confirmed)
            || self.coupon.as_ref().is_some_and(|coupon| coupon.status == CouponStatus::Used)
    }
}
