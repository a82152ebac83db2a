//! Starting a payment (DESIGN §4): one open attempt at a time, nothing lost, and no credential for an order that is not payable (I10).

use std::time::Duration;

use acceptance::{Answer, Shop, WINDOW, order, shop};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

async fn open_shop() -> Shop {
    shop().with_stock("SKU", 5).with_time_standing_still().open().await
}

/// Status of the order and of each of its attempts.
async fn statuses(shop: &Shop, id: &str) -> (String, Vec<String>) {
    let order = shop.order(id).await;
    let text = |value: &Value| value["status"].as_str().unwrap_or_default().to_owned();
    (text(&order), order["payments"].as_array().expect("payments").iter().map(text).collect())
}

/// The order is `status` and its attempts are `attempts`.
async fn assert_statuses(shop: &Shop, id: &str, status: &str, attempts: &[&str]) {
    let attempts = attempts.iter().map(ToString::to_string).collect();
    assert_eq!(statuses(shop, id).await, (status.to_owned(), attempts));
}

async fn known_at_channel(shop: &Shop, payment: &str) -> bool {
    shop.call("GET", &format!("/_sim/payments/{payment}"), Value::Null).await.status == 200
}

/// Waits until the channel has received `call` for a payment.
async fn until_called(shop: &Shop, payment: &str, call: &str) {
    while !known_at_channel(shop, payment).await || shop.calls(payment, call).await == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_started_payment_is_answered_with_everything_the_payer_needs() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let initiator = json!({"type": "agent", "protocol": "ap2", "session_id": "s-1"});
    let started = shop.pay_with(&id, json!({"method": "qr", "initiator": initiator})).await.expect(201).body;
    let expected = json!({
        "attempt_no": 1,
        "out_trade_no": format!("{id}-1"),
        "channel": "sim",
        "amount": 1_000,
        "status": "PROCESSING",
        "expires_at": shop.order(&id).await["expire_at"],
        "credential": {"pay_url": format!("sim://pay/{id}-1")},
    });
    assert_eq!(started, expected);
    assert_statuses(&shop, &id, "PAYING", &["PROCESSING"]).await;
}

#[tokio::test]
async fn the_same_request_resumes_the_open_attempt_with_the_same_credential() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let first = shop.pay(&id).await.expect(201).body;
    shop.advance(600).await;
    for body in [json!({}), json!({"amount": 1_000}), json!({"initiator": {"type": "customer"}})] {
        assert_eq!(shop.pay_with(&id, body).await.expect(201).body, first);
    }
    assert_eq!(shop.calls(&format!("{id}-1"), "query").await, 0, "to resume is not to ask");
    assert_statuses(&shop, &id, "PAYING", &["PROCESSING"]).await;
}

#[tokio::test]
async fn a_double_click_begins_one_attempt() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let clicks = join_all((0..5).map(|_| shop.pay(&id))).await;
    assert!(clicks.iter().all(|click| click.status == 201 && click.body == clicks[0].body), "{clicks:?}");
    assert_statuses(&shop, &id, "PAYING", &["PROCESSING"]).await;
}

#[tokio::test]
async fn a_change_of_method_or_amount_closes_the_open_attempt_at_the_channel_first() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    for change in
        [json!({}), json!({"method": "card"}), json!({"method": "card", "amount": 400}), json!({"amount": 400})]
    {
        let _ = shop.pay_with(&id, change).await.expect(201);
    }
    assert_statuses(&shop, &id, "PAYING", &["CLOSED", "CLOSED", "CLOSED", "PROCESSING"]).await;
    for closed in 1..=3 {
        assert_eq!(shop.at_channel(&format!("{id}-{closed}")).await["state"], "CLOSED");
    }
    assert_eq!(shop.at_channel(&format!("{id}-4")).await["state"], "NOTPAY");
}

#[tokio::test]
async fn a_change_that_finds_the_open_attempt_paid_answers_that_the_order_is_paid() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    let _ = shop.pay_with(&id, json!({"method": "card"})).await.expect_problem(409, "order_paid");
    assert_statuses(&shop, &id, "PAID", &["SUCCEEDED"]).await;
    assert!(!known_at_channel(&shop, &format!("{id}-2")).await);
}

#[tokio::test]
async fn a_change_that_finds_a_leg_paid_judges_what_is_unpaid_again() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    for (body, expected) in
        [(json!({}), Ok(600)), (json!({"amount": 600}), Ok(600)), (json!({"amount": 601}), Err(422))]
    {
        let id = shop.order_of(&order().by(&format!("u-{body}").replace(['{', '}', '"', ':'], ""))).await;
        let leg = shop.paying_with(&id, json!({"amount": 400})).await;
        shop.channel(&leg, json!({"state": "SUCCESS"})).await;
        let answer = shop.pay_with(&id, body).await;
        match expected {
            Ok(amount) => assert_eq!(answer.expect(201).body["amount"], amount),
            Err(status) => assert_eq!(answer.expect_problem(status, "invalid_request").status, 422),
        }
        assert_eq!(shop.order(&id).await["paid_amount"], 400);
    }
    assert_statuses(&shop, &id, "PENDING_PAYMENT", &[]).await;
}

#[tokio::test]
async fn an_attempt_that_the_channel_does_not_know_yet_does_not_hinder_another_and_stays_under_adjudication() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let unscanned = shop.paying_with(&id, json!({"method": "qr"})).await;
    shop.channel(&unscanned, json!({"state": "NOT_FOUND"})).await;
    let second = shop.paying_with(&id, json!({"method": "card"})).await;
    assert_statuses(&shop, &id, "PAYING", &["PROCESSING", "PROCESSING"]).await;
    shop.channel(&unscanned, json!({"state": "SUCCESS"})).await;
    shop.pass_deadline().await;
    assert_statuses(&shop, &id, "PAID", &["SUCCEEDED", "CLOSED"]).await;
    assert_eq!(shop.at_channel(&second).await["state"], "CLOSED");
}

#[tokio::test]
async fn an_attempt_of_which_it_is_not_known_how_it_ends_stands_in_the_way_of_another() {
    for undecided in [json!({"state": "USERPAYING", "close": "error"}), json!({"state": "ERROR"})] {
        let shop = open_shop().await;
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        shop.channel(&payment, undecided.clone()).await;
        let _ = shop.pay_with(&id, json!({"method": "card"})).await.expect_problem(409, "attempt_undecided");
        assert!(!known_at_channel(&shop, &format!("{id}-2")).await, "{undecided}");
        shop.channel(&payment, json!({"state": "NOTPAY", "close": "ok"})).await;
        let _ = shop.pay_with(&id, json!({"method": "card"})).await.expect(201);
        assert_statuses(&shop, &id, "PAYING", &["CLOSED", "PROCESSING"]).await;
    }
}

#[tokio::test]
async fn a_channel_that_is_down_leaves_the_attempt_in_doubt_and_the_next_try_is_the_same_request() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    shop.faults(json!({"channel_down": ["sim"]})).await;
    let _ = shop.pay(&id).await.expect_problem(502, "channel_unavailable");
    assert_statuses(&shop, &id, "PAYING", &["INITIATED"]).await;
    shop.faults(json!({})).await;
    assert_eq!(shop.paying(&id).await, format!("{id}-1"));
    assert_statuses(&shop, &id, "PAYING", &["PROCESSING"]).await;
}

#[tokio::test]
async fn a_payment_in_doubt_that_the_channel_did_create_is_closed_or_found_paid_at_the_deadline() {
    for (state, ended, attempt) in [("NOTPAY", "CLOSED", "CLOSED"), ("SUCCESS", "PAID", "SUCCEEDED")] {
        let shop =
            shop().with_stock("SKU", 5).with_env("CHANNEL_CALL_SECONDS", "1").with_time_standing_still().open().await;
        let id = shop.ordered().await;
        let payment = format!("{id}-1");
        // The channel creates it, and its answer comes too late.
        shop.channel(&payment, json!({"delay_ms": 60_000})).await;
        let _ = shop.pay(&id).await.expect_problem(502, "channel_unavailable");
        assert_eq!(shop.calls(&payment, "place").await, 1);
        assert_statuses(&shop, &id, "PAYING", &["INITIATED"]).await;
        shop.channel(&payment, json!({"delay_ms": 0, "state": state})).await;
        shop.pass_deadline().await;
        assert_statuses(&shop, &id, ended, &[attempt]).await;
    }
}

#[tokio::test]
async fn a_payment_in_doubt_that_never_arrived_holds_the_order_until_it_cannot_arrive_any_more() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    shop.faults(json!({"channel_down": ["sim"]})).await;
    let _ = shop.pay(&id).await.expect_problem(502, "channel_unavailable");
    shop.faults(json!({})).await;
    shop.pass_deadline().await;
    assert_statuses(&shop, &id, "CLOSING", &["INITIATED"]).await;
    assert_eq!(shop.order(&id).await["closing"]["last_error"], "attempt 1: not found, may still come");
    // Ten minutes after the credential's expiry "no such payment" means never (rule NF).
    for wait in [13, 33, 63, 123, 303] {
        shop.advance(wait).await;
        assert_statuses(&shop, &id, "CLOSING", &["INITIATED"]).await;
    }
    shop.advance(70).await;
    assert_statuses(&shop, &id, "CLOSED", &["CLOSED"]).await;
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn a_success_that_is_told_of_a_payment_in_doubt_counts() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = format!("{id}-1");
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    let _ = shop.pay(&id).await.expect_problem(502, "channel_unavailable");
    shop.channel(&payment, json!({"amount": 1_000, "currency": "CNY"})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    assert_statuses(&shop, &id, "PAID", &["SUCCEEDED"]).await;
}

#[tokio::test]
async fn a_payment_that_the_channel_refuses_ends_as_failed_and_another_may_be_begun() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    shop.channel(&format!("{id}-1"), json!({"state": "CLOSED"})).await;
    let _ = shop.pay(&id).await.expect_problem(422, "channel_refused");
    assert_statuses(&shop, &id, "PAYING", &["FAILED"]).await;
    assert_eq!(shop.paying(&id).await, format!("{id}-2"));
    shop.pass_deadline().await;
    assert_statuses(&shop, &id, "CLOSED", &["FAILED", "CLOSED"]).await;
}

#[tokio::test]
async fn there_are_twenty_attempts_and_no_more() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    for nth in 1..=20 {
        let _ = shop.pay_with(&id, json!({"method": format!("m{nth}")})).await.expect(201);
    }
    let _ = shop.pay_with(&id, json!({"method": "m21"})).await.expect_problem(409, "too_many_attempts");
    // The twentieth can still be resumed and paid.
    assert_eq!(shop.paying_with(&id, json!({"method": "m20"})).await, format!("{id}-20"));
    assert_eq!(shop.paid(&format!("{id}-20")).await, 200);
    assert_eq!(shop.status(&id).await, "PAID");
}

#[tokio::test]
async fn an_amount_of_nothing_or_above_what_is_unpaid_is_refused_and_begins_nothing() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    for amount in [json!(0), json!(1_001), json!(u64::MAX), json!(-1), json!("1000"), json!(999.5)] {
        let refused = shop.pay_with(&id, json!({"amount": amount})).await;
        assert_eq!((refused.status, refused.text("code")), (422, "invalid_request"), "{amount}");
    }
    let unknown = shop.call("POST", &format!("/orders/{id}/payments"), json!({"channel": "cash"})).await;
    let _: Answer = unknown.expect_problem(422, "invalid_request");
    assert_statuses(&shop, &id, "PENDING_PAYMENT", &[]).await;
}

#[tokio::test]
async fn i10_the_last_credential_leaves_more_than_a_second_before_the_deadline() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    shop.faults(json!({"hold_queues": ["close"]})).await;
    let _ = shop.system.clock.advance(Duration::from_millis(WINDOW * 1_000 - 1_001));
    let _ = shop.pay(&id).await.expect(201);
    let _ = shop.system.clock.advance(Duration::from_millis(1));
    let _ = shop.pay(&id).await.expect_problem(409, "order_expired");
}

#[tokio::test]
async fn i10_a_credential_that_arrives_after_the_cancel_is_withheld_and_closed() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = format!("{id}-1");
    shop.channel(&payment, json!({"delay_ms": 1_000})).await;
    let cancel = async {
        until_called(&shop, &payment, "place").await;
        shop.channel(&payment, json!({"delay_ms": 0})).await;
        shop.cancel(&id).await
    };
    let (started, cancelled) = join(shop.pay(&id), cancel).await;
    assert_eq!(cancelled.status, 200, "{:#}", cancelled.body);
    let _ = started.expect_problem(409, "order_closed");
    shop.rest().await;
    assert_statuses(&shop, &id, "CLOSED", &["CLOSED"]).await;
    assert_eq!(shop.order(&id).await["pending"], json!([]), "what turned up after all was asked about once more");
    assert_eq!(shop.at_channel(&payment).await["state"], "CLOSED");
}

#[tokio::test]
async fn i10_a_credential_that_arrives_after_the_deadline_is_withheld_and_closed() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = format!("{id}-1");
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(WINDOW - 2).await;
    shop.channel(&payment, json!({"delay_ms": 500})).await;
    let time_passes = async {
        until_called(&shop, &payment, "place").await;
        shop.channel(&payment, json!({"delay_ms": 0})).await;
        let _ = shop.system.clock.advance(Duration::from_secs(5));
    };
    let (started, ()) = join(shop.pay(&id), time_passes).await;
    let _ = started.expect_problem(409, "order_expired");
    assert_eq!(shop.at_channel(&payment).await["state"], "CLOSED");
    shop.advance(200).await;
    let _ = shop.scan().await;
    assert_statuses(&shop, &id, "CLOSED", &["CLOSED"]).await;
}

#[tokio::test]
async fn i10_a_credential_whose_write_takes_until_the_deadline_is_withheld_and_closed() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(WINDOW - 2).await;
    let (clock, mut writes) = (shop.system.clock.clone(), 0);
    shop.system.cloud.on_call(move |call| {
        writes += u32::from(call.operation == "UpdateItem");
        // The first write begins the attempt, the second one lets the credential out.
        if call.operation == "UpdateItem" && writes == 2 {
            clock.advance(Duration::from_secs(5));
        }
        None
    });
    let _ = shop.pay(&id).await.expect_problem(409, "order_expired");
    assert_eq!(shop.at_channel(&format!("{id}-1")).await["state"], "CLOSED");
    shop.advance(200).await;
    let _ = shop.scan().await;
    assert_statuses(&shop, &id, "CLOSED", &["CLOSED"]).await;
}

#[tokio::test]
async fn i10_a_payment_that_another_overtakes_hands_out_no_credential() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let slow = format!("{id}-1");
    shop.channel(&slow, json!({"delay_ms": 1_000})).await;
    let other = async {
        until_called(&shop, &slow, "place").await;
        shop.channel(&slow, json!({"delay_ms": 0})).await;
        shop.pay_with(&id, json!({"method": "card"})).await
    };
    let (overtaken, other) = join(shop.pay_with(&id, json!({"method": "qr"})), other).await;
    let _ = overtaken.expect_problem(409, "attempt_undecided");
    assert_eq!(other.expect(201).text("out_trade_no"), format!("{id}-2"));
    assert_eq!(shop.at_channel(&slow).await["state"], "CLOSED");
    shop.pass_deadline().await;
    assert_statuses(&shop, &id, "CLOSED", &["CLOSED", "CLOSED"]).await;
}

#[tokio::test]
async fn i10_nothing_is_started_for_an_order_that_is_closing_closed_or_paid() {
    let shop = open_shop().await;
    let closing = shop.ordered().await;
    let silent = shop.paying(&closing).await;
    shop.channel(&silent, json!({"state": "ERROR"})).await;
    let _ = shop.cancel(&closing).await.expect(202);
    let closed = shop.ordered().await;
    let _ = shop.cancel(&closed).await.expect(200);
    let paid = shop.ordered().await;
    let _ = shop.paid(&shop.paying(&paid).await).await;
    for (id, code) in [(&closing, "order_closing"), (&closed, "order_closed"), (&paid, "order_paid")] {
        let before = shop.order(id).await["version"].clone();
        let _ = shop.pay(id).await.expect_problem(409, code);
        let _ = shop.pay_with(id, json!({"method": "card"})).await.expect_problem(409, code);
        assert_eq!(shop.order(id).await["version"], before);
    }
}
