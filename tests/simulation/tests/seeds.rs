//! A few seeds of the simulation with every test run; `cargo run -p simulation -- --seeds 10000` runs more.

/// Seeds of one test run.
const SEEDS: u64 = 40;

#[test]
fn whatever_goes_wrong_every_order_ends_and_every_counter_and_payment_balances() {
    for seed in 0..SEEDS {
        let outcome = simulation::run(seed);
        assert!(outcome.verdict.is_empty(), "replay: cargo run -p simulation -- --seed {seed}\n{:#?}", outcome.verdict);
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let first = simulation::run(3);
    let second = simulation::run(3);
    assert!(first.history.len() > 200, "something happens: {} calls", first.history.len());
    for (number, (line, other)) in first.history.iter().zip(&second.history).enumerate() {
        assert_eq!(line, other, "line {number}");
    }
    assert_eq!(first.history.len(), second.history.len());
}
