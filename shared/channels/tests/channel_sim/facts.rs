//! From the bytes of the channel `sim` to facts: the tables of CHANNELS §1 on its wire.

use crate::scene::*;
use expiry_channels::PaymentChannel;
use expiry_core::fact::{CloseOutcome, PaymentFact, PlaceOutcome, RefundFact};
use serde_json::{Value, json};

fn queried(answer: &expiry_channels::HttpResponse) -> PaymentFact {
    sim().parse_payment(&attempt(), answer, &ctx())
}

fn payment(state: &str) -> Value {
    json!({
        "merchant_id": "sim-merchant", "out_trade_no": number().to_string(), "state": state, "transaction_id": "txn-1",
        "amount": 1999, "currency": "EUR", "refunded_amount": 0,
    })
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

#[test]
fn every_state_of_the_channel_is_one_fact() {
    for (state, fact) in [
        ("NOTPAY", PaymentFact::Open),
        ("USERPAYING", PaymentFact::Processing),
        ("CLOSED", PaymentFact::NotPaidClosed),
        ("FAILED", PaymentFact::Failed),
    ] {
        assert_eq!(queried(&answer(200, payment(state).to_string())), fact, "{state}");
    }
    for unmapped in ["", "success", "EXPIRED", "NOT_FOUND"] {
        let fact = queried(&answer(200, payment(unmapped).to_string()));
        assert!(matches!(fact, PaymentFact::Unknown(_)), "{unmapped}: {fact:?}");
    }
}

#[test]
fn a_success_carries_what_the_domain_compares_and_is_not_judged_here() {
    let mut body = payment("SUCCESS");
    for (field, value) in [("merchant_id", json!("another")), ("amount", json!(1)), ("currency", json!("JPY"))] {
        body = with(body, field, value);
    }
    body = with(body, "out_trade_no", json!("another number"));
    let PaymentFact::Succeeded(success) = queried(&answer(200, body.to_string())) else { panic!("not a success") };
    assert_eq!(success.merchant.as_str(), "another");
    assert_eq!(success.out_trade_no, "another number");
    assert_eq!(success.paid.to_string(), "1 JPY");
    assert_eq!(success.transaction.as_str(), "txn-1");
    assert!(success.refunded.is_zero());
}

#[test]
fn a_success_with_an_impossible_number_is_unknown() {
    for (field, value) in [
        ("amount", json!(-1)),
        ("amount", json!(19.99)),
        ("amount", json!(1999.0)),
        ("amount", json!("1999")),
        ("amount", json!(9_007_199_254_740_992_u64)),
        ("amount", json!(u64::MAX)),
        ("amount", Value::Null),
        ("refunded_amount", json!(2000)),
        ("refunded_amount", json!(-1)),
        ("currency", json!("EURO")),
        ("currency", Value::Null),
        ("transaction_id", json!("")),
        ("transaction_id", json!("a b")),
        ("transaction_id", Value::Null),
        ("merchant_id", json!("")),
    ] {
        let fact = queried(&answer(200, with(payment("SUCCESS"), field, value.clone()).to_string()));
        assert!(matches!(fact, PaymentFact::Unknown(_)), "{field} = {value}: {fact:?}");
    }
}

#[test]
fn no_fact_but_a_success_may_be_about_another_payment_or_merchant() {
    for state in ["NOTPAY", "USERPAYING", "CLOSED", "FAILED"] {
        for field in ["out_trade_no", "merchant_id"] {
            let fact = queried(&answer(200, with(payment(state), field, json!("another")).to_string()));
            assert!(matches!(fact, PaymentFact::Unknown(_)), "{state}, {field}: {fact:?}");
        }
    }
}

#[test]
fn not_found_is_only_what_the_channel_itself_says() {
    let problem = r#"{"code":"PAYMENT_NOT_FOUND","message":""}"#;
    assert_eq!(queried(&answer(404, problem)), PaymentFact::NotFound);
    assert_eq!(sim().parse_close(&attempt(), &answer(404, problem), &ctx()), CloseOutcome::NotFound);
    for other in [
        unsigned(404, problem),
        answer(404, "<html>not found</html>"),
        answer(404, r#"{"code":"REFUND_NOT_FOUND","message":""}"#),
        answer(401, r#"{"code":"BAD_SIGNATURE","message":""}"#),
        answer(429, r#"{"code":"RATE_LIMITED","message":""}"#),
    ] {
        assert!(matches!(queried(&other), PaymentFact::Unknown(_)), "{other:?}");
    }
}

#[test]
fn what_is_not_a_signed_answer_is_unknown() {
    let good = payment("SUCCESS").to_string();
    let mut tampered = answer(200, good.clone());
    tampered.body = good.replace("1999", "1").into();
    let mut other_status = answer(204, good.clone());
    other_status.status = 200;
    for bad in [
        tampered,
        other_status,
        unsigned(200, good.clone()),
        answer(500, good.clone()),
        answer(302, good.clone()),
        answer(200, ""),
        answer(200, "[]"),
        answer(200, [0xff, 0xfe]),
        answer(200, "[".repeat(100_000)),
    ] {
        assert!(matches!(queried(&bad), PaymentFact::Unknown(_)), "{bad:?}");
    }
}

#[test]
fn a_place_is_a_credential_a_refusal_or_in_doubt() {
    let placed = |answer| sim().parse_place(&place(), &answer, &ctx());
    let good = json!({"out_trade_no": number().to_string(), "credential": {"pay_url": "x"}, "expires_at": "2026-01-01T00:30:00Z"});
    let PlaceOutcome::Credential(credential) = placed(answer(200, good.to_string())) else { panic!("no credential") };
    assert_eq!(credential.credential["pay_url"], "x");
    assert_eq!(credential.expires_at.map(|at| at.to_string()).as_deref(), Some("2026-01-01T00:30:00.000Z"));

    for code in ["PAYMENT_CLOSED", "INVALID_REQUEST", "UNKNOWN_MERCHANT"] {
        let outcome = placed(answer(409, json!({"code": code, "message": ""}).to_string()));
        assert!(matches!(outcome, PlaceOutcome::Refused(_)), "{code}: {outcome:?}");
    }
    for in_doubt in [
        answer(500, ""),
        unsigned(503, "no backend"),
        unsigned(403, r#"{"code":"PAYMENT_CLOSED","message":""}"#),
        answer(429, r#"{"code":"RATE_LIMITED","message":""}"#),
        answer(409, r#"{"code":"PAYMENT_DIFFERS","message":""}"#),
        unsigned(200, good.to_string()),
        answer(200, with(good.clone(), "out_trade_no", json!("another")).to_string()),
        answer(200, with(good.clone(), "credential", json!({})).to_string()),
        answer(200, with(good, "expires_at", json!("soon")).to_string()),
    ] {
        let outcome = placed(in_doubt);
        assert!(matches!(outcome, PlaceOutcome::InDoubt(_)), "{outcome:?}");
    }
}

#[test]
fn a_close_is_what_the_channel_says_about_this_payment() {
    let closed = |result: &str, number: String| {
        let body = json!({"out_trade_no": number, "result": result}).to_string();
        sim().parse_close(&attempt(), &answer(200, body), &ctx())
    };
    assert_eq!(closed("CLOSED", number().to_string()), CloseOutcome::Accepted);
    assert_eq!(closed("ALREADY_CLOSED", number().to_string()), CloseOutcome::AlreadyClosed);
    assert_eq!(closed("ALREADY_PAID", number().to_string()), CloseOutcome::AlreadyPaid);
    assert!(matches!(closed("OK", number().to_string()), CloseOutcome::Unknown(_)));
    assert!(matches!(closed("CLOSED", "another".into()), CloseOutcome::Unknown(_)));
}

#[test]
fn a_refund_is_done_only_when_the_channel_says_so_about_this_number_and_amount() {
    let refunded = |answer| sim().parse_refund(&refund(), &answer, &ctx());
    let body = |status: &str| json!({"refund_no": refund().refund_no.to_string(), "amount": 500, "status": status});
    assert_eq!(refunded(answer(200, body("SUCCEEDED").to_string())), RefundFact::Refunded);
    assert_eq!(refunded(answer(200, body("PENDING").to_string())), RefundFact::Pending);
    assert!(matches!(refunded(answer(200, body("FAILED").to_string())), RefundFact::Closed(_)));
    assert_eq!(refunded(answer(404, r#"{"code":"REFUND_NOT_FOUND","message":""}"#)), RefundFact::NotFound);
    for code in ["NOT_PAID", "REFUND_DIFFERS", "REFUND_EXCEEDS", "INVALID_REQUEST"] {
        let fact = refunded(answer(409, json!({"code": code, "message": ""}).to_string()));
        assert!(matches!(fact, RefundFact::Rejected(_)), "{code}: {fact:?}");
    }
    for unknown in [
        answer(200, body("DONE").to_string()),
        answer(200, with(body("SUCCEEDED"), "amount", json!(499)).to_string()),
        answer(200, with(body("SUCCEEDED"), "refund_no", json!("another")).to_string()),
        answer(404, r#"{"code":"PAYMENT_NOT_FOUND","message":""}"#),
        unsigned(404, r#"{"code":"REFUND_NOT_FOUND","message":""}"#),
        answer(500, ""),
    ] {
        let fact = refunded(unknown);
        assert!(matches!(fact, RefundFact::Unknown(_)), "{fact:?}");
    }
}

#[test]
fn the_same_place_is_the_same_request() {
    let first = sim().place_payment(&place(), &ctx()).expect("a request");
    assert_eq!(first, sim().place_payment(&place(), &ctx()).expect("a request"));
    assert_eq!(first.url, "http://sim.test/sim/payments");
    let body: Value = serde_json::from_slice(&first.body).expect("JSON");
    let expected = json!({
        "merchant_id": "sim-merchant", "out_trade_no": number().to_string(), "amount": 1999, "currency": "EUR",
        "expires_at": "2026-01-01T00:00:00.000Z",
    });
    assert_eq!(body, expected);
}

#[test]
fn nothing_that_is_logged_shows_a_credential_or_a_secret() {
    let shown = format!("{:?} {:?}", answer(200, "pay_url"), sim());
    assert!(!shown.contains("pay_url") && !shown.contains(SECRET), "{shown}");
}
