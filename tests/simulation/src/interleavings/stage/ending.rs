//! What follows when nobody acts any more: callers call again, the drivers run, time passes until nothing is left to do.

use std::time::Duration;

use super::{Again, Scene, VISIBILITY, judgement};
use crate::interleavings::cast::Ending;
use crate::interleavings::gate::ActorNo;

/// How long time leaps: a scan falls into each leap.
const LEAP: Duration = Duration::from_secs(3_600);
/// Most leaps: the longest rhythm and rule NF fit in.
const LEAPS: usize = 8;
/// How long a rest may take in simulated time.
const REST: Duration = Duration::from_secs(120);

/// Plays it to its end and judges it. It follows from the stage and from `again` alone.
pub(super) async fn of(scene: Scene, again: Vec<ActorNo>) -> Ending {
    fastrand::seed(0);
    let system = &scene.system;
    scene.pass(VISIBILITY + Duration::from_secs(1));
    for no in again {
        match &scene.again[no] {
            Again::Errand(errand) => drop(errand.run(&system.functions).await),
            Again::Payer(payer) => {
                if payer.pay(&system.sim) {
                    payer.notify(&system.sim, &scene.post, &system.functions).await;
                }
            }
            Again::Nobody => {}
        }
    }
    system.resume();
    let mut is_quiet = system.settled(REST).await;
    for _ in 0..LEAPS {
        if is_quiet && scene.watch.unfinished() == 0 {
            break;
        }
        scene.pass(LEAP);
        is_quiet = system.settled(REST).await;
    }
    let mut ending = judgement::of(&scene).await;
    if !is_quiet {
        ending.wrong.push(format!("it never came to rest: {:?}", system.cloud.queue_counts()));
    }
    if !ending.wrong.is_empty() {
        ending.story = crate::interleavings::cast::Stage::story(&scene);
    }
    ending
}
