//! Money and orders: cases of real shops (CASES.md) at the HTTP surface.

use acceptance::{Shop, WINDOW, shop};
use expiry_core::time::{Clock, Timestamp};
use futures_util::future::{join, join_all};
use local::cloud::fate::{CallFate, Failure, Service};
use serde_json::{Value, json};
use std::time::Duration;

/// A paid order keeps what it holds, and nothing goes back.
async fn assert_paid_and_kept(shop: &Shop, id: &str) {
    let order = shop.order(id).await;
    assert_eq!(order["status"], "PAID", "{order:#}");
    assert_eq!(order["resources"][0]["status"], "CONFIRMED");
    assert_eq!((&order["refunds"], &order["pending"]), (&json!([]), &json!([])));
}

/// What the timeline says the order became, and on what ground.
async fn became(shop: &Shop, id: &str) -> Vec<(String, String, String)> {
    let text = |change: &Value, field: &str| change[field].as_str().unwrap_or_default().to_owned();
    let changes = shop.timeline(id, "status").await;
    changes.iter().map(|change| (text(change, "to"), text(change, "trigger"), text(change, "fact"))).collect()
}

fn step(to: &str, trigger: &str, fact: &str) -> (String, String, String) {
    (to.to_owned(), trigger.to_owned(), fact.to_owned())
}

#[tokio::test]
async fn b01_ten_callbacks_at_once_and_the_deadline_make_one_paid_order_that_keeps_its_stock() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    let browser = async { shop.pay(&id).await.status };
    let (callbacks, _) = join(join_all((0..10).map(|_| shop.notify(&payment, Value::Null))), browser).await;
    assert!(callbacks.iter().all(|answer| answer.body["status"] == 200), "{callbacks:?}");
    shop.pass_deadline().await;
    assert_paid_and_kept(&shop, &id).await;
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
    assert_eq!(shop.metric("OrderPaid"), 1);
}

#[tokio::test]
async fn b02_a_payment_that_nobody_told_of_is_found_at_the_deadline_and_the_evidence_is_the_query() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    shop.pass_deadline().await;
    assert_paid_and_kept(&shop, &id).await;
    let steps = [
        step("PAYING", "payment", "begun 1"),
        step("CLOSING", "wake", "deadline"),
        step("PAID", "wake", "queried success 1"),
    ];
    assert_eq!(became(&shop, &id).await, steps);
    assert_eq!(shop.timeline(&id, "conversation").await[0]["detail"]["calls"][0]["call"], "query");
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
}

/// Two hundred customers pay 10 ms apart, from one second before the deadline to one second after; the reminders strike half a
/// second after it, in their midst.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b03_a_callback_that_races_the_deadline_ends_as_paid_or_as_closed_with_one_refund() {
    const CUSTOMERS: u64 = 200;
    let shop = shop().with_stock("SKU", CUSTOMERS).with_time_standing_still().open().await;
    let start = shop.system.clock.now();
    let first_callback = start.plus(Duration::from_secs(WINDOW - 1));
    let mut customers = Vec::new();
    for _ in 0..CUSTOMERS {
        let id = shop.ordered().await;
        customers.push((id.clone(), shop.paying(&id).await));
    }
    shop.faults(json!({"hold_queues": ["close"]})).await;
    shop.advance(WINDOW - 1).await;

    let pays_at = |moment: Timestamp, payment: String| {
        let shop = &shop;
        async move {
            shop.system.clock.sleep_until(moment).await;
            shop.paid(&payment).await
        }
    };
    let callbacks = (0..)
        .zip(&customers)
        .map(|(nth, (_, payment))| pays_at(first_callback.plus(Duration::from_millis(10 * nth)), payment.clone()));
    let time_passes = async {
        for nth in 0..CUSTOMERS {
            if nth == 150 {
                shop.faults(json!({})).await;
            }
            if nth == 190 {
                shop.rest().await;
            }
            let _ = shop.system.clock.advance(Duration::from_millis(10));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (answers, ()) = join(join_all(callbacks), time_passes).await;
    assert!(answers.iter().all(|status| *status == 200), "every callback is acknowledged: {answers:?}");
    shop.rest().await;

    let (mut paid, mut closed) = (0, 0);
    for (id, payment) in &customers {
        let order = shop.order(id).await;
        let refunds = shop.at_channel(payment).await["refunds"].as_array().map_or(0, Vec::len);
        match (order["status"].as_str(), order["resources"][0]["status"].as_str(), refunds) {
            (Some("PAID"), Some("CONFIRMED"), 0) => paid += 1,
            (Some("CLOSED"), Some("RELEASED"), 1) => closed += 1,
            ended => panic!("{ended:?}: {order:#}"),
        }
        assert_eq!(order["pending"], json!([]));
    }
    assert!(paid >= 100 && closed >= 9, "{paid} paid, {closed} closed");
    assert_eq!(shop.stock("SKU").await, (closed, 0, paid));
}

#[tokio::test]
async fn b04_callbacks_that_failed_until_the_sender_gave_up_are_made_good_at_the_deadline() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.rest().await;
    shop.system.cloud.on_call(|call| {
        let refused = || CallFate::Fail(Failure::new(400, "AccessDeniedException"));
        (call.service == Service::DynamoDb).then(refused)
    });
    for _ in 0..5 {
        assert_eq!(shop.paid(&payment).await, 503);
        let _ = shop.system.clock.advance(Duration::from_secs(60));
    }
    shop.system.cloud.clear_call_rules();
    assert_eq!(shop.status(&id).await, "PAYING");
    shop.pass_deadline().await;
    assert_paid_and_kept(&shop, &id).await;
}

#[tokio::test]
async fn b06_an_attempt_that_expires_after_the_order_was_paid_by_another_changes_nothing() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let abandoned = shop.paying_with(&id, json!({"method": "qr"})).await;
    let other = shop.paying_with(&id, json!({"method": "card"})).await;
    assert_eq!(shop.paid(&other).await, 200);
    shop.rest().await;
    let before = shop.order(&id).await["version"].clone();
    shop.advance(30 * 86_400).await;
    let late = shop.notify(&abandoned, json!({"state": "EXPIRED"})).await;
    assert_eq!(late.body["status"], 200);
    assert_paid_and_kept(&shop, &id).await;
    assert_eq!(shop.order(&id).await["version"], before);
}

#[tokio::test]
async fn b08_an_order_is_closed_from_every_open_status_and_paid_never_follows_from_a_status() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let pending = shop.ordered().await;
    let paying = shop.ordered().await;
    let closed_at_channel = shop.paying(&paying).await;
    shop.channel(&closed_at_channel, json!({"state": "CLOSED"})).await;
    let closing = shop.ordered().await;
    let silent = shop.paying(&closing).await;
    shop.channel(&silent, json!({"state": "ERROR"})).await;
    shop.pass_deadline().await;
    assert_eq!(shop.status(&closing).await, "CLOSING");
    shop.channel(&silent, json!({"state": "CLOSED"})).await;
    shop.advance(15).await;
    for id in [&pending, &paying, &closing] {
        let order = shop.order(id).await;
        assert_eq!((order["status"].as_str(), order["paid_amount"].as_u64()), (Some("CLOSED"), Some(0)), "{order:#}");
        assert!(order.get("paid_at").is_none());
    }
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    assert_eq!(shop.metric("OrderPaid"), 0);
}

#[tokio::test]
async fn b09_a_refusal_neither_closes_the_order_nor_undoes_a_success() {
    let shop = shop().with_stock("SKU", 5).open().await;
    for callbacks in [["FAILED", "SUCCESS"], ["SUCCESS", "FAILED"]] {
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        for state in callbacks {
            shop.channel(&payment, json!({"state": state})).await;
            assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200);
            shop.rest().await;
        }
        assert_paid_and_kept(&shop, &id).await;
        assert_eq!(shop.order(&id).await["payments"][0]["status"], "SUCCEEDED");
    }
    shop.pass_deadline().await;
    assert_eq!(shop.stock("SKU").await, (3, 0, 2));
}

#[tokio::test]
async fn b13_every_open_attempt_is_closed_at_the_channel_before_the_order_is_closed() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    // A code that the channel does not know yet stays open while another is begun.
    let first = shop.paying_with(&id, json!({"method": "qr"})).await;
    shop.channel(&first, json!({"state": "NOT_FOUND"})).await;
    let second = shop.paying_with(&id, json!({"method": "card"})).await;
    shop.channel(&first, json!({"state": "NOTPAY"})).await;
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!(order["status"], "CLOSED", "{order:#}");
    let closed_at = order["closed_at"].as_str().expect("closed");
    for payment in [&first, &second] {
        let calls = shop.at_channel(payment).await["calls"].as_array().cloned().expect("calls");
        let last: Vec<&str> = calls.iter().rev().take(3).filter_map(|call| call["call"].as_str()).collect();
        assert_eq!(last, ["query", "close", "query"]);
        assert!(calls.iter().all(|call| call["at"].as_str() <= Some(closed_at)), "{calls:?} after {closed_at}");
    }
    assert_eq!(shop.paid(&second).await, 200);
    shop.rest().await;
    assert_eq!(shop.status(&id).await, "CLOSED");
    assert_eq!(shop.order(&id).await["refunds"][0]["status"], "SUCCEEDED");
}

#[tokio::test]
async fn b15_a_closed_or_expired_order_cannot_be_paid_and_the_channel_hears_nothing() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let closed = shop.ordered().await;
    let payment = shop.paying(&closed).await;
    let _ = shop.cancel(&closed).await.expect(200);
    let late = shop.ordered().await;
    let open = shop.paying(&late).await;
    shop.faults(json!({"drop_wakes": true})).await;
    let heard =
        async || [shop.at_channel(&payment).await["calls"].clone(), shop.at_channel(&open).await["calls"].clone()];
    let before = heard().await;

    let _ = shop.pay(&closed).await.expect_problem(409, "order_closed");
    shop.advance(WINDOW - 1).await;
    for moment in ["one second before its time is over", "when it is over", "ten minutes later"] {
        for body in [json!({}), json!({"method": "card"})] {
            let refused = shop.pay_with(&late, body).await;
            assert_eq!((refused.status, refused.text("code")), (409, "order_expired"), "{moment}");
        }
        shop.advance(if moment.starts_with("one") { 1 } else { 600 }).await;
    }
    assert_eq!(heard().await, before);
    for number in ["2", "3"] {
        for id in [&closed, &late] {
            let nothing = shop.call("GET", &format!("/_sim/payments/{id}-{number}"), Value::Null).await;
            assert_eq!(nothing.status, 404, "the channel knows no second attempt");
        }
    }
}

#[tokio::test]
async fn b45_an_abandoned_attempt_that_fails_does_not_fail_the_order_that_another_paid() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let paid = shop.paying_with(&id, json!({"method": "x"})).await;
    shop.channel(&paid, json!({"state": "NOT_FOUND"})).await;
    let abandoned = shop.paying_with(&id, json!({"method": "y"})).await;
    assert_eq!(shop.paid(&paid).await, 200);
    shop.channel(&abandoned, json!({"state": "FAILED"})).await;
    assert_eq!(shop.notify(&abandoned, Value::Null).await.body["status"], 200);
    shop.pass_deadline().await;
    assert_paid_and_kept(&shop, &id).await;
    let payments = shop.order(&id).await["payments"].clone();
    assert_eq!((&payments[0]["status"], &payments[1]["status"]), (&json!("SUCCEEDED"), &json!("CLOSED")));
}

#[tokio::test]
async fn b48_webhook_and_browser_complete_a_payment_once_in_either_order_and_together() {
    let shop = shop().with_stock("SKU", 5).open().await;
    // The customer comes back and chooses another method: the open attempt is asked about first, and is found paid.
    let browser = async |id: &str| {
        let answer = shop.pay_with(id, json!({"method": "card"})).await;
        (answer.status, answer.text("code").to_owned())
    };
    let order_paid = (409, "order_paid".to_owned());
    for order_of_events in ["webhook first", "browser first", "together"] {
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        shop.channel(&payment, json!({"state": "SUCCESS"})).await;
        let webhook = async || shop.notify(&payment, Value::Null).await.body["status"].clone();
        let (acknowledged, answered) = match order_of_events {
            "webhook first" => (webhook().await, browser(&id).await),
            "browser first" => {
                let answered = browser(&id).await;
                (webhook().await, answered)
            }
            _ => join(webhook(), browser(&id)).await,
        };
        assert_eq!((acknowledged, &answered), (json!(200), &order_paid), "{order_of_events}");
        shop.rest().await;
        assert_paid_and_kept(&shop, &id).await;
        let paid = became(&shop, &id).await.into_iter().filter(|(to, ..)| to == "PAID").count();
        assert_eq!(paid, 1, "{order_of_events}");
        assert_eq!(shop.order(&id).await["payments"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(shop.metric("OrderPaid"), 3);
}

#[tokio::test]
async fn b49_with_every_callback_lost_every_paid_order_is_found_by_asking() {
    let shop = shop().with_stock("SKU", 20).open().await;
    let (mut paid, mut abandoned) = (Vec::new(), Vec::new());
    for nth in 0..20 {
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        if nth % 2 == 0 {
            shop.channel(&payment, json!({"state": "SUCCESS"})).await;
            paid.push(id);
        } else {
            abandoned.push(id);
        }
    }
    shop.pass_deadline().await;
    for id in &paid {
        assert_paid_and_kept(&shop, id).await;
    }
    for id in &abandoned {
        assert_eq!(shop.status(id).await, "CLOSED");
    }
    assert_eq!(shop.stock("SKU").await, (10, 0, 10));
}

#[tokio::test]
async fn b54_cancel_and_check_of_a_paid_order_are_refused_and_audited() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let _ = shop.cancel(&id).await.expect_problem(409, "order_paid");
    let check = json!({"reason": "the customer calls"});
    let _ = shop.admin("POST", &format!("/orders/{id}/check"), check).await.expect_problem(409, "order_paid");
    assert_paid_and_kept(&shop, &id).await;
    let audited: Vec<Value> = shop.timeline(&id, "action").await.iter().map(|entry| entry["detail"].clone()).collect();
    let audited: Vec<_> = audited
        .iter()
        .map(|action| [&action["action"], &action["who"], &action["why"], &action["before"], &action["after"]])
        .collect();
    assert_eq!(
        json!(audited),
        json!([
            ["cancel", "customer", "changed my mind", "PAID", "PAID"],
            ["check", "local-admin", "the customer calls", "PAID", "PAID"],
        ])
    );
}
