//! Money comes after the order was closed, while what it held is given back.

use std::time::Duration;

use expiry_core::pending::Unit;
use expiry_core::reservation::ResourceKind;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Scene, WINDOW};

pub(super) const CAST: Cast = Cast {
    name: "late money+settle",
    crashes: 2,
    lost_answers: 1,
    ends: &["CLOSED, one refund"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let payment = scene.payment(&order, "card").await;
    scene.pass(WINDOW + Duration::from_secs(1));
    scene.done(scene.wake(&order)).await;
    scene.pays("payer", &payment, true);
    scene.sends("settle", Scene::unit(&order, Unit::Settle(ResourceKind::Stock)));
    scene.play()
}
