//! Money that no paid order needs goes back, once (DESIGN §6, I9; CASES.md b10, b11, b14, b16, b42).

use std::time::Duration;

use acceptance::{OrderBody, Shop, order, shop};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

/// An order whose time is over, closed, with everything released.
async fn closed_order(shop: &Shop) -> (String, String) {
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.pass_deadline().await;
    assert_eq!(shop.status(&id).await, "CLOSED");
    (id, payment)
}

/// The order's one refund.
async fn refund(shop: &Shop, id: &str) -> Value {
    let refunds = shop.order(id).await["refunds"].clone();
    assert_eq!(refunds.as_array().map(Vec::len), Some(1), "{refunds:#}");
    refunds[0].clone()
}

/// What the channel gave back: each refund with its number, amount and status.
async fn given_back(shop: &Shop, payment: &str) -> Value {
    shop.at_channel(payment).await["refunds"].clone()
}

/// The numbers under which the channel was asked to give money back, one for each request.
async fn requested(shop: &Shop, payment: &str) -> Vec<String> {
    let calls = shop.at_channel(payment).await["calls"].as_array().cloned().unwrap_or_default();
    let requests = calls.iter().filter(|call| call["call"] == "refund");
    requests.map(|call| call["refund_no"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn b10_a_charge_after_the_cancel_is_told_twenty_times_and_refunded_once() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    let _ = shop.cancel(&id).await.expect(200);
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    let told = join_all((0..20).map(|_| shop.notify(&payment, Value::Null)));
    // A callback that does not fit has the channel asked as well, and a person asks besides.
    let asked = async { shop.notify(&payment, json!({"amount": 1})).await.body["status"].clone() };
    let reason = json!({"reason": "the customer says it was charged"});
    let check = async { shop.admin("POST", &format!("/orders/{id}/check"), reason).await };
    let (callbacks, (mismatch, checked)) = join(told, join(asked, check)).await;
    assert!(callbacks.iter().all(|answer| answer.body["status"] == 200), "{callbacks:?}");
    assert_eq!((mismatch, checked.status), (json!(400), 200));
    shop.advance(3_700).await;
    let _ = shop.scan().await;

    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!([])), "{order:#}");
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    let once = json!([{"refund_no": format!("{payment}-r1"), "amount": 1_000, "status": "SUCCEEDED"}]);
    assert_eq!(given_back(&shop, &payment).await, once);
    assert_eq!(requested(&shop, &payment).await, [format!("{payment}-r1")]);
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn b10_a_charge_after_the_close_that_only_a_question_finds_is_refunded_once() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    // Nothing trustworthy was told; the channel is asked because of it.
    assert_eq!(shop.notify(&payment, json!({"amount": 1})).await.body["status"], 400);
    shop.rest().await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    assert_eq!(shop.status(&id).await, "CLOSED");
    assert_eq!(shop.metric("LatePayment"), 1);
    // The callback that comes at last finds the same transaction.
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200);
    shop.rest().await;
    assert_eq!(requested(&shop, &payment).await.len(), 1);
}

#[tokio::test]
async fn b11_a_late_payment_never_takes_the_goods_from_whoever_bought_them_meanwhile() {
    let shop = shop().with_stock("SKU", 1).open().await;
    let (late, payment) = closed_order(&shop).await;
    let buyer = shop.order_of(&order().by("u2")).await;
    shop.rest().await;
    let before = shop.order(&buyer).await["version"].clone();
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    assert_eq!(shop.status(&late).await, "CLOSED");
    assert_eq!(refund(&shop, &late).await["status"], "SUCCEEDED");
    assert_eq!(shop.order(&buyer).await["version"], before);
    assert_eq!(shop.stock("SKU").await, (0, 1, 0));
}

#[tokio::test]
async fn b14_a_late_payment_for_a_flash_sale_slot_that_was_resold_is_acknowledged_and_refunded() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let _ = shop.admin("PUT", "/quotas/flash", json!({"limit": 1})).await.expect(200);
    let slot =
        |user: &str| -> OrderBody { order().by(user).with("quotas", json!([{"activity": "flash", "quantity": 1}])) };
    let first = shop.order_of(&slot("u1")).await;
    let payment = shop.paying(&first).await;
    let _ = shop.create(&slot("u2")).await.expect_problem(409, "quota_exhausted");
    shop.pass_deadline().await;
    let second = shop.order_of(&slot("u2")).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    assert_eq!((shop.status(&first).await, shop.status(&second).await), ("CLOSED".into(), "PENDING_PAYMENT".into()));
    assert_eq!(refund(&shop, &first).await["status"], "SUCCEEDED");
    let quota = shop.admin("GET", "/quotas/flash", Value::Null).await.expect(200).body;
    let counters = [&quota["available"], &quota["reserved"], &quota["sold"]];
    assert_eq!(json!(counters), json!([0, 1, 0]), "{quota}");
}

#[tokio::test]
async fn b16_a_refund_that_fails_for_now_is_open_and_visible_until_the_channel_says_it_is_done() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.channel(&payment, json!({"refund": "error"})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let failed = refund(&shop, &id).await;
    assert_eq!(
        (&failed["status"], &failed["tries"], &failed["last_error"]),
        (&json!("SUBMITTED"), &json!(1), &json!("HTTP 500"))
    );
    assert!(failed["next_try_at"].is_string());

    shop.channel(&payment, json!({"refund": "pending"})).await;
    shop.advance(13).await;
    let accepted = refund(&shop, &id).await;
    assert_eq!((&accepted["status"], &accepted["tries"]), (&json!("SUBMITTED"), &json!(2)), "{accepted:#}");
    assert_eq!(accepted["last_error"], "accepted, not done at the channel yet");
    assert_eq!(shop.order(&id).await["pending"], json!(["refund:1"]));
    assert_eq!(shop.metric("RefundSucceeded"), 0, "what is accepted is not done");

    shop.channel(&payment, json!({"refund": "ok"})).await;
    shop.advance(33).await;
    let done = refund(&shop, &id).await;
    assert_eq!((&done["status"], &done["refund_no"]), (&json!("SUCCEEDED"), &failed["refund_no"]));
    assert_eq!((done.get("last_error"), done.get("next_try_at")), (None, None), "{done:#}");
    assert_eq!(shop.order(&id).await["pending"], json!([]));
    assert_eq!(given_back(&shop, &payment).await[0]["status"], "SUCCEEDED");
}

#[tokio::test]
async fn b16_a_refund_whose_answer_was_lost_is_asked_about_and_not_made_again() {
    let shop = shop().with_stock("SKU", 5).with_env("CHANNEL_CALL_SECONDS", "2").open().await;
    let (id, payment) = closed_order(&shop).await;
    // The question before the refund is answered in time, the refund itself is done and answered too late.
    shop.channel(&payment, json!({"state": "SUCCESS", "delay_ms": 1_000})).await;
    let asked = shop.calls(&payment, "query").await;
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200);
    while shop.calls(&payment, "query").await == asked {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    shop.channel(&payment, json!({"delay_ms": 60_000})).await;
    shop.rest().await;
    let unknown = refund(&shop, &id).await;
    assert_eq!((&unknown["status"], &unknown["last_error"]), (&json!("SUBMITTED"), &json!("timeout")), "{unknown:#}");
    assert_eq!(given_back(&shop, &payment).await[0]["status"], "SUCCEEDED", "the channel has done it");

    shop.channel(&payment, json!({"delay_ms": 0})).await;
    shop.advance(13).await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    assert_eq!(requested(&shop, &payment).await.len(), 1);
    assert_eq!(shop.calls(&payment, "query_refund").await, 1);
}

#[tokio::test]
async fn b16_a_refund_that_never_arrived_is_requested_again_under_the_same_number() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.channel(&payment, json!({"refund": "error"})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    shop.channel(&payment, json!({"refund": "ok"})).await;
    shop.advance(13).await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    let number = format!("{payment}-r1");
    assert_eq!(requested(&shop, &payment).await, [number.clone(), number]);
    assert_eq!(given_back(&shop, &payment).await.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn b16_a_number_that_the_channel_states_dead_is_followed_by_the_next() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.channel(&payment, json!({"refund": "failed"})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let next = refund(&shop, &id).await;
    assert_eq!((&next["status"], &next["refund_no"]), (&json!("PENDING"), &json!(format!("{payment}-r2"))), "{next:#}");
    assert_eq!(next["last_error"], "the channel states FAILED");
    assert_eq!(shop.order(&id).await["pending"], json!(["refund:1"]));

    shop.channel(&payment, json!({"refund": "ok"})).await;
    shop.advance(13).await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    let back = json!([
        {"refund_no": format!("{payment}-r1"), "amount": 1_000, "status": "FAILED"},
        {"refund_no": format!("{payment}-r2"), "amount": 1_000, "status": "SUCCEEDED"},
    ]);
    assert_eq!(given_back(&shop, &payment).await, back);
}

#[tokio::test]
async fn b16_a_refund_is_tried_for_as_long_as_it_takes_and_its_work_stays_in_sight() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.faults(json!({"channel_down": ["sim"]})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    for (tries, wait) in [(1, 10), (2, 30), (3, 60), (4, 120), (5, 300), (6, 600), (7, 900)] {
        shop.rest().await;
        let open = refund(&shop, &id).await;
        assert_eq!((&open["status"], &open["tries"]), (&json!("PENDING"), &json!(tries)), "{open:#}");
        shop.advance(wait + 3).await;
    }
    let listed = shop.admin("GET", "/refunds", Value::Null).await.expect(200).body.to_string();
    assert!(listed.contains(&format!("{payment}-r1")), "{listed}");
    let _ = shop.scan().await;
    let oldest = shop.system.figures.all().get("OldestRefundAge").map_or(0, |age| age.most);
    assert!(oldest >= 2_000, "the alarm is by age: {oldest} s");
    shop.faults(json!({})).await;
    // The rhythm has run out: from here on it is once in a scan period, and a person has been told.
    assert!(shop.findings(&id).await.contains(&"needs_attention".to_owned()));
    shop.advance(3_700).await;
    let _ = shop.scan().await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    assert_eq!(shop.order(&id).await["pending"], json!([]));
}

#[tokio::test]
async fn i9_a_refund_message_delivered_ten_times_gives_the_money_back_once() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.faults(json!({"hold_queues": ["refund"]})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    let message = json!({"type": "unit", "order_id": id, "unit": "refund:1"});
    for _ in 0..10 {
        let deliver = json!({"queue": "refund", "body": message});
        let _ = shop.call("POST", "/_local/deliver", deliver).await.expect(202);
    }
    shop.faults(json!({})).await;
    shop.rest().await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    assert_eq!(requested(&shop, &payment).await.len(), 1);
}

#[tokio::test]
async fn i9_what_somebody_gave_back_by_hand_meanwhile_is_not_given_back_again() {
    let shop = shop().with_stock("SKU", 5).open().await;
    for (by_hand, ours) in [(1_000, None), (400, Some(600))] {
        let (id, payment) = closed_order(&shop).await;
        shop.faults(json!({"hold_queues": ["refund"]})).await;
        assert_eq!(shop.paid(&payment).await, 200);
        shop.channel(&payment, json!({"refunded_amount": by_hand})).await;
        shop.faults(json!({})).await;
        shop.rest().await;
        assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
        assert_eq!(given_back(&shop, &payment).await[0]["amount"].as_u64(), ours);
        assert_eq!(shop.findings(&id).await, ["refunded_elsewhere"]);
    }
}

#[tokio::test]
async fn our_own_refund_is_never_taken_for_a_foreign_one() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    let before = shop.order(&id).await["version"].clone();
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200);
    assert_eq!(shop.notify(&payment, json!({"amount": 1})).await.body["status"], 400);
    shop.rest().await;
    assert_eq!(shop.order(&id).await["version"], before);
    assert_eq!(shop.findings(&id).await, Vec::<String>::new());
    assert_eq!(shop.metric("ForeignRefund"), 0);
}

#[tokio::test]
async fn b42_the_refund_of_one_of_two_payments_leaves_the_order_paid() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let first = shop.paying_with(&id, json!({"method": "qr"})).await;
    let second = shop.paying_with(&id, json!({"method": "card"})).await;
    assert_eq!((shop.paid(&second).await, shop.paid(&first).await), (200, 200));
    shop.rest().await;
    let paid = shop.order(&id).await;
    assert_eq!((&paid["status"], &paid["paid_amount"]), (&json!("PAID"), &json!(1_000)), "{paid:#}");
    let back = refund(&shop, &id).await;
    assert_eq!((&back["refund_no"], &back["status"]), (&json!(format!("{first}-r1")), &json!("SUCCEEDED")));
    shop.pass_deadline().await;
    let later = shop.order(&id).await;
    assert_eq!((&later["status"], &later["version"]), (&json!("PAID"), &paid["version"]));
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
    assert_eq!(given_back(&shop, &second).await, json!([]));
}

#[tokio::test]
async fn a_paid_order_has_its_other_attempts_asked_at_once_also_one_that_was_being_asked_before() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    let first = shop.paying_with(&id, json!({"method": "qr"})).await;
    shop.channel(&first, json!({"state": "NOT_FOUND"})).await;
    let second = shop.paying_with(&id, json!({"method": "card"})).await;
    // A hint about the first has the channel asked, and it does not answer.
    shop.channel(&first, json!({"state": "ERROR"})).await;
    assert_eq!(shop.notify(&first, json!({"state": "FAILED"})).await.body["status"], 200);
    shop.rest().await;
    assert_eq!(shop.order(&id).await["pending"], json!(["ask:1"]));

    shop.channel(&first, json!({"state": "SUCCESS"})).await;
    assert_eq!(shop.paid(&second).await, 200);
    shop.rest().await;
    let paid = shop.order(&id).await;
    assert_eq!((&paid["status"], &paid["pending"]), (&json!("PAID"), &json!([])), "{paid:#}");
    assert_eq!(refund(&shop, &id).await["refund_no"], format!("{first}-r1"));
}

#[tokio::test]
async fn money_told_of_in_doubt_while_the_order_is_closing_is_asked_about_once_it_is_closed() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    let settled = shop.paying_with(&id, json!({"method": "qr"})).await;
    let open = shop.paying_with(&id, json!({"method": "card"})).await;
    shop.channel(&open, json!({"state": "ERROR"})).await;
    shop.pass_deadline().await;
    shop.channel(&settled, json!({"state": "SUCCESS"})).await;
    assert_eq!(shop.notify(&settled, json!({"amount": 1})).await.body["status"], 400);
    shop.rest().await;
    assert_eq!((shop.status(&id).await, &shop.order(&id).await["pending"]), ("CLOSING".into(), &json!(["ask:1"])));

    shop.channel(&open, json!({"state": "CLOSED"})).await;
    shop.advance(13).await;
    let closed = shop.order(&id).await;
    assert_eq!((&closed["status"], &closed["pending"]), (&json!("CLOSED"), &json!([])), "{closed:#}");
    assert_eq!(refund(&shop, &id).await["refund_no"], format!("{settled}-r1"));
}

#[tokio::test]
async fn b16_a_refund_that_only_a_person_can_finish_is_listed_as_failed_and_may_be_tried_again() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (id, payment) = closed_order(&shop).await;
    shop.channel(&payment, json!({"refund": "error"})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    // Meanwhile somebody gives a part back by hand: under the number that was sent, the rest would be another refund.
    shop.channel(&payment, json!({"refund": "ok", "refunded_amount": 400})).await;
    shop.advance(13).await;
    let number = format!("{payment}-r1");
    assert_eq!(refund(&shop, &id).await["status"], "FAILED");
    assert_eq!(shop.order(&id).await["pending"], json!(["refund:1"]));
    assert_eq!(shop.findings(&id).await, ["refund_failed"]);
    let listed = shop.admin("GET", "/refunds", Value::Null).await.expect(200).body["refunds"][0].clone();
    assert_eq!((&listed["refund_no"], &listed["status"]), (&json!(number), &json!("FAILED")), "{listed:#}");

    shop.channel(&payment, json!({"refunded_amount": 1_000})).await;
    let retry = json!({"reason": "the rest went back by hand"});
    let _ = shop.admin("POST", &format!("/refunds/{number}/retry"), retry).await.expect(200);
    shop.advance(3).await;
    assert_eq!(refund(&shop, &id).await["status"], "SUCCEEDED");
    assert_eq!(given_back(&shop, &payment).await, json!([]), "we gave nothing back besides");
    assert_eq!(shop.timeline(&id, "action").await[0]["detail"]["action"], "retry_refund");
}
