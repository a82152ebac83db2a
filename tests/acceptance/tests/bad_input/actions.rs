//! `POST /orders/{id}/cancel` and the actions under `/admin`: what a person does needs a reason.

use serde_json::{Value, json};

use crate::refusal::{JSON, OPERATOR, VIEWER, assert_refused, full_shop, no_json_object, too_large, with, without};
use crate::routes::UNKNOWN_ORDERS;

/// What is no reason.
fn no_reasons() -> Vec<Value> {
    let texts = ["", "  ", "a\nb", "a\u{0}b"].map(Value::from);
    let others = [json!(null), json!("x".repeat(201)), json!("é".repeat(101)), json!(1), json!(["x"]), json!({})];
    texts.into_iter().chain(others).collect()
}

#[tokio::test]
async fn an_action_without_a_clear_reason_is_not_done() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    for (path, valid) in [
        (format!("/orders/{id}/cancel"), json!({"reason": "x"})),
        (format!("/admin/orders/{id}/check"), json!({"reason": "x"})),
        (format!("/admin/orders/{id}/resettle"), json!({"reason": "x"})),
        (format!("/admin/orders/{id}/extend"), json!({"reason": "x", "seconds": 60})),
        (format!("/admin/refunds/{id}-1-r1/retry"), json!({"reason": "x"})),
    ] {
        let mut cases = no_json_object();
        cases
            .extend(no_reasons().into_iter().map(|reason| ("no reason", with(valid.clone(), "reason", reason).into())));
        cases.push(("without a reason", without(valid.clone(), "reason").into()));
        cases.push(("with more than is asked", with(valid.clone(), "status", "CLOSED").into()));
        cases.push(("a reason twice", valid.to_string().replacen('{', r#"{"reason":"y","#, 1).into()));
        for (what, body) in cases {
            let shown = String::from_utf8_lossy(&body.0[..body.0.len().min(60)]).into_owned();
            let answer = shop.send("POST", &path, &[JSON, OPERATOR], body.0).await;
            assert_refused(&answer, &format!("{path}: {what} {shown}"), 422, "invalid_request");
        }
        for (what, body) in too_large() {
            let answer = shop.send("POST", &path, &[JSON, OPERATOR], body.0).await;
            assert_refused(&answer, what, 413, "payload_too_large");
        }
        let labelled = [("content-type", "application/xml"), OPERATOR];
        let answer = shop.send("POST", &path, &labelled, valid.to_string()).await;
        assert_refused(&answer, "xml", 415, "unsupported_media_type");
    }
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["version"]), (&json!("PENDING_PAYMENT"), &json!(1)));
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
    assert_eq!(shop.timeline(&id, "action").await, Vec::<Value>::new(), "what was not done is not recorded as done");
    assert_eq!(shop.cancel(&id).await.status, 200);
}

#[tokio::test]
async fn an_order_is_only_extended_by_a_whole_number_of_seconds_within_the_longest_window() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    let path = format!("/admin/orders/{id}/extend");
    for seconds in [
        "0",
        "-1",
        "1.5",
        "1e3",
        r#""60""#,
        "null",
        "true",
        "[60]",
        "31622401",
        "18446744073709551615",
        "18446744073709551616",
    ] {
        let body = format!(r#"{{"reason":"x","seconds":{seconds}}}"#);
        let answer = shop.send("POST", &path, &[JSON, OPERATOR], body).await;
        assert_refused(&answer, seconds, 422, "invalid_request");
    }
    let answer = shop.send("POST", &path, &[JSON, OPERATOR], r#"{"reason":"x"}"#).await;
    assert_refused(&answer, "no seconds", 422, "invalid_request");
    // Within the bounds of the field, and beyond those of the order.
    let answer = shop.send("POST", &path, &[JSON, OPERATOR], r#"{"reason":"x","seconds":31622400}"#).await;
    assert_refused(&answer, "beyond the longest window", 422, "invalid_request");
    assert_eq!(shop.order(&id).await["version"], 1);
}

#[tokio::test]
async fn a_refund_that_does_not_exist_is_not_tried_again() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    let _ = shop.paying(&id).await;
    let unknown = ["x", "%00", "0123456789abcdefghjkmnpq-1-r1"].map(str::to_owned);
    let forms = ["", "-1", "-1-r", "-1-r0", "-1-r01", "-1-r1", "-1-r256", "-0-r1", "-21-r1", "-1-r1-r1"];
    for number in unknown.into_iter().chain(forms.map(|form| format!("{id}{form}"))) {
        let answer = shop.admin("POST", &format!("/refunds/{number}/retry"), json!({"reason": "x"})).await;
        assert_refused(&answer, &number, 404, "not_found");
    }
}

#[tokio::test]
async fn an_order_that_does_not_exist_is_neither_read_nor_cancelled_nor_checked() {
    let shop = full_shop().await;
    for id in UNKNOWN_ORDERS {
        let reason = json!({"reason": "x"});
        let answers = [
            shop.call("GET", &format!("/orders/{id}"), Value::Null).await,
            shop.call("POST", &format!("/orders/{id}/cancel"), reason.clone()).await,
            shop.admin("GET", &format!("/orders/{id}"), Value::Null).await,
            shop.admin("POST", &format!("/orders/{id}/check"), reason.clone()).await,
            shop.admin("POST", &format!("/orders/{id}/resettle"), reason).await,
            shop.admin("POST", &format!("/orders/{id}/extend"), json!({"reason": "x", "seconds": 60})).await,
        ];
        for answer in answers {
            assert_refused(&answer, id, 404, "order_not_found");
        }
    }
}

#[tokio::test]
async fn a_viewer_and_a_stranger_do_nothing_to_an_order() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    shop.pass_deadline().await;
    let other = shop.ordered().await;
    let payment = shop.paying(&other).await;
    let before = shop.order(&other).await;
    for path in ["check", "resettle", "extend"]
        .map(|action| format!("/admin/orders/{other}/{action}"))
        .into_iter()
        .chain([format!("/admin/refunds/{payment}-r1/retry")])
    {
        let body = r#"{"reason":"x","seconds":60}"#;
        assert_refused(&shop.send("POST", &path, &[JSON, VIEWER], body).await, &path, 403, "forbidden");
        assert_refused(&shop.send("POST", &path, &[JSON], body).await, &path, 401, "unauthorized");
    }
    assert_eq!(shop.order(&other).await, before);
    assert_eq!(shop.send("GET", &format!("/admin/orders/{id}"), &[VIEWER], "").await.status, 200);
    assert_eq!(shop.timeline(&other, "action").await, Vec::<Value>::new());
}
