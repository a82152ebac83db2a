//! `Idempotency-Key`: a repeated create is one order.

use acceptance::{Answer, OrderBody, Shop, order, shop};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn create(shop: &Shop, key: &str, body: &OrderBody) -> Answer {
    send(shop, key, body.0.to_string()).await
}

async fn send(shop: &Shop, key: &str, body: String) -> Answer {
    shop.send("POST", "/orders", &[("content-type", "application/json"), ("idempotency-key", key)], body).await
}

#[tokio::test]
async fn the_same_key_and_body_answer_the_same_order_and_hold_once() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let first = create(&shop, "k1", &order()).await.expect(201);
    shop.advance(60).await;
    let again = create(&shop, "k1", &order()).await.expect(201);
    assert_eq!(again.text("order_id"), first.text("order_id"));
    assert_eq!(again.text("expire_at"), first.text("expire_at"), "I7: a repetition does not move the deadline");
    assert_eq!(again.body["version"], 1);
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
}

#[tokio::test]
async fn a_body_that_says_the_same_in_other_words_is_the_same_body() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let one = r#"{"user_id":"u1","currency":"CNY","payable_amount":1000,"lines":[{"sku":"SKU","quantity":1,"unit_price":1000}]}"#;
    let other = r#"{ "lines": [ {"unit_price": 1000, "quantity": 1, "sku": "SKU"} ],
                     "payable_amount": 1000, "currency": "CNY", "user_id": "u1" }"#;
    let first = send(&shop, "k1", one.to_owned()).await.expect(201);
    let again = send(&shop, "k1", other.to_owned()).await.expect(201);
    assert_eq!(again.text("order_id"), first.text("order_id"));
}

#[tokio::test]
async fn a_default_that_is_written_out_is_the_same_body() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let first = create(&shop, "k1", &order()).await.expect(201);
    let lines = json!([{"sku": "SKU", "quantity": 1, "unit_price": 1_000, "warehouse": "default", "batch": "default"}]);
    let spelt_out = order().with("lines", lines).with("expiry_rule", "default").with("quotas", json!([]));
    let again = create(&shop, "k1", &spelt_out).await.expect(201);
    assert_eq!(again.text("order_id"), first.text("order_id"));
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused_and_holds_nothing() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let first = create(&shop, "k1", &order()).await.expect(201);
    for other in [order().of("SKU", 2), order().with("source", "app"), order().with("payable_amount", 999)] {
        let _ = create(&shop, "k1", &other).await.expect_problem(422, "idempotency_mismatch");
    }
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
    assert_eq!(shop.order(first.text("order_id")).await["payable_amount"], 1_000);
}

#[tokio::test]
async fn a_key_belongs_to_its_user_and_other_keys_are_other_orders() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let mut ids = Vec::new();
    for (key, user) in [("k1", "u1"), ("k1", "u2"), ("k2", "u1")] {
        ids.push(create(&shop, key, &order().by(user)).await.expect(201).text("order_id").to_owned());
    }
    // Without a key no two creates are one.
    ids.extend([shop.ordered().await, shop.ordered().await]);
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), shop.stock("SKU").await), (5, (0, 5, 0)));
}

#[tokio::test]
async fn a_refused_create_leaves_no_trace_of_its_key() {
    let shop = shop().with_stock("SKU", 1).with_env("MAX_OPEN_ORDERS_PER_USER", "1").open().await;
    let _ = create(&shop, "k1", &order().of("SKU", 2)).await.expect_problem(409, "insufficient_stock");
    let _ = create(&shop, "k1", &order().with("coupon_id", "none")).await.expect_problem(409, "coupon_unavailable");
    let _ = create(&shop, "k1", &order().with("expiry_rule", "none")).await.expect_problem(422, "invalid_request");
    let first = create(&shop, "k1", &order()).await.expect(201);
    let _ = create(&shop, "k2", &order()).await;
    let _ = shop.cancel(first.text("order_id")).await.expect(200);
    shop.rest().await;
    let second = create(&shop, "k2", &order().with("source", "app")).await.expect(201);
    assert_ne!(first.text("order_id"), second.text("order_id"));
}

#[tokio::test]
async fn ten_creates_at_once_with_one_key_are_one_order_with_one_reservation() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let body = order().of("SKU", 2);
    let answers = join_all((0..10).map(|_| create(&shop, "k1", &body))).await;
    let mut ids: Vec<String> =
        answers.into_iter().map(|answer| answer.expect(201).text("order_id").to_owned()).collect();
    ids.dedup();
    assert_eq!((ids.len(), shop.stock("SKU").await), (1, (3, 2, 0)));
}

#[tokio::test]
async fn a_repetition_is_answered_although_by_now_nothing_is_left_and_the_order_is_over() {
    let shop = shop().with_stock("SKU", 1).with_env("MAX_OPEN_ORDERS_PER_USER", "1").with_time_standing_still();
    let shop = shop.open().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(600)).await;
    let body = order().with("coupon_id", "C");
    let first = create(&shop, "k1", &body).await.expect(201);
    // Stock, coupon and cap would all refuse a new order now.
    assert_eq!(create(&shop, "k1", &body).await.expect(201).text("order_id"), first.text("order_id"));
    shop.pass_deadline().await;
    let again = create(&shop, "k1", &body).await.expect(201);
    assert_eq!((again.text("order_id"), again.text("status")), (first.text("order_id"), "CLOSED"));
    assert_eq!(shop.stock("SKU").await, (1, 0, 0));
}

#[tokio::test]
async fn a_repetition_is_answered_under_a_rule_that_has_changed_or_gone_since() {
    let folder = std::env::temp_dir().join(format!("order-expiry-key-{}", std::process::id()));
    let rules = r#"[{"id":"default","version":1,"seconds":1800},{"id":"gone","version":1,"seconds":600}]"#;
    let shop = shop().with_stock("SKU", 5).with_env("EXPIRY_RULES", rules).with_data(&folder).open().await;
    let body = order().with("expiry_rule", "gone");
    let first = create(&shop, "k1", &body).await.expect(201);
    let clock = shop.system.clock.clone();
    drop(shop);
    let shop = acceptance::shop().with_data(&folder).on(clock).open().await;
    let again = create(&shop, "k1", &body).await.expect(201);
    assert_eq!((again.text("order_id"), again.text("expire_at")), (first.text("order_id"), first.text("expire_at")));
    drop(shop);
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test]
async fn a_key_that_is_blank_or_too_long_is_refused() {
    let shop = shop().with_stock("SKU", 5).open().await;
    for key in ["", &"k".repeat(256)] {
        let _ = create(&shop, key, &order()).await.expect_problem(422, "invalid_request");
    }
    let _ = create(&shop, &"k".repeat(255), &order()).await.expect(201);
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
    let _ = shop.call("POST", "/orders", Value::Null).await.expect_problem(422, "invalid_request");
}
