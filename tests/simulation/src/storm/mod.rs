//! A shop in a storm: one seed decides everything that happens and when.
//!
//! ```text
//! seed ─► who orders, pays, clicks ─┐
//!      ─► what breaks and when ─────┼─► the real system ─► every write watched ─► calm ─► the verdict
//!      ─► what the channel says ────┘
//! ```
//!
//! A run has two parts. In the **storm** customers order and pay, the channel is silent or late or lies, calls and answers are lost,
//! reads are stale, messages are doubled and delayed, functions are killed, clocks drift, operators click. In the **calm** the faults
//! stop, the channel tells the truth, and time passes. Invariants are checked after every write; at the end the verdict says
//! whether everything came to its end within the bounded time of the calm (I8, I12).

mod channel;
mod clocks;
mod credentials;
mod customers;
mod fate;
mod operators;
mod plan;
mod scene;
pub mod shrink;
mod trouble;
mod verdict;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use local::clock::MovableClock;
use local::sim::Transit;
use local::system::Parts;
use local::{Settings, System};

use self::clocks::ApartClock;
use self::fate::{Storm, Weather};
use self::plan::Plan;
pub use self::plan::{Disturbance, Kind};
use self::scene::{Character, Scene};
use crate::panics;
use crate::random::{SeededIds, rng};
use crate::shop::Shop;
use crate::timeline::{Line, Timeline};
use crate::watch::Watch;

/// How long the storm lasts.
const STORM: Duration = Duration::from_secs(300);
/// How often time leaps an hour in the calm at most, each leap with a scan: the longest rhythm and rule NF fit in.
const CALM_HOURS: usize = 8;

/// What one run came to.
#[derive(Debug)]
pub struct Outcome {
    /// What is wrong; empty when every write kept every invariant and everything ended as it must.
    pub breaches: Vec<String>,
    /// What happened, in order.
    pub timeline: Vec<Line>,
    /// What disturbed.
    pub disturbances: BTreeSet<Disturbance>,
    /// Orders that were created.
    pub orders: usize,
    /// Calls of AWS and of the channel.
    pub calls: u64,
}

/// Runs `seed` without the disturbances in `spared`.
///
/// # Panics
/// When the local system does not start.
#[must_use]
pub fn run(seed: u64, spared: &BTreeSet<Disturbance>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    // The SDK's jitter and our own come from here.
    fastrand::seed(seed);
    panics::watch();
    let (clock, weather) = {
        // Outside of the runtime its clock shows the real time.
        let _entered = runtime.enter();
        let clock = crate::simulated_clock();
        let weather = Weather::new(Plan::sparing(spared.clone()), Timeline::new(clock.clone()));
        (clock, weather)
    };
    let run = AssertUnwindSafe(|| runtime.block_on(simulate(seed, clock, weather.clone())));
    // A function that panics must not take the other seeds with it.
    let (found, orders) = catch_unwind(run).unwrap_or_default();
    let mut breaches = panics::taken();
    breaches.extend(found);
    let (timeline, disturbances) = (weather.timeline.lines(), weather.plan.happened());
    Outcome { breaches, timeline, disturbances, orders, calls: weather.calls() }
}

/// Plays the run; answers what was wrong and how many orders there were.
async fn simulate(seed: u64, clock: MovableClock, weather: Weather) -> (Vec<String>, usize) {
    let apart = Arc::new(ApartClock::new(clock.clone()));
    let mut settings = Settings::from_lookup(&environment).expect("valid settings");
    settings.seed = seed;
    let parts =
        Parts { functions_clock: Some(apart.clone()), ..Parts::new(clock.clone(), Arc::new(SeededIds::new(seed))) };
    let system = Arc::new(System::start(&settings, parts).await.expect("the local system starts"));
    let watch = Watch::on(&system.cloud, &weather.timeline);
    let shop = Shop::open(Arc::clone(&system)).await;
    system.cloud.keep_replica().expect("a replica");
    let scene = Scene::new(seed, shop, weather.clone(), apart, watch.clone());
    if scene.character == Character::Honest {
        let sim = system.sim.clone();
        watch.also(move |before, after| verdict::settled_over_money(before, after, &sim));
    }
    system.cloud.set_fate(Storm::new(rng(seed, "fate"), weather.clone()));
    system.sim.on_call(fate::transit(&scene));
    let everybody =
        async { tokio::join!(customers::all(&scene), operators::operator(&scene), trouble::trouble(&scene)) };
    // Whoever is still at it is cut off, as by a closed connection.
    let _ = tokio::time::timeout(STORM, everybody).await;
    calm(&scene, &watch).await;
    let mut breaches = watch.breaches();
    breaches.extend(verdict::of(&scene.shop).await);
    // The rule holds the channel, and the channel the rule.
    system.sim.on_call(|_, _, _| Transit::Arrives);
    (breaches, watch.orders().len())
}

/// Faults stop, the channel tells the truth, and time passes.
async fn calm(scene: &Scene, watch: &Watch) {
    scene.weather.calm_down();
    scene.clock.set(0);
    scene.shop.system.set_faults(local::cloud::Faults::default());
    scene.tell_the_truth().await;
    // Whoever is changing the channel's secret sees it through before hours pass.
    tokio::task::yield_now().await;
    drop(scene.secret.lock().await);
    for _ in 0..CALM_HOURS {
        scene.shop.rest().await;
        if watch.unfinished() == 0 {
            return;
        }
        scene.shop.system.clock.advance(Duration::from_secs(3_600));
    }
    scene.shop.rest().await;
}

fn environment(name: &str) -> Option<String> {
    let value = match name {
        "EXPIRY_RULES" => r#"[{"id":"default","version":1,"seconds":90},{"id":"long","version":1,"seconds":240}]"#,
        "MAX_OPEN_ORDERS_PER_USER" => "3",
        _ => return None,
    };
    Some(value.to_owned())
}
