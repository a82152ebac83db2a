//! Methods and paths that there are not.

use serde_json::Value;

use crate::refusal::{JSON, OPERATOR, assert_nothing_held, assert_refused, full_shop};

/// Ids of no order: of the right form, and of every wrong one.
pub(crate) const UNKNOWN_ORDERS: [&str; 12] = [
    "0123456789abcdefghjkmnpq",
    "0123456789abcdefghjkmnp",
    "0123456789abcdefghjkmnpqr",
    "0123456789ABCDEFGHJKMNPQ",
    "0123456789abcdefghijklou",
    "x",
    "-1",
    "null",
    "%00",
    "%20",
    "O%23x",
    "%E2%82%AC",
];

#[tokio::test]
async fn a_route_names_the_methods_it_has() {
    let shop = full_shop().await;
    let id = shop.ordered().await;
    for (path, methods) in [
        ("/orders".to_owned(), &["GET", "PUT", "DELETE", "PATCH", "OPTIONS"][..]),
        (format!("/orders/{id}"), &["POST", "PUT", "DELETE", "PATCH"]),
        (format!("/orders/{id}/payments"), &["GET", "PUT", "DELETE"]),
        (format!("/orders/{id}/cancel"), &["GET", "PUT", "DELETE"]),
        ("/webhooks/sim".to_owned(), &["GET", "PUT", "DELETE"]),
        (format!("/admin/orders/{id}"), &["POST", "PUT", "DELETE"]),
        (format!("/admin/orders/{id}/check"), &["GET", "PUT", "DELETE"]),
        (format!("/admin/orders/{id}/resettle"), &["GET", "PUT", "DELETE"]),
        (format!("/admin/orders/{id}/extend"), &["GET", "PUT", "DELETE"]),
        (format!("/admin/refunds/{id}-1-r1/retry"), &["GET", "PUT", "DELETE"]),
        ("/admin/orders".to_owned(), &["POST", "PUT", "DELETE"]),
        ("/admin/refunds".to_owned(), &["POST", "PUT", "DELETE"]),
        ("/admin/findings".to_owned(), &["POST", "PUT", "DELETE"]),
        ("/admin/overview".to_owned(), &["POST", "PUT", "DELETE"]),
        ("/admin/stock/SKU/default/default".to_owned(), &["POST", "DELETE"]),
        ("/admin/coupons/C1".to_owned(), &["POST", "DELETE"]),
        ("/admin/points/u1".to_owned(), &["POST", "DELETE"]),
        ("/admin/quotas/sale".to_owned(), &["POST", "DELETE"]),
    ] {
        for method in methods {
            for body in ["", r#"{"reason":"x"}"#] {
                let answer = shop.send(method, &path, &[JSON, OPERATOR], body).await;
                assert_refused(&answer, &format!("{method} {path}"), 405, "method_not_allowed");
            }
        }
    }
    assert_eq!(shop.status(&id).await, "PENDING_PAYMENT");
    assert_eq!(shop.stock("SKU").await, (4, 1, 0));
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_not_found() {
    let shop = full_shop().await;
    for path in [
        "/",
        "/order",
        "/Orders",
        "/orders/x/y",
        "/orders/x/payments/1",
        "/orders/x/cancel/now",
        "/webhooks",
        "/webhooks/sim/more",
        "/webhooks/alipay",
        "/webhooks/%20",
        "/admin",
        "/admin/nothing",
        "/admin/orders/x/close",
        "/admin/stock/SKU",
        "/admin/stock/SKU/default",
        "/admin/stock/SKU/default/default/more",
        "/admin/coupons",
        "/_local/nothing",
        "/_local/",
        "/.env",
        "/orders/../admin/nothing",
    ] {
        let answer = shop.send("POST", path, &[JSON, OPERATOR], r#"{"reason":"x"}"#).await;
        assert_refused(&answer, path, 404, "not_found");
    }
    assert_nothing_held(&shop).await;
}

#[tokio::test]
async fn a_path_that_is_no_text_is_refused() {
    let shop = full_shop().await;
    for path in ["/orders/%FF", "/orders/%C3%28", "/admin/stock/%FF/default/default"] {
        let answer = shop.send("GET", path, &[OPERATOR], "").await;
        assert_refused(&answer, path, 422, "invalid_request");
    }
    let answer = shop.call("GET", "/orders/0123456789abcdefghjkmnpq?x=%FF&x=%00&=&&%", Value::Null).await;
    assert_refused(&answer, "a query of garbage", 404, "order_not_found");
}
