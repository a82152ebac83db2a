//! A few seeds of the simulation with every test run; `cargo run --profile sim -p simulation -- --seeds 10000` runs more.

use std::collections::BTreeSet;

use simulation::{campaign, storm};

/// Seeds of one test run.
const SEEDS: u64 = 40;

#[test]
fn whatever_goes_wrong_every_write_keeps_every_invariant_and_every_order_ends() {
    let campaign = campaign::run(0, SEEDS, campaign::ENOUGH);
    assert!(campaign.failed.is_empty(), "{campaign}");
    assert!(campaign.orders > 100 && campaign.disturbances > 1_000, "a storm in which nothing happens: {campaign}");
}

#[test]
fn the_same_seed_gives_the_same_timeline_byte_for_byte_whatever_ran_before_it() {
    let first = storm::run(3, &BTreeSet::new());
    let _ = storm::run(4, &BTreeSet::new());
    let second = storm::run(3, &BTreeSet::new());
    assert!(first.timeline.len() > 200, "something happens: {} lines", first.timeline.len());
    for (number, (line, other)) in first.timeline.iter().zip(&second.timeline).enumerate() {
        assert_eq!(line, other, "line {number}");
    }
    assert_eq!(first.timeline.len(), second.timeline.len());
}
