//! The fallback scan: independent of every wake-up, it finds what stands overdue in the due index and sends it on its way again
//! (DESIGN §6).
//!
//! Per shard it goes on where it stopped, wraps at the end, and ends where it began; so orders that stay stuck at the head never hide
//! later ones, and a scan that was killed loses nothing but its time.

mod lap;

use std::sync::Arc;
use std::time::Duration;

use expiry_adjudication::Context;
use expiry_core::limits;
use expiry_core::outbox::overdue;
use expiry_core::time::Timestamp;
use expiry_runtime::backlog::Backlog;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::{Dimension, Metric};
use expiry_runtime::queues::{Queues, SendError};
use expiry_runtime::skew::UntrustedClock;
use expiry_store::{DueHit, ReadError, Unavailable};
use futures_util::{StreamExt, stream};
use serde::Serialize;

/// Shards scanned side by side.
const SHARDS_AT_ONCE: usize = 4;

/// The function.
#[derive(Debug)]
pub struct FallbackScan {
    context: Arc<Context>,
    queues: Queues,
    grace: Duration,
}

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scanned {
    /// How many orders stood overdue in the index.
    pub found: u64,
    /// How many messages were sent for them.
    pub sent: u64,
    /// Whether it came all the way round in every shard.
    pub complete: bool,
}

/// Why a run stopped. What it had sent is sent; the next run goes on where it stopped.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The index or the scan's place could not be read.
    #[error("the due index could not be read")]
    Read(#[from] ReadError),
    /// Orders could not be read, or the scan's place not be stored.
    #[error("the database did not answer")]
    Database(#[from] Unavailable),
    /// A message was not sent.
    #[error("a message was not sent")]
    Send(#[from] SendError),
    /// The clock may not be judged by.
    #[error("the clock is not trusted")]
    Clock(#[from] UntrustedClock),
}

impl FallbackScan {
    /// The function; it leaves what is due to its wake-up for `grace`.
    #[must_use]
    pub fn new(context: Arc<Context>, queues: Queues, grace: Duration) -> FallbackScan {
        FallbackScan { context, queues, grace }
    }

    /// Scans every shard once around, or until `deadline` is near.
    ///
    /// # Errors
    /// See [`ScanError`].
    pub async fn handle(&self, deadline: Timestamp) -> Result<Scanned, ScanError> {
        let laps = (0..limits::DUE_SHARDS).map(|shard| self.lap(shard, deadline));
        let laps: Vec<_> = stream::iter(laps).buffer_unordered(SHARDS_AT_ONCE).collect().await;
        let mut scanned = Scanned { complete: true, ..Scanned::default() };
        let mut backlog = Backlog::default();
        // A shard that failed keeps no other from being scanned.
        for lap in laps {
            let (lap, waiting) = lap?;
            backlog.merge(waiting);
            scanned.found += lap.found;
            scanned.sent += lap.sent;
            scanned.complete &= lap.complete;
        }
        if scanned.complete {
            // Half a lap would show half a backlog.
            backlog.publish(&self.context.metrics);
            let now = self.context.clock.now().as_seconds();
            self.context.metrics.gauge(Metric::ScanLastSuccess, u64::try_from(now).unwrap_or(0), &[]);
        }
        tracing::info!(found = scanned.found, sent = scanned.sent, complete = scanned.complete, "scanned");
        Ok(scanned)
    }

    /// Reads the orders of `hits` and sends what is to be done for each. The index is only a hint.
    async fn send_on(&self, hits: &[DueHit], backlog: &mut Backlog) -> Result<u64, ScanError> {
        let ids: Vec<_> = hits.iter().map(|hit| hit.order.clone()).collect();
        let (orders, unreadable) = self.context.store.load_many(&ids).await?;
        for (key, error) in unreadable {
            self.context.metrics.count(Metric::InvariantBreach, 1, &[(Dimension::Invariant, "unreadable")]);
            tracing::error!(key, error = %chain(&error), "a stored order cannot be read");
        }
        let now = self.context.trusted_now()?;
        let mut sent = 0;
        for order in orders {
            backlog.add(&order.order, now);
            for (queue, message) in overdue(&order.order, now) {
                self.queues.send_message(queue, &message, Duration::ZERO).await?;
                sent += 1;
            }
        }
        Ok(sent)
    }
}
