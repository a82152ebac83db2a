//! Two attempts of one order are paid at once: the first was not known to the channel when the second was begun.

use serde_json::json;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::Scene;

pub(super) const CAST: Cast = Cast {
    name: "callback+callback",
    crashes: 2,
    lost_answers: 1,
    ends: &["PAID, one refund"],
    open: |gate| Box::pin(open(gate)),
};

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let order = scene.order().await;
    let first = scene.payment(&order, "card").await;
    scene.channel(&first, json!({"state": "NOT_FOUND"})).await;
    let second = scene.payment(&order, "bank").await;
    scene.pays("first payer", &first, true);
    scene.pays("second payer", &second, true);
    scene.play()
}
