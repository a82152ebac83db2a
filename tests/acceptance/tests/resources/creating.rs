//! Creating an order holds everything it needs, or nothing.

use acceptance::{Answer, OrderBody, Shop, order, shop};
use futures_util::future::join_all;
use serde_json::{Value, json};

#[tokio::test]
async fn b25_of_fifty_orders_at_once_for_ten_units_ten_are_accepted_and_forty_refused_with_nothing_half_held() {
    let shop = shop().with_stock("SKU", 10).with_time_standing_still().open().await;
    shop.put_quota("sale", 100).await;
    for user in 0..50 {
        shop.put_points(&format!("u{user}"), 10).await;
    }
    let bodies: Vec<OrderBody> = (0..50)
        .map(|user| {
            let quotas = json!([{"activity": "sale", "quantity": 1}]);
            order().by(&format!("u{user}")).with("points", 10).with("quotas", quotas)
        })
        .collect();
    let answers: Vec<Answer> = join_all(bodies.iter().map(|body| shop.create(body))).await;

    let accepted: Vec<usize> = (0..50).filter(|user| answers[*user].status == 201).collect();
    assert_eq!(accepted.len(), 10);
    for (user, answer) in answers.into_iter().enumerate() {
        let held = if accepted.contains(&user) {
            (0, 10)
        } else {
            let _ = answer.expect_problem(409, "insufficient_stock");
            (10, 0)
        };
        assert_eq!(shop.points(&format!("u{user}")).await, held);
    }
    assert_eq!((shop.stock("SKU").await, shop.quota("sale").await), ((0, 10, 0), (90, 10, 0)));
    assert_eq!(shop.due().await.len(), 10, "a refused order leaves no trace");

    shop.pass_deadline().await;
    assert_eq!((shop.stock("SKU").await, shop.quota("sale").await), ((10, 0, 0), (100, 0, 0)));
}

#[tokio::test]
async fn b40_an_order_with_nothing_to_pay_is_paid_at_once_with_its_resources_sold_and_no_wake_up() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(86_400)).await;
    shop.put_points("u1", 300).await;
    shop.put_quota("sale", 3).await;
    let body = order()
        .of("SKU", 2)
        .with("payable_amount", 0)
        .with("coupon_id", "C")
        .with("points", 100)
        .with("quotas", json!([{"activity": "sale", "quantity": 1}]));
    let created = shop.create(&body).await.expect(201).body;
    assert_eq!(created["status"], "PAID");
    assert_eq!(created["paid_at"], created["created_at"]);
    assert_eq!((&created["pending"], &created["payments"]), (&json!([]), &json!([])));
    let statuses: Vec<&str> = created["resources"]
        .as_array()
        .map(|all| all.iter().filter_map(|one| one["status"].as_str()).collect())
        .unwrap_or_default();
    assert_eq!(statuses, ["CONFIRMED", "CONFIRMED", "CONFIRMED", "USED"]);

    let id = created["order_id"].as_str().unwrap_or_default();
    let sold = async || {
        assert_eq!((shop.stock("SKU").await, shop.quota("sale").await), ((3, 0, 2), (2, 0, 1)));
        assert_eq!((shop.points("u1").await, shop.coupon("C").await.as_str()), ((200, 0), "USED"));
    };
    sold().await;
    shop.rest().await;
    assert_eq!(shop.schedules().await, []);
    assert_eq!(shop.queued("close"), (0, 0, 0));
    assert!(!shop.is_due(id).await, "I12: terminal without work");
    let _ = shop.pay(id).await.expect_problem(409, "order_paid");
    let _ = shop.cancel(id).await.expect_problem(409, "order_paid");

    shop.pass_deadline().await;
    assert_eq!(shop.scan().await, 0);
    assert_eq!(shop.order(id).await["version"], 1);
    sold().await;
}

#[tokio::test]
async fn b40_an_order_with_nothing_to_pay_is_refused_like_any_other_when_something_is_missing() {
    let shop = shop().with_stock("SKU", 1).open().await;
    let refused = shop.create(&order().of("SKU", 2).with("payable_amount", 0)).await;
    let _ = refused.expect_problem(409, "insufficient_stock");
    assert_eq!(shop.stock("SKU").await, (1, 0, 0));
}

/// Everything there is to hold, one of each just enough for [`full_order`].
async fn shop_with_just_enough() -> Shop {
    let shop = shop().with_stock("A", 2).with_stock("B", 1).with_time_standing_still().open().await;
    shop.put_coupon("C", "u1", &shop.in_seconds(86_400)).await;
    shop.put_points("u1", 100).await;
    shop.put_quota("sale", 1).await;
    shop.put_quota("flash", 2).await;
    shop
}

fn full_order() -> OrderBody {
    order()
        .with(
            "lines",
            json!([{"sku": "A", "quantity": 2, "unit_price": 500}, {"sku": "B", "quantity": 1, "unit_price": 1}]),
        )
        .with("coupon_id", "C")
        .with("points", 100)
        .with("quotas", json!([{"activity": "sale", "quantity": 1}, {"activity": "flash", "quantity": 2}]))
}

/// Every counter and the coupon, as text to be compared.
async fn everything(shop: &Shop) -> String {
    let (a, b) = (shop.stock("A").await, shop.stock("B").await);
    let (sale, flash) = (shop.quota("sale").await, shop.quota("flash").await);
    format!("{a:?} {b:?} {sale:?} {flash:?} {:?} {}", shop.points("u1").await, shop.coupon("C").await)
}

#[tokio::test]
async fn whatever_is_missing_refuses_the_order_by_its_code_and_holds_nothing_of_the_rest() {
    let shop = shop_with_just_enough().await;
    let before = everything(&shop).await;
    let lines = |a: u64, b: u64| json!([{"sku": "A", "quantity": a, "unit_price": 500}, {"sku": "B", "quantity": b, "unit_price": 1}]);
    let quotas = |sale: u64, flash: u64| json!([{"activity": "sale", "quantity": sale}, {"activity": "flash", "quantity": flash}]);
    for (body, code) in [
        (full_order().with("lines", lines(3, 1)), "insufficient_stock"),
        (full_order().with("lines", lines(2, 2)), "insufficient_stock"),
        (
            full_order().with("lines", json!([{"sku": "unknown", "quantity": 1, "unit_price": 1_000}])),
            "insufficient_stock",
        ),
        (full_order().with("points", 101), "insufficient_points"),
        (full_order().with("quotas", quotas(2, 2)), "quota_exhausted"),
        (full_order().with("quotas", quotas(1, 3)), "quota_exhausted"),
        (full_order().with("quotas", json!([{"activity": "unknown", "quantity": 1}])), "quota_exhausted"),
        (full_order().with("coupon_id", "unknown"), "coupon_unavailable"),
        // Of several the first of stock, points, quota, coupon is told.
        (full_order().with("lines", lines(3, 1)).with("points", 101), "insufficient_stock"),
        (full_order().with("points", 101).with("quotas", quotas(2, 2)), "insufficient_points"),
        (full_order().with("quotas", quotas(2, 2)).with("coupon_id", "unknown"), "quota_exhausted"),
    ] {
        let _ = shop.create(&body).await.expect_problem(409, code);
        assert_eq!(everything(&shop).await, before, "{code}: {}", body.0);
    }
    assert_eq!(shop.due().await, [], "a refused order leaves no trace");
    // What was refused so often still fits exactly once.
    let _ = shop.create(&full_order()).await.expect(201);
    assert_eq!(everything(&shop).await, "(0, 2, 0) (0, 1, 0) (0, 1, 0) (0, 2, 0) (0, 100) LOCKED");
}

#[tokio::test]
async fn equal_quotas_are_merged_before_anything_is_held() {
    let shop = shop_with_just_enough().await;
    let twice = json!([{"activity": "flash", "quantity": 1}, {"activity": "flash", "quantity": 1}]);
    let created = shop.create(&full_order().with("quotas", twice)).await.expect(201).body;
    assert_eq!(acceptance::resource(&created, "quota", "flash")["quantity"], 2);
    assert_eq!(shop.quota("flash").await, (0, 2, 0));
    shop.pass_deadline().await;
    assert_eq!(shop.quota("flash").await, (2, 0, 0));
}

#[tokio::test]
async fn a_request_that_is_no_order_is_refused_with_the_place_and_holds_nothing() {
    let shop = shop_with_just_enough().await;
    let before = everything(&shop).await;
    let line = json!({"sku": "A", "quantity": 1, "unit_price": 1_000});
    let many = |n: usize| -> Value {
        (0..n).map(|n| json!({"sku": format!("S{n}"), "quantity": 1, "unit_price": 100})).collect()
    };
    let slots = |n: usize| -> Value { (0..n).map(|n| json!({"activity": format!("A{n}"), "quantity": 1})).collect() };
    for (field, value, place) in [
        ("lines", json!([]), "/lines"),
        ("lines", many(51), "/lines"),
        ("lines", json!([line, line]), "/lines"),
        ("lines", json!([{"sku": "A", "quantity": 0, "unit_price": 1_000}]), "/lines/0/quantity"),
        ("lines", json!([{"sku": "A", "quantity": -1, "unit_price": 1_000}]), "/lines/0/quantity"),
        ("quotas", slots(11), "/quotas"),
        ("quotas", json!([{"activity": "sale", "quantity": 0}]), "/quotas/0/quantity"),
        ("points", json!(0), "/points"),
        ("payable_amount", json!(1_002), "/payable_amount"),
        ("payable_amount", json!(-1), "/payable_amount"),
        ("currency", json!("XXX-"), "/currency"),
        ("expiry_rule", json!("no-such-rule"), "/expiry_rule"),
        ("source", json!(""), "/source"),
        ("expire_at", json!("2030-01-01T00:00:00Z"), "/expire_at"),
    ] {
        let refused = shop.create(&full_order().with(field, value)).await.expect_problem(422, "invalid_request");
        let pointer =
            refused.body["errors"][0]["pointer"].as_str().unwrap_or_default().trim_start_matches('#').to_owned();
        assert_eq!(pointer, place, "{:#}", refused.body);
    }
    assert_eq!((everything(&shop).await, shop.due().await.len()), (before, 0));
}
