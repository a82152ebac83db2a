//! The names, units and dimensions of all metrics (DESIGN §10). Alarms and dashboards use them: none is ever renamed.

/// What a metric's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A time.
    Milliseconds,
    /// A time.
    Seconds,
}

impl Unit {
    /// Its name at CloudWatch.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Unit::Count => "Count",
            Unit::Milliseconds => "Milliseconds",
            Unit::Seconds => "Seconds",
        }
    }
}

/// Everything the system measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Orders that became CLOSED.
    OrderClosed,
    /// Orders that became PAID.
    OrderPaid,
    /// From `expire_at` to `closed_at` of orders that expired.
    ExpireToClosed,
    /// Wake-ups that arrived before their moment and re-queued themselves.
    WakeEarly,
    /// Wake-ups that arrived late.
    WakeLate,
    /// Wake-ups that found their order closed, paid or being closed.
    WakeDuplicate,
    /// Wake-ups of another `expire_at` than their order's.
    WakeDropped,
    /// Orders that the scan found and no wake-up had closed.
    FoundByScan,
    /// When the last scan ended well, in Unix seconds; an alarm treats missing data as breaching.
    ScanLastSuccess,
    /// How long one whole lap of the scan took.
    ScanLap,
    /// Closes that ran out of their rhythm, or that something only a person can settle holds up.
    ClosingNeedsAttention,
    /// Channel calls without an answer in time.
    ChannelTimeout,
    /// Channel answers that mean nothing.
    ChannelUnknown,
    /// Money that arrived for a CLOSED order.
    LatePayment,
    /// Successes with another amount or currency than the attempt's.
    AmountMismatch,
    /// Successes that the channel had given back, not by us.
    ForeignRefund,
    /// Attempts that were captured under a second transaction id.
    SecondTransaction,
    /// Transactions that stand recorded for another order or attempt.
    TransactionTaken,
    /// Callbacks refused.
    CallbackRefused,
    /// Readings of a secret that failed.
    SecretUnread,
    /// Invariants that a stored order breaks.
    InvariantBreach,
    /// Reservation entries that failed their own condition.
    ReservationAnomaly,
    /// Settlements that did not commit.
    SettleFailed,
    /// Refunds that the channel states done.
    RefundSucceeded,
    /// Refunds that only a person can go on with.
    RefundFailed,
    /// Schedules that delayed messages stand in for.
    ScheduleNotCreated,
    /// Events not acted on because the local clock is too far from the database's.
    ClockSkew,
    /// Writes given up after their conflicts outlasted their retries.
    Contention,
    /// Gauge: open orders in the due index.
    UnpaidOrders,
    /// Gauge: open orders past `expire_at`.
    OverdueOrders,
    /// Gauge: how long the oldest of them is past it.
    OldestOverdueAge,
    /// Gauge: CLOSING orders whose lease has ended.
    ClosingOverLease,
    /// Gauge: refunds not final.
    RefundBacklog,
    /// Gauge: the age of the oldest of them.
    OldestRefundAge,
    /// Gauge: units of work not done.
    PendingUnits,
    /// Gauge: the age of the oldest of them.
    OldestPendingAge,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 36] = [
        Metric::OrderClosed,
        Metric::OrderPaid,
        Metric::ExpireToClosed,
        Metric::WakeEarly,
        Metric::WakeLate,
        Metric::WakeDuplicate,
        Metric::WakeDropped,
        Metric::FoundByScan,
        Metric::ScanLastSuccess,
        Metric::ScanLap,
        Metric::ClosingNeedsAttention,
        Metric::ChannelTimeout,
        Metric::ChannelUnknown,
        Metric::LatePayment,
        Metric::AmountMismatch,
        Metric::ForeignRefund,
        Metric::SecondTransaction,
        Metric::TransactionTaken,
        Metric::CallbackRefused,
        Metric::SecretUnread,
        Metric::InvariantBreach,
        Metric::ReservationAnomaly,
        Metric::SettleFailed,
        Metric::RefundSucceeded,
        Metric::RefundFailed,
        Metric::ScheduleNotCreated,
        Metric::ClockSkew,
        Metric::Contention,
        Metric::UnpaidOrders,
        Metric::OverdueOrders,
        Metric::OldestOverdueAge,
        Metric::ClosingOverLease,
        Metric::RefundBacklog,
        Metric::OldestRefundAge,
        Metric::PendingUnits,
        Metric::OldestPendingAge,
    ];

    /// Its name at CloudWatch.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Metric::OrderClosed => "OrderClosed",
            Metric::OrderPaid => "OrderPaid",
            Metric::ExpireToClosed => "ExpireToClosed",
            Metric::WakeEarly => "WakeEarly",
            Metric::WakeLate => "WakeLate",
            Metric::WakeDuplicate => "WakeDuplicate",
            Metric::WakeDropped => "WakeDropped",
            Metric::FoundByScan => "FoundByScan",
            Metric::ScanLastSuccess => "ScanLastSuccess",
            Metric::ScanLap => "ScanLap",
            Metric::ClosingNeedsAttention => "ClosingNeedsAttention",
            Metric::ChannelTimeout => "ChannelTimeout",
            Metric::ChannelUnknown => "ChannelUnknown",
            Metric::LatePayment => "LatePayment",
            Metric::AmountMismatch => "AmountMismatch",
            Metric::ForeignRefund => "ForeignRefund",
            Metric::SecondTransaction => "SecondTransaction",
            Metric::TransactionTaken => "TransactionTaken",
            Metric::CallbackRefused => "CallbackRefused",
            Metric::SecretUnread => "SecretUnread",
            Metric::InvariantBreach => "InvariantBreach",
            Metric::ReservationAnomaly => "ReservationAnomaly",
            Metric::SettleFailed => "SettleFailed",
            Metric::RefundSucceeded => "RefundSucceeded",
            Metric::RefundFailed => "RefundFailed",
            Metric::ScheduleNotCreated => "ScheduleNotCreated",
            Metric::ClockSkew => "ClockSkew",
            Metric::Contention => "Contention",
            Metric::UnpaidOrders => "UnpaidOrders",
            Metric::OverdueOrders => "OverdueOrders",
            Metric::OldestOverdueAge => "OldestOverdueAge",
            Metric::ClosingOverLease => "ClosingOverLease",
            Metric::RefundBacklog => "RefundBacklog",
            Metric::OldestRefundAge => "OldestRefundAge",
            Metric::PendingUnits => "PendingUnits",
            Metric::OldestPendingAge => "OldestPendingAge",
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Metric::ExpireToClosed | Metric::ScanLap => Unit::Milliseconds,
            Metric::ScanLastSuccess | Metric::OldestOverdueAge | Metric::OldestRefundAge | Metric::OldestPendingAge => {
                Unit::Seconds
            }
            Metric::OrderClosed
            | Metric::OrderPaid
            | Metric::WakeEarly
            | Metric::WakeLate
            | Metric::WakeDuplicate
            | Metric::WakeDropped
            | Metric::FoundByScan
            | Metric::ClosingNeedsAttention
            | Metric::ChannelTimeout
            | Metric::ChannelUnknown
            | Metric::LatePayment
            | Metric::AmountMismatch
            | Metric::ForeignRefund
            | Metric::SecondTransaction
            | Metric::TransactionTaken
            | Metric::CallbackRefused
            | Metric::SecretUnread
            | Metric::InvariantBreach
            | Metric::ReservationAnomaly
            | Metric::SettleFailed
            | Metric::RefundSucceeded
            | Metric::RefundFailed
            | Metric::ScheduleNotCreated
            | Metric::ClockSkew
            | Metric::Contention
            | Metric::UnpaidOrders
            | Metric::OverdueOrders
            | Metric::ClosingOverLease
            | Metric::RefundBacklog
            | Metric::PendingUnits => Unit::Count,
        }
    }

    /// By what it is told apart, besides its sum over everything.
    #[must_use]
    pub const fn dimensions(self) -> &'static [Dimension] {
        match self {
            Metric::OrderClosed => &[Dimension::CloseReason],
            Metric::OrderPaid => &[Dimension::Trigger],
            Metric::ChannelTimeout | Metric::ChannelUnknown => &[Dimension::Channel],
            Metric::CallbackRefused => &[Dimension::Channel, Dimension::Reason],
            Metric::InvariantBreach => &[Dimension::Invariant],
            Metric::SettleFailed | Metric::PendingUnits | Metric::OldestPendingAge => &[Dimension::Resource],
            Metric::ExpireToClosed
            | Metric::WakeEarly
            | Metric::WakeLate
            | Metric::WakeDuplicate
            | Metric::WakeDropped
            | Metric::FoundByScan
            | Metric::ScanLastSuccess
            | Metric::ScanLap
            | Metric::ClosingNeedsAttention
            | Metric::LatePayment
            | Metric::AmountMismatch
            | Metric::ForeignRefund
            | Metric::SecondTransaction
            | Metric::TransactionTaken
            | Metric::SecretUnread
            | Metric::ReservationAnomaly
            | Metric::RefundSucceeded
            | Metric::RefundFailed
            | Metric::ScheduleNotCreated
            | Metric::ClockSkew
            | Metric::Contention
            | Metric::UnpaidOrders
            | Metric::OverdueOrders
            | Metric::OldestOverdueAge
            | Metric::ClosingOverLease
            | Metric::RefundBacklog
            | Metric::OldestRefundAge => &[],
        }
    }
}

/// By what a metric is told apart. Values come from small, closed sets: each costs a metric of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// The payment channel.
    Channel,
    /// Why an order was closed.
    CloseReason,
    /// The id of an invariant, for example `I4`.
    Invariant,
    /// Why something was refused.
    Reason,
    /// A kind of work: stock, coupon, points, quota, cap; among what waits also ask, refund, anomaly.
    Resource,
    /// What set off the write that made an order PAID.
    Trigger,
}

impl Dimension {
    /// Its name at CloudWatch.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Dimension::Channel => "channel",
            Dimension::CloseReason => "close_reason",
            Dimension::Invariant => "invariant",
            Dimension::Reason => "reason",
            Dimension::Resource => "resource",
            Dimension::Trigger => "trigger",
        }
    }
}
