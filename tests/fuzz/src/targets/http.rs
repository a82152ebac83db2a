//! Requests at the HTTP surface: every one is answered, in the contract's words, and none by a fault of ours.

use std::time::Duration;

use expiry_core::limits;
use expiry_runtime::http::{Request, Response};
use serde_json::{Value, json};

use crate::exchange::{Text, read};
use crate::shop::{Shop, in_shop, now};

/// `POST /orders`: what is taken is what was asked for, and asked for again it is the same order.
pub(crate) fn create_order(bytes: &[u8]) {
    let Some(text) = Text::read(bytes) else { return };
    let Some(request) = text.request(false) else { return };
    in_shop(|shop| {
        let (status, document) = read(&shop.wait(shop.create_order.handle(&request)));
        let stored = shop.aws.take_put();
        assert_eq!(stored.len(), usize::from(status == 201), "an order is stored if and only if it is answered");
        if status != 201 {
            return;
        }
        assert_is_what_was_asked_for(&document, text.body);
        let (_, again) = read(&shop.wait(shop.create_order.handle(&request)));
        let same = document["order_id"] == again["order_id"];
        assert_eq!(same, text.header("idempotency-key").is_some(), "the key alone makes it the same order");
        assert_eq!(shop.aws.take_put().len(), 1);
        // As it is stored, it is read back.
        shop.aws.holds(stored[0].clone());
        let id = document["order_id"].as_str().expect("an id");
        let get = format!("GET /orders/{id}");
        let get = Text::read(get.as_bytes()).and_then(|text| text.request(false)).expect("a request");
        assert_eq!(read(&shop.wait(shop.order_api.handle(&get))), (200, document));
    });
}

/// The document says what the body said, and the body was within the contract.
fn assert_is_what_was_asked_for(document: &Value, body: &[u8]) {
    let body: Value = serde_json::from_slice(body).expect("what is taken is JSON");
    for field in ["currency", "payable_amount"] {
        assert_eq!(document[field], body[field]);
    }
    let wanted = body["lines"].as_array().expect("lines");
    let lines = document["lines"].as_array().expect("lines");
    assert!(lines.len() == wanted.len() && (1..=limits::LINES).contains(&lines.len()));
    let mut total = 0_u128;
    for (line, wanted) in lines.iter().zip(wanted) {
        for field in ["sku", "quantity", "unit_price"] {
            assert_eq!(line[field], wanted[field]);
        }
        let number = |field: &str| wanted[field].as_u64().expect("a number");
        assert!((1..=limits::QUANTITY).contains(&number("quantity")));
        total += u128::from(number("quantity")) * u128::from(number("unit_price"));
    }
    let payable = body["payable_amount"].as_u64().expect("a number");
    assert!(u128::from(payable) <= total && total <= u128::from(limits::AMOUNT));
    assert_eq!(document["status"], if payable == 0 { "PAID" } else { "PENDING_PAYMENT" });
}

/// `GET /orders/{id}`, `POST …/cancel`, `POST …/payments`, of an order that can be paid.
pub(crate) fn order_routes(bytes: &[u8]) {
    let Some(text) = Text::read(bytes) else { return };
    let handle = |shop: &Shop, request: &_| match text.path.ends_with("/payments") {
        true => shop.wait(shop.start_payment.handle(request, now().plus(Duration::from_secs(10)))),
        false => shop.wait(shop.order_api.handle(request)),
    };
    let _ = answer_in_either_form(&text, handle);
}

/// `/admin/*`: a stranger and a viewer change nothing.
pub(crate) fn admin(bytes: &[u8]) {
    let Some(text) = Text::read(bytes) else { return };
    let handle = |shop: &Shop, request: &_| shop.wait(shop.admin_api.handle(request));
    let Some((status, _)) = answer_in_either_form(&text, handle) else { return };
    match text.claim("role") {
        Some("operator") => {}
        Some("viewer") if text.method == "GET" => {}
        Some("viewer") => assert_ne!(status, 200),
        Some(_) | None => assert_eq!(status, if text.has_token() { 403 } else { 401 }),
    }
}

/// `POST /webhooks/{channel}`: acknowledged is only what the channel signed.
pub(crate) fn webhook(bytes: &[u8]) {
    let Some(text) = Text::read(bytes) else { return };
    let handle = |shop: &Shop, request: &_| shop.wait(shop.payment_callback.handle(request));
    let Some((status, document)) = answer_in_either_form(&text, handle) else { return };
    assert!([200, 400, 401, 404, 405].contains(&status), "{status} {document}");
    if status == 200 {
        assert_eq!(document, json!({"code": "SUCCESS"}));
        let header = text.header("sim-signature").expect("nothing is believed without a signature");
        super::channel::callback(&[header.as_bytes(), b"\n", text.body].concat());
    }
}

/// The answer to `text`, which is the same whether the gateway hands the body over as text or in base64; `None` when the gateway
/// would not pass it on.
fn answer_in_either_form(text: &Text<'_>, handle: impl Fn(&Shop, &Request) -> Response) -> Option<(i64, Value)> {
    let answer = |base64| {
        let request = text.request(base64)?;
        Some(in_shop(|shop| {
            shop.aws.holds(an_order());
            read(&handle(shop, &request))
        }))
    };
    let plain = answer(false);
    assert_eq!(plain, answer(true));
    plain
}

/// An order that can be paid, with one attempt, as it is stored.
fn an_order() -> Value {
    serde_json::from_slice(include_bytes!("../../corpus/stored_order/paying.json")).expect("JSON")
}
