//! Requests: what the schemas refuse the server refuses, and what they take it takes.

use acceptance::{Shop, shop};
use serde_json::{Value, json};

use crate::openapi::Contract;

/// A change of a body: the place, and what is put there; `None` takes it away.
type Change = (&'static str, Option<Value>);

fn put(at: &'static str, value: impl Into<Value>) -> Change {
    (at, Some(value.into()))
}

fn take(at: &'static str) -> Change {
    (at, None)
}

fn changed(body: &Value, (at, value): &Change) -> Value {
    let mut body = body.clone();
    let (parent, name) = at.rsplit_once('/').expect("a place");
    let parent = body.pointer_mut(parent).expect("its parent");
    match (parent, value) {
        (Value::Array(items), Some(value)) if name == "-" => items.push(value.clone()),
        (Value::Array(items), Some(value)) => items[name.parse::<usize>().expect("an index")] = value.clone(),
        (parent, Some(value)) => parent[name] = value.clone(),
        (Value::Object(fields), None) => drop(fields.remove(name).expect("a field to take away")),
        (parent, None) => panic!("{parent} has no fields"),
    }
    body
}

/// Sends the body with each change; schema and server must be of one mind about all of them, and take the body as it is.
async fn agree(shop: &Shop, method: &str, path: &str, body: Value, changes: &[Change]) {
    let contract = Contract::read();
    let operation = contract.operation(method, path).expect("an operation");
    let whole = std::iter::once((String::new(), body.clone()));
    let bodies = whole.chain(changes.iter().map(|change| (format!("{change:?}"), changed(&body, change))));
    for (change, body) in bodies {
        let answer = match path.strip_prefix("/admin") {
            Some(path) => shop.admin(method, path, body.clone()).await,
            None => shop.call(method, path, body.clone()).await,
        };
        let refused = (answer.status, answer.text("code")) == (422, "invalid_request");
        let taken = contract.takes(operation, &body);
        assert_eq!(
            taken, !refused,
            "{method} {path} {change}: the schema takes it: {taken}; answered {:#}",
            answer.body
        );
        assert!(!change.is_empty() || taken, "{method} {path} is refused unchanged: {:#}", answer.body);
    }
}

fn letters(count: usize) -> String {
    "x".repeat(count)
}

/// Changes of an identifier at `at`: what none may be, and both sides of its bound.
fn identifier(at: &'static str, bound: usize) -> Vec<Change> {
    let bad = ["", "a b", "a/b", "a#b", "a\nb", "a\u{7f}", "a\u{a0}b"];
    let mut changes: Vec<Change> = bad.into_iter().map(|text| put(at, text)).collect();
    changes.extend([put(at, letters(bound)), put(at, letters(bound + 1)), put(at, 7), put(at, json!([]))]);
    changes.extend(["苹果", "~!$%&'()*+,-.:;<=>?@[]^_`{|}"].map(|text| put(at, text)));
    changes
}

fn whole_number(at: &'static str, least: u64, most: u64) -> Vec<Change> {
    let mut changes = vec![put(at, least), put(at, most), put(at, most + 1), put(at, -1), put(at, 1.5), put(at, "1")];
    changes.extend(least.checked_sub(1).map(|below| put(at, below)));
    changes
}

fn reason(at: &'static str) -> Vec<Change> {
    let texts = ["", " ", "a\u{1}b", "a\nb", "\u{85}", "因为 \"x\"", " a "];
    let mut changes: Vec<Change> = texts.into_iter().map(|text| put(at, text)).collect();
    changes.extend([put(at, letters(200)), put(at, letters(201)), put(at, 7)]);
    changes
}

#[tokio::test]
async fn an_order() {
    let shop = shop().with_stock("SKU", 1_000_000).open().await;
    let body = json!({
        "user_id": "u1", "currency": "CNY", "payable_amount": 0, "coupon_id": "C", "points": 5,
        "lines": [{"sku": "SKU", "quantity": 1, "unit_price": 1_000, "warehouse": "default", "batch": "default"}],
        "quotas": [{"activity": "sale", "quantity": 1}], "expiry_rule": "default", "source": "app",
    });
    let line = |index: usize| json!({"sku": format!("S{index}"), "quantity": 1, "unit_price": 1});
    let lines = |count: usize| (0..count).map(line).collect::<Vec<_>>();
    let quotas =
        |count: usize| (0..count).map(|n| json!({"activity": format!("a{n}"), "quantity": 1})).collect::<Vec<_>>();
    let mut changes = vec![put("/extra", 1), put("/lines/0/extra", 1), put("/quotas/0/extra", 1)];
    changes.extend(["/user_id", "/currency", "/lines", "/payable_amount"].map(take));
    changes.extend(["/coupon_id", "/points", "/quotas", "/expiry_rule", "/source"].map(take));
    changes.extend(["/user_id", "/currency", "/lines", "/payable_amount"].map(|at| put(at, Value::Null)));
    changes.extend(["/coupon_id", "/points", "/quotas", "/expiry_rule", "/source"].map(|at| put(at, Value::Null)));
    changes.extend(["/lines/0/sku", "/lines/0/quantity", "/lines/0/unit_price", "/lines/0/warehouse"].map(take));
    changes.extend(["/lines/0/sku", "/lines/0/quantity", "/lines/0/batch"].map(|at| put(at, Value::Null)));
    changes.extend([
        put("/lines", lines(50)),
        put("/lines", lines(51)),
        put("/lines", json!([])),
        put("/lines", json!({})),
    ]);
    changes.extend([put("/quotas", quotas(10)), put("/quotas", quotas(11)), put("/quotas", json!([]))]);
    changes.extend([
        put("/lines/0", json!(["SKU", 1, 1])),
        put("/quotas/0", json!(["sale", 1])),
        put("/lines/0", Value::Null),
    ]);
    changes.extend(["XXX", "XAU", "cny", "CN", "", "ABC", "JPY"].map(|code| put("/currency", code)));
    for (at, bound) in [("/user_id", 64), ("/coupon_id", 64), ("/source", 32)] {
        changes.extend(identifier(at, bound));
    }
    for (at, bound) in
        [("/lines/0/sku", 64), ("/lines/0/warehouse", 32), ("/lines/0/batch", 32), ("/quotas/0/activity", 64)]
    {
        changes.extend(identifier(at, bound));
    }
    for at in ["/points", "/lines/0/quantity", "/quotas/0/quantity"] {
        changes.extend(whole_number(at, 1, 1_000_000_000));
    }
    changes.extend(whole_number("/lines/0/unit_price", 0, 9_007_199_254_740_991));
    changes.extend([
        put("/payable_amount", -1),
        put("/payable_amount", "0"),
        put("/payable_amount", 9_007_199_254_740_992_u64),
    ]);
    agree(&shop, "POST", "/orders", body, &changes).await;
}

/// What no schema can say: rules between fields, and which rules there are.
#[tokio::test]
async fn what_the_contract_says_of_an_order_in_words() {
    let (contract, shop) = (Contract::read(), shop().with_stock("SKU", 10).open().await);
    let operation = contract.operation("POST", "/orders").expect("an operation");
    let body = json!({
        "user_id": "u1", "currency": "CNY", "payable_amount": 1_000,
        "lines": [{"sku": "SKU", "quantity": 1, "unit_price": 1_000}],
    });
    for (change, pointer) in [
        (put("/lines/-", body["lines"][0].clone()), "#/lines"),
        (put("/lines/0/unit_price", 999), "#/payable_amount"),
        (put("/lines", json!([{"sku": "SKU", "quantity": 2, "unit_price": 9_007_199_254_740_991_u64}])), "#/lines"),
        (put("/expiry_rule", "other"), "#/expiry_rule"),
        (put("/user_id", "苹".repeat(22)), "#/user_id"),
    ] {
        let body = changed(&body, &change);
        assert!(contract.takes(operation, &body), "{body}");
        let refused = shop.call("POST", "/orders", body).await.expect_problem(422, "invalid_request");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
}

#[tokio::test]
async fn a_payment() {
    let shop = shop().with_stock("SKU", 1_000).open().await;
    let agent = json!({"type": "agent", "protocol": "acp", "session_id": "s 1", "mandate_ref": "m"});
    let body = json!({"channel": "sim", "method": "native", "amount": 10, "initiator": agent});
    let mut changes = vec![put("/extra", 1), take("/channel"), take("/method"), take("/amount"), take("/initiator")];
    changes.extend(
        ["/channel", "/method", "/amount", "/initiator", "/initiator/mandate_ref"].map(|at| put(at, Value::Null)),
    );
    changes.extend(identifier("/method", 16));
    changes.extend(["", "a b", "a/b"].map(|text| put("/channel", text)));
    changes.extend([
        put("/channel", 7),
        put("/amount", 0),
        put("/amount", -1),
        put("/amount", 1.5),
        put("/amount", "1"),
    ]);
    changes.push(put("/amount", 9_007_199_254_740_992_u64));
    changes.extend([put("/initiator", "customer"), put("/initiator", json!([])), put("/initiator", json!({}))]);
    changes.extend([put("/initiator", json!({"type": "customer"})), put("/initiator", json!({"type": "robot"}))]);
    changes.extend([put("/initiator", json!({"type": "customer", "extra": 1})), put("/initiator/extra", 1)]);
    changes.extend([take("/initiator/type"), take("/initiator/protocol"), take("/initiator/session_id")]);
    for at in ["/initiator/protocol", "/initiator/session_id", "/initiator/mandate_ref"] {
        changes.extend([put(at, ""), put(at, letters(64)), put(at, letters(65)), put(at, "a\u{1}"), put(at, 7)]);
    }
    // Each on an order of its own: the changes of one order would run out of attempts.
    for change in &changes {
        let path = format!("/orders/{}/payments", shop.ordered().await);
        agree(&shop, "POST", &path, body.clone(), std::slice::from_ref(change)).await;
    }
}

#[tokio::test]
async fn the_actions_of_people_and_customers() {
    let shop = shop().with_stock("SKU", 10).open().await;
    let id = shop.ordered().await;
    let mut changes = vec![put("/extra", 1), take("/reason"), put("/reason", Value::Null)];
    changes.extend(reason("/reason"));
    for action in ["check", "resettle"] {
        agree(&shop, "POST", &format!("/admin/orders/{id}/{action}"), json!({"reason": "why"}), &changes).await;
    }
    agree(&shop, "POST", &format!("/admin/refunds/{id}-1-r1/retry"), json!({"reason": "why"}), &changes).await;
    agree(&shop, "POST", &format!("/orders/{id}/cancel"), json!({"reason": "why"}), &changes).await;
    // The order is closed by now, so that what is not refused as invalid is refused as closed.
    changes.extend([take("/seconds"), put("/seconds", Value::Null)]);
    changes.extend(whole_number("/seconds", 1, 31_622_400));
    agree(&shop, "POST", &format!("/admin/orders/{id}/extend"), json!({"seconds": 1, "reason": "why"}), &changes).await;
}

#[tokio::test]
async fn the_edits_of_resources() {
    let shop = shop().open().await;
    for (path, field, at) in [
        ("/admin/stock/A/b/c", "on_hand", "/on_hand"),
        ("/admin/points/u1", "balance", "/balance"),
        ("/admin/quotas/sale", "limit", "/limit"),
    ] {
        let mut changes =
            vec![put("/extra", 1), take(at), put(at, Value::Null), take("/reason"), put("/reason", Value::Null)];
        changes.extend(whole_number(at, 0, 1_000_000_000));
        changes.extend(reason("/reason"));
        agree(&shop, "PUT", path, json!({field: 5, "reason": "why"}), &changes).await;
    }
    let coupon = json!({
        "user_id": "u1", "valid_until": "2030-01-01T00:00:00Z", "refundable": true, "campaign_active": false, "reason": "why",
    });
    let mut changes =
        vec![put("/extra", 1), put("/reason", Value::Null), put("/refundable", "true"), put("/campaign_active", 1)];
    changes.extend(["/user_id", "/valid_until", "/refundable", "/campaign_active", "/reason"].map(take));
    changes.extend(
        ["2030-01-01", "2030-02-30T00:00:00Z", "2030-01-01T00:00:00", "soon", ""].map(|text| put("/valid_until", text)),
    );
    changes.extend(["1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"].map(|text| put("/valid_until", text)));
    changes
        .extend(["2030-01-01T00:00:00.123456789+14:00", "2030-01-01t00:00:00z"].map(|text| put("/valid_until", text)));
    changes.extend(identifier("/user_id", 64));
    changes.extend(reason("/reason"));
    agree(&shop, "PUT", "/admin/coupons/C", coupon, &changes).await;
}
