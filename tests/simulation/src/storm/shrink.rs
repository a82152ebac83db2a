//! Removing from a failing run what it does not need to fail.

use std::collections::BTreeSet;

use super::{Disturbance, Outcome, run};

/// Most runs of one shrinking.
const RUNS: usize = 600;

/// A failing run without what is not needed.
#[derive(Debug)]
pub struct Shrunk {
    /// The run that still fails.
    pub outcome: Outcome,
    /// What is left of its disturbances.
    pub needed: BTreeSet<Disturbance>,
    /// How many runs it took.
    pub runs: usize,
}

/// Repeats `seed` with fewer and fewer disturbances as long as it fails: first without large parts of them, then without single
/// ones. `None` when the seed does not fail.
#[must_use]
pub fn shrink(seed: u64) -> Option<Shrunk> {
    let first = run(seed, &BTreeSet::new());
    let mut shrinking = Shrinking { seed, spared: BTreeSet::new(), outcome: first, runs: 1 };
    if shrinking.outcome.breaches.is_empty() {
        return None;
    }
    let mut size = shrinking.outcome.disturbances.len().div_ceil(2);
    while size > 0 && shrinking.runs < RUNS {
        let removed = shrinking.try_chunks_of(size);
        size = if size == 1 && removed { 1 } else { size / 2 };
    }
    let needed = shrinking.outcome.disturbances.clone();
    Some(Shrunk { outcome: shrinking.outcome, needed, runs: shrinking.runs })
}

/// Whether `other` breaks something that `one` breaks, told by the words without names and numbers.
fn fails_alike(one: &Outcome, other: &Outcome) -> bool {
    let kinds =
        |outcome: &Outcome| -> BTreeSet<String> { outcome.breaches.iter().map(|breach| kind(breach)).collect() };
    !kinds(one).is_disjoint(&kinds(other))
}

/// What is wrong, without the words that differ from run to run.
fn kind(breach: &str) -> String {
    let is_plain = |word: &&str| word.chars().all(char::is_alphabetic) || word.starts_with('I');
    breach.split(' ').filter(is_plain).collect::<Vec<_>>().join(" ")
}

struct Shrinking {
    seed: u64,
    spared: BTreeSet<Disturbance>,
    outcome: Outcome,
    runs: usize,
}

impl Shrinking {
    /// Tries to do without each `size` of what still disturbs; whether anything could go.
    fn try_chunks_of(&mut self, size: usize) -> bool {
        let mut removed = false;
        let present: Vec<Disturbance> = self.outcome.disturbances.iter().copied().collect();
        for chunk in present.chunks(size) {
            // What disturbs depends on what was removed before.
            let chunk: Vec<Disturbance> =
                chunk.iter().copied().filter(|one| self.outcome.disturbances.contains(one)).collect();
            if chunk.is_empty() || self.runs >= RUNS {
                continue;
            }
            let mut spared = self.spared.clone();
            spared.extend(chunk);
            let outcome = run(self.seed, &spared);
            self.runs += 1;
            if fails_alike(&self.outcome, &outcome) {
                (self.spared, self.outcome, removed) = (spared, outcome, true);
            }
        }
        removed
    }
}
