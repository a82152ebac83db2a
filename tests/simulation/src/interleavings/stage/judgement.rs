//! Whether it ended as it must: everything closed or paid and nothing left to do (I8, I12), every counter right (I5), and the channel
//! keeps what paid orders cost and nothing else (I2, I9).

use expiry_core::invariants;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::refund::RefundStatus;
use serde_json::Value;

use super::{Scene, WINDOW};
use crate::interleavings::cast::Ending;
use crate::panics;

/// Judges the shop at rest.
pub(super) async fn of(scene: &Scene) -> Ending {
    let orders = scene.watch.orders();
    let mut wrong = scene.watch.breaches();
    let told = scene.system.figures.sum("InvariantBreach");
    if told > 0 {
        wrong.push(format!("the stream told of {told} breaches"));
    }
    for order in &orders {
        wrong.extend(invariants::breaches(order).iter().map(ToString::to_string));
        wrong.extend(unfinished(order));
        wrong.extend(money(scene, order));
    }
    wrong.extend(counters(scene, &orders).await);
    wrong.extend(dead_letters(scene));
    wrong.extend(panics::taken());
    let outcome = orders.iter().map(outcome).collect::<Vec<_>>().join(" | ");
    Ending { outcome, wrong, story: Vec::new() }
}

/// How an order ended, in words.
fn outcome(order: &Order) -> String {
    let mut words = vec![order.status.name().to_owned()];
    let window = order.expire_at.map(|expire_at| expire_at.since(order.created_at)).unwrap_or_default();
    if window > WINDOW {
        words.push("extended".to_owned());
    }
    let refunds = order.attempts.iter().filter_map(|attempt| attempt.refund.as_ref());
    match refunds.filter(|refund| refund.status == RefundStatus::Succeeded).count() {
        0 => {}
        1 => words.push("one refund".to_owned()),
        more => words.push(format!("{more} refunds")),
    }
    words.join(", ")
}

/// I8, I12.
fn unfinished(order: &Order) -> Option<String> {
    let is_finished = order.status.is_terminal() && order.pending.is_empty() && order.due_at.is_none();
    (!is_finished).then(|| {
        let (status, pending, due_at) = (order.status.name(), &order.pending, order.due_at);
        format!("{} is {status}, has work left: {pending:?}, due {due_at:?} (I8, I12)", order.id)
    })
}

/// I2, I9: what the channel holds for an order is what the order costs, or nothing.
fn money(scene: &Scene, order: &Order) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut kept = 0;
    for (no, _) in order.numbered_attempts() {
        let payment = scene.at_channel(&order.out_trade_no(no).to_string());
        if payment["state"] != "SUCCESS" {
            continue;
        }
        let refunds = payment["refunds"].as_array().cloned().unwrap_or_default();
        if refunds.len() > 1 {
            wrong.push(format!("attempt {no} was refunded {} times (I9): {refunds:?}", refunds.len()));
        }
        let given_back: u64 = refunds.iter().filter_map(|refund| refund["amount"].as_u64()).sum();
        kept += payment["amount"].as_u64().unwrap_or(0).saturating_sub(given_back);
    }
    let due = if order.status == OrderStatus::Paid { order.payable.minor() } else { 0 };
    if kept != due {
        wrong.push(format!("{} is {}, and the channel keeps {kept} (I2)", order.id, order.status.name()));
    }
    wrong
}

/// I5: nothing is reserved any more, and what is sold is what paid orders bought.
async fn counters(scene: &Scene, orders: &[Order]) -> Vec<String> {
    let paid = orders.iter().filter(|order| order.status == OrderStatus::Paid);
    let (sold, used) = paid.fold((0, 0), |(sold, used), order| (sold + 1, used + usize::from(order.coupon.is_some())));
    let mut wrong = Vec::new();
    let stock = scene.admin("GET", "/stock/SHIRT/default/default", Value::Null).await;
    if stock["reserved"] != 0 || stock["sold"] != sold {
        wrong.push(format!("the stock is {stock}, and {sold} were sold (I5)"));
    }
    let coupon = scene.admin("GET", "/coupons/C-ann", Value::Null).await;
    let expected = if used == 0 { "AVAILABLE" } else { "USED" };
    if used > 1 || coupon["status"] != expected {
        wrong.push(format!("the coupon is {}, and {used} paid orders used it", coupon["status"]));
    }
    wrong
}

/// No message was given up.
fn dead_letters(scene: &Scene) -> Vec<String> {
    let counts = scene.system.cloud.queue_counts();
    let dead = counts.into_iter().filter(|(queue, counts)| queue.ends_with("-dlq") && counts.visible > 0);
    dead.map(|(queue, counts)| format!("{} messages in {queue}", counts.visible)).collect()
}
