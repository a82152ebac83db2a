//! What a payment channel sends: nothing that it did not sign is believed, and what it signed is believed as it stands.

use std::time::Duration;

use expiry_channels::sim::Sim;
use expiry_channels::sim::signature::{SIGNATURE_HEADER, Signed, SigningKey, TOLERANCE};
use expiry_channels::sim::wire::CallbackBody;
use expiry_channels::{
    AttemptRef, CallContext, Headers, HttpResponse, NotificationRejection, PaymentChannel, PlaceRequest,
    RawNotification, RefundRequest,
};
use expiry_core::fact::{CloseOutcome, Notification, PaymentFact, PlaceOutcome, RefundFact};
use expiry_core::ids::{AttemptNo, OrderId, OutTradeNo, RefundNo, TransactionId};
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::time::Timestamp;

use super::first_line;
use crate::shop::{SECRET, now};

fn sim() -> Sim {
    Sim::new("http://sim.test", SECRET).expect("a channel")
}

fn key() -> SigningKey {
    SigningKey::new(SECRET).expect("a secret")
}

fn signed_by(header: &str) -> Headers {
    [(SIGNATURE_HEADER, header)].into_iter().collect()
}

fn verify(header: &str, body: &[u8], at: Timestamp) -> Result<Notification, NotificationRejection> {
    sim().verify_notification(&RawNotification { headers: &signed_by(header), body }, at)
}

/// A callback: the value of its signature header, and its body.
pub(crate) fn callback(bytes: &[u8]) {
    let (header, body) = first_line(bytes);
    let header = String::from_utf8_lossy(header);
    if verify(&header, body, now()).is_ok() {
        assert!(is_signed(&header, body), "{header} does not sign the body");
    }
    signed_callback(body);
}

/// Whether a tag of `header` is the one of `body` at its time, found by signing instead of by verifying.
fn is_signed(header: &str, body: &[u8]) -> bool {
    let parts: Vec<&str> = header.split(',').map(str::trim).collect();
    let seconds = parts.iter().find_map(|part| part.strip_prefix("t=")?.parse().ok());
    let right = seconds.map(|seconds| key().sign_at_seconds(&Signed::Callback { body }, seconds));
    let tag = right.as_deref().and_then(|right| right.split_once(','));
    tag.is_some_and(|(_, tag)| parts.iter().any(|part| part.eq_ignore_ascii_case(tag)))
}

fn signed_callback(body: &[u8]) {
    let header = key().sign(&Signed::Callback { body }, now());
    let late = now().plus(TOLERANCE + Duration::from_secs(1));
    let early = now().minus(TOLERANCE + Duration::from_secs(1));
    assert_eq!(verify(&header, body, late), Err(NotificationRejection::StaleTimestamp));
    assert_eq!(verify(&header, body, early), Err(NotificationRejection::FutureTimestamp));
    let longer = [body, b" "].concat();
    assert_eq!(verify(&header, &longer, now()), Err(NotificationRejection::BadSignature));
    match verify(&header, body, now()) {
        Ok(notification) => assert_as_stated(body, &notification),
        Err(rejection) => assert_eq!(rejection.status().as_u16(), 400, "signed, and refused as {}", rejection.reason()),
    }
}

/// What was believed is what stands there, and said again it is believed again.
fn assert_as_stated(body: &[u8], notification: &Notification) {
    let stated: CallbackBody = serde_json::from_slice(body).expect("what is believed can be read");
    assert_eq!(notification.payment.to_string(), stated.out_trade_no);
    assert_eq!(notification.notify_id.as_str(), stated.notify_id);
    match &notification.fact {
        PaymentFact::Succeeded(success) => {
            assert_eq!(stated.state, "SUCCESS");
            assert_eq!(success.merchant.as_str(), stated.merchant_id);
            assert_eq!(Some(success.paid.amount.minor()), stated.amount);
            assert_eq!(Some(success.paid.currency.code()), stated.currency.as_deref());
            assert_eq!(Some(success.transaction.as_str()), stated.transaction_id.as_deref());
        }
        PaymentFact::NotPaidClosed
        | PaymentFact::Failed
        | PaymentFact::Open
        | PaymentFact::Processing
        | PaymentFact::NotFound
        | PaymentFact::Unknown(_) => assert_eq!(stated.merchant_id, sim().merchant().as_str()),
    }
    let again = serde_json::to_vec(&stated).expect("JSON");
    let header = key().sign(&Signed::Callback { body: &again }, now());
    assert_eq!(verify(&header, &again, now()).as_ref(), Ok(notification));
}

/// An answer: its status, and its body.
pub(crate) fn answer(bytes: &[u8]) {
    let (status, body) = first_line(bytes);
    let status = std::str::from_utf8(status).ok().and_then(|status| status.parse().ok()).unwrap_or(200);
    let answer = |signed_status, headers: bool| HttpResponse {
        status,
        headers: match headers {
            true => signed_by(&key().sign(&Signed::Answer { status: signed_status, body }, now())),
            false => Headers::default(),
        },
        body: body.to_vec().into(),
    };
    assert_says_nothing(&answer(status, false));
    assert_says_nothing(&answer(status ^ 1, true));
    assert_says_what_it_may(&answer(status, true));
}

fn assert_says_nothing(answer: &HttpResponse) {
    assert!(matches!(sim().parse_place(&place(), answer, &ctx()), PlaceOutcome::InDoubt(_)));
    assert!(matches!(sim().parse_payment(&attempt(), answer, &ctx()), PaymentFact::Unknown(_)));
    assert!(matches!(sim().parse_close(&attempt(), answer, &ctx()), CloseOutcome::Unknown(_)));
    assert!(matches!(sim().parse_refund(&refund(), answer, &ctx()), RefundFact::Unknown(_)));
}

/// Nothing definite but by 200; nothing that says "there is none" but by the channel's own refusal.
fn assert_says_what_it_may(answer: &HttpResponse) {
    let is_ok = answer.status == 200;
    let is_refusal = (400..500).contains(&answer.status);
    match sim().parse_place(&place(), answer, &ctx()) {
        PlaceOutcome::Credential(placed) => assert!(is_ok && !placed.credential.is_empty()),
        PlaceOutcome::Refused(_) => assert!(is_refusal),
        PlaceOutcome::InDoubt(_) => {}
    }
    match sim().parse_payment(&attempt(), answer, &ctx()) {
        PaymentFact::Succeeded(success) => assert!(is_ok && success.refunded <= success.paid.amount),
        PaymentFact::NotFound => assert!(is_refusal),
        PaymentFact::NotPaidClosed | PaymentFact::Failed | PaymentFact::Open | PaymentFact::Processing => {
            assert!(is_ok);
        }
        PaymentFact::Unknown(_) => {}
    }
    match sim().parse_close(&attempt(), answer, &ctx()) {
        CloseOutcome::Accepted | CloseOutcome::AlreadyClosed | CloseOutcome::AlreadyPaid => assert!(is_ok),
        CloseOutcome::NotFound => assert!(is_refusal),
        CloseOutcome::InProgress | CloseOutcome::TooEarly { .. } => panic!("sim has no such answer"),
        CloseOutcome::Unknown(_) => {}
    }
    match sim().parse_refund(&refund(), answer, &ctx()) {
        RefundFact::Refunded | RefundFact::Pending | RefundFact::Closed(_) => assert!(is_ok),
        RefundFact::NotFound | RefundFact::Rejected(_) => assert!(is_refusal),
        RefundFact::NeedsManual(_) => panic!("sim has no such answer"),
        RefundFact::Unknown(_) => {}
    }
}

fn ctx() -> CallContext {
    CallContext { now: now() }
}

fn eur(minor: u64) -> Money {
    Money { amount: Amount::new(minor).expect("an amount"), currency: Currency::parse("EUR").expect("a currency") }
}

fn number() -> OutTradeNo {
    OutTradeNo::new(OrderId::from_bits([7; 15]), AttemptNo::FIRST)
}

fn attempt() -> AttemptRef {
    AttemptRef { out_trade_no: number(), reference: None, amount: eur(1999) }
}

fn place() -> PlaceRequest {
    PlaceRequest { out_trade_no: number(), amount: eur(1999), method: None, expires_at: now() }
}

fn refund() -> RefundRequest {
    let transaction = TransactionId::new("txn-1").expect("an id");
    RefundRequest { refund_no: RefundNo::new(number(), 1), transaction, refund: eur(500), paid: eur(1999) }
}
