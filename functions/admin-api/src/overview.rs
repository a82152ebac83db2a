//! How the shop's orders stand, at a glance: everything that waits stands in the due index, so the index is counted (DESIGN §10).

use std::collections::BTreeMap;

use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use expiry_runtime::http::{Response, json_response};
use expiry_runtime::metrics::{Metric, Metrics};
use expiry_runtime::problem::Problem;
use serde::Serialize;

use crate::AdminApi;
use crate::lists::{open_refunds, owed_since, unread};

/// Orders read at once.
const PAGE: u16 = 100;
/// Most pages that one overview counts.
const PAGES: usize = 100;

/// The figures of one overview.
#[derive(Clone, Debug, Default, Serialize)]
struct Overview {
    server_time: String,
    /// Whether there were more orders than were counted.
    truncated: bool,
    /// Orders in the due index, by status.
    orders: BTreeMap<&'static str, u64>,
    overdue: Ages,
    /// CLOSING orders whose lease has ended.
    closing_over_lease: u64,
    needs_attention: u64,
    refunds: Ages,
    failed_refunds: u64,
    /// Units of work that are not done, by what they are.
    pending: BTreeMap<String, Ages>,
    scan: Scan,
}

/// How many, and how old the oldest is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Ages {
    count: u64,
    oldest_age_seconds: u64,
}

impl Ages {
    fn add(&mut self, age_seconds: u64) {
        self.count += 1;
        self.oldest_age_seconds = self.oldest_age_seconds.max(age_seconds);
    }
}

/// How the fallback scan stands, over all shards.
#[derive(Clone, Debug, Default, Serialize)]
struct Scan {
    /// When the shard that was longest not scanned was last scanned whole; null while one never was.
    last_success: Option<String>,
    longest_lap_millis: u64,
    found_last_run: u64,
}

impl AdminApi {
    /// `GET /admin/overview`.
    pub(crate) async fn overview(&self) -> Result<Response, Problem> {
        let store = &self.context.store;
        let now = self.context.clock.now();
        let mut overview = Overview { server_time: now.to_string(), ..Overview::default() };
        overview.scan = self.scan().await?;
        let mut after = None;
        overview.truncated = true;
        for _ in 0..PAGES {
            let until = now.plus(std::time::Duration::from_secs(limits::WINDOW_SECONDS));
            let page = store.due_orders(until, after.as_ref(), PAGE).await.map_err(unread)?;
            let ids: Vec<_> = page.hits.iter().map(|hit| hit.order.clone()).collect();
            let (orders, _) = store.load_many(&ids).await.map_err(|error| unread(error.into()))?;
            orders.iter().for_each(|order| overview.add(&order.order, now));
            after = page.hits.last().cloned();
            if !page.more || after.is_none() {
                overview.truncated = false;
                break;
            }
        }
        overview.publish(&self.context.metrics);
        Ok(json_response(200, &overview))
    }

    async fn scan(&self) -> Result<Scan, Problem> {
        let mut scan = Scan::default();
        let mut oldest: Option<Timestamp> = None;
        let mut every_shard = true;
        for shard in 0..limits::DUE_SHARDS {
            let state = self.context.store.scan_state(shard).await.map_err(unread)?;
            every_shard &= state.last_lap_at.is_some();
            oldest = match (oldest, state.last_lap_at) {
                (Some(oldest), Some(at)) => Some(oldest.min(at)),
                (oldest, at) => oldest.or(at),
            };
            scan.longest_lap_millis = scan.longest_lap_millis.max(state.last_lap_millis);
            scan.found_last_run += state.last_found;
        }
        scan.last_success = oldest.filter(|_| every_shard).map(|at| at.to_string());
        Ok(scan)
    }
}

impl Overview {
    fn add(&mut self, order: &Order, now: Timestamp) {
        *self.orders.entry(order.status.name()).or_default() += 1;
        if let Some(expire_at) = order.expire_at.filter(|at| !order.status.is_terminal() && *at < now) {
            self.overdue.add(now.since(expire_at).as_secs());
        }
        if order.status == OrderStatus::Closing {
            let turn = order.closing.as_ref().map(|task| &task.turn);
            let over = turn.is_some_and(|turn| turn.owner.is_some() && turn.next_check_at.is_some_and(|at| at < now));
            self.closing_over_lease += u64::from(over);
        }
        let tasks = [
            order.closing.as_ref().map(|task| task.needs_attention),
            order.asking.as_ref().map(|task| task.needs_attention),
        ];
        let aside = order.pending.iter().any(|unit| matches!(unit, Unit::Anomaly(..)));
        self.needs_attention += u64::from(aside || tasks.contains(&Some(true)));
        let age = owed_since(order).map_or(0, |since| now.since(since).as_secs());
        for refund in open_refunds(order, now) {
            self.refunds.add(age);
            self.failed_refunds += u64::from(refund["status"] == "FAILED");
        }
        for unit in &order.pending {
            self.pending.entry(kind(unit)).or_default().add(age);
        }
    }

    /// The same figures as metrics.
    fn publish(&self, metrics: &Metrics) {
        let open = ["PENDING_PAYMENT", "PAYING", "CLOSING"].iter().filter_map(|name| self.orders.get(name)).sum();
        metrics.gauge(Metric::UnpaidOrders, open, &[]);
        metrics.gauge(Metric::OverdueOrders, self.overdue.count, &[]);
        metrics.gauge(Metric::OldestOverdueAge, self.overdue.oldest_age_seconds, &[]);
        metrics.gauge(Metric::ClosingOverLease, self.closing_over_lease, &[]);
        metrics.gauge(Metric::RefundBacklog, self.refunds.count, &[]);
        metrics.gauge(Metric::OldestRefundAge, self.refunds.oldest_age_seconds, &[]);
        let pending = self.pending.values();
        metrics.gauge(Metric::PendingUnits, pending.clone().map(|ages| ages.count).sum(), &[]);
        metrics.gauge(Metric::OldestPendingAge, pending.map(|ages| ages.oldest_age_seconds).max().unwrap_or(0), &[]);
    }
}

fn kind(unit: &Unit) -> String {
    match unit {
        Unit::Settle(kind) => kind.name().to_owned(),
        Unit::Cap => "cap".to_owned(),
        Unit::Refund(_) => "refund".to_owned(),
        Unit::Ask(_) => "ask".to_owned(),
        Unit::Anomaly(kind, _) => format!("anomaly:{}", kind.name()),
        Unit::Foreign(_) => "unknown".to_owned(),
    }
}
