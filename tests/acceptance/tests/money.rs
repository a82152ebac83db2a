//! The money rules (DESIGN §3): what a success does to an order, told or found, whole or in legs; and how its document shows it.

use acceptance::{Shop, shop};
use serde_json::{Value, json};

async fn open_shop() -> Shop {
    shop().with_stock("SKU", 5).with_time_standing_still().open().await
}

/// An order of 1,000 of which a leg of 400 is paid.
async fn partly_paid(shop: &Shop) -> (String, String) {
    let id = shop.ordered().await;
    let leg = shop.paying_with(&id, json!({"amount": 400})).await;
    assert_eq!(shop.paid(&leg).await, 200);
    shop.rest().await;
    (id, leg)
}

/// Of each refund: its number, amount and status.
fn refunds(order: &Value) -> Value {
    let refunds = order["refunds"].as_array().expect("refunds");
    refunds.iter().map(|refund| json!([refund["refund_no"], refund["amount"], refund["status"]])).collect()
}

fn went_back(payment: &str, amount: u64) -> Value {
    json!([format!("{payment}-r1"), amount, "SUCCEEDED"])
}

/// Two refunds of one order may meet; the one that yields is taken up again when its lease has ended.
async fn let_refunds_finish(shop: &Shop) {
    shop.advance(35).await;
}

/// Status, `paid_amount` and what is still to be done.
fn stands(order: &Value) -> (&str, u64, &Value) {
    (order["status"].as_str().unwrap_or_default(), order["paid_amount"].as_u64().expect("an amount"), &order["pending"])
}

#[tokio::test]
async fn a_leg_below_the_payable_amount_changes_only_its_attempt_and_the_paid_amount() {
    let shop = open_shop().await;
    let (id, leg) = partly_paid(&shop).await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("PAYING", 400, &json!([])));
    assert_eq!(order["payments"][0]["status"], "SUCCEEDED");
    assert_eq!((&order["resources"][0]["status"], refunds(&order)), (&json!("RESERVED"), json!([])));
    // The default amount is all that is unpaid.
    let rest = shop.pay(&id).await.expect(201);
    assert_eq!(rest.body["amount"], 600);
    assert_eq!(shop.paid(rest.text("out_trade_no")).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("PAID", 1_000, &json!([])));
    assert_eq!((&order["resources"][0]["status"], refunds(&order)), (&json!("CONFIRMED"), json!([])));
    assert_eq!(shop.at_channel(&leg).await["refunds"], json!([]));
}

#[tokio::test]
async fn the_success_that_takes_the_sum_over_is_refunded_by_the_excess() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let leg = shop.paying_with(&id, json!({"amount": 400})).await;
    let whole = shop.paying(&id).await;
    assert_eq!((shop.paid(&leg).await, shop.paid(&whole).await), (200, 200));
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("PAID", 1_000, &json!([])));
    assert_eq!(refunds(&order), json!([went_back(&whole, 400)]));
    // Told again, nothing changes: the excess is the one refund of its transaction.
    assert_eq!(shop.notify(&whole, Value::Null).await.body["status"], 200);
    shop.pass_deadline().await;
    assert_eq!(refunds(&shop.order(&id).await), json!([went_back(&whole, 400)]));
}

#[tokio::test]
async fn successes_found_together_count_in_attempt_order_and_only_the_excess_goes_back() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let mut legs = Vec::new();
    for amount in [700, 600, 500] {
        let leg = shop.paying_with(&id, json!({"amount": amount})).await;
        shop.channel(&leg, json!({"state": "NOT_FOUND"})).await;
        legs.push(leg);
    }
    for leg in &legs {
        shop.channel(leg, json!({"state": "SUCCESS"})).await;
    }
    shop.pass_deadline().await;
    let_refunds_finish(&shop).await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("PAID", 1_000, &json!([])));
    assert_eq!(refunds(&order), json!([went_back(&legs[1], 300), went_back(&legs[2], 500)]));
    let qualifiers = [0, 1, 2].map(|leg: usize| order["payments"][leg]["qualifier"].clone());
    assert_eq!(qualifiers, [Value::Null, Value::Null, json!("surplus")]);
}

#[tokio::test]
async fn an_order_partly_paid_at_its_deadline_is_closed_and_every_success_goes_back() {
    let shop = open_shop().await;
    let (id, first) = partly_paid(&shop).await;
    let second = shop.paying_with(&id, json!({"amount": 100})).await;
    assert_eq!(shop.paid(&second).await, 200);
    let open = shop.paying(&id).await;
    shop.pass_deadline().await;
    let_refunds_finish(&shop).await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("CLOSED", 500, &json!([])));
    assert_eq!(refunds(&order), json!([went_back(&first, 400), went_back(&second, 100)]));
    assert_eq!((&order["close_reason"], &order["resources"][0]["status"]), (&json!("expired"), &json!("RELEASED")));
    assert_eq!(shop.at_channel(&open).await["state"], "CLOSED");
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn an_order_partly_paid_when_it_is_cancelled_is_closed_and_the_success_goes_back() {
    let shop = open_shop().await;
    let (id, leg) = partly_paid(&shop).await;
    let cancelled = shop.cancel(&id).await.expect(200).body;
    assert_eq!((&cancelled["status"], &cancelled["close_reason"]), (&json!("CLOSED"), &json!("cancelled_by_user")));
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(refunds(&order), json!([went_back(&leg, 400)]));
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn a_success_that_is_told_while_the_order_is_closing_makes_it_paid() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "USERPAYING", "close": "error"})).await;
    shop.pass_deadline().await;
    assert_eq!(shop.order(&id).await["resources"][0]["status"], "RESERVED", "I3: nothing is released meanwhile");
    assert_eq!(shop.status(&id).await, "CLOSING");
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("PAID", 1_000, &json!([])));
    assert!(order.get("close_reason").is_none() && order["closing"].get("next_check_at").is_none(), "{order:#}");
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
}

#[tokio::test]
async fn a_success_on_a_closed_order_is_refunded_whole_and_the_order_stays_closed() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.pass_deadline().await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("CLOSED", 0, &json!([])));
    assert_eq!(refunds(&order), json!([went_back(&payment, 1_000)]));
    assert_eq!(
        (&order["payments"][0]["status"], &order["payments"][0]["qualifier"]),
        (&json!("SUCCEEDED"), &json!("surplus"))
    );
    assert_eq!(shop.metric("LatePayment"), 1);
}

#[tokio::test]
async fn the_same_transaction_told_again_to_a_paid_order_changes_nothing() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let before = shop.order(&id).await;
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200);
    shop.rest().await;
    assert_eq!(shop.order(&id).await, before);
}

#[tokio::test]
async fn another_transaction_on_a_paid_order_is_refunded_whole() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let leg = shop.paying_with(&id, json!({"amount": 400})).await;
    let whole = shop.paying(&id).await;
    assert_eq!((shop.paid(&whole).await, shop.paid(&leg).await), (200, 200));
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("PAID", 1_000, &json!([])));
    assert_eq!(refunds(&order), json!([went_back(&leg, 400)]));
}

#[tokio::test]
async fn a_second_transaction_for_one_attempt_changes_nothing_and_a_person_is_told() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let before = shop.order(&id).await;
    let second = json!({"transaction_id": "another-capture"});
    assert_eq!(shop.notify(&payment, second).await.body["status"], 200);
    shop.rest().await;
    assert_eq!(shop.order(&id).await, before);
    assert_eq!(
        (shop.metric("SecondTransaction"), shop.findings(&id).await),
        (1, vec!["second_transaction".to_owned()])
    );
}

#[tokio::test]
async fn a_transaction_recorded_for_another_order_is_refused_when_it_is_told() {
    let shop = open_shop().await;
    let first = shop.ordered().await;
    let its_payment = shop.paying(&first).await;
    assert_eq!(shop.paid(&its_payment).await, 200);
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.rest().await;
    let taken = json!({"state": "SUCCESS", "transaction_id": format!("txn-{its_payment}")});
    assert_eq!(shop.notify(&payment, taken).await.body["status"], 400);
    shop.rest().await;
    assert_eq!(shop.refused_callbacks("transaction_taken"), 1);
    assert_eq!(shop.findings(&id).await, ["transaction_taken"]);
    assert_eq!(stands(&shop.order(&id).await), ("PAYING", 0, &json!([])));
}

#[tokio::test]
async fn a_transaction_recorded_for_another_order_leaves_the_order_neither_paid_nor_closed_when_it_is_found() {
    let shop = open_shop().await;
    let first = shop.ordered().await;
    let its_payment = shop.paying(&first).await;
    assert_eq!(shop.paid(&its_payment).await, 200);
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS", "transaction_id": format!("txn-{its_payment}")})).await;
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("CLOSING", 0, &json!([])));
    assert_eq!(
        (&order["closing"]["needs_attention"], &order["payments"][0]["status"]),
        (&json!(true), &json!("UNKNOWN"))
    );
    assert_eq!(order["resources"][0]["status"], "RESERVED");
    assert_eq!(shop.findings(&id).await, ["needs_attention", "transaction_taken"]);
    // It was a mistake at the channel: set right, the order ends by itself.
    shop.channel(&payment, json!({"transaction_id": "its-own"})).await;
    shop.advance(3_601).await;
    let _ = shop.scan().await;
    assert_eq!(shop.status(&id).await, "PAID");
}

#[tokio::test]
async fn a_success_of_another_amount_or_currency_that_is_found_does_not_count_and_goes_back_as_it_came() {
    for (other, amount, currency) in [
        (json!({"amount": 999}), 999, "CNY"),
        (json!({"amount": 1_001}), 1_001, "CNY"),
        (json!({"currency": "USD"}), 1_000, "USD"),
        (json!({"amount": 999, "refunded_amount": 99}), 900, "CNY"),
    ] {
        let shop = open_shop().await;
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        let mut fields = other.clone();
        fields["state"] = "SUCCESS".into();
        shop.channel(&payment, fields).await;
        shop.pass_deadline().await;
        let order = shop.order(&id).await;
        assert_eq!(stands(&order), ("CLOSED", 0, &json!([])), "{other}");
        let attempt = &order["payments"][0];
        assert_eq!((&attempt["status"], &attempt["qualifier"]), (&json!("SUCCEEDED"), &json!("mismatch")), "{other}");
        assert_eq!(refunds(&order), json!([went_back(&payment, amount)]), "{other}");
        assert_eq!(order["refunds"][0]["currency"], currency);
        assert_eq!(shop.at_channel(&payment).await["refunds"][0]["amount"], amount);
        assert_eq!((shop.metric("AmountMismatch"), shop.findings(&id).await), (1, vec!["amount_mismatch".to_owned()]));
    }
}

#[tokio::test]
async fn a_success_that_the_channel_had_given_back_never_makes_an_order_paid_and_what_is_left_goes_back_once() {
    for (given_back, left) in [(1_000, None), (1, Some(999))] {
        let shop = open_shop().await;
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        shop.channel(&payment, json!({"state": "SUCCESS", "refunded_amount": given_back})).await;
        shop.pass_deadline().await;
        let order = shop.order(&id).await;
        assert_eq!(stands(&order), ("CLOSED", 0, &json!([])), "{given_back}");
        let attempt = &order["payments"][0];
        assert_eq!((&attempt["status"], &attempt["qualifier"]), (&json!("SUCCEEDED"), &json!("refunded")));
        let expected: Vec<Value> = left.map(|left| went_back(&payment, left)).into_iter().collect();
        assert_eq!(refunds(&order), json!(expected));
        assert_eq!(shop.findings(&id).await, ["refunded_elsewhere"]);
        assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    }
}

#[tokio::test]
async fn a_success_of_another_merchant_that_is_found_decides_nothing() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS", "merchant_id": "somebody-else"})).await;
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!(stands(&order), ("CLOSING", 0, &json!([])));
    assert_eq!(order["resources"][0]["status"], "RESERVED");
    assert_eq!(order["closing"]["last_error"], "attempt 1: a success of another number or merchant");
}

#[tokio::test]
async fn the_document_of_a_paid_order_has_the_fields_of_the_contract() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.advance(60).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    let expected = json!({
        "order_id": id,
        "status": "PAID",
        "version": order["version"],
        "user_id": "u1",
        "created_at": "2027-01-15T08:00:00.000Z",
        "expire_at": "2027-01-15T08:30:00.000Z",
        "server_time": "2027-01-15T08:01:00.000Z",
        "seconds_left": 1_740,
        "expiry_rule": {"id": "default", "version": 1},
        "currency": "CNY",
        "payable_amount": 1_000,
        "paid_amount": 1_000,
        "lines": [{"sku": "SKU", "warehouse": "default", "batch": "default", "quantity": 1, "unit_price": 1_000}],
        "resources": [{"type": "stock", "key": "SKU/default/default", "quantity": 1, "status": "CONFIRMED"}],
        "payments": [{
            "attempt_no": 1,
            "out_trade_no": payment,
            "channel": "sim",
            "amount": 1_000,
            "status": "SUCCEEDED",
            "transaction_id": format!("txn-{payment}"),
        }],
        "refunds": [],
        "pending": [],
        "paid_at": "2027-01-15T08:01:00.000Z",
    });
    assert_eq!(order, expected);
}

#[tokio::test]
async fn the_document_of_a_closed_and_refunded_order_has_the_fields_of_the_contract() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    let _ = shop.cancel(&id).await.expect(200);
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    let refund = json!({
        "refund_no": format!("{payment}-r1"),
        "channel": "sim",
        "amount": 1_000,
        "currency": "CNY",
        "status": "SUCCEEDED",
        "tries": 1,
    });
    assert_eq!(order["refunds"], json!([refund]));
    assert_eq!(order["payments"][0]["transaction_id"], format!("txn-{payment}"));
    let closing =
        json!({"started_at": order["created_at"], "trigger": "cancel", "attempts": 1, "needs_attention": false});
    assert_eq!(order["closing"], closing);
    let ended = (&order["status"], &order["close_reason"], &order["closed_at"]);
    assert_eq!(ended, (&json!("CLOSED"), &json!("cancelled_by_user"), &order["created_at"]));
    assert_eq!(order["resources"][0]["status"], "RELEASED");
    assert!(order.get("paid_at").is_none());
}
