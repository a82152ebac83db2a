//! The customer begins to pay at the last moment: the deadline passes and the order is closed while the channel is asked for a
//! credential, and whoever has it may pay.

use std::time::Duration;

use serde_json::json;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Errand, Scene, WINDOW};

pub(super) const CAST: Cast =
    Cast { name: "closer+start", crashes: 1, ends: &["PAID", "CLOSED"], open: |gate| Box::pin(open(gate)) };

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    scene.sends("start", Errand::post(format!("/orders/{order}/payments"), json!({"channel": "sim"})));
    scene.sends_after("closer", WINDOW + Duration::from_secs(1), scene.wake(&order));
    scene.pays("payer", &format!("{order}-1"), false);
    scene.play()
}
