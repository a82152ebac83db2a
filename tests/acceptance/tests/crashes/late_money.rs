//! Cases s4, s5 and s6: money that arrives when nobody expects it any more.

use acceptance::Shop;
use serde_json::{Value, json};

use crate::scene::still_shop;

/// How long the scan leaves what is due to others.
const GRACE: u64 = 121;
/// The first wait of the rhythm, with what a delayed message waits beyond it.
const FIRST_RETRY: u64 = 12;

/// An order with two payments, of which the channel had no record of the first when the second was begun.
async fn order_with_two_payments(shop: &Shop) -> (String, String, String) {
    let id = shop.ordered().await;
    let first = shop.paying(&id).await;
    shop.channel(&first, json!({"state": "NOT_FOUND"})).await;
    let second = shop.paying_with(&id, json!({"method": "other"})).await;
    assert_ne!(first, second);
    (id, first, second)
}

fn refund_statuses(order: &Value) -> Vec<&str> {
    let refunds = order["refunds"].as_array().map_or(&[][..], Vec::as_slice);
    refunds.iter().map(|refund| refund["status"].as_str().unwrap_or_default()).collect()
}

/// The channel gave the money of a payment back once.
async fn assert_refunded_once(shop: &Shop, payment: &str) {
    let refunds = shop.at_channel(payment).await["refunds"].clone();
    assert_eq!(refunds, json!([{"refund_no": format!("{payment}-r1"), "amount": 1_000, "status": "SUCCEEDED"}]), "I9");
}

#[tokio::test]
async fn s4_late_money_whose_stream_record_is_lost_is_found_and_refunded_by_the_scan() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.pass_deadline().await;
    assert_eq!(shop.order(&id).await["pending"], json!([]), "all is settled");
    assert!(!shop.is_due(&id).await);

    shop.faults(json!({"drop_stream": true})).await;
    assert_eq!(shop.paid(&payment).await, 200, "acknowledged: its consequence is durable");
    shop.rest().await;
    shop.faults(json!({})).await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["pending"]), (&json!("CLOSED"), &json!(["refund:1"])));
    assert_eq!(refund_statuses(&order), ["PENDING"], "nobody was told");
    assert!(shop.is_due(&id).await, "I12");

    shop.advance(GRACE).await;
    assert_eq!(shop.scan().await, 1);
    let order = shop.order(&id).await;
    assert_eq!((order["status"].as_str(), refund_statuses(&order)), (Some("CLOSED"), vec!["SUCCEEDED"]));
    assert_refunded_once(&shop, &payment).await;
    assert!(!shop.is_due(&id).await);
    assert_eq!(shop.stock("SKU").await, (5, 0, 0), "the order is not revived");
    assert_eq!(shop.metric("LatePayment"), 1);
}

#[tokio::test]
async fn s5_two_late_successes_are_both_refunded_and_the_order_stays_due_until_the_second_is() {
    let shop = still_shop().open().await;
    let (id, first, second) = order_with_two_payments(&shop).await;
    // The channel never had the first one until now: it says so to the end, so that the order can be closed.
    shop.channel(&first, json!({"state": "CLOSED"})).await;
    shop.pass_deadline().await;
    assert_eq!(shop.status(&id).await, "CLOSED");
    assert!(!shop.is_due(&id).await);

    shop.channel(&second, json!({"refund": "pending"})).await;
    assert_eq!((shop.paid(&first).await, shop.paid(&second).await), (200, 200));
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(refund_statuses(&order), ["SUCCEEDED", "SUBMITTED"]);
    assert_eq!(order["pending"], json!(["refund:2"]));
    assert!(shop.is_due(&id).await, "one refund is not done");

    shop.channel(&second, json!({"refund": "ok"})).await;
    shop.advance(FIRST_RETRY).await;
    let order = shop.order(&id).await;
    assert_eq!((refund_statuses(&order), &order["pending"]), (vec!["SUCCEEDED", "SUCCEEDED"], &json!([])));
    assert!(!shop.is_due(&id).await, "now it is");
    assert_eq!((&order["status"], &order["paid_amount"]), (&json!("CLOSED"), &json!(0)));
    assert_refunded_once(&shop, &first).await;
    assert_refunded_once(&shop, &second).await;
    assert_eq!(shop.metric("LatePayment"), 2);
}

#[tokio::test]
async fn s6_the_other_payment_of_a_paid_order_is_asked_about_until_its_money_is_found_and_refunded() {
    let shop = still_shop().open().await;
    let (id, first, second) = order_with_two_payments(&shop).await;
    assert_eq!(shop.paid(&second).await, 200);
    shop.rest().await;
    let order = shop.order(&id).await;
    assert_eq!(order["status"], "PAID");
    assert_eq!(order["pending"], json!(["ask:1"]), "I13");
    assert!(shop.is_due(&id).await);
    let asked = shop.calls(&first, "query").await;

    // Paid after all, and every callback is eaten.
    shop.channel(&first, json!({"state": "SUCCESS"})).await;
    shop.advance(FIRST_RETRY).await;
    let order = shop.order(&id).await;
    assert!(shop.calls(&first, "query").await > asked, "asked");
    assert_eq!((&order["status"], &order["pending"]), (&json!("PAID"), &json!([])));
    assert_eq!(order["refunds"].as_array().map(Vec::len), Some(1), "only what was not needed goes back");
    assert_refunded_once(&shop, &first).await;
    assert_eq!(shop.at_channel(&second).await["refunds"], json!([]));
    assert_eq!((&order["paid_amount"], &order["payments"][0]["qualifier"]), (&json!(1_000), &json!("surplus")));
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
    assert!(!shop.is_due(&id).await);
}

#[tokio::test]
async fn s6_the_other_payment_is_closed_at_the_channel_so_that_it_cannot_be_paid_any_more() {
    let shop = still_shop().open().await;
    let (id, first, second) = order_with_two_payments(&shop).await;
    shop.channel(&first, json!({"state": "NOTPAY"})).await;
    assert_eq!(shop.paid(&second).await, 200);
    shop.rest().await;
    assert_eq!(shop.at_channel(&first).await["state"], "CLOSED");
    let order = shop.order(&id).await;
    assert_eq!((&order["payments"][0]["status"], &order["pending"]), (&json!("CLOSED"), &json!([])));
    assert!(!shop.is_due(&id).await);
}
