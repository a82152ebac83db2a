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
    let run = |seed| storm::run(seed, &BTreeSet::new());
    // An honest channel and a capricious one.
    let first = [run(4), run(5)];
    let second = [run(4), run(5)];
    for (first, second) in first.iter().zip(&second) {
        assert!(first.timeline.len() > 200, "something happens: {} lines", first.timeline.len());
        for (number, (line, other)) in first.timeline.iter().zip(&second.timeline).enumerate() {
            assert_eq!(line, other, "line {number}");
        }
        assert_eq!(first.timeline.len(), second.timeline.len());
        assert_eq!((first.calls, &first.disturbances), (second.calls, &second.disturbances));
    }
}
