//! Late money is given back by two messages at once, and the lease of the first may end at any moment.

use std::time::Duration;

use expiry_core::ids::AttemptNo;
use expiry_core::pending::Unit;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{LEASE, Scene, WINDOW};

pub(super) const CAST: Cast = Cast {
    name: "refund+refund",
    crashes: 1,
    lost_answers: 0,
    ends: &["CLOSED, one refund"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let payment = scene.payment(&order, "card").await;
    scene.pass(WINDOW + Duration::from_secs(1));
    scene.done(scene.wake(&order)).await;
    scene.paid(&payment).await;
    scene.sends("refund", Scene::unit(&order, Unit::Refund(AttemptNo::FIRST)));
    scene.sends("refund again", Scene::unit(&order, Unit::Refund(AttemptNo::FIRST)));
    scene.time("time", LEASE + Duration::from_secs(1));
    scene.play()
}
