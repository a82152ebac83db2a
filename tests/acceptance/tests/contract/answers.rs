//! Real answers from scenes, held against the schemas field by field.

use acceptance::{Answer, Shop, ShopBuilder, WINDOW, order, shop};
use local::cloud::fate::{CallFate, Failure, Service};
use serde_json::{Value, json};

use crate::openapi::Contract;

/// A shop whose every answer must be what the contract says.
struct Watched {
    shop: Shop,
    contract: Contract,
}

async fn watched(shop: ShopBuilder) -> Watched {
    Watched { shop: shop.open().await, contract: Contract::read() }
}

impl Watched {
    #[track_caller]
    fn as_the_contract_says(&self, method: &str, path: &str, answer: Answer) -> Answer {
        let operation = self.contract.operation(method, path).unwrap_or_else(|| panic!("{method} {path}"));
        let objections = self.contract.objections(operation, &answer);
        assert_eq!(objections, [""; 0], "{method} {path} {}: {:#}", answer.status, answer.body);
        answer
    }

    /// As the shop's backend, or under `/admin` as an operator.
    async fn call(&self, method: &str, path: &str, body: Value) -> Answer {
        let answer = match path.strip_prefix("/admin") {
            Some(path) => self.shop.admin(method, path, body).await,
            None => self.shop.call(method, path, body).await,
        };
        self.as_the_contract_says(method, path, answer)
    }

    async fn get(&self, path: &str) -> Value {
        self.call("GET", path, Value::Null).await.expect(200).body
    }

    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let answer = self.shop.send(method, path, headers, body.to_owned()).await;
        self.as_the_contract_says(method, path, answer)
    }

    /// The order in every form in which it is shown: its document, its case file, the lists.
    async fn shown(&self, id: &str) -> Value {
        let document = self.get(&format!("/orders/{id}")).await;
        let file = self.get(&format!("/admin/orders/{id}")).await;
        assert_eq!(file["status"], document["status"]);
        for list in
            ["/admin/orders", "/admin/orders?overdue=true", "/admin/refunds", "/admin/overview", "/admin/findings"]
        {
            let _ = self.get(list).await;
        }
        document
    }
}

#[tokio::test]
async fn a_created_order_and_its_repetition() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    it.shop.put_coupon("C", "u1", &it.shop.in_seconds(86_400)).await;
    it.shop.put_points("u1", 500).await;
    it.shop.put_quota("sale", 5).await;
    let body = order()
        .with("coupon_id", "C")
        .with("points", 100)
        .with("quotas", json!([{"activity": "sale", "quantity": 1}]))
        .with("source", "app");
    let headers = [("content-type", "application/json"), ("idempotency-key", "checkout 1")];
    let first = it.send("POST", "/orders", &headers, &body.0.to_string()).await.expect(201);
    let again = it.send("POST", "/orders", &headers, &body.0.to_string()).await.expect(201);
    assert_eq!(first.text("order_id"), again.text("order_id"));
    assert_eq!(first.body["resources"].as_array().map(Vec::len), Some(4));
    let _ = it.shown(first.text("order_id")).await;
    for resource in ["/stock/SKU/default/default", "/coupons/C", "/points/u1", "/quotas/sale"] {
        let _ = it.get(&format!("/admin{resource}")).await;
    }
}

#[tokio::test]
async fn an_order_that_never_expires_has_neither_deadline_nor_countdown() {
    let rules = r#"[{"id":"default","version":1,"seconds":1800},{"id":"patient","version":3,"never":true}]"#;
    let it = watched(shop().with_stock("SKU", 10).with_env("EXPIRY_RULES", rules)).await;
    let created = it.call("POST", "/orders", order().with("expiry_rule", "patient").0).await.expect(201);
    assert_eq!((&created.body["expire_at"], &created.body["seconds_left"]), (&Value::Null, &Value::Null));
    let _ = it.shown(created.text("order_id")).await;
}

#[tokio::test]
async fn a_payment_a_leg_by_an_agent_and_the_paid_order() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let id = it.shop.ordered().await;
    let payments = format!("/orders/{id}/payments");
    let agent = json!({"type": "agent", "protocol": "acp", "session_id": "s 1", "mandate_ref": "m-1"});
    let leg = json!({"channel": "sim", "method": "native", "amount": 400, "initiator": agent});
    let leg = it.call("POST", &payments, leg).await.expect(201);
    assert_eq!(it.shop.paid(leg.text("out_trade_no")).await, 200);
    assert_eq!(it.shown(&id).await["status"], "PAYING");
    let rest = it.call("POST", &payments, json!({"channel": "sim"})).await.expect(201);
    assert_eq!(rest.body["amount"], 600);
    assert_eq!(it.shop.paid(rest.text("out_trade_no")).await, 200);
    it.shop.rest().await;
    let paid = it.shown(&id).await;
    assert_eq!((&paid["status"], &paid["resources"][0]["status"]), (&json!("PAID"), &json!("CONFIRMED")));
    let _ = it.call("POST", &format!("/admin/orders/{id}/check"), json!({"reason": "why?"})).await.expect(409);
    let _ = it.call("POST", &format!("/admin/orders/{id}/resettle"), json!({"reason": "why?"})).await.expect(200);
    let _ = it.shown(&id).await;
}

#[tokio::test]
async fn an_order_that_is_being_closed_while_its_channel_does_not_know() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let id = it.shop.ordered().await;
    let payment = it.shop.paying(&id).await;
    it.shop.channel(&payment, json!({"state": "ERROR"})).await;
    it.shop.pass_deadline().await;
    let closing = it.shown(&id).await;
    assert_eq!((&closing["status"], &closing["close_reason"]), (&json!("CLOSING"), &json!("expired")));
    assert!(
        closing["closing"]["last_error"].is_string() && closing["closing"]["next_check_at"].is_string(),
        "{closing:#}"
    );
    let reason = json!({"reason": "customer asks"});
    let _ = it.call("POST", &format!("/orders/{id}/cancel"), reason.clone()).await.expect(202);
    let _ = it.call("POST", &format!("/admin/orders/{id}/check"), reason).await.expect(200);
    assert_eq!(it.shop.metric("OrderClosed"), 0);
    // Long after the rhythm's end it waits for a person.
    for _ in 0..9 {
        it.shop.advance(3_600).await;
        let _ = it.shop.scan().await;
    }
    assert_eq!(it.shown(&id).await["closing"]["needs_attention"], true);
}

#[tokio::test]
async fn closed_orders_by_deadline_and_by_cancel_with_what_they_held() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    it.shop.put_coupon("SHORT", "u1", &it.shop.in_seconds(60)).await;
    let expired = it.shop.order_of(&order().with("coupon_id", "SHORT")).await;
    let cancelled = it.shop.ordered().await;
    let reason = json!({"reason": "changed my mind"});
    let _ = it.call("POST", &format!("/orders/{cancelled}/cancel"), reason).await.expect(200);
    it.shop.pass_deadline().await;
    let expired = it.shown(&expired).await;
    assert_eq!(expired["resources"][1]["reason"], "expired", "{expired:#}");
    assert_eq!(it.shown(&cancelled).await["close_reason"], "cancelled_by_user");
    let _ = it.get("/admin/coupons/SHORT").await;
}

#[tokio::test]
async fn late_money_on_its_way_back_and_back() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let id = it.shop.ordered().await;
    let payment = it.shop.paying(&id).await;
    it.shop.pass_deadline().await;
    it.shop.channel(&payment, json!({"refund": "error"})).await;
    assert_eq!(it.shop.paid(&payment).await, 200);
    it.shop.rest().await;
    let owed = it.shown(&id).await;
    assert_eq!((&owed["status"], &owed["payments"][0]["qualifier"]), (&json!("CLOSED"), &json!("surplus")));
    let refund = owed["refunds"][0].clone();
    assert!(refund["last_error"].is_string() && refund["next_try_at"].is_string(), "{refund:#}");
    let listed = it.get("/admin/refunds").await;
    assert_eq!(listed["refunds"][0]["refund_no"], refund["refund_no"]);
    let retry = format!("/admin/refunds/{}/retry", refund["refund_no"].as_str().unwrap_or_default());
    let reason = json!({"reason": "the rest went back by hand"});
    assert_eq!(code(&it.call("POST", &retry, reason.clone()).await), (409, "not_due"));
    // What is left is no longer what was to be given back, so a person has to look.
    it.shop.channel(&payment, json!({"refund": "ok", "refunded_amount": 400})).await;
    it.shop.advance(13).await;
    assert_eq!(it.shown(&id).await["refunds"][0]["status"], "FAILED");
    it.shop.channel(&payment, json!({"refunded_amount": 1_000})).await;
    let _ = it.call("POST", &retry, reason).await.expect(200);
    it.shop.advance(3).await;
    assert_eq!(it.shown(&id).await["refunds"][0]["status"], "SUCCEEDED");
}

#[tokio::test]
async fn money_of_another_amount_and_the_finding_it_leaves() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let id = it.shop.ordered().await;
    let payment = it.shop.paying(&id).await;
    it.shop.channel(&payment, json!({"state": "SUCCESS", "amount": 1})).await;
    it.shop.pass_deadline().await;
    let closed = it.shown(&id).await;
    assert_eq!(closed["payments"][0]["qualifier"], "mismatch", "{closed:#}");
    assert_ne!(it.get("/admin/findings").await["findings"], json!([]));
    let _ = it.shop.notify(&payment, Value::Null).await;
    let _ = it.shown(&id).await;
}

#[tokio::test]
async fn a_callback_is_acknowledged_and_refused_in_the_channels_form() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let id = it.shop.ordered().await;
    let payment = it.shop.paying(&id).await;
    it.shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    for (overrides, status) in [(json!({"amount": 1}), 400), (Value::Null, 200)] {
        let told = it.shop.notify(&payment, overrides).await.body;
        assert_eq!(told["status"], status, "{told:#}");
        let body =
            told["body"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(told["body"].clone());
        let answer = Answer { status, content_type: "application/json".to_owned(), body };
        let _ = it.as_the_contract_says("POST", "/webhooks/sim", answer);
    }
    let _ = it.send("POST", "/webhooks/sim", &[], "{}").await.expect(401);
    let _ = it.send("POST", "/webhooks/other", &[], "{}").await.expect(404);
}

#[tokio::test]
async fn resources_as_people_set_them() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let _ = it.shop.ordered().await;
    let coupon = json!({"user_id": "u1", "valid_until": "2030-01-01T08:00:00+08:00", "refundable": true, "campaign_active": false});
    for (path, body, status) in [
        ("/admin/stock/A/b/c", json!({"on_hand": 5, "reason": "delivery"}), 200),
        ("/admin/stock/SKU/default/default", json!({"on_hand": 0}), 409),
        ("/admin/coupons/C", coupon, 200),
        ("/admin/points/u1", json!({"balance": 5}), 200),
        ("/admin/quotas/sale", json!({"limit": 0}), 200),
    ] {
        let _ = it.call("PUT", path, body).await.expect(status);
    }
    let _ = it.call("GET", "/admin/points/nobody", Value::Null).await.expect(404);
}

/// The problem that `answer` is.
fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.text("code"))
}

#[tokio::test]
async fn refusals_to_create() {
    let it = watched(shop().with_stock("SKU", 10).with_env("MAX_OPEN_ORDERS_PER_USER", "1")).await;
    let quotas = json!([{"activity": "none", "quantity": 1}]);
    for (body, refusal) in [
        (order().of("OTHER", 1), (409, "insufficient_stock")),
        (order().with("coupon_id", "none"), (409, "coupon_unavailable")),
        (order().with("points", 1), (409, "insufficient_points")),
        (order().with("quotas", quotas), (409, "quota_exhausted")),
        (order().with("payable_amount", 1_001), (422, "invalid_request")),
    ] {
        let answer = it.call("POST", "/orders", body.0).await;
        assert_eq!(code(&answer), refusal);
    }
    let key = [("content-type", "application/json"), ("idempotency-key", "k")];
    let _ = it.send("POST", "/orders", &key, &order().0.to_string()).await.expect(201);
    let other = it.send("POST", "/orders", &key, &order().of("SKU", 2).0.to_string()).await;
    assert_eq!(code(&other), (422, "idempotency_mismatch"));
    assert_eq!(code(&it.call("POST", "/orders", order().0).await), (429, "too_many_open_orders"));
    let large = it.send("POST", "/orders", &[("content-type", "application/json")], &" ".repeat(70_000)).await;
    assert_eq!(code(&large), (413, "payload_too_large"));
    let labelled = it.send("POST", "/orders", &[("content-type", "application/xml")], "{}").await;
    assert_eq!(code(&labelled), (415, "unsupported_media_type"));
    let other_user = [("content-type", "application/json"), ("authorization", "Bearer local-user-u2")];
    assert_eq!(code(&it.send("POST", "/orders", &other_user, &order().0.to_string()).await), (403, "forbidden"));
    it.shop.system.cloud.on_call(|call| {
        (call.service == Service::DynamoDb).then(|| CallFate::Fail(Failure::new(400, "AccessDeniedException")))
    });
    assert_eq!(code(&it.call("POST", "/orders", order().0).await), (503, "try_again"));
}

#[tokio::test]
async fn refusals_to_take_money() {
    let it = watched(shop().with_stock("SKU", 20)).await;
    let pay = async |id: &str| it.call("POST", &format!("/orders/{id}/payments"), json!({"channel": "sim"})).await;
    let unknown = "0".repeat(24);
    assert_eq!(code(&pay(&unknown).await), (404, "order_not_found"));

    let refused = it.shop.ordered().await;
    it.shop.channel(&format!("{refused}-1"), json!({"state": "CLOSED"})).await;
    assert_eq!(code(&pay(&refused).await), (422, "channel_refused"));
    let undecided = it.shop.ordered().await;
    let payment = it.shop.paying(&undecided).await;
    it.shop.channel(&payment, json!({"state": "USERPAYING", "close": "error"})).await;
    let other = json!({"channel": "sim", "amount": 1});
    let other = it.call("POST", &format!("/orders/{undecided}/payments"), other).await;
    assert_eq!(code(&other), (409, "attempt_undecided"));
    let tried = it.shop.ordered().await;
    for amount in 1..=20 {
        let leg = json!({"channel": "sim", "amount": amount});
        let _ = it.call("POST", &format!("/orders/{tried}/payments"), leg).await.expect(201);
    }
    let once_more = json!({"channel": "sim", "amount": 21});
    let once_more = it.call("POST", &format!("/orders/{tried}/payments"), once_more).await;
    assert_eq!(code(&once_more), (409, "too_many_attempts"));
    assert_eq!(it.shown(&tried).await["payments"].as_array().map(Vec::len), Some(20));

    let (closed, closing, paid) = (it.shop.ordered().await, it.shop.ordered().await, it.shop.ordered().await);
    let _ = it.shop.cancel(&closed).await.expect(200);
    assert_eq!(code(&pay(&closed).await), (409, "order_closed"));
    let payment = it.shop.paying(&closing).await;
    it.shop.channel(&payment, json!({"state": "ERROR"})).await;
    let _ = it.shop.cancel(&closing).await.expect(202);
    assert_eq!(code(&pay(&closing).await), (409, "order_closing"));
    let payment = it.shop.paying(&paid).await;
    assert_eq!(it.shop.paid(&payment).await, 200);
    assert_eq!(code(&pay(&paid).await), (409, "order_paid"));
    let cancel = it.call("POST", &format!("/orders/{paid}/cancel"), json!({"reason": "no"})).await;
    assert_eq!(code(&cancel), (409, "order_paid"));
    let _ = it.shown(&paid).await;

    let (silent, late) = (it.shop.ordered().await, it.shop.ordered().await);
    it.shop.faults(json!({"channel_down": ["sim"]})).await;
    assert_eq!(code(&pay(&silent).await), (502, "channel_unavailable"));
    let _ = it.shown(&silent).await;
    it.shop.faults(json!({"drop_wakes": true})).await;
    it.shop.advance(WINDOW).await;
    assert_eq!(code(&pay(&late).await), (409, "order_expired"));
}

#[tokio::test]
async fn refusals_to_people() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    let id = it.shop.ordered().await;
    let path = |action: &str| format!("/admin/orders/{id}/{action}");
    let reason = json!({"reason": "why?"});
    for (action, body, refusal) in [
        ("check", reason.clone(), (409, "not_due")),
        ("resettle", reason.clone(), (409, "not_due")),
        ("extend", json!({"seconds": 0, "reason": "why?"}), (422, "invalid_request")),
        ("extend", json!({"seconds": 31_622_400, "reason": "why?"}), (422, "invalid_request")),
    ] {
        assert_eq!(code(&it.call("POST", &path(action), body).await), refusal, "{action}");
    }
    let extended = it.call("POST", &path("extend"), json!({"seconds": 60, "reason": "why?"})).await.expect(200);
    assert_eq!(extended.body["seconds_left"].as_u64().map(|left| left > WINDOW), Some(true));
    let _ = it.shown(&id).await;
    let _ = it.shop.cancel(&id).await.expect(200);
    let late = it.call("POST", &path("extend"), json!({"seconds": 60, "reason": "why?"})).await;
    assert_eq!(code(&late), (409, "order_closed"));
    let _ = it.shown(&id).await;
    let none = it.call("POST", &format!("/admin/refunds/{id}-1-r1/retry"), reason.clone()).await;
    assert_eq!(code(&none), (404, "not_found"));

    let json = ("content-type", "application/json");
    let (check, body) = (path("check"), reason.to_string());
    for (headers, refusal) in [
        (vec![json], (401, "unauthorized")),
        (vec![json, ("authorization", "Bearer local-viewer")], (403, "forbidden")),
    ] {
        assert_eq!(code(&it.send("POST", &check, &headers, &body).await), refusal);
    }
    for (query, refused) in
        [("status=paid", 422), ("overdue=maybe", 422), ("limit=101", 422), ("cursor=x", 422), ("limit=1", 200)]
    {
        let _ = it.call("GET", &format!("/admin/orders?{query}"), Value::Null).await.expect(refused);
    }
    let _ = it.call("GET", "/admin/findings?day=2026-02-30", Value::Null).await.expect(422);
}

#[tokio::test]
async fn a_list_goes_on_where_its_page_ended() {
    let it = watched(shop().with_stock("SKU", 10)).await;
    for _ in 0..3 {
        let _ = it.shop.ordered().await;
    }
    let first = it.get("/admin/orders?limit=2").await;
    let next = first["next"].as_str().expect("a next page");
    let last = it.get(&format!("/admin/orders?limit=2&cursor={next}")).await;
    assert_eq!((last["orders"].as_array().map(Vec::len), &last["next"]), (Some(1), &Value::Null));
}
