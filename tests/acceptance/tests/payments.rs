//! Money and orders: cases of real shops (CASES.md) at the HTTP surface.

use acceptance::shop;
use futures_util::future::join_all;
use serde_json::Value;

#[tokio::test]
async fn b01_ten_callbacks_at_once_and_the_deadline_make_one_paid_order_that_keeps_its_stock() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, serde_json::json!({"state": "SUCCESS"})).await;
    let callbacks = join_all((0..10).map(|_| shop.notify(&payment, Value::Null))).await;
    assert!(callbacks.iter().all(|answer| answer.body["status"] == 200), "{callbacks:?}");
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!(order["status"], "PAID");
    assert_eq!(order["resources"][0]["status"], "CONFIRMED");
    assert_eq!(order["refunds"], serde_json::json!([]));
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
}
