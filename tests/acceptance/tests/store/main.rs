//! The store against a reference model: whatever is written, in whatever order, from whatever was read, and whatever happens to the
//! writes on their way, the database holds what plain maps say it holds, and every call answers what they say (DESIGN §6).
//!
//! `step.rs` says what may happen, `orders.rs` what the rules of the core make of it (they are not what is tested here), `tables.rs`
//! is the model of the database, `reference.rs` plays a step on it, `real.rs` on the store.

mod orders;
mod real;
mod reference;
mod scene;
mod step;
mod tables;

use proptest::test_runner::{Config, RngSeed};
use proptest_state_machine::prop_state_machine;

use crate::real::Real;

prop_state_machine! {
    #![proptest_config(Config {
        cases: 48,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    })]

    #[test]
    fn the_store_holds_and_answers_what_the_model_says(sequential 30..60 => Real);
}
