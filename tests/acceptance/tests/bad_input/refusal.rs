//! What every refusal looks like, and that it left nothing behind.

use acceptance::{Answer, Shop, shop};
use bytes::Bytes;
use serde_json::{Value, json};

/// Most bytes of any problem document: what a request contains must not come back at length.
const PROBLEM_BYTES: usize = 1_500;

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const OPERATOR: (&str, &str) = ("authorization", "Bearer local-admin");
pub(crate) const VIEWER: (&str, &str) = ("authorization", "Bearer local-viewer");

/// A shop with a bit of everything.
pub(crate) async fn full_shop() -> Shop {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_coupon("C1", "u1", &shop.in_seconds(86_400)).await;
    shop.put_points("u1", 100).await;
    shop.put_quota("sale", 2).await;
    shop
}

/// Everything an order could hold is free, and no order waits for anything.
pub(crate) async fn assert_nothing_held(shop: &Shop) {
    shop.rest().await;
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    assert_eq!(shop.coupon("C1").await, "AVAILABLE");
    assert_eq!(shop.points("u1").await, (100, 0));
    assert_eq!(shop.quota("sale").await, (2, 0, 0));
    assert_eq!(shop.due().await, []);
    assert_eq!(shop.metric("InvariantBreach"), 0);
}

/// A refusal is a problem document of `status` and `code` that says what is wrong, briefly.
#[track_caller]
pub(crate) fn assert_refused(answer: &Answer, what: &str, status: u16, code: &str) {
    let body = &answer.body;
    assert_eq!((answer.status, answer.text("code")), (status, code), "{what}: {body:#}");
    assert_eq!(answer.content_type, "application/problem+json", "{what}");
    assert_eq!(body["status"], status, "{what}");
    assert_eq!(body["type"], format!("urn:problem-type:order-expiry:{code}"), "{what}");
    assert!(!answer.text("title").is_empty(), "{what}: {body:#}");
    assert!(body.to_string().len() <= PROBLEM_BYTES, "{what}: {} bytes", body.to_string().len());
    if code == "invalid_request" {
        let place = body["errors"][0]["pointer"].as_str().is_some_and(|pointer| !pointer.is_empty());
        assert!(place || !answer.text("detail").is_empty(), "{what} must say where: {body:#}");
    }
}

/// A body: as it is, or JSON.
#[derive(Clone, Debug)]
pub(crate) struct Body(pub(crate) Bytes);

impl From<&str> for Body {
    fn from(text: &str) -> Body {
        Body(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        Body(Bytes::from(text))
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Body {
        Body(Bytes::copy_from_slice(bytes))
    }
}

impl From<Value> for Body {
    fn from(value: Value) -> Body {
        Body(Bytes::from(value.to_string()))
    }
}

/// `value` with one field set.
pub(crate) fn with(mut value: Value, field: &str, to: impl Into<Value>) -> Value {
    value[field] = to.into();
    value
}

/// `value` without one field.
pub(crate) fn without(mut value: Value, field: &str) -> Value {
    value.as_object_mut().expect("an object").remove(field);
    value
}

/// What no route takes for its JSON object, whatever it is to say. Each with what it is.
pub(crate) fn no_json_object() -> Vec<(&'static str, Body)> {
    vec![
        ("an empty body", "".into()),
        ("a blank body", " \r\n\t ".into()),
        ("half an object", "{".into()),
        ("a word", "hello".into()),
        ("a form", "user_id=u1&currency=CNY".into()),
        ("single quotes", "{'reason': 'x'}".into()),
        ("a trailing comma", r#"{"reason": "x",}"#.into()),
        ("a comment", r#"{"reason": "x"} // why"#.into()),
        ("a byte order mark", "\u{feff}{}".into()),
        ("not a number", r#"{"amount": NaN}"#.into()),
        ("a number out of range", r#"{"amount": 1e999}"#.into()),
        ("a lone surrogate", r#"{"reason": "\ud800"}"#.into()),
        ("a raw control character", "{\"reason\": \"a\u{1}b\"}".into()),
        ("bytes that are not UTF-8", b"{\"reason\": \"\xff\xfe\"}".as_slice().into()),
        ("nothing but bytes", [0_u8, 159, 146, 150].as_slice().into()),
        ("null", json!(null).into()),
        ("true", json!(true).into()),
        ("a number", json!(7).into()),
        ("a string", json!("{}").into()),
        ("an array", json!([]).into()),
        ("an array with the object", json!([{"reason": "x", "channel": "sim"}]).into()),
        ("two objects", "{} {}".into()),
        ("deep nesting", format!("{}{}", "[".repeat(30_000), "]".repeat(30_000)).into()),
        ("deeply nested objects", format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000)).into()),
        ("an unknown field", json!({"surprise": 1}).into()),
    ]
}

/// What the order and admin routes refuse for its size.
pub(crate) fn too_large() -> Vec<(&'static str, Body)> {
    let padded = |bytes: usize| Body::from(with(json!({}), "reason", "x".repeat(bytes)));
    vec![("64 KiB and a little", padded(64 * 1_024)), ("more than 10 MB", padded(11 * 1_024 * 1_024))]
}
