//! `POST /orders`: bodies.

use acceptance::order;
use serde_json::{Value, json};

use crate::refusal::{
    Body, JSON, assert_nothing_held, assert_refused, full_shop, no_json_object, too_large, with, without,
};

/// A whole valid order.
pub(crate) fn valid() -> Value {
    let body = order()
        .with("coupon_id", "C1")
        .with("points", 10)
        .with("quotas", json!([{"activity": "sale", "quantity": 1}]))
        .with("expiry_rule", "default")
        .with("source", "web");
    body.0
}

fn line() -> Value {
    json!({"sku": "SKU", "quantity": 1, "unit_price": 1_000})
}

fn with_line(line: Value) -> Value {
    with(valid(), "lines", json!([line]))
}

fn with_quota(quota: Value) -> Value {
    with(valid(), "quotas", json!([quota]))
}

/// The valid order with the text `from` replaced: for JSON that no JSON library writes.
fn replaced(from: &str, to: &str) -> Body {
    let text = valid().to_string();
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    text.replace(from, to).into()
}

async fn assert_all_refused(cases: Vec<(&str, Body)>, status: u16, code: &str) {
    let shop = full_shop().await;
    for (what, body) in cases {
        let answer = shop.send("POST", "/orders", &[JSON], body.0).await;
        assert_refused(&answer, what, status, code);
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn the_valid_order_that_all_others_differ_from_is_taken() {
    let shop = full_shop().await;
    let _ = shop.call("POST", "/orders", valid()).await.expect(201);
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
}

#[tokio::test]
async fn what_is_no_json_object_is_no_order() {
    assert_all_refused(no_json_object(), 422, "invalid_request").await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_no_order() {
    assert_all_refused(too_large(), 413, "payload_too_large").await;
}

#[tokio::test]
async fn an_order_needs_every_required_field_and_none_of_them_null() {
    let mut cases = Vec::new();
    for field in ["user_id", "currency", "lines", "payable_amount"] {
        cases.push((field, without(valid(), field).into()));
        cases.push((field, with(valid(), field, Value::Null).into()));
    }
    for field in ["sku", "quantity", "unit_price"] {
        cases.push((field, with_line(without(line(), field)).into()));
        cases.push((field, with_line(with(line(), field, Value::Null)).into()));
    }
    for field in ["activity", "quantity"] {
        let quota = json!({"activity": "sale", "quantity": 1});
        cases.push((field, with_quota(without(quota.clone(), field)).into()));
        cases.push((field, with_quota(with(quota, field, Value::Null)).into()));
    }
    assert_all_refused(cases, 422, "invalid_request").await;
}

#[tokio::test]
async fn an_order_has_no_field_twice_and_none_that_is_not_known() {
    let cases = vec![
        ("an unknown field", with(valid(), "discount", 1).into()),
        ("a field in another case", with(valid(), "User_Id", "u1").into()),
        ("an unknown field of a line", with_line(with(line(), "price", 1)).into()),
        ("an unknown field of a quota", with_quota(json!({"activity": "sale", "quantity": 1, "slot": 1})).into()),
        ("a status of its own", with(valid(), "status", "PAID").into()),
        ("an id of its own", with(valid(), "order_id", "0123456789abcdefghjkmnpq").into()),
        ("a deadline of its own", with(valid(), "expire_at", "2999-01-01T00:00:00Z").into()),
        ("a field twice", replaced(r#""user_id":"u1""#, r#""user_id":"u1","user_id":"u2""#)),
        ("an amount twice", replaced(r#""payable_amount":1000"#, r#""payable_amount":1000,"payable_amount":0"#)),
        ("a field of a line twice", replaced(r#""sku":"SKU""#, r#""sku":"SKU","sku":"SKU""#)),
        ("a field of a quota twice", replaced(r#""activity":"sale""#, r#""activity":"sale","activity":"sale""#)),
    ];
    assert_all_refused(cases, 422, "invalid_request").await;
}

/// What is no whole number of one or more, as JSON.
const NO_COUNT: [&str; 14] = [
    "0",
    "-0",
    "-1",
    "1.5",
    "1.0",
    "1e3",
    "1E0",
    r#""1""#,
    "true",
    "[1]",
    "{}",
    "1000000001",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
];

#[tokio::test]
async fn a_quantity_is_a_whole_number_within_its_bounds() {
    let mut cases = Vec::new();
    for no_count in NO_COUNT {
        let line = r#""quantity":1,"sku":"SKU""#;
        cases.push((no_count, replaced(line, &format!(r#""quantity":{no_count},"sku":"SKU""#))));
        let quota = r#""activity":"sale","quantity":1"#;
        cases.push((no_count, replaced(quota, &format!(r#""activity":"sale","quantity":{no_count}"#))));
        cases.push((no_count, replaced(r#""points":10"#, &format!(r#""points":{no_count}"#))));
    }
    assert_all_refused(cases, 422, "invalid_request").await;
}

#[tokio::test]
async fn an_amount_is_a_whole_number_of_minor_units_within_its_bounds() {
    let mut cases = Vec::new();
    for no_amount in ["-1", "1.5", "1000.0", "1e3", r#""1000""#, "9007199254740992", "18446744073709551616", "null"] {
        let price = format!(r#""unit_price":{no_amount}"#);
        cases.push((no_amount, replaced(r#""unit_price":1000"#, &price)));
        cases.push((no_amount, replaced(r#""payable_amount":1000"#, &format!(r#""payable_amount":{no_amount}"#))));
    }
    let dear = json!({"sku": "SKU", "quantity": 1_000_000_000, "unit_price": 9_007_199_254_740_991_u64});
    cases.push(("lines that add up to more than any amount", with_line(dear).into()));
    cases.push(("more to pay than the lines cost", with(valid(), "payable_amount", 1_001).into()));
    assert_all_refused(cases, 422, "invalid_request").await;
}

#[tokio::test]
async fn a_currency_is_one_of_iso_4217_in_capitals() {
    let currencies = ["cny", "Cny", "", "CN", "CNYY", "ABC", "XXX", "XAU", "XTS", " CNY", "CNY\0", "￥", "元"];
    let mut cases: Vec<_> = currencies.map(|currency| (currency, with(valid(), "currency", currency).into())).into();
    cases.push(("a number", with(valid(), "currency", 156).into()));
    cases.push(("an array", with(valid(), "currency", json!(["CNY"])).into()));
    assert_all_refused(cases, 422, "invalid_request").await;
}

#[tokio::test]
async fn an_order_has_one_to_fifty_different_lines_and_at_most_ten_quotas() {
    let lines = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"sku": format!("SKU{n}"), "quantity": 1, "unit_price": 1_000})).collect()
    };
    let quotas: Vec<Value> = (0..11).map(|n| json!({"activity": format!("sale{n}"), "quantity": 1})).collect();
    let placed = json!({"sku": "SKU", "quantity": 1, "unit_price": 1, "warehouse": "default", "batch": "default"});
    let cases = vec![
        ("no line", with(valid(), "lines", json!([])).into()),
        ("51 lines", with(valid(), "lines", lines(51)).into()),
        ("the same line twice", with(valid(), "lines", json!([line(), line()])).into()),
        ("the same line twice, once with its defaults", with(valid(), "lines", json!([line(), placed])).into()),
        ("an object of lines", with(valid(), "lines", line()).into()),
        ("a line that is null", with(valid(), "lines", json!([null])).into()),
        ("a line that is an array", with(valid(), "lines", json!([["SKU", 1, 1_000]])).into()),
        ("a line that is a string", with(valid(), "lines", json!(["SKU"])).into()),
        ("11 quotas", with(valid(), "quotas", quotas).into()),
        ("quotas that are null", with(valid(), "quotas", Value::Null).into()),
        ("a quota that is an array", with(valid(), "quotas", json!([["sale", 1]])).into()),
        ("an object of quotas", with(valid(), "quotas", json!({"activity": "sale", "quantity": 1})).into()),
    ];
    assert_all_refused(cases, 422, "invalid_request").await;
}

#[tokio::test]
async fn an_identifier_has_neither_spaces_nor_control_characters_nor_our_separators_nor_too_many_bytes() {
    // Each with the most bytes it may have.
    let fields = [("user_id", 64), ("coupon_id", 64), ("expiry_rule", 32), ("source", 32)];
    let of_a_line = [("sku", 64), ("warehouse", 32), ("batch", 32)];
    for bad in
        ["", " ", "a b", " a", "a\t", "a\nb", "a\u{0}", "\u{7f}", "a/b", "a#b", "a\u{a0}b", "\u{202e}abc", "a\u{200b}"]
    {
        let mut cases = Vec::new();
        cases.extend(fields.map(|(field, _)| (field, with(valid(), field, bad).into())));
        cases.extend(of_a_line.map(|(field, _)| (field, with_line(with(line(), field, bad)).into())));
        cases.push(("activity", with_quota(json!({"activity": bad, "quantity": 1})).into()));
        assert_all_refused(cases, 422, "invalid_request").await;
    }
    let mut cases: Vec<(&str, Body)> = Vec::new();
    for (field, most) in fields {
        cases.push((field, with(valid(), field, "x".repeat(most + 1)).into()));
        // Bytes count, not characters.
        cases.push((field, with(valid(), field, "é".repeat(most / 2 + 1)).into()));
    }
    cases.extend(of_a_line.map(|(field, most)| (field, with_line(with(line(), field, "x".repeat(most + 1))).into())));
    cases.push(("activity", with_quota(json!({"activity": "x".repeat(65), "quantity": 1})).into()));
    for no_text in [json!(1), json!(true), json!(["u1"]), json!({"id": "u1"})] {
        cases.extend(fields.map(|(field, _)| (field, with(valid(), field, no_text.clone()).into())));
    }
    cases.push(("an unknown rule", with(valid(), "expiry_rule", "gold").into()));
    assert_all_refused(cases, 422, "invalid_request").await;
}
