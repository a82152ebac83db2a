//! What waits, counted from the orders that stand in the due index (DESIGN §10).

use std::collections::BTreeMap;

use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::refund::RefundStatus;
use expiry_core::time::Timestamp;
use serde::Serialize;

use crate::metrics::{Dimension, Metric, Metrics};

/// How many, and how old the oldest is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ages {
    /// How many.
    pub count: u64,
    /// Age of the oldest, in seconds.
    pub oldest_age_seconds: u64,
}

impl Ages {
    fn add(&mut self, age_seconds: u64) {
        self.count += 1;
        self.oldest_age_seconds = self.oldest_age_seconds.max(age_seconds);
    }
}

/// What waits among the orders that were added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Backlog {
    /// Orders by status.
    pub orders: BTreeMap<&'static str, u64>,
    /// Orders past their deadline that are not terminal.
    pub overdue: Ages,
    /// CLOSING orders whose lease has ended without an answer.
    pub closing_over_lease: u64,
    /// Orders that a person must look at.
    pub needs_attention: u64,
    /// Refunds that are not done.
    pub refunds: Ages,
    /// Those among them that only a person can go on with.
    pub failed_refunds: u64,
    /// Units of work that are not done, by what they are.
    pub pending: BTreeMap<&'static str, Ages>,
}

/// Since when a terminal order has had work: its end. Work that a late success added is younger than that, never older.
#[must_use]
pub fn terminal_since(order: &Order) -> Option<Timestamp> {
    order.closed_at.or(order.paid_at)
}

impl Backlog {
    /// Adds one order as it is at `now`.
    pub fn add(&mut self, order: &Order, now: Timestamp) {
        *self.orders.entry(order.status.name()).or_default() += 1;
        if let Some(expire_at) = order.expire_at.filter(|at| !order.status.is_terminal() && *at < now) {
            self.overdue.add(now.since(expire_at).as_secs());
        }
        if order.status == OrderStatus::Closing {
            let turn = order.closing.as_ref().map(|task| &task.turn);
            let over = turn.is_some_and(|turn| turn.owner.is_some() && turn.next_check_at.is_some_and(|at| at < now));
            self.closing_over_lease += u64::from(over);
        }
        let marks = [
            order.closing.as_ref().is_some_and(|task| task.needs_attention),
            order.asking.as_ref().is_some_and(|task| task.needs_attention),
            order.pending.iter().any(|unit| matches!(unit, Unit::Anomaly(..))),
        ];
        self.needs_attention += u64::from(marks.contains(&true));
        let age = terminal_since(order).map_or(0, |since| now.since(since).as_secs());
        for unit in &order.pending {
            self.pending.entry(kind(unit)).or_default().add(age);
            if let Unit::Refund(no) = unit {
                self.refunds.add(age);
                let refund = order.attempt(*no).and_then(|attempt| attempt.refund.as_ref());
                self.failed_refunds += u64::from(refund.is_some_and(|refund| refund.status == RefundStatus::Failed));
            }
        }
    }

    /// Adds what another part counted.
    pub fn merge(&mut self, other: Backlog) {
        let sum = |mine: &mut Ages, other: Ages| {
            mine.count += other.count;
            mine.oldest_age_seconds = mine.oldest_age_seconds.max(other.oldest_age_seconds);
        };
        for (status, count) in other.orders {
            *self.orders.entry(status).or_default() += count;
        }
        sum(&mut self.overdue, other.overdue);
        self.closing_over_lease += other.closing_over_lease;
        self.needs_attention += other.needs_attention;
        sum(&mut self.refunds, other.refunds);
        self.failed_refunds += other.failed_refunds;
        for (unit, ages) in other.pending {
            sum(self.pending.entry(unit).or_default(), ages);
        }
    }

    /// Publishes it as gauges. What is not overdue is not among the orders the scan reads: the count of all open orders is published
    /// only by who reads the whole index.
    pub fn publish(&self, metrics: &Metrics) {
        metrics.gauge(Metric::OverdueOrders, self.overdue.count, &[]);
        metrics.gauge(Metric::OldestOverdueAge, self.overdue.oldest_age_seconds, &[]);
        metrics.gauge(Metric::ClosingOverLease, self.closing_over_lease, &[]);
        metrics.gauge(Metric::RefundBacklog, self.refunds.count, &[]);
        metrics.gauge(Metric::OldestRefundAge, self.refunds.oldest_age_seconds, &[]);
        for (unit, ages) in &self.pending {
            metrics.gauge(Metric::PendingUnits, ages.count, &[(Dimension::Resource, unit)]);
            metrics.gauge(Metric::OldestPendingAge, ages.oldest_age_seconds, &[(Dimension::Resource, unit)]);
        }
    }
}

fn kind(unit: &Unit) -> &'static str {
    match unit {
        Unit::Settle(kind) => kind.name(),
        Unit::Cap => "cap",
        Unit::Refund(_) => "refund",
        Unit::Ask(_) => "ask",
        Unit::Anomaly(..) => "anomaly",
        Unit::Foreign(_) => "unknown",
    }
}
