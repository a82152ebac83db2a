//! Many seeds, on every core.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{REPLAY, storm};

/// After so many failing seeds the rest is not run: they will hardly say more.
pub const ENOUGH: usize = 20;

/// What many seeds came to.
#[derive(Debug, Default)]
pub struct Campaign {
    /// How many were run.
    pub seeds: u64,
    /// Every seed that failed, with what was wrong.
    pub failed: BTreeMap<u64, Vec<String>>,
    /// Orders that were created in all of them.
    pub orders: usize,
    /// Calls of AWS and of the channel in all of them.
    pub calls: u64,
    /// Disturbances in all of them.
    pub disturbances: usize,
    /// How long it took.
    pub took: Duration,
}

/// Runs `count` seeds from `from` on, or until `enough` of them failed.
#[must_use]
pub fn run(from: u64, count: u64, enough: usize) -> Campaign {
    let began = Instant::now();
    let next = AtomicU64::new(from);
    let end = from.saturating_add(count);
    let campaign = Mutex::new(Campaign::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let outcome = storm::run(seed, &BTreeSet::new());
            let mut campaign = campaign.lock().unwrap_or_else(PoisonError::into_inner);
            campaign.seeds += 1;
            campaign.orders += outcome.orders;
            campaign.calls += outcome.calls;
            campaign.disturbances += outcome.disturbances.len();
            if !outcome.breaches.is_empty() {
                campaign.failed.insert(seed, outcome.breaches);
            }
            if campaign.failed.len() >= enough {
                next.store(end, Ordering::Relaxed);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut campaign = campaign.into_inner().unwrap_or_else(PoisonError::into_inner);
    campaign.took = began.elapsed();
    campaign
}

impl fmt::Display for Campaign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (seed, breaches) in &self.failed {
            writeln!(out, "seed {seed} ({REPLAY} --seed {seed} --shrink):")?;
            for breach in breaches {
                writeln!(out, "  {breach}")?;
            }
        }
        let failed = self.failed.len();
        let (orders, calls, disturbances, seconds) = (self.orders, self.calls, self.disturbances, self.took.as_secs());
        writeln!(
            out,
            "{} seeds, {orders} orders, {calls} calls, {disturbances} disturbances, {seconds} s",
            self.seeds
        )?;
        write!(out, "{} passed, {failed} failed", self.seeds.saturating_sub(failed as u64))
    }
}
