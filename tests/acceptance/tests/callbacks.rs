//! Callbacks that must not be believed (CASES.md b44, DESIGN §3): refused, counted by reason, and no change of the order.

use acceptance::{Shop, shop};
use serde_json::{Value, json};

/// What of an order's document a callback could change; the version counts a note to ask the channel as well.
async fn state_of(shop: &Shop, id: &str) -> Value {
    let mut order = shop.order(id).await;
    for passing in ["server_time", "seconds_left", "version"] {
        order[passing] = Value::Null;
    }
    order
}

/// A shop with an order that is being paid; nothing was paid yet.
async fn paying() -> (Shop, String, String) {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.rest().await;
    (shop, id, payment)
}

#[tokio::test]
async fn b44_a_callback_without_proof_of_its_sender_or_its_time_leaves_a_counter_and_nothing_else() {
    let (shop, id, payment) = paying().await;
    let before = shop.order(&id).await;
    for (forged, reason) in [
        (json!({"unsigned": true}), "missing_header"),
        (json!({"secret": "another secret"}), "bad_signature"),
        (json!({"signature": "t=1,v1=00"}), "bad_signature"),
        (json!({"signature": "nonsense"}), "missing_header"),
        (json!({"age_seconds": 301}), "stale_timestamp"),
        (json!({"age_seconds": -301}), "future_timestamp"),
    ] {
        let counted = shop.refused_callbacks(reason);
        let mut callback = forged.clone();
        callback["state"] = "SUCCESS".into();
        assert_eq!(shop.notify(&payment, callback).await.body["status"], 401, "{forged}");
        assert_eq!(shop.refused_callbacks(reason), counted + 1, "{forged}");
    }
    assert_eq!(shop.order(&id).await, before);
    assert_eq!(shop.timeline(&id, "refused_callback").await, Vec::<Value>::new());
    assert_eq!(shop.metric("CallbackRefused"), 6);
}

#[tokio::test]
async fn b44_a_callback_within_the_tolerance_is_believed() {
    for age_seconds in [299, -299] {
        let (shop, id, payment) = paying().await;
        let callback = json!({"state": "SUCCESS", "age_seconds": age_seconds});
        assert_eq!(shop.notify(&payment, callback).await.body["status"], 200);
        assert_eq!(shop.status(&id).await, "PAID");
    }
}

#[tokio::test]
async fn b44_a_success_with_another_amount_merchant_or_currency_is_refused_kept_and_asked_about() {
    let (shop, id, payment) = paying().await;
    let before = state_of(&shop, &id).await;
    let mut kept = Vec::new();
    for (other, reason) in [
        (json!({"amount": 999}), "amount_mismatch"),
        (json!({"amount": 1_001}), "amount_mismatch"),
        (json!({"amount": 0}), "amount_mismatch"),
        (json!({"merchant_id": "somebody-else"}), "merchant_mismatch"),
        (json!({"currency": "USD"}), "currency_mismatch"),
    ] {
        let (counted, asked) = (shop.refused_callbacks(reason), shop.calls(&payment, "query").await);
        let mut callback = other.clone();
        callback["state"] = "SUCCESS".into();
        let answer = shop.notify(&payment, callback).await.body;
        assert_eq!((&answer["status"], &answer["body"]["code"]), (&json!(400), &json!("FAIL")), "{other}");
        shop.rest().await;
        assert_eq!(shop.refused_callbacks(reason), counted + 1, "{other}");
        assert_eq!(shop.calls(&payment, "query").await, asked + 1, "{other}: the channel is asked what is true");
        kept.push((answer["notify_id"].clone(), reason));
    }
    assert_eq!(state_of(&shop, &id).await, before);
    let evidence = shop.timeline(&id, "refused_callback").await;
    let evidence: Vec<_> =
        evidence.iter().map(|entry| (&entry["detail"]["notify_id"], &entry["detail"]["reason"])).collect();
    assert_eq!(json!(evidence), json!(kept));
}

#[tokio::test]
async fn b44_what_the_channel_says_when_it_is_asked_about_a_mismatch_is_believed() {
    let (shop, id, payment) = paying().await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    assert_eq!(shop.notify(&payment, json!({"amount": 1})).await.body["status"], 400);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("PAID"), &json!([])), "{order:#}");
}

#[tokio::test]
async fn b44_a_callback_about_no_payment_of_ours_is_refused() {
    let (shop, id, payment) = paying().await;
    let other = shop.ordered().await;
    shop.rest().await;
    let before = [shop.order(&id).await, shop.order(&other).await].map(|order| order["version"].clone());
    let unknown = format!("{}-1", "0".repeat(id.len()));
    for (number, why) in [
        (format!("{id}-2"), "an attempt that was never begun"),
        (format!("{other}-1"), "an order that nobody pays"),
        (unknown, "an order that does not exist"),
        ("not-one-of-ours".to_owned(), "a number that we do not give"),
        (String::new(), "no number"),
    ] {
        let counted = shop.refused_callbacks("unknown_order");
        let callback = json!({"state": "SUCCESS", "out_trade_no": number});
        assert_eq!(shop.notify(&payment, callback).await.body["status"], 400, "{why}");
        assert_eq!(shop.refused_callbacks("unknown_order"), counted + 1, "{why}");
    }
    let after = [shop.order(&id).await, shop.order(&other).await].map(|order| order["version"].clone());
    assert_eq!(after, before);
}

#[tokio::test]
async fn b44_a_signed_callback_that_is_no_message_of_the_channel_is_malformed() {
    let (shop, id, payment) = paying().await;
    let before = shop.order(&id).await;
    let mangled = [
        json!({"amount": "1000"}),
        json!({"amount": -1_000}),
        json!({"amount": 1_000.5}),
        json!({"transaction_id": ["x"]}),
        json!({"transaction_id": ""}),
        json!({"currency": "money"}),
        json!({"notify_id": 7}),
        json!({"notify_id": "x".repeat(1_000)}),
        json!({"merchant_id": {}}),
        json!({"out_trade_no": 1}),
        json!({"state": 1}),
    ];
    for (nth, mangled) in (1..).zip(mangled) {
        let mut callback = mangled.clone();
        if callback.get("state").is_none() {
            callback["state"] = "SUCCESS".into();
        }
        assert_eq!(shop.notify(&payment, callback).await.body["status"], 400, "{mangled}");
        assert_eq!(shop.refused_callbacks("malformed"), nth, "{mangled}");
    }
    assert_eq!(shop.order(&id).await, before);
}

#[tokio::test]
async fn b44_a_body_of_any_bytes_is_refused_and_never_breaks_the_webhook() {
    let (shop, _, _) = paying().await;
    for body in [&b""[..], b"{", b"null", b"\xff\xfe\x00", b"[1,2,3]", "ünïcode".as_bytes()] {
        let answer = shop.send("POST", "/webhooks/sim", &[("sim-signature", "t=0,v1=zz")], body.to_vec()).await;
        assert_eq!(answer.status, 401, "{body:?}");
    }
    let huge = vec![b'x'; 2 * 1024 * 1024];
    assert_eq!(shop.send("POST", "/webhooks/sim", &[], huge).await.status, 400);
    assert_eq!(shop.call("POST", "/webhooks/other", json!({})).await.status, 404);
}

#[tokio::test]
async fn a_callback_that_is_no_success_is_acknowledged_as_a_hint_and_the_channel_is_asked() {
    let (shop, id, payment) = paying().await;
    for state in ["FAILED", "CLOSED", "NOTPAY", "USERPAYING", "A_STATE_OF_NEXT_YEAR"] {
        let asked = shop.calls(&payment, "query").await;
        assert_eq!(shop.notify(&payment, json!({"state": state})).await.body["status"], 200, "{state}");
        shop.rest().await;
        assert_eq!(shop.calls(&payment, "query").await, asked + 1, "{state}");
        let order = shop.order(&id).await;
        assert_eq!((&order["status"], &order["payments"][0]["status"]), (&json!("PAYING"), &json!("PROCESSING")));
        assert_eq!(order["pending"], json!([]), "an answer ends the ask");
    }
}
