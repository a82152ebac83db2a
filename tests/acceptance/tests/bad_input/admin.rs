//! `/admin/stock`, `/admin/coupons`, `/admin/points`, `/admin/quotas`, and `/_local`.

use acceptance::Shop;
use serde_json::{Value, json};

use crate::refusal::{
    JSON, OPERATOR, VIEWER, assert_nothing_held, assert_refused, full_shop, no_json_object, too_large, with, without,
};

const COUNTERS: [(&str, &str); 3] =
    [("/admin/stock/SKU/default/default", "on_hand"), ("/admin/points/u1", "balance"), ("/admin/quotas/sale", "limit")];
const COUPON: &str = "/admin/coupons/C1";

fn coupon() -> Value {
    json!({"user_id": "u1", "valid_until": "2030-01-01T00:00:00Z", "refundable": true, "campaign_active": true})
}

async fn put(shop: &Shop, path: &str, body: impl Into<bytes::Bytes>) -> acceptance::Answer {
    shop.send("PUT", path, &[JSON, OPERATOR], body).await
}

#[tokio::test]
async fn a_counter_is_only_set_to_a_whole_number_within_its_bounds() {
    let shop = full_shop().await;
    for (path, field) in COUNTERS {
        for (what, body) in no_json_object() {
            assert_refused(&put(&shop, path, body.0).await, &format!("{path}: {what}"), 422, "invalid_request");
        }
        for (what, body) in too_large() {
            assert_refused(&put(&shop, path, body.0).await, what, 413, "payload_too_large");
        }
        for number in ["null", "-1", "1.5", "1e3", r#""5""#, "true", "[5]", "1000000001", "18446744073709551616"] {
            let body = format!(r#"{{"{field}":{number}}}"#);
            assert_refused(&put(&shop, path, body.clone()).await, &body, 422, "invalid_request");
        }
        for body in [
            format!(r#"{{"{field}":5,"{field}":6}}"#),
            format!(r#"{{"{field}":5,"reserved":0}}"#),
            format!(r#"{{"{field}":5,"reason":""}}"#),
            format!(r#"{{"{field}":5,"reason":"a\nb"}}"#),
            format!(r#"{{"{field}":5,"reason":7}}"#),
            format!(r#"{{"{field}":5,"reason":"{}"}}"#, "x".repeat(201)),
        ] {
            assert_refused(&put(&shop, path, body.clone()).await, &body, 422, "invalid_request");
        }
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn a_coupon_needs_a_user_an_end_and_its_terms() {
    let shop = full_shop().await;
    let mut cases: Vec<(String, Value)> = Vec::new();
    for field in ["user_id", "valid_until", "refundable", "campaign_active"] {
        cases.push((format!("without {field}"), without(coupon(), field)));
        cases.push((format!("{field} null"), with(coupon(), field, Value::Null)));
        cases.push((format!("{field} a number"), with(coupon(), field, 1)));
    }
    for end in [
        "",
        "tomorrow",
        "2030-01-01",
        "2030-01-01T00:00:00",
        "2030-13-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "1893456000",
    ] {
        cases.push((format!("until {end:?}"), with(coupon(), "valid_until", end)));
    }
    for flag in ["yes", "true", ""] {
        cases.push((format!("refundable {flag:?}"), with(coupon(), "refundable", flag)));
    }
    for user in ["", "a b", "a/b", "a#b", &"x".repeat(65)] {
        cases.push((format!("user {user:?}"), with(coupon(), "user_id", user)));
    }
    cases.push(("a status".to_owned(), with(coupon(), "status", "USED")));
    for (what, body) in cases {
        assert_refused(&put(&shop, COUPON, body.to_string()).await, &what, 422, "invalid_request");
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn a_resource_with_a_name_that_cannot_be_is_neither_read_nor_set() {
    let shop = full_shop().await;
    let long = "x".repeat(65);
    for path in [
        "/admin/stock/a%20b/default/default".to_owned(),
        "/admin/stock/SKU/a%00b/default".to_owned(),
        "/admin/stock/SKU/default/a%0Ab".to_owned(),
        "/admin/stock/a%23b/default/default".to_owned(),
        format!("/admin/stock/{long}/default/default"),
        format!("/admin/stock/SKU/{}/default", "x".repeat(33)),
        "/admin/points/a%20b".to_owned(),
        format!("/admin/quotas/{long}"),
        format!("/admin/coupons/{long}"),
    ] {
        assert_refused(&shop.send("GET", &path, &[OPERATOR], "").await, &path, 422, "invalid_request");
        let body = if path.contains("coupons") { coupon().to_string() } else { r#"{"on_hand":1}"#.to_owned() };
        assert_refused(&put(&shop, &path, body).await, &path, 422, "invalid_request");
    }
    for path in ["/admin/stock/NONE/default/default", "/admin/points/none", "/admin/quotas/none", "/admin/coupons/none"]
    {
        assert_refused(&shop.send("GET", path, &[OPERATOR], "").await, path, 404, "not_found");
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn who_has_no_role_learns_nothing_and_a_viewer_changes_nothing() {
    let shop = full_shop().await;
    let tokens = [
        "",
        "local-admin",
        "Basic bG9jYWwtYWRtaW4=",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer local-admin ",
        "Bearer local-user-u1",
    ];
    for path in ["/admin/orders", "/admin/orders/x", "/admin/nothing", "/admin", COUNTERS[0].0, COUPON] {
        for token in tokens {
            for method in ["GET", "PUT", "POST", "DELETE"] {
                let answer = shop.send(method, path, &[JSON, ("authorization", token)], r#"{"on_hand":9}"#).await;
                assert_refused(&answer, &format!("{method} {path} as {token:?}"), 401, "unauthorized");
            }
        }
        assert_refused(&shop.send("GET", path, &[], "").await, path, 401, "unauthorized");
    }
    for (path, field) in COUNTERS {
        let answer = shop.send("PUT", path, &[JSON, VIEWER], format!(r#"{{"{field}":9}}"#)).await;
        assert_refused(&answer, path, 403, "forbidden");
        assert_eq!(shop.send("GET", path, &[VIEWER], "").await.status, 200);
    }
    let answer = shop.send("PUT", COUPON, &[JSON, VIEWER], coupon().to_string()).await;
    assert_refused(&answer, COUPON, 403, "forbidden");
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn stock_is_not_set_below_what_orders_hold() {
    let shop = full_shop().await;
    let _ = shop.ordered().await;
    let answer = put(&shop, COUNTERS[0].0, r#"{"on_hand":0}"#).await;
    assert_refused(&answer, "below", 409, "stock_below_committed");
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
}

#[tokio::test]
async fn a_list_is_only_asked_for_what_it_has() {
    let shop = full_shop().await;
    for path in [
        "/admin/orders?status=OPEN",
        "/admin/orders?status=paid",
        "/admin/orders?status=",
        "/admin/orders?overdue=maybe",
        "/admin/orders?overdue=",
        "/admin/orders?limit=0",
        "/admin/orders?limit=101",
        "/admin/orders?limit=-1",
        "/admin/orders?limit=1.5",
        "/admin/orders?limit=many",
        "/admin/orders?limit=18446744073709551616",
        "/admin/orders?cursor=",
        "/admin/orders?cursor=x",
        "/admin/orders?cursor=%20",
        "/admin/orders?cursor=AAAA",
        "/admin/orders?cursor=MS54",
        "/admin/refunds?limit=0",
        "/admin/refunds?cursor=x",
        "/admin/findings?day=today",
        "/admin/findings?day=",
        "/admin/findings?day=2026-13-01",
        "/admin/findings?day=2026-02-30",
        "/admin/findings?day=2026-1-1",
        "/admin/findings?day=2026-01-01T00:00:00Z",
        "/admin/findings?day=%E2%82%AC%E2%82%AC%E2%82%AC%E2%82%AC",
    ] {
        assert_refused(&shop.send("GET", path, &[VIEWER], "").await, path, 422, "invalid_request");
    }
    for path in ["/admin/orders", "/admin/refunds", "/admin/findings", "/admin/overview", "/admin/orders?unknown=1"] {
        assert_eq!(shop.send("GET", path, &[VIEWER], "").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_local_controls_refuse_what_they_do_not_understand() {
    let shop = full_shop().await;
    let before = shop.now();
    for (method, path, bodies) in [
        (
            "PUT",
            "/_local/clock",
            vec![
                "{}",
                r#"{"advance_seconds":-1}"#,
                r#"{"advance_seconds":1.5}"#,
                r#"{"advance_seconds":"60"}"#,
                r#"{"advance_seconds":null}"#,
                r#"{"advance_seconds":31622401}"#,
                r#"{"advance_seconds":18446744073709551615}"#,
                r#"{"advance_seconds":18446744073709551616}"#,
                r#"{"advance_seconds":60,"unit":"minutes"}"#,
            ],
        ),
        (
            "PUT",
            "/_local/faults",
            vec![
                r#"{"drop_wake":true}"#,
                r#"{"drop_wakes":1}"#,
                r#"{"hold_queues":"close"}"#,
                r#"{"fail_deliveries":{"close":-1}}"#,
            ],
        ),
        (
            "POST",
            "/_local/deliver",
            vec![
                "{}",
                r#"{"queue":"close"}"#,
                r#"{"body":{}}"#,
                r#"{"queue":"nothing","body":{}}"#,
                r#"{"queue":7,"body":{}}"#,
                r#"{"queue":"close","body":{},"delay":1}"#,
            ],
        ),
    ] {
        for body in bodies {
            let answer = shop.send(method, path, &[JSON], body).await;
            assert_refused(&answer, &format!("{path}: {body}"), 422, "invalid_request");
        }
        for (what, body) in no_json_object() {
            assert_refused(
                &shop.send(method, path, &[JSON], body.0).await,
                &format!("{path}: {what}"),
                422,
                "invalid_request",
            );
        }
    }
    assert_eq!(shop.now(), before, "the clock was not moved");
    assert_nothing_held(&shop).await;
}
