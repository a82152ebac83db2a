//! An operator gives more time while the wake-up comes, and the deadline may pass at any moment.

use std::time::Duration;

use serde_json::json;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, Scene, WINDOW};

pub(super) const CAST: Cast = Cast {
    name: "extend+wake-up",
    crashes: 2,
    lost_answers: 1,
    ends: &["CLOSED", "CLOSED, extended"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let more = json!({"seconds": 60, "reason": "a slow bank"});
    scene.sends("operator", Errand::post(format!("/admin/orders/{order}/extend"), more));
    scene.sends("wake-up", scene.wake(&order));
    scene.time("time", WINDOW + Duration::from_secs(1));
    scene.play()
}
