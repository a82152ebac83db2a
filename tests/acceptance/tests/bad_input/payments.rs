//! `POST /orders/{id}/payments`.

use serde_json::{Value, json};

use crate::refusal::{JSON, assert_refused, full_shop, no_json_object, too_large, with};
use crate::routes::UNKNOWN_ORDERS;

fn valid() -> Value {
    json!({"channel": "sim"})
}

fn agent() -> Value {
    json!({"type": "agent", "protocol": "acp", "session_id": "s-1"})
}

fn with_agent(field: &str, value: impl Into<Value>) -> Value {
    with(valid(), "initiator", with(agent(), field, value))
}

#[tokio::test]
async fn a_request_that_says_no_clear_payment_starts_none() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    let path = format!("/orders/{id}/payments");
    let mut cases = no_json_object();
    for channel in
        [json!(null), json!(""), json!("SIM"), json!("alipay"), json!("a b"), json!("x".repeat(17)), json!(1)]
    {
        cases.push(("channel", json!({"channel": channel}).into()));
    }
    for amount in ["0", "-1", "1.5", "1e2", "1001", "9007199254740992", "18446744073709551616", r#""5""#, "true", "[1]"]
    {
        cases.push(("amount", format!(r#"{{"channel":"sim","amount":{amount}}}"#).into()));
    }
    for method in [json!(""), json!("a b"), json!("a\nb"), json!("x".repeat(17)), json!(3), json!({})] {
        cases.push(("method", with(valid(), "method", method).into()));
    }
    for initiator in [
        json!("customer"),
        json!([]),
        json!(["customer"]),
        json!({}),
        json!({"type": "robot"}),
        json!({"type": "Customer"}),
        json!({"type": "customer", "name": "x"}),
        json!({"type": "agent"}),
        json!({"type": "agent", "protocol": "acp"}),
        json!(7),
    ] {
        cases.push(("initiator", with(valid(), "initiator", initiator).into()));
    }
    for text in ["", "a\u{0}b", "a\nb", &"x".repeat(65)] {
        cases.push(("protocol", with_agent("protocol", text).into()));
        cases.push(("session_id", with_agent("session_id", text).into()));
        cases.push(("mandate_ref", with_agent("mandate_ref", text).into()));
    }
    cases.push(("an unknown field of an agent", with_agent("limit", 1).into()));
    cases.push(("a channel twice", r#"{"channel":"sim","channel":"sim"}"#.into()));
    cases.push(("an unknown field", with(valid(), "currency", "CNY").into()));
    for (what, body) in cases {
        let shown = String::from_utf8_lossy(&body.0[..body.0.len().min(100)]).into_owned();
        let answer = shop.send("POST", &path, &[JSON], body.0).await;
        assert_refused(&answer, &format!("{what}: {shown}"), 422, "invalid_request");
    }
    for (what, body) in too_large() {
        assert_refused(&shop.send("POST", &path, &[JSON], body.0).await, what, 413, "payload_too_large");
    }
    let labelled = [("content-type", "application/xml")];
    let answer = shop.send("POST", &path, &labelled, valid().to_string()).await;
    assert_refused(&answer, "xml", 415, "unsupported_media_type");

    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["payments"]), (&json!("PENDING_PAYMENT"), &json!([])));
    assert_eq!(shop.call("GET", &format!("/_sim/payments/{id}-1"), Value::Null).await.status, 404, "nothing was sent");
    assert_eq!(shop.pay(&id).await.status, 201, "and the order can still be paid");
}

#[tokio::test]
async fn an_order_that_does_not_exist_is_not_paid() {
    let shop = full_shop().await;
    for id in UNKNOWN_ORDERS {
        let answer = shop.call("POST", &format!("/orders/{id}/payments"), valid()).await;
        assert_refused(&answer, id, 404, "order_not_found");
    }
}

#[tokio::test]
async fn an_order_of_another_user_does_not_exist_for_a_users_token() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    let stranger = [JSON, ("authorization", "Bearer local-user-u2")];
    let path = format!("/orders/{id}");
    let read = shop.send("GET", &path, &stranger, "").await;
    let paid = shop.send("POST", &format!("{path}/payments"), &stranger, valid().to_string()).await;
    let cancelled = shop.send("POST", &format!("{path}/cancel"), &stranger, r#"{"reason":"mine now"}"#).await;
    for (what, answer) in [("read", read), ("pay", paid), ("cancel", cancelled)] {
        assert_refused(&answer, what, 404, "order_not_found");
    }
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT");
}
