//! A shop under everything that can go wrong: the real handlers, the real SDK and the embedded cloud on simulated time, with one
//! seed deciding what happens and when.
//!
//! A run has two parts. In the **storm** customers order and pay, channels are silent or late, calls and answers are lost, messages
//! are doubled and delayed, functions are killed, operators click. In the **calm** the faults stop, the channel tells the truth, and
//! time passes. Then [`verdict`] says whether everything ended as it must.

mod channel;
mod customers;
mod fate;
mod verdict;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use expiry_core::time::Timestamp;
use local::clock::MovableClock;
use local::system::Parts;
use local::{Settings, System};

use crate::history::History;
use crate::random::{SeededIds, rng};
use crate::shop::Shop;

use self::fate::Storm;
use self::verdict::Verdict;

/// Where simulated time begins.
const BEGINS: i64 = 1_800_000_000;
/// How long the storm lasts.
const STORM: Duration = Duration::from_secs(400);
/// How often time leaps an hour in the calm, each leap with a scan: the longest rhythm and rule NF fit in.
const CALM_HOURS: usize = 8;

/// What one run came to.
#[derive(Debug)]
pub struct Outcome {
    /// What is wrong; empty when everything ended as it must.
    pub verdict: Verdict,
    /// Everything that was called and what became of it, in order.
    pub history: Vec<String>,
}

/// Runs the simulation of `seed`.
///
/// # Panics
/// When the local system does not start.
#[must_use]
pub fn run(seed: u64) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    // The SDK's jitter and our own come from here.
    fastrand::seed(seed);
    runtime.block_on(simulate(seed))
}

async fn simulate(seed: u64) -> Outcome {
    let clock = MovableClock::following_tokio(Timestamp::from_seconds(BEGINS).expect("a time"));
    let environment = |name: &str| match name {
        "EXPIRY_RULES" => {
            Some(r#"[{"id":"default","version":1,"seconds":90},{"id":"long","version":1,"seconds":240}]"#.to_owned())
        }
        "MAX_OPEN_ORDERS_PER_USER" => Some("3".to_owned()),
        _ => None,
    };
    let mut settings = Settings::from_lookup(&environment).expect("valid settings");
    settings.seed = seed;
    let parts = Parts::new(clock.clone(), Arc::new(SeededIds::new(seed)));
    let system = Arc::new(System::start(&settings, parts).await.expect("the local system starts"));
    let shop = Shop::open(Arc::clone(&system)).await;
    let calm = Arc::new(AtomicBool::new(false));
    let history = History::new(clock.clone());
    system.cloud.set_fate(Storm::new(rng(seed, "fate"), Arc::clone(&calm), history.clone()));
    customers::storm(&shop, seed, STORM).await;
    calm.store(true, Ordering::SeqCst);
    system.set_faults(local::cloud::Faults::default());
    channel::tell_the_truth(&shop, &mut rng(seed, "truth")).await;
    for _ in 0..CALM_HOURS {
        shop.rest().await;
        system.clock.advance(Duration::from_secs(3_600));
    }
    shop.rest().await;
    Outcome { verdict: verdict::of(&shop).await, history: history.lines() }
}
