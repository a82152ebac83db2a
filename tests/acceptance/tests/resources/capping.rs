//! `MAX_OPEN_ORDERS_PER_USER`: how many unpaid orders one user may have.

use acceptance::{Answer, Shop, ShopBuilder, order, shop};
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::message::Queue;
use futures_util::future::join_all;
use serde_json::json;

fn capped(most: u32) -> ShopBuilder {
    shop().with_stock("SKU", 20).with_env("MAX_OPEN_ORDERS_PER_USER", &most.to_string()).with_time_standing_still()
}

/// How many open orders of a user are counted; `None` before the first.
async fn counted(shop: &Shop, user: &str) -> Option<String> {
    let key = |name: String| AttributeValue::S(name);
    let row =
        shop.database().get_item().table_name("orders").key("pk", key(format!("U#{user}"))).key("sk", key("U".into()));
    let item = row.send().await.expect("the database answers").item?;
    item.get("n").and_then(|count| count.as_n().ok()).cloned()
}

/// Delivers the unit that uncounts an order three times more than once.
async fn deliver_cap_again(shop: &Shop, id: &str) {
    let cap = json!({"type": "unit", "order_id": id, "unit": "cap"});
    for answer in join_all((0..3).map(|_| shop.deliver(Queue::QuotaRelease, cap.clone()))).await {
        let _ = answer.expect(202);
    }
    shop.rest().await;
}

#[tokio::test]
async fn an_order_above_the_cap_is_refused_and_holds_nothing_while_other_users_are_not_concerned() {
    let shop = capped(2).open().await;
    let _ = (shop.ordered().await, shop.ordered().await);
    let _ = shop.create(&order()).await.expect_problem(429, "too_many_open_orders");
    assert_eq!((shop.stock("SKU").await, counted(&shop, "u1").await.as_deref()), ((18, 2, 0), Some("2")));
    let _ = shop.order_of(&order().by("u2")).await;
    assert_eq!(shop.due().await.len(), 3, "a refused order leaves no trace");
}

#[tokio::test]
async fn a_closed_order_is_uncounted_exactly_once_however_often_that_is_asked_for() {
    let shop = capped(2).open().await;
    let (first, _) = (shop.ordered().await, shop.ordered().await);
    let _ = shop.cancel(&first).await.expect(200);
    shop.rest().await;
    assert_eq!(shop.order(&first).await["pending"], json!([]));
    deliver_cap_again(&shop, &first).await;
    assert_eq!(counted(&shop, "u1").await.as_deref(), Some("1"));
    let _ = shop.ordered().await;
    let _ = shop.create(&order()).await.expect_problem(429, "too_many_open_orders");
    shop.pass_deadline().await;
    assert_eq!((counted(&shop, "u1").await.as_deref(), shop.stock("SKU").await), (Some("0"), (20, 0, 0)));
}

#[tokio::test]
async fn a_paid_order_is_uncounted_exactly_once_however_often_that_is_asked_for() {
    let shop = capped(1).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    let _ = shop.create(&order()).await.expect_problem(429, "too_many_open_orders");
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    assert_eq!(shop.order(&id).await["pending"], json!([]));
    deliver_cap_again(&shop, &id).await;
    assert_eq!(counted(&shop, "u1").await.as_deref(), Some("0"));
    let _ = shop.ordered().await;
    let _ = shop.create(&order()).await.expect_problem(429, "too_many_open_orders");
}

#[tokio::test]
async fn of_ten_orders_at_once_only_as_many_as_the_cap_are_accepted() {
    let shop = capped(3).open().await;
    let body = order();
    let answers: Vec<Answer> = join_all((0..10).map(|_| shop.create(&body))).await;
    let accepted = answers.iter().filter(|answer| answer.status == 201).count();
    for refused in answers.into_iter().filter(|answer| answer.status != 201) {
        let _ = refused.expect_problem(429, "too_many_open_orders");
    }
    assert_eq!((accepted, shop.stock("SKU").await), (3, (17, 3, 0)));
}

#[tokio::test]
async fn an_order_with_nothing_to_pay_never_counts_as_open() {
    let shop = capped(1).open().await;
    for _ in 0..3 {
        let _ = shop.order_of(&order().with("payable_amount", 0)).await;
    }
    assert_eq!(counted(&shop, "u1").await, None);
    let _ = shop.ordered().await;
}

#[tokio::test]
async fn an_order_that_is_closing_still_counts_as_open() {
    let shop = capped(1).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    let _ = shop.cancel(&id).await.expect(202);
    let _ = shop.create(&order()).await.expect_problem(429, "too_many_open_orders");
    shop.channel(&payment, json!({"state": "NOTPAY"})).await;
    shop.advance(13).await;
    assert_eq!(shop.status(&id).await, "CLOSED");
    let _ = shop.ordered().await;
}

#[tokio::test]
async fn an_order_counted_before_the_cap_was_switched_off_is_uncounted_all_the_same_and_one_created_since_is_not() {
    let folder = std::env::temp_dir().join(format!("order-expiry-cap-{}", std::process::id()));
    let shop = capped(2).with_data(&folder).open().await;
    let counted_order = shop.ordered().await;
    let clock = shop.system.clock.clone();
    drop(shop);

    let shop = acceptance::shop().with_data(&folder).on(clock).open().await;
    let uncounted_order = shop.ordered().await;
    for id in [&uncounted_order, &counted_order] {
        let _ = shop.cancel(id).await.expect(200);
    }
    shop.rest().await;
    assert_eq!(counted(&shop, "u1").await.as_deref(), Some("0"));
    assert_eq!(shop.metric("ReservationAnomaly"), 0);
    drop(shop);
    let _ = std::fs::remove_dir_all(folder);
}
