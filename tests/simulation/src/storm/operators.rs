//! An operator who clicks and edits while everything is in motion.

use fastrand::Rng;
use serde_json::{Value, json};

use super::customers::wait;
use super::plan::Kind;
use super::scene::Scene;
use crate::shop::{GOODS, POINTS, SLOTS, USERS};

/// What the operator does in one run.
const CLICKS: u64 = 6;

/// The operator of the run.
pub(super) async fn operator(scene: &Scene) {
    let mut rng = scene.rng("operator");
    for click in 0..CLICKS {
        wait(&mut rng, 90_000).await;
        let mut rng = Rng::with_seed(rng.u64(..));
        if scene.happens(Kind::Operator, click) {
            clicks(scene, &mut rng).await;
        }
    }
}

async fn clicks(scene: &Scene, rng: &mut Rng) {
    match rng.u8(0..8) {
        0 | 1 => on_some_order(scene, rng, "check", json!({"reason": "a look"})).await,
        2 => on_some_order(scene, rng, "resettle", json!({"reason": "a look"})).await,
        3 | 4 => {
            let more = json!({"seconds": rng.u64(1..60), "reason": "a little more time"});
            on_some_order(scene, rng, "extend", more).await;
        }
        5 => retry_some_refund(scene, rng).await,
        6 => {
            let (sku, _) = GOODS[rng.usize(0..GOODS.len())];
            edit(scene, &format!("/stock/{sku}/default/default"), json!({"on_hand": rng.u64(2..9)})).await;
        }
        _ => {
            let user = USERS[rng.usize(0..USERS.len())];
            edit(scene, &format!("/points/{user}"), json!({"balance": POINTS})).await;
            edit(scene, "/quotas/sale", json!({"limit": SLOTS})).await;
        }
    }
}

async fn edit(scene: &Scene, path: &str, body: Value) {
    scene.does("operator", "PUT", &format!("/admin{path}"), "", body).await;
}

async fn on_some_order(scene: &Scene, rng: &mut Rng, action: &str, body: Value) {
    let (_, listed) = scene.does("operator", "GET", "/admin/orders", "", Value::Null).await;
    if let Some(id) = pick(rng, &listed["orders"]).and_then(|order| order["order_id"].as_str()) {
        scene.does("operator", "POST", &format!("/admin/orders/{id}/{action}"), "", body).await;
    }
}

async fn retry_some_refund(scene: &Scene, rng: &mut Rng) {
    let (_, listed) = scene.does("operator", "GET", "/admin/refunds", "", Value::Null).await;
    if let Some(no) = pick(rng, &listed["refunds"]).and_then(|refund| refund["refund_no"].as_str()) {
        let reason = json!({"reason": "the customer calls"});
        scene.does("operator", "POST", &format!("/admin/refunds/{no}/retry"), "", reason).await;
    }
}

fn pick<'a>(rng: &mut Rng, list: &'a Value) -> Option<&'a Value> {
    let list = list.as_array().filter(|list| !list.is_empty())?;
    list.get(rng.usize(0..list.len()))
}
