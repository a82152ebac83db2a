//! One lap of the scan around one shard.

use expiry_core::time::Timestamp;
use expiry_runtime::backlog::Backlog;
use expiry_runtime::metrics::Metric;
use expiry_store::{DuePosition, ScanState};

use crate::{FallbackScan, ScanError, Scanned};

/// Orders of one page.
const PAGE: u16 = 100;
/// Most pages of one shard in one run.
const PAGES: usize = 1_000;
/// A run stops this long before its deadline, so that its place is stored.
const MARGIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Where a lap is: behind its cursor up to the end of the shard, or, having wrapped, from the start up to where it began.
#[derive(Debug)]
enum Leg {
    ToTheEnd,
    FromTheStart { up_to: DuePosition },
}

impl FallbackScan {
    /// Goes once around `shard`.
    pub(crate) async fn lap(&self, shard: u8, deadline: Timestamp) -> Result<(Scanned, Backlog), ScanError> {
        let mut backlog = Backlog::default();
        let lap = self.lap_counting(shard, deadline, &mut backlog).await?;
        Ok((lap, backlog))
    }

    async fn lap_counting(&self, shard: u8, deadline: Timestamp, backlog: &mut Backlog) -> Result<Scanned, ScanError> {
        let store = &self.context.store;
        let mut state = store.scan_state(shard).await?;
        let started_at = self.context.trusted_now()?;
        let until = started_at.minus(self.grace);
        let began_at = state.cursor.clone();
        let mut leg = Leg::ToTheEnd;
        let mut lap = Scanned::default();
        state.lap_started_at = Some(started_at);
        for _ in 0..PAGES {
            if self.context.clock.now().plus(MARGIN) >= deadline {
                break;
            }
            let page = store.due_page(shard, until, state.cursor.as_ref(), PAGE).await?;
            let mut hits = page.hits;
            let mut ends_here = false;
            if let Leg::FromTheStart { up_to } = &leg {
                let all = hits.len();
                hits.retain(|hit| hit <= up_to);
                ends_here = hits.len() < all;
            }
            lap.found += hits.len() as u64;
            lap.sent += self.send_on(&hits, backlog).await?;
            if let Some(last) = hits.last() {
                state.cursor = Some(last.clone());
            }
            if page.more && !ends_here {
                store.save_scan_state(shard, &state).await?;
                continue;
            }
            match (&leg, &began_at) {
                (Leg::ToTheEnd, Some(began_at)) => {
                    // At the end the scan wraps at once, up to where it began.
                    leg = Leg::FromTheStart { up_to: began_at.clone() };
                    state.cursor = None;
                }
                (Leg::ToTheEnd, None) | (Leg::FromTheStart { .. }, _) => {
                    lap.complete = true;
                    break;
                }
            }
        }
        self.finish(shard, state, &lap, started_at).await?;
        Ok(lap)
    }

    /// A finished lap leaves no cursor: the next one begins at the oldest.
    async fn finish(
        &self,
        shard: u8,
        mut state: ScanState,
        lap: &Scanned,
        started_at: Timestamp,
    ) -> Result<(), ScanError> {
        if lap.complete {
            let now = self.context.clock.now();
            let took = now.since(started_at);
            state.cursor = None;
            state.last_lap_at = Some(now);
            state.last_lap_millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            self.context.metrics.milliseconds(Metric::ScanLap, took, &[]);
        }
        state.last_found = lap.found;
        Ok(self.context.store.save_scan_state(shard, &state).await?)
    }
}
