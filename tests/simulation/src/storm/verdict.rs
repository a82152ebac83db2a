//! Whether everything ended as it must: the invariants of DESIGN §2 over the whole shop, and the customer's money.

use std::collections::BTreeMap;

use expiry_core::attempt::{Attempt, Standing};
use expiry_core::ids::AttemptNo;
use expiry_core::invariants;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::reservation::{HoldStatus, ResourceKind};
use local::sim::SimChannel;
use serde_json::Value;

use crate::shop::{ENDING, GOODS, SLOTS, Shop, USERS};

/// What is wrong with the shop at rest, each in words; empty when nothing is.
pub(super) async fn of(shop: &Shop) -> Vec<String> {
    let mut wrong = Vec::new();
    let breaches: u64 = shop.system.figures.sum("InvariantBreach");
    if breaches > 0 {
        wrong.push(format!("{breaches} breaches on the way: {:?}", shop.system.figures.all()));
    }
    let orders = shop.orders().await;
    for order in &orders {
        judge_order(order, &mut wrong);
        judge_money(shop, order, &mut wrong).await;
    }
    judge_counters(shop, &orders, &mut wrong).await;
    wrong
}

/// I1–I13 of one order, and I8: it ended, and nothing is left to do.
fn judge_order(order: &Order, wrong: &mut Vec<String>) {
    let id = &order.id;
    wrong.extend(invariants::breaches(order).into_iter().map(|breach| format!("{id}: {breach}")));
    if !order.status.is_terminal() {
        wrong.push(format!("{id} is still {} (I8)", order.status.name()));
    }
    if !order.pending.is_empty() || order.due_at.is_some() {
        let refunds: Vec<_> = order.attempts.iter().filter_map(|attempt| attempt.refund.as_ref()).collect();
        let (pending, due_at) = (&order.pending, order.due_at);
        wrong.push(format!("{id} has work left: {pending:?}, due {due_at:?}, refunds {refunds:?} (I8, I12)"));
    }
}

/// What the channel holds for an order is what the order costs, or nothing.
async fn judge_money(shop: &Shop, order: &Order, wrong: &mut Vec<String>) {
    let (mut kept, mut by_hand) = (0, 0);
    for (no, attempt) in order.numbered_attempts() {
        let number = order.out_trade_no(no);
        let (status, payment) = shop.call("GET", &format!("/_sim/payments/{number}"), &[], Value::Null).await;
        if status != 200 || payment["state"] != "SUCCESS" {
            continue;
        }
        let refunds = payment["refunds"].as_array().cloned().unwrap_or_default();
        // A number that died without money gave nothing back.
        let given: Vec<&Value> = refunds.iter().filter(|refund| refund["status"] != "FAILED").collect();
        if given.len() > 1 {
            wrong.push(format!("{number} was refunded {} times (I9): {given:?}", given.len()));
        }
        let given_back: u64 = given.iter().filter_map(|refund| refund["amount"].as_u64()).sum();
        let refunded = payment["refunded_amount"].as_u64().unwrap_or(0);
        kept += payment["amount"].as_u64().unwrap_or(0).saturating_sub(given_back);
        // A callback does not say what was given back by hand: the order that it paid stays paid, with less.
        let counts = order.status == OrderStatus::Paid
            && attempt.receipt.as_ref().is_some_and(|receipt| receipt.standing == Standing::Counted);
        if counts { by_hand += refunded } else { kept = kept.saturating_sub(refunded) }
    }
    let due = if order.status == OrderStatus::Paid { order.payable.minor() } else { 0 };
    if !(kept.saturating_sub(by_hand)..=kept).contains(&due) {
        wrong.push(format!(
            "{} is {}, and the channel keeps {kept} for it instead of {due} (I2)",
            order.id,
            order.status.name()
        ));
    }
}

/// I5: nothing is reserved any more, and what is sold is what paid orders bought.
async fn judge_counters(shop: &Shop, orders: &[Order], wrong: &mut Vec<String>) {
    let mut sold: BTreeMap<String, u64> = BTreeMap::new();
    for order in orders {
        for kind in ResourceKind::ALL {
            for (key, quantity, hold) in order.counter_holds(kind) {
                if hold == HoldStatus::Confirmed {
                    *sold.entry(format!("{} {key}", kind.name())).or_default() += quantity.get();
                }
            }
        }
    }
    let sold_of = |name: &str| sold.get(name).copied().unwrap_or(0);
    for (sku, _) in GOODS {
        let (_, stock) = shop.admin("GET", &format!("/stock/{sku}/default/default"), Value::Null).await;
        let expected = sold_of(&format!("stock {sku}/default/default"));
        if stock["reserved"] != 0 || stock["sold"] != expected {
            wrong.push(format!("{sku} is {stock}, and {expected} were sold (I5)"));
        }
    }
    let (_, sale) = shop.admin("GET", "/quotas/sale", Value::Null).await;
    let expected = sold_of("quota sale");
    if sale["reserved"] != 0 || sale["sold"] != expected || sale["available"] != SLOTS - expected {
        wrong.push(format!("the sale is {sale}, and {expected} were sold (I5)"));
    }
    for user in USERS {
        let (_, points) = shop.admin("GET", &format!("/points/{user}"), Value::Null).await;
        // What was spent is compared after every write: an operator may set the balance anew.
        if points["reserved"] != 0 {
            wrong.push(format!("{user} has {points} points reserved (I5)"));
        }
        judge_coupon(shop, user, orders, wrong).await;
    }
}

/// A coupon is USED exactly when an order that holds it is PAID.
async fn judge_coupon(shop: &Shop, user: &str, orders: &[Order], wrong: &mut Vec<String>) {
    let id = format!("C-{user}");
    let holds = |order: &&Order| {
        order.status == OrderStatus::Paid && order.coupon.as_ref().is_some_and(|coupon| coupon.id.as_str() == id)
    };
    let used = orders.iter().filter(holds).count();
    let (_, coupon) = shop.admin("GET", &format!("/coupons/{id}"), Value::Null).await;
    let is_expected = match coupon["status"].as_str().unwrap_or_default() {
        "AVAILABLE" => used == 0,
        // Given back after its end.
        "EXPIRED" => used == 0 && user == ENDING,
        "USED" => used == 1,
        _ => false,
    };
    if !is_expected {
        wrong.push(format!("{id} is {}, and {used} paid orders used it", coupon["status"]));
    }
}

/// With an honest channel: an attempt that is settled without money has none there, and never will (I3, DESIGN §3).
pub(super) fn settled_over_money(before: Option<&Order>, after: &Order, channel: &SimChannel) -> Vec<String> {
    let settles = |(no, attempt): &(AttemptNo, &Attempt)| {
        let was_settled = before.and_then(|before| before.attempt(*no)).is_some_and(|was| !was.is_unsettled());
        !was_settled && !attempt.is_unsettled() && attempt.receipt.is_none()
    };
    let settled = after.numbered_attempts().filter(settles).map(|(no, _)| after.out_trade_no(no).to_string());
    let over_money = settled.filter(|number| channel.is_paid(number));
    over_money.map(|number| format!("I3: {number} is settled without money, and the channel has it")).collect()
}
