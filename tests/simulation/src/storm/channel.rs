//! The payment channel: in the storm it says anything, in the calm the truth.

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::shop::Shop;

/// What a channel may say of a payment that is not paid.
const MOODS: [&str; 6] = ["NOTPAY", "USERPAYING", "NOT_FOUND", "ERROR", "FAILED", "CLOSED"];

/// How often a callback is sent again that was not acknowledged.
const RESENDS: usize = 15;

/// The life of one payment at the channel from now on: moods, money at some moment or never, callbacks that may come or not.
pub(crate) async fn live(shop: Shop, out_trade_no: String, mut rng: Rng) {
    let path = format!("/_sim/payments/{out_trade_no}");
    for _ in 0..rng.usize(0..4) {
        tokio::time::sleep(Duration::from_millis(rng.u64(0..40_000))).await;
        if shop.is_paid(&out_trade_no) {
            return;
        }
        let mood = MOODS[rng.usize(0..MOODS.len())];
        let close = ["ok", "ok", "already_closed", "error"][rng.usize(0..4)];
        let delay = if rng.u8(0..100) < 15 { rng.u64(0..6_000) } else { 0 };
        set(&shop, &path, json!({"state": mood, "close": close, "delay_ms": delay})).await;
        if rng.u8(0..100) < 30 {
            notify(&shop, &path).await;
        }
    }
    if rng.u8(0..100) < 55 {
        tokio::time::sleep(Duration::from_millis(rng.u64(0..150_000))).await;
        shop.pays(&out_trade_no);
        let refund = ["ok", "ok", "pending", "error"][rng.usize(0..4)];
        set(&shop, &path, json!({"state": "SUCCESS", "delay_ms": 0, "refund": refund})).await;
        for _ in 0..rng.usize(0..4) {
            notify(&shop, &path).await;
            tokio::time::sleep(Duration::from_millis(rng.u64(0..30_000))).await;
        }
    }
}

async fn set(shop: &Shop, path: &str, fields: Value) {
    shop.call("PUT", path, &[], fields).await;
}

async fn notify(shop: &Shop, path: &str) {
    shop.call("POST", &format!("{path}/notify"), &[], Value::Null).await;
}

/// Every payment is what it is: paid, or closed without money.
pub(crate) async fn tell_the_truth(shop: &Shop, rng: &mut Rng) {
    for payment in shop.payments().await {
        let path = format!("/_sim/payments/{payment}");
        let (status, known) = shop.call("GET", &path, &[], Value::Null).await;
        if status == 404 {
            // It never reached the channel, and never will: rule NF.
            continue;
        }
        // What was paid stays paid, what was closed stays closed; of what is not known, some is found to be paid.
        let is_paid = shop.is_paid(&payment) || (known["state"] != "CLOSED" && rng.u8(0..100) < 25);
        let state = if is_paid { "SUCCESS" } else { "CLOSED" };
        set(shop, &path, json!({"state": state, "close": "ok", "refund": "ok", "delay_ms": 0})).await;
        // A channel sends its callbacks again until one is acknowledged.
        for _ in 0..RESENDS {
            let (_, answer) = shop.call("POST", &format!("{path}/notify"), &[], Value::Null).await;
            if !is_paid || answer["status"] == 200 {
                break;
            }
        }
    }
}
