//! `POST /orders/{id}/cancel` and `POST /admin/orders/{id}/check`: what a person does needs a reason.

use serde_json::{Value, json};

use crate::refusal::{JSON, OPERATOR, VIEWER, assert_refused, full_shop, no_json_object, too_large};
use crate::routes::UNKNOWN_ORDERS;

/// What is no reason.
fn no_reasons() -> Vec<Value> {
    let reasons = [json!(null), json!(""), json!("  "), json!("a\nb"), json!("a\u{0}b"), json!("x".repeat(201))];
    let mut bodies: Vec<Value> = reasons
        .into_iter()
        .chain([json!(1), json!(["x"]), json!({})])
        .map(|reason| json!({"reason": reason}))
        .collect();
    bodies.push(json!({}));
    bodies.push(json!({"reason": "x", "status": "CLOSED"}));
    bodies
}

#[tokio::test]
async fn an_action_without_a_clear_reason_is_not_done() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    for path in [format!("/orders/{id}/cancel"), format!("/admin/orders/{id}/check")] {
        let mut cases = no_json_object();
        cases.extend(no_reasons().into_iter().map(|body| ("no reason", body.into())));
        cases.push(("a reason twice", r#"{"reason":"x","reason":"y"}"#.into()));
        for (what, body) in cases {
            let shown = String::from_utf8_lossy(&body.0[..body.0.len().min(60)]).into_owned();
            let answer = shop.send("POST", &path, &[JSON, OPERATOR], body.0).await;
            assert_refused(&answer, &format!("{path}: {what} {shown}"), 422, "invalid_request");
        }
        for (what, body) in too_large() {
            let answer = shop.send("POST", &path, &[JSON, OPERATOR], body.0).await;
            assert_refused(&answer, what, 413, "payload_too_large");
        }
    }
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT");
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
    assert_eq!(shop.timeline(&id, "action").await, Vec::<Value>::new(), "what was not done is not recorded as done");
    assert_eq!(shop.cancel(&id).await.status, 200);
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
            shop.admin("POST", &format!("/orders/{id}/check"), reason).await,
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
    let path = format!("/admin/orders/{other}/check");
    let body = r#"{"reason":"x"}"#;
    assert_refused(&shop.send("POST", &path, &[JSON, VIEWER], body).await, "viewer", 403, "forbidden");
    assert_refused(&shop.send("POST", &path, &[JSON], body).await, "nobody", 401, "unauthorized");
    assert_eq!(shop.send("GET", &format!("/admin/orders/{id}"), &[VIEWER], "").await.status, 200);
    assert_eq!(shop.timeline(&other, "action").await, Vec::<Value>::new());
}
