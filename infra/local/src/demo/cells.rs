//! What a row of the page says, read back from the database and from the channel.

use std::collections::BTreeMap;
use std::time::Duration;

use expiry_core::closing::CloseReason;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::reservation::{CounterKey, ResourceKind};
use expiry_core::time::Timestamp;
use serde_json::Value;

use super::scene::Cast;
use super::shop::{Shop, Surprise, surprised};

/// `PAID`, or `3 PAID, 7 CLOSED`.
pub(super) fn status(orders: &[Order]) -> String {
    let count = |status| orders.iter().filter(|order| order.status == status).count();
    let found = OrderStatus::ALL.into_iter().map(|status| (status.name(), count(status)));
    let found: Vec<(&str, usize)> = found.filter(|(_, orders)| *orders > 0).collect();
    match found.as_slice() {
        [(name, 1)] => (*name).to_owned(),
        several => several.iter().map(|(name, orders)| format!("{orders} {name}")).collect::<Vec<_>>().join(", "),
    }
}

/// What the orders received and what went back, the latter as counted at the channel.
pub(super) async fn money(shop: &Shop, orders: &[Order]) -> Result<String, Surprise> {
    let mut received: Vec<u64> = Vec::new();
    let mut refunded: Vec<u64> = Vec::new();
    for order in orders {
        for (no, attempt) in order.numbered_attempts() {
            received.extend(attempt.receipt.as_ref().map(|receipt| receipt.paid.amount.minor()));
            refunded.extend(refunds(&shop.at_channel(&order.out_trade_no(no).to_string()).await?));
        }
    }
    let kept = received.iter().sum::<u64>().saturating_sub(refunded.iter().sum());
    let mut parts = Vec::new();
    if received.is_empty() {
        parts.push("none came".to_owned());
    }
    if kept > 0 {
        parts.push(format!("{} kept", yuan(kept)));
    }
    match refunded.as_slice() {
        [] => {}
        [once] => parts.push(format!("{} refunded once", yuan(*once))),
        several => {
            let several: Vec<String> = several.iter().map(|amount| yuan(*amount)).collect();
            parts.push(format!("{} refunded", several.join(" + ")));
        }
    }
    Ok(parts.join(", "))
}

/// The refunds that the channel carried out for a payment.
pub(super) fn refunds(payment: &Value) -> Vec<u64> {
    let refunds = payment["refunds"].as_array().map_or(&[][..], Vec::as_slice);
    let done = refunds.iter().filter(|refund| refund["status"] == "SUCCEEDED");
    done.filter_map(|refund| refund["amount"].as_u64()).collect()
}

/// What is left in the counters the scene was about, and what became of its coupon, one a line.
pub(super) async fn goods(shop: &Shop, cast: &Cast) -> Result<String, Surprise> {
    let store = &shop.system.functions.context.store;
    let mut lines = Vec::new();
    for key in &cast.counters {
        let counter = store.counter(key).await.map_err(surprised)?.unwrap_or_default();
        let mut line = format!("{} {}", kind(key), counter.available);
        for (units, what) in [(counter.reserved, "held"), (counter.sold, "sold")] {
            if units > 0 {
                line.push_str(&format!(", {units} {what}"));
            }
        }
        lines.push(line);
    }
    if let Some(id) = &cast.coupon {
        let coupon = store.coupon(id).await.map_err(surprised)?;
        let status = coupon.map_or("gone", |coupon| coupon.terms.status.name());
        lines.push(format!("coupon {status}"));
    }
    Ok(lines.join("\n"))
}

fn kind(key: &CounterKey) -> &'static str {
    match key.kind() {
        ResourceKind::Stock => "stock",
        ResourceKind::Points => "points",
        ResourceKind::Quota => "slots",
        ResourceKind::Coupon => "coupon",
    }
}

/// What set the last status change off and on what ground, as stored with it (I11); each different one once.
pub(super) fn decided(orders: &[Order]) -> String {
    let mut grounds: BTreeMap<String, usize> = BTreeMap::new();
    for evidence in orders.iter().filter_map(|order| order.evidence.last()) {
        let ground = format!("{}: {}", trigger(&evidence.trigger), ground(&evidence.fact));
        *grounds.entry(ground).or_default() += 1;
    }
    let single = grounds.len() == 1;
    let line = |(ground, orders): (&String, &usize)| match (single, orders) {
        (true, _) | (false, 1) => ground.clone(),
        (false, orders) => format!("{orders} × {ground}"),
    };
    grounds.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn trigger(stored: &str) -> &str {
    match stored {
        "wake" => "wake-up",
        "cancel" => "customer",
        "create" => "creation",
        other => other,
    }
}

/// The deciding fact in words; one that is not known here is shown as it is stored.
fn ground(stored: &str) -> String {
    match (stored, stored.rsplit_once(' ')) {
        ("deadline", _) => "deadline passed, nobody to ask".to_owned(),
        ("settled", _) => "every attempt is settled".to_owned(),
        (_, Some(("queried success", _))) => "the channel, asked, says paid".to_owned(),
        (_, Some(("notified success", _))) => "the channel says paid".to_owned(),
        (other, _) => other.to_owned(),
    }
}

/// How long after their deadlines the orders that expired were closed.
pub(super) fn lag(orders: &[Order]) -> String {
    let mut lags: Vec<Duration> = orders.iter().filter_map(closed_after).collect();
    lags.sort();
    match (lags.first(), lags.last()) {
        (Some(least), Some(most)) if least != most => format!("closed by T+{}", seconds(*most)),
        (Some(lag), _) => format!("closed at T+{}", seconds(*lag)),
        (None, _) => String::new(),
    }
}

/// How long after its deadline an order was closed that expired.
pub(super) fn closed_after(order: &Order) -> Option<Duration> {
    let (at, expire_at) = expired(order)?;
    Some(at.since(expire_at))
}

/// When an order that expired was closed, and its deadline.
pub(super) fn expired(order: &Order) -> Option<(Timestamp, Timestamp)> {
    let is_expired = order.close_reason == Some(CloseReason::Expired);
    is_expired.then_some(order.closed_at).flatten().zip(order.expire_at)
}

/// `0.84 s`.
pub(super) fn seconds(span: Duration) -> String {
    format!("{}.{:02} s", span.as_secs(), span.subsec_millis() / 10)
}

/// `¥12` or `¥12.50`.
pub(super) fn yuan(minor: u64) -> String {
    match minor % 100 {
        0 => format!("¥{}", minor / 100),
        cents => format!("¥{}.{cents:02}", minor / 100),
    }
}
