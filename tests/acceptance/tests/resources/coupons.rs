//! b26: what becomes of the coupon of an order that is over.

use acceptance::{Shop, order, resource, shop};
use local::cloud::fate::{CallFate, Failure};
use serde_json::{Value, json};

/// A shop in which the user has the coupon `C`, valid for a day.
async fn shop_with_coupon() -> Shop {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(86_400)).await;
    shop
}

async fn ordered_with_coupon(shop: &Shop) -> String {
    let id = shop.order_of(&order().with("coupon_id", "C")).await;
    assert_eq!(shop.coupon("C").await, "LOCKED");
    id
}

/// The hold on the coupon in the order's document: status and reason.
async fn hold(shop: &Shop, id: &str) -> (String, Option<String>) {
    let order = shop.order(id).await;
    let coupon = resource(&order, "coupon", "C");
    let text = |field: &str| coupon[field].as_str().map(str::to_owned);
    (text("status").unwrap_or_default(), text("reason"))
}

/// Asserts that the order is CLOSED with everything settled, and its coupon `status` for `reason`, here and in its own row.
async fn assert_given_back(shop: &Shop, id: &str, status: &str, reason: Option<&str>) {
    let order = shop.order(id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!([])));
    assert_eq!(hold(shop, id).await, (status.to_owned(), reason.map(str::to_owned)));
    assert_eq!(shop.coupon("C").await, status);
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn b26_a_valid_coupon_becomes_available_again_and_can_be_used_in_the_next_order() {
    let shop = shop_with_coupon().await;
    let id = ordered_with_coupon(&shop).await;
    shop.pass_deadline().await;
    assert_given_back(&shop, &id, "AVAILABLE", None).await;
    let _ = ordered_with_coupon(&shop).await;
}

#[tokio::test]
async fn b26_a_coupon_whose_end_passed_while_it_was_held_is_expired_with_the_reason() {
    let shop = shop_with_coupon().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(600)).await;
    let id = ordered_with_coupon(&shop).await;
    shop.pass_deadline().await;
    assert_given_back(&shop, &id, "EXPIRED", Some("expired")).await;
    let again = shop.create(&order().with("coupon_id", "C")).await;
    let _ = again.expect_problem(409, "coupon_unavailable");
}

#[tokio::test]
async fn b26_a_coupons_end_is_judged_at_the_moment_the_order_was_closed_not_when_it_is_settled() {
    let shop = shop_with_coupon().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(600)).await;
    let id = ordered_with_coupon(&shop).await;
    shop.faults(json!({"hold_queues": ["coupon-release"]})).await;
    let _ = shop.cancel(&id).await.expect(200);
    shop.advance(3_000).await;
    assert_eq!(hold(&shop, &id).await.0, "LOCKED");
    shop.faults(json!({})).await;
    shop.rest().await;
    assert_given_back(&shop, &id, "AVAILABLE", None).await;
}

#[tokio::test]
async fn b26_a_coupon_of_a_stopped_campaign_is_void_with_the_reason() {
    let shop = shop_with_coupon().await;
    let id = ordered_with_coupon(&shop).await;
    shop.edit_coupon("C", "u1", &shop.in_seconds(86_400), json!({"campaign_active": false})).await;
    assert_eq!(shop.coupon("C").await, "LOCKED", "an edit touches no status");
    shop.pass_deadline().await;
    assert_given_back(&shop, &id, "VOID", Some("campaign_stopped")).await;
}

#[tokio::test]
async fn b26_a_coupon_that_is_not_refundable_is_void_with_the_reason() {
    let shop = shop_with_coupon().await;
    shop.edit_coupon("C", "u1", &shop.in_seconds(86_400), json!({"refundable": false})).await;
    let id = ordered_with_coupon(&shop).await;
    shop.pass_deadline().await;
    assert_given_back(&shop, &id, "VOID", Some("not_refundable")).await;
}

#[tokio::test]
async fn b26_a_stopped_campaign_outweighs_a_coupons_passed_end() {
    let shop = shop_with_coupon().await;
    let id = ordered_with_coupon(&shop).await;
    shop.edit_coupon("C", "u1", &shop.in_seconds(60), json!({"campaign_active": false})).await;
    shop.pass_deadline().await;
    assert_given_back(&shop, &id, "VOID", Some("campaign_stopped")).await;
}

#[tokio::test]
async fn b26_an_order_without_a_coupon_has_nothing_to_do_with_coupons() {
    let shop = shop_with_coupon().await;
    let id = shop.ordered().await;
    shop.faults(json!({"hold_queues": ["coupon-release"]})).await;
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!([])));
    assert!(order["resources"].as_array().is_some_and(|all| all.iter().all(|one| one["type"] == "stock")));
    assert_eq!((shop.queued("coupon-release"), shop.coupon("C").await.as_str()), ((0, 0, 0), "AVAILABLE"));
}

#[tokio::test]
async fn b26_while_the_coupon_queue_is_held_the_order_closes_with_its_coupon_pending_and_settles_later() {
    let shop = shop_with_coupon().await;
    let id = ordered_with_coupon(&shop).await;
    shop.faults(json!({"hold_queues": ["coupon-release"]})).await;
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!(["coupon"])));
    shop.advance(300).await;
    let overview = shop.admin("GET", "/overview", Value::Null).await.expect(200).body;
    let age = shop.now().since(acceptance::at(&order, "closed_at")).as_secs();
    assert_eq!(overview["pending"], json!({"coupon": {"count": 1, "oldest_age_seconds": age}}));
    assert_eq!((shop.stock("SKU").await, shop.coupon("C").await.as_str()), ((5, 0, 0), "LOCKED"));
    assert!(shop.is_due(&id).await);
    shop.faults(json!({})).await;
    shop.rest().await;
    assert_given_back(&shop, &id, "AVAILABLE", None).await;
    assert!(!shop.is_due(&id).await);
}

#[tokio::test]
async fn b26_while_the_coupons_row_cannot_be_read_the_order_closes_and_the_coupon_settles_on_redelivery() {
    let shop = shop_with_coupon().await;
    let id = ordered_with_coupon(&shop).await;
    shop.system.cloud.on_call(|call| {
        let is_coupon = call.operation == "GetItem" && call.body["Key"]["pk"]["S"] == "coupon#C";
        is_coupon.then(|| CallFate::Fail(Failure::new(500, "InternalServerError")))
    });
    let _ = shop.cancel(&id).await.expect(200);
    shop.until("settling fails", |shop| shop.metric("SettleFailed") == 1 && shop.queued("stock-release") == (0, 0, 0))
        .await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!(["coupon"])));
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    shop.system.cloud.clear_call_rules();
    shop.system.clock.advance(std::time::Duration::from_secs(61));
    shop.rest().await;
    assert_given_back(&shop, &id, "AVAILABLE", None).await;
}

#[tokio::test]
async fn b26_the_coupon_of_a_paid_order_is_used_even_when_its_campaign_ended_meanwhile() {
    let shop = shop_with_coupon().await;
    let id = ordered_with_coupon(&shop).await;
    let payment = shop.paying(&id).await;
    shop.edit_coupon("C", "u1", &shop.in_seconds(1), json!({"campaign_active": false, "refundable": false})).await;
    shop.advance(10).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("PAID"), &json!([])));
    assert_eq!(hold(&shop, &id).await, ("USED".to_owned(), None));
    assert_eq!(shop.coupon("C").await, "USED");
    let again = shop.create(&order_with_coupon()).await;
    let _ = again.expect_problem(409, "coupon_unavailable");
}

fn order_with_coupon() -> acceptance::OrderBody {
    order().with("coupon_id", "C")
}

#[tokio::test]
async fn a_coupon_that_is_not_the_users_not_valid_not_running_held_or_unknown_refuses_the_order_and_holds_nothing() {
    let shop = shop_with_coupon().await;
    let refused = |answer: acceptance::Answer| answer.expect_problem(409, "coupon_unavailable");
    let _ = refused(shop.create(&order_with_coupon().by("u2")).await);
    let _ = refused(shop.create(&order().with("coupon_id", "unknown")).await);
    shop.edit_coupon("C", "u1", &shop.in_seconds(86_400), json!({"campaign_active": false})).await;
    let _ = refused(shop.create(&order_with_coupon()).await);
    // Valid until now is no longer valid.
    shop.put_coupon("C", "u1", &shop.in_seconds(0)).await;
    let _ = refused(shop.create(&order_with_coupon()).await);
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    shop.put_coupon("C", "u1", &shop.in_seconds(1)).await;
    let holder = ordered_with_coupon(&shop).await;
    let _ = refused(shop.create(&order_with_coupon()).await);
    assert_eq!((shop.stock("SKU").await, shop.status(&holder).await.as_str()), ((4, 1, 0), "PENDING_PAYMENT"));
    let due: Vec<String> = shop.due().await.into_iter().map(|hit| hit.order.to_string()).collect();
    assert_eq!(due, [holder], "a refused order leaves no trace");
    let _ = shop.call("GET", "/orders/unknown", Value::Null).await.expect_problem(404, "order_not_found");
}
