//! The customer cancels in one window and pays in the other.

use serde_json::json;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, Scene};

pub(super) const CAST: Cast = Cast {
    name: "cancel+pay",
    crashes: 2,
    lost_answers: 1,
    ends: &["PAID", "CLOSED"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let payment = scene.payment(&order, "card").await;
    scene.sends("cancel", Errand::post(format!("/orders/{order}/cancel"), json!({"reason": "changed my mind"})));
    scene.pays("payer", &payment, false);
    scene.play()
}
