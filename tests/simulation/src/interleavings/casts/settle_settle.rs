//! What a closed order holds is given back: the coupon by two messages at once, the stock by a third.

use std::time::Duration;

use expiry_core::pending::Unit;
use expiry_core::reservation::ResourceKind;
use serde_json::json;

use crate::interleavings::cast::{Cast, Play};
use crate::interleavings::gate::Gate;
use crate::interleavings::stage::{Scene, WINDOW};

pub(super) const CAST: Cast =
    Cast { name: "settle+settle", crashes: 2, lost_answers: 1, ends: &["CLOSED"], open: |gate| Box::pin(open(gate)) };

async fn open(gate: Gate) -> Play {
    let mut scene = Scene::open(gate, 1).await;
    let mut body = Scene::order_body("ann");
    body["coupon_id"] = json!("C-ann");
    let order = scene.ordered(body).await;
    scene.pass(WINDOW + Duration::from_secs(1));
    scene.done(scene.wake(&order)).await;
    scene.sends("coupon", Scene::unit(&order, Unit::Settle(ResourceKind::Coupon)));
    scene.sends("coupon again", Scene::unit(&order, Unit::Settle(ResourceKind::Coupon)));
    scene.sends("stock", Scene::unit(&order, Unit::Settle(ResourceKind::Stock)));
    scene.play()
}
