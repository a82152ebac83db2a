//! Write units with everything an order can hold, exact (`ReturnConsumedCapacity`).

use serde_json::{Value, json};

use crate::scene::{Scene, http_event, ok, order_body, queue_event};

pub(crate) async fn measure() {
    println!("## Write units of an unpaid lifecycle without attempt\n");
    println!("| the order holds | create | close | settle | whole |\n|---|---|---|---|---|");
    lifecycle("stock", &[], &json!({}), &["stock"]).await;
    lifecycle("stock, coupon", &[], &json!({"coupon_id": "C"}), &["stock", "coupon"]).await;
    lifecycle("stock, points", &[], &json!({"points": 10}), &["stock", "points"]).await;
    lifecycle("stock, quota", &[], &json!({"quotas": [{"activity": "A", "quantity": 1}]}), &["stock", "quota"]).await;
    let capped = [("MAX_OPEN_ORDERS_PER_USER", "5")];
    lifecycle("stock, cap", &capped, &json!({}), &["stock", "cap"]).await;
    let all = json!({"coupon_id": "C", "points": 10, "quotas": [{"activity": "A", "quantity": 1}]});
    lifecycle("everything", &capped, &all, &["stock", "coupon", "points", "quota", "cap"]).await;
    println!();
}

async fn lifecycle(name: &str, environment: &[(&str, &str)], further: &Value, units: &[&str]) {
    let scene = Scene::new(environment).await;
    scene.stock("SKU", 10).await;
    let coupon =
        json!({"user_id": "u", "valid_until": "2030-01-01T00:00:00Z", "refundable": true, "campaign_active": true});
    scene.admin("/admin/coupons/C", &coupon).await;
    scene.admin("/admin/points/u", &json!({"balance": 100})).await;
    scene.admin("/admin/quotas/A", &json!({"limit": 10})).await;
    let meter = scene.functions.context.store.meter();
    let before = meter.units();
    let request = http_event("POST", "/orders", Value::Null, &order_body("u", "SKU", further));
    let order = ok(&scene.functions.create_order.handle(&request).await, 201);
    let create = meter.units() - before;
    scene.pass_the_deadline();
    let id = order["order_id"].as_str().unwrap();
    let expire_at = expiry_core::time::Timestamp::parse_rfc3339(order["expire_at"].as_str().unwrap()).unwrap();
    let wake = json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis()});
    assert!(scene.functions.close_order.handle(queue_event(&wake)).await.unwrap().batch_item_failures.is_empty());
    let close = meter.units() - before - create;
    for unit in units {
        let settle = queue_event(&json!({"type": "unit", "order_id": id, "unit": unit}));
        assert!(scene.functions.settle_resources.handle(settle).await.unwrap().batch_item_failures.is_empty());
    }
    let whole = meter.units() - before;
    println!("| {name} | {create} | {close} | {} | {whole} |", whole - create - close);
}
