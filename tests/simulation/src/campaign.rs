//! Many seeds, on every core: each core has a process of its own, so that nothing a process has only one of (a static of the SDK, a counter)
//! joins two runs: a seed that fails must replay.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fmt, io, thread};

use serde::{Deserialize, Serialize};

use crate::{REPLAY, storm};

/// After so many failing seeds the rest is not run: they will hardly say more.
pub const ENOUGH: usize = 20;

/// Which seeds are run.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// The distance from one to the next.
    pub step: usize,
    /// After how many failing ones the rest is not run.
    pub enough: usize,
}

/// What many seeds came to.
#[derive(Debug, Default, Serialize, Deserialize)]
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

/// Runs the seeds one after the other.
#[must_use]
pub fn run(seeds: Seeds) -> Campaign {
    let began = Instant::now();
    let mut campaign = Campaign::default();
    for seed in (seeds.from..seeds.from.saturating_add(seeds.count)).step_by(seeds.step) {
        let outcome = storm::run(seed, &BTreeSet::new());
        campaign.seeds += 1;
        campaign.orders += outcome.orders;
        campaign.calls += outcome.calls;
        campaign.disturbances += outcome.disturbances.len();
        if !outcome.breaches.is_empty() {
            campaign.failed.insert(seed, outcome.breaches);
        }
        if campaign.failed.len() >= seeds.enough {
            break;
        }
    }
    campaign.took = began.elapsed();
    campaign
}

/// Runs the seeds shared out over all cores, each share by this program with `--share`.
///
/// # Errors
/// When a process cannot be started, or does not say what its share came to.
pub fn on_every_core(seeds: Seeds) -> io::Result<Campaign> {
    let began = Instant::now();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut shares: Vec<Child> = (0..cores).map(|core| share(seeds, core, cores)).collect::<io::Result<_>>()?;
    let (sender, said) = mpsc::channel();
    for share in &mut shares {
        let (sender, output) = (sender.clone(), share.stdout.take());
        // Nobody listens any more only when enough is known.
        thread::spawn(move || sender.send(output.map_or(Ok(String::new()), io::read_to_string)));
    }
    drop(sender);
    let mut campaign = Campaign::default();
    for line in said {
        campaign.add(serde_json::from_str(&line?)?);
        if campaign.failed.len() >= seeds.enough {
            break;
        }
    }
    for share in &mut shares {
        // One that has ended cannot be ended.
        let _ = share.kill();
        share.wait()?;
    }
    campaign.took = began.elapsed();
    Ok(campaign)
}

fn share(seeds: Seeds, core: usize, cores: usize) -> io::Result<Child> {
    let first = seeds.from + core as u64;
    let count = seeds.count.saturating_sub(core as u64);
    let numbers = [first, count, cores as u64, seeds.enough as u64].map(|number| number.to_string());
    Command::new(env::current_exe()?).arg("--share").args(numbers).stdout(Stdio::piped()).spawn()
}

impl Campaign {
    fn add(&mut self, share: Campaign) {
        self.seeds += share.seeds;
        self.orders += share.orders;
        self.calls += share.calls;
        self.disturbances += share.disturbances;
        self.failed.extend(share.failed);
    }
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
