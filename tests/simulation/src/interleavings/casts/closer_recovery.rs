//! The closer dies, its message is delivered again, and whoever takes it may die as well, while money comes in at any moment.

use std::time::Duration;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Scene, WINDOW};

pub(super) const CAST: Cast = Cast {
    name: "closer+recovery",
    crashes: 2,
    lost_answers: 0,
    ends: &["PAID", "CLOSED, one refund"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let payment = scene.payment(&order, "card").await;
    scene.pass(WINDOW + Duration::from_secs(1));
    let closer = scene.sends("closer", scene.wake(&order));
    let recovery = scene.recovers("recovery", closer, scene.wake(&order));
    scene.recovers("second recovery", recovery, scene.wake(&order));
    scene.pays("payer", &payment, true);
    scene.play()
}
