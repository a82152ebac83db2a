//! `POST /webhooks/{channel}`: refused in the channel's own form, never with a 2xx, counted, and without any effect.

use acceptance::Shop;
use serde_json::{Value, json};

use crate::refusal::full_shop;

/// An order being paid, and its payment.
async fn paying(shop: &Shop) -> (String, String) {
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    (id, payment)
}

async fn assert_untouched(shop: &Shop, id: &str, version: &Value) {
    shop.rest().await;
    let order = shop.order(id).await;
    assert_eq!((&order["status"], &order["version"]), (&json!("PAYING"), version));
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
    assert_eq!(shop.metric("InvariantBreach"), 0);
}

#[tokio::test]
async fn what_nobody_signed_is_refused_whatever_it_is() {
    let shop = full_shop().await;
    let (id, _) = paying(&shop).await;
    let version = shop.order(&id).await["version"].clone();
    let huge = "x".repeat(256 * 1_024 + 1);
    let largest = "x".repeat(11 * 1_024 * 1_024);
    let deep = "[".repeat(100_000);
    let signatures = [
        "",
        "t=",
        "t=1,v1=",
        "v1=00",
        "t=99999999999999999999,v1=00",
        "t=-1,v1=zz",
        "t=1,t=2,v1=00",
        &"t=1,v1=00,".repeat(1_000),
    ];
    let mut refused = 0;
    for body in ["", "hello", "{}", "null", "[]", "\u{0}", &deep, &huge, &largest]
        .map(str::as_bytes)
        .into_iter()
        .chain([&b"\xff\xfe"[..]])
    {
        for signature in signatures {
            for content_type in ["application/json", "application/octet-stream"] {
                let headers = [("content-type", content_type), ("sim-signature", signature)];
                let answer = shop.send("POST", "/webhooks/sim", &headers, body.to_vec()).await;
                let what = format!("{} bytes, {content_type}, {:.40}", body.len(), signature);
                let expected = if body.len() > 256 * 1_024 { 400 } else { 401 };
                assert_eq!(answer.status, expected, "{what}: {:#}", answer.body);
                assert_eq!(answer.body["code"], "FAIL", "{what}");
                refused += 1;
            }
        }
    }
    assert_eq!(shop.metric("CallbackRefused"), refused);
    assert_untouched(&shop, &id, &version).await;
    assert_eq!(shop.timeline(&id, "refused_callback").await, Vec::<Value>::new(), "anyone can send it: only a counter");
}

#[tokio::test]
async fn what_the_channel_signed_and_nobody_can_read_is_refused() {
    let shop = full_shop().await;
    let (id, payment) = paying(&shop).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    let version = shop.order(&id).await["version"].clone();
    let long = "x".repeat(1_000);
    let mut refused = 0;
    for (field, values) in [
        (
            "amount",
            vec![json!(-1), json!(1.5), json!("1000"), json!(1e300), json!([1000]), json!(9_007_199_254_740_992_u64)],
        ),
        ("currency", vec![json!(""), json!("cny"), json!("XXX"), json!(156)]),
        ("state", vec![json!(1), json!(["SUCCESS"])]),
        ("transaction_id", vec![json!(""), json!("a b"), json!("a#b"), json!(long), json!(7)]),
        ("notify_id", vec![json!(""), json!("a b"), json!(long), json!(7)]),
        ("merchant_id", vec![json!(""), json!(7), json!(long)]),
        (
            "out_trade_no",
            vec![
                json!(""),
                json!("x"),
                json!(format!("{id}-0")),
                json!(format!("{id}-01")),
                json!(format!("{id}-2")),
                json!(format!("{id}-21")),
                json!(long),
                json!(7),
            ],
        ),
    ] {
        for value in values {
            let answer = shop.notify(&payment, json!({field: value})).await;
            assert_eq!(answer.body["status"], 400, "{field} {value:.60}: {:#}", answer.body);
            refused += 1;
        }
    }
    assert_eq!(shop.metric("CallbackRefused"), refused);
    assert_untouched(&shop, &id, &version).await;
    assert_eq!(shop.paid(&payment).await, 200, "the right one is still taken");
}

#[tokio::test]
async fn a_state_that_nobody_knows_is_a_hint_upon_which_the_channel_is_asked() {
    let shop = full_shop().await;
    for state in ["", "SUCCEEDED", "success", "🤷"] {
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        assert_eq!(shop.notify(&payment, json!({"state": state})).await.body["status"], 200, "{state}");
        shop.rest().await;
        assert_eq!(shop.calls(&payment, "query").await, 1, "{state}");
        let order = shop.order(&id).await;
        assert_eq!((&order["status"], &order["paid_amount"]), (&json!("PAYING"), &json!(0)), "{state}");
    }
    assert_eq!(shop.stock("SKU").await, (1, 4, 0));
}

#[tokio::test]
async fn a_callback_of_a_channel_that_is_not_switched_on_finds_nobody() {
    let shop = full_shop().await;
    for channel in ["alipay", "SIM", "stripe", "x", "%2E%2E", &"x".repeat(17)] {
        let answer = shop.send("POST", &format!("/webhooks/{channel}"), &[], "{}").await;
        let _ = answer.expect_problem(404, "not_found");
    }
}
