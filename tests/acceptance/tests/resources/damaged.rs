//! What becomes of a close when the books are damaged already.

use acceptance::{Shop, order, resource, shop};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// Removes the row of a stock counter, as no route can.
async fn lose_stock(shop: &Shop, sku: &str) {
    let key = text(&format!("stock#{sku}/default/default"));
    let deleted = shop.database().delete_item().table_name("resources").key("pk", key).send().await;
    let _ = deleted.expect("the database deletes it");
}

/// An order of one A and two B, of five each.
async fn order_of_two(shop: &Shop) -> String {
    let lines = json!([
        {"sku": "A", "quantity": 1, "unit_price": 500},
        {"sku": "B", "quantity": 2, "unit_price": 250},
    ]);
    shop.order_of(&order().with("lines", lines)).await
}

fn holds(order: &Value) -> [&str; 2] {
    ["A", "B"].map(|sku| resource(order, "stock", &format!("{sku}/default/default"))["status"].as_str().unwrap_or(""))
}

#[tokio::test]
async fn b22_an_entry_whose_counter_is_missing_is_set_aside_with_an_alarm_and_the_rest_is_released() {
    let shop = shop().with_stock("A", 5).with_stock("B", 5).with_time_standing_still().open().await;
    let id = order_of_two(&shop).await;
    lose_stock(&shop, "A").await;
    shop.pass_deadline().await;

    let order = shop.order(&id).await;
    assert_eq!(order["status"], "CLOSED");
    assert_eq!(order["pending"], json!(["anomaly:stock:A/default/default"]), "evidence until a person settles it");
    assert_eq!(holds(&order), ["RESERVED", "RELEASED"]);
    assert_eq!(shop.stock("B").await, (5, 0, 0));
    let _ = shop.admin("GET", "/stock/A/default/default", Value::Null).await.expect_problem(404, "not_found");
    assert_eq!(shop.metric("ReservationAnomaly"), 1);
    assert!(shop.is_due(&id).await, "I8: what only a person can finish stays visible");

    // Time and scans neither retry nor lose it.
    shop.advance(7_200).await;
    let _ = shop.scan().await;
    assert_eq!(shop.order(&id).await["pending"], json!(["anomaly:stock:A/default/default"]));
    assert_eq!(shop.stock("B").await, (5, 0, 0));
    assert_eq!(shop.metric("ReservationAnomaly"), 1);
}

#[tokio::test]
async fn b22_once_its_counter_is_mended_a_person_resettles_what_was_set_aside_exactly_once() {
    let shop = shop().with_stock("A", 5).with_stock("B", 5).with_time_standing_still().open().await;
    let id = order_of_two(&shop).await;
    lose_stock(&shop, "A").await;
    let _ = shop.cancel(&id).await.expect(200);
    shop.rest().await;
    let resettle = async || {
        let body = json!({"reason": "the row was restored"});
        let answer = shop.admin("POST", &format!("/orders/{id}/resettle"), body).await.expect(200);
        shop.rest().await;
        answer.body
    };
    // While the row is still lost it stays set aside.
    let _ = resettle().await;
    assert_eq!(shop.order(&id).await["pending"], json!(["anomaly:stock:A/default/default"]));

    let _ = shop.put_stock("A", 4).await.expect(200);
    let mend = shop
        .database()
        .update_item()
        .table_name("resources")
        .key("pk", text("stock#A/default/default"))
        .update_expression("SET rs = :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()));
    let _ = mend.send().await.expect("the database takes it");
    for _ in 0..2 {
        let _ = resettle().await;
        let order = shop.order(&id).await;
        assert_eq!((holds(&order), &order["pending"]), (["RELEASED", "RELEASED"], &json!([])));
        assert_eq!((shop.stock("A").await, shop.stock("B").await), ((5, 0, 0), (5, 0, 0)));
    }
    assert!(!shop.is_due(&id).await);
}

#[tokio::test]
async fn b22_a_counter_that_holds_less_than_the_order_reserved_never_goes_below_zero() {
    let shop = shop().with_stock("A", 5).with_stock("B", 5).with_time_standing_still().open().await;
    let id = order_of_two(&shop).await;
    lose_stock(&shop, "B").await;
    let _ = shop.put_stock("B", 3).await.expect(200);
    let _ = shop.cancel(&id).await.expect(200);
    shop.rest().await;
    assert_eq!(shop.order(&id).await["pending"], json!(["anomaly:stock:B/default/default"]));
    assert_eq!((shop.stock("A").await, shop.stock("B").await), ((5, 0, 0), (3, 0, 0)));
}

#[tokio::test]
async fn b22_an_entry_that_was_released_already_is_left_alone_and_the_close_completes() {
    let shop = shop().with_stock("A", 5).with_stock("B", 5).with_time_standing_still().open().await;
    let id = order_of_two(&shop).await;
    shop.damage(&id, "SET l[0].h = :released", &[(":released", text("L"))]).await;
    shop.rest().await;
    assert!(shop.metric("InvariantBreach") > 0, "I3 is watched on every image");
    shop.pass_deadline().await;

    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!([])));
    assert_eq!(holds(&order), ["RELEASED", "RELEASED"]);
    assert_eq!(shop.stock("A").await, (4, 1, 0), "nothing is given back for it");
    assert_eq!(shop.stock("B").await, (5, 0, 0));
    assert_eq!(shop.metric("ReservationAnomaly"), 1);
    assert!(!shop.is_due(&id).await);
}

#[tokio::test]
async fn b22_a_confirmed_entry_on_an_unpaid_order_stops_the_close_and_asks_for_a_person() {
    let shop = shop().with_stock("A", 5).with_stock("B", 5).with_time_standing_still().open().await;
    let id = order_of_two(&shop).await;
    shop.damage(&id, "SET l[0].h = :confirmed", &[(":confirmed", text("C"))]).await;
    shop.pass_deadline().await;

    let order = shop.order(&id).await;
    assert_eq!(order["status"], "CLOSING", "not closed: something of it is sold");
    assert_eq!(order["closing"]["needs_attention"], true);
    assert!(order["closing"]["last_error"].as_str().is_some_and(|error| error.contains("confirmed")));
    assert_eq!(holds(&order), ["CONFIRMED", "RESERVED"]);
    assert_eq!(shop.stock("B").await, (3, 2, 0), "nothing is released");
    assert!(shop.metric("ClosingNeedsAttention") > 0 && shop.metric("ReservationAnomaly") > 0);
    assert!(shop.is_due(&id).await);

    // Nor do later scans close it.
    for _ in 0..3 {
        shop.advance(3_700).await;
        let _ = shop.scan().await;
    }
    assert_eq!(shop.status(&id).await, "CLOSING");
    assert_eq!(shop.stock("B").await, (3, 2, 0));
}

#[tokio::test]
async fn b22_an_order_with_a_confirmed_entry_may_still_be_paid() {
    let shop = shop().with_stock("A", 5).with_stock("B", 5).with_time_standing_still().open().await;
    let id = order_of_two(&shop).await;
    let payment = shop.paying(&id).await;
    shop.damage(&id, "SET l[0].h = :confirmed", &[(":confirmed", text("C"))]).await;
    shop.pass_deadline().await;
    assert_eq!(shop.status(&id).await, "CLOSING");

    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("PAID"), &json!([])));
    assert_eq!(holds(&order), ["CONFIRMED", "CONFIRMED"]);
    assert_eq!(shop.stock("B").await, (3, 0, 2));
}

#[tokio::test]
async fn b22_a_coupon_that_another_order_holds_is_set_aside_and_not_touched() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(86_400)).await;
    let id = shop.order_of(&order().with("coupon_id", "C")).await;
    let stolen = shop
        .database()
        .update_item()
        .table_name("resources")
        .key("pk", text("coupon#C"))
        .update_expression("SET ho = :other")
        .expression_attribute_values(":other", text("000000000000000000000000"));
    let _ = stolen.send().await.expect("the database takes it");
    let _ = shop.cancel(&id).await.expect(200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!(["anomaly:coupon:C"])));
    assert_eq!(shop.coupon("C").await, "LOCKED");
    assert_eq!((shop.stock("SKU").await, shop.metric("ReservationAnomaly")), ((5, 0, 0), 1));
}
