//! People's edits of counters: the difference is added, what orders hold is never touched.

use acceptance::{Shop, order, shop};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

/// Two units sold, three reserved, of ten.
async fn shop_that_sells() -> Shop {
    let shop = shop().with_stock("SKU", 10).with_time_standing_still().open().await;
    let sold = shop.order_of(&order().of("SKU", 2)).await;
    let payment = shop.paying(&sold).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let _ = shop.order_of(&order().of("SKU", 3)).await;
    assert_eq!(shop.stock("SKU").await, (5, 3, 2));
    shop
}

#[tokio::test]
async fn setting_stock_adds_the_difference_and_leaves_what_is_reserved_and_sold() {
    let shop = shop_that_sells().await;
    for (on_hand, available) in [(12, 7), (5, 0), (6, 1), (6, 1), (10, 5)] {
        let stock = shop.put_stock("SKU", on_hand).await.expect(200).body;
        assert_eq!(stock, json!({"on_hand": on_hand, "available": available, "reserved": 3, "sold": 2}));
        assert_eq!(shop.stock("SKU").await, (available, 3, 2));
    }
    shop.pass_deadline().await;
    assert_eq!(shop.stock("SKU").await, (8, 0, 2));
}

#[tokio::test]
async fn stock_below_what_is_reserved_and_sold_is_refused_and_changes_nothing() {
    let shop = shop_that_sells().await;
    for on_hand in [4, 0] {
        let _ = shop.put_stock("SKU", on_hand).await.expect_problem(409, "stock_below_committed");
    }
    for body in
        [json!({"on_hand": -1}), json!({"on_hand": 1.5}), json!({"on_hand": 1_000_000_001}), json!({}), Value::Null]
    {
        let refused = shop.admin("PUT", "/stock/SKU/default/default", body).await;
        let _ = refused.expect_problem(422, "invalid_request");
    }
    assert_eq!(shop.stock("SKU").await, (5, 3, 2));
}

#[tokio::test]
async fn quotas_and_points_are_edited_alike() {
    let shop = shop().with_stock("SKU", 5).open().await;
    shop.put_quota("sale", 5).await;
    shop.put_points("u1", 100).await;
    let quotas = json!([{"activity": "sale", "quantity": 3}]);
    let _ = shop.order_of(&order().with("quotas", quotas).with("points", 40)).await;
    let below = shop.admin("PUT", "/quotas/sale", json!({"limit": 2})).await;
    let _ = below.expect_problem(409, "stock_below_committed");
    shop.put_quota("sale", 3).await;
    assert_eq!(shop.quota("sale").await, (0, 3, 0));
    // A balance is what can be spent.
    assert_eq!(shop.points("u1").await, (60, 40));
    shop.put_points("u1", 0).await;
    assert_eq!(shop.points("u1").await, (0, 40));
    let _ = shop.create(&order().with("points", 1)).await.expect_problem(409, "insufficient_points");
}

#[tokio::test]
async fn edits_among_orders_that_come_and_go_lose_no_unit() {
    let shop = shop().with_stock("SKU", 30).open().await;
    let body = order();
    let orders = join_all((0..20).map(|_| shop.create(&body)));
    let edits = join_all((0..10).map(|n| shop.put_stock("SKU", 30 + n)));
    let (orders, edits) = join(orders, edits).await;
    let ids: Vec<String> = orders.into_iter().map(|answer| answer.expect(201).text("order_id").to_owned()).collect();
    for edit in edits {
        let edit = edit.expect(200).body;
        let read = |field: &str| edit[field].as_u64().unwrap_or_default();
        assert_eq!(read("on_hand"), read("available") + read("reserved") + read("sold"), "I5: {edit}");
    }
    let (available, reserved, sold) = shop.stock("SKU").await;
    assert_eq!((reserved, sold), (20, 0));
    assert!((10..20).contains(&available), "the last edit holds: {available}");

    let cancelled = join_all(ids.iter().map(|id| shop.cancel(id)));
    let (cancelled, edited) = join(cancelled, shop.put_stock("SKU", 50)).await;
    assert!(cancelled.iter().all(|answer| answer.status == 200));
    let _ = edited.expect(200);
    shop.rest().await;
    assert_eq!(shop.stock("SKU").await, (50, 0, 0));
}

#[tokio::test]
async fn only_an_operator_edits_and_only_known_places_are_shown() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let viewer = [("authorization", "Bearer local-viewer"), ("content-type", "application/json")];
    let path = "/admin/stock/SKU/default/default";
    let _ = shop.send("PUT", path, &viewer, r#"{"on_hand":9}"#).await.expect_problem(403, "forbidden");
    let _ = shop.send("GET", path, &viewer, "").await.expect(200);
    let _ = shop.send("GET", path, &[], "").await.expect_problem(401, "unauthorized");
    let _ = shop.admin("GET", "/stock/SKU/default/b2", Value::Null).await.expect_problem(404, "not_found");
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}
