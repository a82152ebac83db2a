//! The customer begins to pay at the last moment: the deadline passes and the order is closed while the channel is asked for a
//! credential, and whoever has it may pay. Whether one leaves that cannot be paid is judged as it leaves (I10).

use std::time::Duration;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Scene, WINDOW};

pub(super) const CAST: Cast = Cast {
    name: "closer+start",
    crashes: 1,
    lost_answers: 0,
    ends: &["PAID", "CLOSED"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    scene.starts("start", &order);
    scene.sends_after("closer", WINDOW + Duration::from_secs(1), scene.wake(&order));
    scene.pays("payer", &format!("{order}-1"), false);
    scene.play()
}
