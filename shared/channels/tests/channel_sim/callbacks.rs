//! Callbacks of the channel `sim`: what is believed, what is refused and how that is answered (DESIGN §8, §9; case b44).

use std::time::Duration;

use crate::scene::*;
use expiry_channels::sim::signature::{SIGNATURE_HEADER, SIGNATURES, Signed, SigningKey};
use expiry_channels::{
    AckOutcome, Headers, HttpMethod, NotificationRejection, PaymentChannel, RawNotification, RefusalStatus,
};
use expiry_core::fact::{Notification, PaymentFact};
use expiry_core::time::Timestamp;
use serde_json::{Value, json};

fn callback(state: &str) -> Value {
    json!({
        "notify_id": "n-1", "merchant_id": "sim-merchant", "out_trade_no": number().to_string(), "transaction_id": "txn-1",
        "amount": 1999, "currency": "EUR", "state": state,
    })
}

fn with(field: &str, value: Value) -> String {
    let mut body = callback("SUCCESS");
    body[field] = value;
    body.to_string()
}

fn arrives(header: &str, body: &[u8], now: Timestamp) -> Result<Notification, NotificationRejection> {
    let headers: Headers = [(SIGNATURE_HEADER, header)].into_iter().collect();
    sim().verify_notification(&RawNotification { headers: &headers, body }, now)
}

fn signed(body: &str) -> String {
    key().sign(&Signed::Callback { body: body.as_bytes() }, now())
}

fn arrives_signed(body: &str) -> Result<Notification, NotificationRejection> {
    arrives(&signed(body), body.as_bytes(), now())
}

#[test]
fn the_signatures_are_those_that_any_hmac_computes() {
    let body = br#"{"notify_id":"n-1"}"#;
    for (signed, tag) in [
        (Signed::Callback { body }, "09653a723c06b92aee1ae82126ba159d5eb0a3e86788543962e26c4f87522573"),
        (
            Signed::Request { method: HttpMethod::Get, path: "/sim/payments/x?merchant_id=sim-merchant", body: b"" },
            "cc9e14080af39e901323d703983baf91a416a91f83b5b78c3c2676d46cfebc21",
        ),
        (
            Signed::Answer { status: 404, body: b"{}" },
            "e64e771085551a0ea6ec28e08fe4e19db7821036248e4ef90b3f1ca101a63b43",
        ),
    ] {
        assert_eq!(key().sign(&signed, now()), format!("t=1767225600,v1={tag}"), "{signed:?}");
    }
}

#[test]
fn a_signed_success_is_believed_and_not_judged() {
    let notification = arrives_signed(&callback("SUCCESS").to_string()).expect("believed");
    assert_eq!(notification.notify_id.as_str(), "n-1");
    assert_eq!(notification.payment, number());
    assert!(matches!(notification.fact, PaymentFact::Succeeded(success) if success.paid == eur(1999)));
    for (field, value) in [("amount", json!(1998)), ("currency", json!("USD")), ("merchant_id", json!("another"))] {
        let notification = arrives_signed(&with(field, value)).expect("the domain judges it");
        assert!(matches!(notification.fact, PaymentFact::Succeeded(_)), "{field}");
    }
}

#[test]
fn other_states_are_facts_too_and_an_unmapped_one_is_unknown() {
    let fact = |state: &str| arrives_signed(&callback(state).to_string()).map(|notification| notification.fact);
    assert_eq!(fact("NOTPAY"), Ok(PaymentFact::Open));
    assert_eq!(fact("USERPAYING"), Ok(PaymentFact::Processing));
    assert_eq!(fact("CLOSED"), Ok(PaymentFact::NotPaidClosed));
    assert_eq!(fact("FAILED"), Ok(PaymentFact::Failed));
    assert!(matches!(fact("EXPIRED"), Ok(PaymentFact::Unknown(_))));
}

#[test]
fn a_signature_that_does_not_fit_is_refused_before_anything_is_read() {
    let body = callback("SUCCESS").to_string();
    let good = signed(&body);
    let other_key = SigningKey::new("another-secret").expect("a secret");
    let foreign = other_key.sign(&Signed::Callback { body: body.as_bytes() }, now());
    let as_request = key().sign(&Signed::Request { method: HttpMethod::Post, path: "", body: body.as_bytes() }, now());
    let moved = good.replace("t=1767225600", "t=1767225601");
    let cut = &good[..good.len() - 2];
    for header in [&*foreign, &*as_request, &*moved, cut, "t=1767225600,v1=", "t=1767225600,v1=zz", "t=1767225600,v1=é"]
    {
        assert_eq!(arrives(header, body.as_bytes(), now()), Err(NotificationRejection::BadSignature), "{header}");
    }
    let tampered = body.replace("1999", "1998");
    assert_eq!(arrives(&good, tampered.as_bytes(), now()), Err(NotificationRejection::BadSignature));
    assert_eq!(arrives(&foreign, b"not json", now()), Err(NotificationRejection::BadSignature));
}

#[test]
fn a_signature_header_without_its_parts_is_no_signature() {
    let body = callback("SUCCESS").to_string();
    let tag = signed(&body).split_once("v1=").expect("a tag").1.to_owned();
    for header in
        ["", "t=1767225600", &format!("v1={tag}"), &format!("t=+1767225600,v1={tag}"), &format!("t=,v1={tag}")]
    {
        assert_eq!(arrives(header, body.as_bytes(), now()), Err(NotificationRejection::MissingHeader), "{header}");
    }
    let twice = format!("t=1767225600,t=1767225600,v1={tag}");
    assert_eq!(arrives(&twice, body.as_bytes(), now()), Err(NotificationRejection::MissingHeader));
    let none =
        sim().verify_notification(&RawNotification { headers: &Headers::default(), body: body.as_bytes() }, now());
    assert_eq!(none, Err(NotificationRejection::MissingHeader));
}

#[test]
fn any_of_several_signatures_may_fit_while_a_secret_changes() {
    let body = callback("SUCCESS").to_string();
    let (time, tag) = signed(&body).split_once(',').map(|(t, v)| (t.to_owned(), v.to_owned())).expect("two parts");
    let wrong = format!("v1={}", "0".repeat(64));
    assert!(arrives(&format!("{time},{wrong},{tag}"), body.as_bytes(), now()).is_ok());
    assert!(arrives(&format!("{time}, {tag}, {wrong}, v2=x"), body.as_bytes(), now()).is_ok());
    let flood = vec![wrong; SIGNATURES].join(",");
    assert_eq!(
        arrives(&format!("{time},{flood},{tag}"), body.as_bytes(), now()),
        Err(NotificationRejection::BadSignature),
        "only the first {SIGNATURES} are looked at"
    );
}

#[test]
fn the_signed_time_may_be_300_s_away_in_both_directions_and_no_more() {
    let body = callback("SUCCESS").to_string();
    let at = |now| arrives(&signed(&body), body.as_bytes(), now).map(|_| ());
    let (tolerance, more) = (Duration::from_secs(300), Duration::from_millis(300_001));
    assert_eq!(at(now().plus(tolerance)), Ok(()));
    assert_eq!(at(now().minus(tolerance)), Ok(()));
    assert_eq!(at(now().plus(more)), Err(NotificationRejection::StaleTimestamp));
    assert_eq!(at(now().minus(more)), Err(NotificationRejection::FutureTimestamp));
    let never = key().sign_at_seconds(&Signed::Callback { body: body.as_bytes() }, 999_999_999_999);
    assert_eq!(arrives(&never, body.as_bytes(), now()), Err(NotificationRejection::FutureTimestamp));
}

#[test]
fn signed_content_that_is_not_what_the_channel_documents_is_malformed() {
    for body in [String::new(), "null".into(), "[]".into(), "{}".into(), format!("{}x", callback("SUCCESS"))] {
        assert_eq!(arrives_signed(&body), Err(NotificationRejection::Malformed), "{body}");
    }
    for (field, value) in [
        ("amount", json!(-1)),
        ("amount", json!(19.99)),
        ("amount", json!(u64::MAX)),
        ("amount", Value::Null),
        ("currency", json!("eur")),
        ("transaction_id", Value::Null),
        ("notify_id", json!("")),
        ("notify_id", json!(1)),
        ("state", Value::Null),
    ] {
        assert_eq!(arrives_signed(&with(field, value)), Err(NotificationRejection::Malformed), "{field}");
    }
    let twice = callback("SUCCESS").to_string().replacen('{', r#"{"amount":1,"#, 1);
    assert_eq!(arrives_signed(&twice), Err(NotificationRejection::Malformed), "one field, two values");
}

#[test]
fn a_number_that_cannot_be_ours_is_an_unknown_order() {
    for number in ["", "1", "ORDER-1", "000000000000000000000000-0", "000000000000000000000000-21"] {
        let refused = arrives_signed(&with("out_trade_no", json!(number)));
        assert_eq!(refused, Err(NotificationRejection::UnknownOrder), "{number}");
    }
}

#[test]
fn a_hint_about_another_merchant_is_refused_since_it_carries_nothing_to_compare() {
    let mut body = callback("CLOSED");
    body["merchant_id"] = json!("another");
    assert_eq!(arrives_signed(&body.to_string()), Err(NotificationRejection::MerchantMismatch));
}

#[test]
fn a_callback_is_answered_in_the_channels_own_form() {
    let answered = |outcome| {
        let reply = sim().acknowledge(outcome);
        (reply.status, serde_json::from_str::<Value>(&reply.body).expect("JSON"))
    };
    assert_eq!(answered(AckOutcome::Accepted), (200, json!({"code": "SUCCESS"})));
    assert_eq!(answered(AckOutcome::Retry).0, 503);
    let bad_signature = NotificationRejection::BadSignature.refusal();
    let fail = json!({"code": "FAIL", "message": "bad_signature"});
    assert_eq!(answered(AckOutcome::Rejected(bad_signature)), (401, fail));
    for (rejection, status) in [
        (NotificationRejection::MissingHeader, RefusalStatus::Unauthorized),
        (NotificationRejection::StaleTimestamp, RefusalStatus::Unauthorized),
        (NotificationRejection::FutureTimestamp, RefusalStatus::Unauthorized),
        (NotificationRejection::Malformed, RefusalStatus::BadRequest),
        (NotificationRejection::UnknownOrder, RefusalStatus::BadRequest),
    ] {
        assert_eq!(rejection.status(), status, "{rejection}");
    }
}
