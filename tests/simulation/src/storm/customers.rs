//! Customers and operators in the storm, and the crashes between them.

use std::time::Duration;

use expiry_core::message::Queue;
use fastrand::Rng;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::random::rng;
use crate::shop::{GOODS, Shop, USERS};

use super::channel;

/// Customers of one run.
const CUSTOMERS: usize = 7;

/// Lets everybody act, for `span` of simulated time.
pub(crate) async fn storm(shop: &Shop, seed: u64, span: Duration) {
    let customers = (0..CUSTOMERS).map(|n| customer(shop.clone(), rng(seed, &format!("customer {n}")), n));
    let everybody = async {
        tokio::join!(
            join_all(customers),
            operator(shop.clone(), rng(seed, "operator")),
            trouble(shop.clone(), rng(seed, "trouble")),
        )
    };
    // Whoever is still at it is cut off, as by a closed connection.
    let _ = tokio::time::timeout(span, everybody).await;
}

async fn wait(rng: &mut Rng, most_millis: u64) {
    tokio::time::sleep(Duration::from_millis(rng.u64(0..most_millis))).await;
}

async fn customer(shop: Shop, mut rng: Rng, n: usize) {
    wait(&mut rng, 60_000).await;
    let user = USERS[rng.usize(0..USERS.len())];
    let (sku, _) = GOODS[rng.usize(0..GOODS.len())];
    let free = rng.u8(0..100) < 5;
    let mut body = json!({
        "user_id": user,
        "currency": "CNY",
        "lines": [{"sku": sku, "quantity": 1, "unit_price": 1_000}],
        "payable_amount": if free { 0 } else { 1_000 },
        "expiry_rule": if rng.bool() { "default" } else { "long" },
    });
    if rng.u8(0..100) < 40 {
        body["coupon_id"] = json!(format!("C-{user}"));
    }
    if rng.u8(0..100) < 40 {
        body["points"] = json!(rng.u64(1..30));
    }
    if rng.u8(0..100) < 40 {
        body["quotas"] = json!([{"activity": "sale", "quantity": 1}]);
    }
    let key = format!("customer-{n}");
    let Some(id) = order(&shop, &mut rng, &key, &body).await else {
        return;
    };
    let mut lives = Vec::new();
    for _ in 0..rng.usize(0..4) {
        wait(&mut rng, 50_000).await;
        lives.extend(act(&shop, &mut rng, &id).await.map(tokio::spawn));
    }
    join_all(lives).await;
}

/// Orders, and again with the same key when it is not clear whether that worked.
async fn order(shop: &Shop, rng: &mut Rng, key: &str, body: &Value) -> Option<String> {
    for _ in 0..4 {
        let (status, order) = shop.call("POST", "/orders", &[("idempotency-key", key)], body.clone()).await;
        match status {
            201 => return order["order_id"].as_str().map(str::to_owned),
            503 => wait(rng, 3_000).await,
            _ => return None,
        }
    }
    None
}

/// Something a customer does with an order; with a payment, what the channel makes of it.
async fn act(shop: &Shop, rng: &mut Rng, id: &str) -> Option<impl Future<Output = ()> + Send + 'static> {
    if rng.u8(0..100) < 15 {
        shop.call("POST", &format!("/orders/{id}/cancel"), &[], json!({"reason": "no more"})).await;
        return None;
    }
    let mut body = json!({"channel": "sim"});
    if rng.u8(0..100) < 25 {
        body["method"] = json!("card");
    }
    if rng.u8(0..100) < 25 {
        body["amount"] = json!(rng.u64(1..1_200));
    }
    let (status, payment) = shop.call("POST", &format!("/orders/{id}/payments"), &[], body).await;
    let out_trade_no = payment["out_trade_no"].as_str().filter(|_| status == 201)?.to_owned();
    Some(channel::live(shop.clone(), out_trade_no, Rng::with_seed(rng.u64(..))))
}

/// An operator who clicks and edits.
async fn operator(shop: Shop, mut rng: Rng) {
    for _ in 0..6 {
        wait(&mut rng, 90_000).await;
        let (_, listed) = shop.admin("GET", "/orders", Value::Null).await;
        let orders = listed["orders"].as_array().cloned().unwrap_or_default();
        let Some(id) = orders.get(rng.usize(0..orders.len().max(1))).and_then(|order| order["order_id"].as_str())
        else {
            continue;
        };
        let reason = json!({"reason": "a look"});
        match rng.u8(0..4) {
            0 => shop.admin("POST", &format!("/orders/{id}/check"), reason).await,
            1 => shop.admin("POST", &format!("/orders/{id}/resettle"), reason).await,
            2 => {
                let more = json!({"seconds": rng.u64(1..60), "reason": "a little more time"});
                shop.admin("POST", &format!("/orders/{id}/extend"), more).await
            }
            _ => {
                let (sku, _) = GOODS[rng.usize(0..GOODS.len())];
                let on_hand = json!({"on_hand": rng.u64(2..9)});
                shop.admin("PUT", &format!("/stock/{sku}/default/default"), on_hand).await
            }
        };
    }
}

/// Functions die, the stream loses records, reminders are lost, a channel cannot be reached, and somebody sends nonsense.
async fn trouble(shop: Shop, mut rng: Rng) {
    for _ in 0..6 {
        wait(&mut rng, 100_000).await;
        match rng.u8(0..6) {
            0 | 1 => shop.system.crash(),
            2 => fault(&shop, &mut rng, json!({"drop_stream": true})).await,
            3 => fault(&shop, &mut rng, json!({"drop_wakes": true})).await,
            4 => fault(&shop, &mut rng, json!({"channel_down": ["sim"]})).await,
            _ => {
                let queue = Queue::ALL[rng.usize(0..Queue::ALL.len())];
                shop.poison(queue, r#"{"type":"overdue","order_id":"nobody"}"#).await;
            }
        }
    }
}

async fn fault(shop: &Shop, rng: &mut Rng, faults: Value) {
    shop.call("PUT", "/_local/faults", &[], faults).await;
    wait(rng, 40_000).await;
    shop.call("PUT", "/_local/faults", &[], json!({})).await;
}
