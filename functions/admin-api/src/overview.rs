//! How the shop's orders stand, at a glance: everything that waits stands in the due index, so the index is counted (DESIGN §10).

use expiry_core::limits;
use expiry_core::time::Timestamp;
use expiry_runtime::backlog::Backlog;
use expiry_runtime::http::{Response, json_response};
use expiry_runtime::metrics::Metric;
use expiry_runtime::problem::Problem;
use serde::Serialize;

use crate::AdminApi;
use crate::lists::{end_of_time, unread};

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
    #[serde(flatten)]
    backlog: Backlog,
    scan: Scan,
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
        let mut backlog = Backlog::default();
        let mut after = None;
        let mut truncated = true;
        for _ in 0..PAGES {
            let page = store.due_orders(end_of_time(), after.as_ref(), PAGE).await.map_err(unread)?;
            let ids: Vec<_> = page.hits.iter().map(|hit| hit.order.clone()).collect();
            let (orders, _) = store.load_many(&ids).await.map_err(|error| unread(error.into()))?;
            orders.iter().for_each(|order| backlog.add(&order.order, now));
            after = page.hits.last().cloned();
            if !page.more || after.is_none() {
                truncated = false;
                break;
            }
        }
        let metrics = &self.context.metrics;
        backlog.publish(metrics);
        let open = ["PENDING_PAYMENT", "PAYING", "CLOSING"].iter().filter_map(|name| backlog.orders.get(name)).sum();
        metrics.gauge(Metric::UnpaidOrders, open, &[]);
        let overview = Overview { server_time: now.to_string(), truncated, backlog, scan: self.scan().await? };
        Ok(json_response(200, &overview))
    }

    async fn scan(&self) -> Result<Scan, Problem> {
        let mut scan = Scan::default();
        let mut oldest: Option<Timestamp> = None;
        let mut every_shard = true;
        for shard in 0..limits::DUE_SHARDS {
            let state = self.context.store.scan_state(shard).await.map_err(unread)?;
            every_shard &= state.last_lap_at.is_some();
            oldest = oldest.into_iter().chain(state.last_lap_at).min();
            scan.longest_lap_millis = scan.longest_lap_millis.max(state.last_lap_millis);
            scan.found_last_run += state.last_found;
        }
        scan.last_success = oldest.filter(|_| every_shard).map(|at| at.to_string());
        Ok(scan)
    }
}
