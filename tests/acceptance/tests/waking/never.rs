//! b32: orders that never expire, and the credentials of theirs that do.

use acceptance::{Shop, at, millis_between, order, shop};
use expiry_core::message::Queue;
use expiry_core::time::Timestamp;
use serde_json::{Value, json};

const RULES: &str = r#"[{"id":"default","version":1,"seconds":1800},{"id":"forever","version":3,"never":true}]"#;

async fn shop_with_never() -> Shop {
    shop().with_stock("SKU", 5).with_env("EXPIRY_RULES", RULES).with_time_standing_still().open().await
}

async fn never_ending(shop: &Shop) -> String {
    shop.order_of(&order().with("expiry_rule", "forever")).await
}

#[tokio::test]
async fn b32_neither_wake_up_nor_scan_nor_check_closes_an_order_whose_rule_is_never() {
    let shop = shop_with_never().await;
    let id = never_ending(&shop).await;
    let order = shop.order(&id).await;
    assert_eq!((&order["expire_at"], &order["seconds_left"]), (&Value::Null, &Value::Null));
    assert_eq!(order["expiry_rule"], json!({"id": "forever", "version": 3}));
    shop.rest().await;
    assert_eq!((shop.schedules().await.len(), shop.queued("close")), (0, (0, 0, 0)));
    assert!(!shop.is_due(&id).await, "I12: open, and nothing will ever be due");

    shop.advance(10 * 86_400).await;
    for expire_at in [Timestamp::EPOCH, shop.now()] {
        shop.wake(&id, expire_at).await;
    }
    let _ = shop.deliver(Queue::Close, json!({"type": "overdue", "order_id": id})).await.expect(202);
    let _ = shop.scan().await;
    let check = shop.admin("POST", &format!("/orders/{id}/check"), json!({"reason": "is it over?"})).await;
    let _ = check.expect_problem(409, "not_due");
    assert_eq!(
        (shop.order(&id).await["version"].as_u64(), shop.status(&id).await.as_str()),
        (Some(1), "PENDING_PAYMENT")
    );
    assert_eq!((shop.metric("WakeDropped"), shop.stock("SKU").await), (2, (4, 1, 0)));

    let _ = shop.cancel(&id).await.expect(200);
    shop.rest().await;
    assert_eq!(
        (shop.order(&id).await["close_reason"].as_str(), shop.stock("SKU").await),
        (Some("cancelled_by_user"), (5, 0, 0))
    );
}

#[tokio::test]
async fn the_credential_of_an_order_that_never_expires_ends_after_two_hours_and_the_scan_closes_it_at_the_channel() {
    let shop = shop_with_never().await;
    let id = never_ending(&shop).await;
    let started = shop.pay(&id).await.expect(201);
    assert_eq!(millis_between(shop.now(), at(&started.body, "expires_at")), 7_200_000);
    let payment = started.text("out_trade_no").to_owned();
    let due = shop.due().await;
    assert_eq!(due.iter().map(|hit| millis_between(shop.now(), hit.due_at)).collect::<Vec<_>>(), [7_200_000]);

    shop.advance(7_190).await;
    let _ = shop.scan().await;
    assert_eq!(shop.calls(&payment, "close").await, 0, "not before the credential has ended");
    shop.advance(140).await;
    let _ = shop.scan().await;

    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["payments"][0]["status"]), (&json!("PAYING"), &json!("CLOSED")));
    assert_eq!(shop.at_channel(&payment).await["state"], "CLOSED");
    assert_eq!(shop.stock("SKU").await, (4, 1, 0), "the order stays open");
    assert!(!shop.is_due(&id).await, "I12: it leaves the due index once its attempts are settled");

    // A new attempt brings it back in, and may be paid.
    let next = shop.paying(&id).await;
    assert!(shop.is_due(&id).await);
    assert_eq!(shop.paid(&next).await, 200);
    shop.rest().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("PAID", (4, 0, 1)));
    assert!(!shop.is_due(&id).await);
}

#[tokio::test]
async fn money_that_the_scan_finds_on_the_ended_credential_of_such_an_order_makes_it_paid() {
    let shop = shop_with_never().await;
    let id = never_ending(&shop).await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    shop.advance(7_330).await;
    let _ = shop.scan().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("PAID", (4, 0, 1)));
    assert!(!shop.is_due(&id).await);
}

#[tokio::test]
async fn an_ended_credential_whose_channel_is_silent_stays_due_and_is_asked_again() {
    let shop = shop_with_never().await;
    let id = never_ending(&shop).await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    shop.advance(7_330).await;
    let _ = shop.scan().await;
    assert_eq!(shop.order(&id).await["payments"][0]["status"], "UNKNOWN");
    assert!(shop.is_due(&id).await);
    shop.channel(&payment, json!({"state": "NOTPAY"})).await;
    // The delayed message of the first retry, 10 s later.
    shop.advance(13).await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["payments"][0]["status"]), (&json!("PAYING"), &json!("CLOSED")));
    assert!(!shop.is_due(&id).await);
}
