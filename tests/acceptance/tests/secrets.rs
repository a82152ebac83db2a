//! A channel's secret is read at run time: a rotated one is followed, and while none can be read nothing is guessed and nothing lost.

use acceptance::{Shop, WINDOW, shop};
use expiry_runtime::secrets::{FRESH, REREAD};
use local::settings::{SIM_SECRET, SIM_SECRET_NAME};
use serde_json::json;

/// The secret gets a new value; the one before it is the previous version.
async fn rotate(shop: &Shop, secret: &str) {
    let secrets = aws_sdk_secretsmanager::Client::new(&shop.system.cloud.sdk_config());
    let put = secrets.put_secret_value().secret_id(SIM_SECRET_NAME).secret_string(secret);
    put.send().await.expect("a new version");
}

/// What the shop answers a success that is signed with `secret`.
async fn paid_by(shop: &Shop, payment: &str, secret: &str) -> u64 {
    let answer = shop.notify(payment, json!({"state": "SUCCESS", "secret": secret})).await;
    answer.body["status"].as_u64().unwrap_or_default()
}

async fn open() -> Shop {
    shop().with_stock("SKU", 5).with_time_standing_still().open().await
}

#[tokio::test]
async fn a_callback_signed_with_a_new_secret_is_believed_and_one_signed_with_the_one_before_it_too() {
    let shop = open().await;
    let (first, second) = (shop.ordered().await, shop.ordered().await);
    let (first_payment, second_payment) = (shop.paying(&first).await, shop.paying(&second).await);
    rotate(&shop, "second").await;
    assert_eq!(paid_by(&shop, &first_payment, "second").await, 401, "read a moment ago: the channel sends it again");
    shop.advance_by(REREAD).await;
    assert_eq!(paid_by(&shop, &first_payment, "second").await, 200);
    assert_eq!(paid_by(&shop, &second_payment, SIM_SECRET).await, 200);
    assert_eq!((shop.status(&first).await, shop.status(&second).await), ("PAID".to_owned(), "PAID".to_owned()));
}

#[tokio::test]
async fn a_secret_from_before_the_one_before_is_not_believed() {
    let shop = open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    rotate(&shop, "second").await;
    rotate(&shop, "third").await;
    shop.advance_by(FRESH).await;
    assert_eq!(paid_by(&shop, &payment, SIM_SECRET).await, 401);
    assert_eq!(shop.status(&id).await, "PAYING");
}

#[tokio::test]
async fn a_secret_is_changed_on_both_sides_while_orders_are_paid_and_closed() {
    let shop = open().await;
    let [paid, left] = [shop.ordered().await, shop.ordered().await];
    let (payment, _) = (shop.paying(&paid).await, shop.paying(&left).await);
    rotate(&shop, "second").await;
    shop.advance_by(REREAD).await;
    let changed = shop.call("PUT", "/_sim/secret", json!({"secret": "second"})).await;
    assert_eq!(changed.status, 200);
    assert_eq!(shop.paid(&payment).await, 200);
    shop.advance(WINDOW - 31).await;
    shop.advance(3).await;
    assert_eq!((shop.status(&paid).await, shop.status(&left).await), ("PAID".to_owned(), "CLOSED".to_owned()));
    assert_eq!((shop.metric("CallbackRefused"), shop.metric("ChannelUnknown")), (0, 0));
}

#[tokio::test]
async fn an_answer_signed_with_a_new_secret_is_believed_at_the_next_look() {
    let shop = open().await;
    let id = shop.ordered().await;
    let _ = shop.paying(&id).await;
    // Read just before the deadline, so that what is held is not old by then.
    shop.advance(WINDOW - 60).await;
    let _ = shop.paying(&shop.ordered().await).await;
    rotate(&shop, "second").await;
    assert_eq!(shop.call("PUT", "/_sim/secret", json!({"secret": "second"})).await.status, 200);
    shop.advance(59).await;
    shop.advance(3).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("ChannelUnknown")), ("CLOSING", 2));
    shop.advance(60).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("ChannelUnknown")), ("CLOSED", 2));
}

#[tokio::test]
async fn requests_are_signed_with_the_new_secret_within_five_minutes() {
    let shop = open().await;
    let [before, within, after] = [shop.ordered().await, shop.ordered().await, shop.ordered().await];
    let _ = shop.paying(&before).await;
    // The simulated channel does not change its own: it refuses what is signed with another.
    rotate(&shop, "second").await;
    assert_eq!(shop.pay(&within).await.status, 201);
    shop.advance_by(FRESH).await;
    assert_eq!(shop.pay(&after).await.status, 502);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_again_stays_in_use_and_is_counted() {
    let shop = open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.no_secret_can_be_read();
    shop.advance_by(FRESH).await;
    assert_eq!(shop.paid(&payment).await, 200);
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("SecretUnread")), ("PAID", 1));
}

#[tokio::test]
async fn without_a_secret_no_payment_is_begun_and_a_callback_is_to_come_again() {
    let shop = open().await;
    shop.no_secret_can_be_read();
    let id = shop.ordered().await;
    let refused = shop.pay(&id).await;
    assert_eq!((refused.status, refused.text("code")), (503, "try_again"));
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT");
    let callback = shop.send("POST", "/webhooks/sim", &[], "{}").await;
    assert_eq!((callback.status, callback.text("code")), (503, "try_again"));
    shop.system.cloud.clear_call_rules();
    let payment = shop.paying(&id).await;
    assert_eq!((shop.paid(&payment).await, shop.status(&id).await.as_str()), (200, "PAID"));
}
