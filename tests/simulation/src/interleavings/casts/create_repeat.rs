//! The shop's backend sends the same order twice.

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, Scene};

pub(super) const CAST: Cast =
    Cast { name: "create+repeat", crashes: 1, lost_answers: 1, ends: &["CLOSED"], open: |gate| Box::pin(open(gate)) };

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 2).await;
    scene.sends("shop", Errand::order("ann", "1"));
    scene.sends("shop again", Errand::order("ann", "1"));
    scene.play()
}
