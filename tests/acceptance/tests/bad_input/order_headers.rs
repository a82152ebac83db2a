//! `POST /orders`: headers, and what is refused for what the shop has.

use acceptance::order;
use http::HeaderValue;
use local::server;
use serde_json::json;

use crate::order_bodies::valid;
use crate::refusal::{JSON, assert_nothing_held, assert_refused, full_shop, with};

#[tokio::test]
async fn a_body_labelled_as_something_else_than_json_is_refused_for_its_label() {
    let shop = full_shop().await;
    for label in ["application/xml", "text/html", "multipart/form-data; boundary=x", "image/png", "application/jsonx"] {
        let answer = shop.send("POST", "/orders", &[("content-type", label)], valid().to_string()).await;
        assert_refused(&answer, label, 415, "unsupported_media_type");
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn an_idempotency_key_has_1_to_255_printable_ascii_characters() {
    let shop = full_shop().await;
    for key in ["", "a\tb", &"k".repeat(256)] {
        let answer = shop.send("POST", "/orders", &[JSON, ("idempotency-key", key)], valid().to_string()).await;
        assert_refused(&answer, &format!("key {key:?}"), 422, "invalid_request");
    }
    for bytes in [&b"\xc3\xa9"[..], b"key-\xff", b"\x80"] {
        let mut request = http::Request::post("/orders").body(valid().to_string().into()).expect("a request");
        request.headers_mut().insert("idempotency-key", HeaderValue::from_bytes(bytes).expect("a header"));
        let answer = server::respond(&shop.system, request).await;
        assert_eq!(answer.status(), 422, "key {bytes:?}");
    }
    assert_nothing_held(&shop).await;
    let longest = "k".repeat(255);
    let answer = shop.send("POST", "/orders", &[JSON, ("idempotency-key", &longest)], valid().to_string()).await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused_and_holds_nothing_more() {
    let shop = full_shop().await;
    let headers = [JSON, ("idempotency-key", "once")];
    let first = shop.send("POST", "/orders", &headers, order().0.to_string()).await.expect(201);
    for (n, other) in [with(order().0, "payable_amount", 999), with(order().0, "source", "app"), order().of("SKU", 2).0]
        .into_iter()
        .enumerate()
    {
        let answer = shop.send("POST", "/orders", &headers, other.to_string()).await;
        assert_refused(&answer, &format!("another body {n}"), 422, "idempotency_mismatch");
    }
    let repeated = shop.send("POST", "/orders", &headers, order().0.to_string()).await.expect(201);
    assert_eq!(repeated.body["order_id"], first.body["order_id"]);
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
}

#[tokio::test]
async fn a_token_of_a_user_creates_no_order_of_another() {
    let shop = full_shop().await;
    for token in ["Bearer local-user-u2", "Bearer local-user-", "Bearer local-user-a b"] {
        let answer = shop.send("POST", "/orders", &[JSON, ("authorization", token)], valid().to_string()).await;
        assert_refused(&answer, token, 403, "forbidden");
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn an_order_that_the_shop_cannot_serve_holds_nothing_of_what_it_could() {
    let shop = full_shop().await;
    for (field, value, code) in [
        ("lines", json!([{"sku": "SKU", "quantity": 6, "unit_price": 1_000}]), "insufficient_stock"),
        ("lines", json!([{"sku": "NEVER-HEARD-OF", "quantity": 1, "unit_price": 1_000}]), "insufficient_stock"),
        ("coupon_id", json!("NEVER-HEARD-OF"), "coupon_unavailable"),
        ("points", json!(101), "insufficient_points"),
        ("quotas", json!([{"activity": "sale", "quantity": 3}]), "quota_exhausted"),
        (
            "quotas",
            json!([{"activity": "sale", "quantity": 1}, {"activity": "sale", "quantity": 2}]),
            "quota_exhausted",
        ),
        ("quotas", json!([{"activity": "never-heard-of", "quantity": 1}]), "quota_exhausted"),
        ("user_id", json!("u2"), "insufficient_points"),
    ] {
        let answer = shop.call("POST", "/orders", with(valid(), field, value)).await;
        assert_refused(&answer, field, 409, code);
    }
    assert_nothing_held(&shop).await;
}
