//! The wake-up closes the order while the customer's money comes in, whatever the channel has said before.

use std::time::Duration;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Scene, WINDOW};

pub(super) const CAST: Cast = Cast {
    name: "closer+callback",
    crashes: 2,
    lost_answers: 1,
    ends: &["PAID", "CLOSED, one refund"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let payment = scene.payment(&order, "card").await;
    scene.pass(WINDOW + Duration::from_secs(1));
    scene.sends("closer", scene.wake(&order));
    scene.pays("payer", &payment, true);
    scene.play()
}
