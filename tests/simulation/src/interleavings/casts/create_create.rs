//! Two customers order the last shirt.

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, Scene};

pub(super) const CAST: Cast =
    Cast { name: "create+create", crashes: 1, lost_answers: 1, ends: &["CLOSED"], open: |gate| Box::pin(open(gate)) };

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    scene.sends("ann", Errand::order("ann", "1"));
    scene.sends("bob", Errand::order("bob", "2"));
    scene.play()
}
