//! A few seeds of the simulation with every test run; `cargo run --profile sim -p simulation -- --seeds 10000` runs more.

use simulation::campaign::{self, ENOUGH, Seeds};

/// Seeds of one test run.
const SEEDS: u64 = 40;

#[test]
fn whatever_goes_wrong_every_write_keeps_every_invariant_and_every_order_ends() {
    let campaign = campaign::run(Seeds { from: 0, count: SEEDS, step: 1, enough: ENOUGH });
    assert!(campaign.failed.is_empty(), "{campaign}");
    assert!(campaign.orders > 80 && campaign.disturbances > 1_000, "a storm in which nothing happens: {campaign}");
}
