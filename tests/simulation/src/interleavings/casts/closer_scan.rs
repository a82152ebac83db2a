//! The wake-up comes very late, and the scan comes by the order at the same time.

use std::time::Duration;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, Scene, WINDOW};

pub(super) const CAST: Cast =
    Cast { name: "closer+scan", crashes: 1, lost_answers: 0, ends: &["CLOSED"], open: |gate| Box::pin(open(gate)) };

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    scene.payment(&order, "card").await;
    scene.pass(WINDOW + Duration::from_secs(300));
    scene.ignore_empty_shards().await;
    scene.sends("closer", scene.wake(&order));
    scene.sends("scan", Errand::Scan);
    scene.play()
}
