//! The scene of the tests: one payment of 1999 EUR at the channel `sim`, and answers signed as the channel signs.

use expiry_channels::sim::Sim;
use expiry_channels::sim::signature::{SIGNATURE_HEADER, Signed, SigningKey};
use expiry_channels::{AttemptRef, CallContext, Headers, HttpResponse, PlaceRequest, RefundRequest};
use expiry_core::ids::{AttemptNo, OrderId, OutTradeNo, RefundNo, TransactionId};
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::time::Timestamp;

pub(crate) const SECRET: &str = "sim-secret";

pub(crate) fn now() -> Timestamp {
    Timestamp::from_seconds(1_767_225_600).expect("a valid time")
}

pub(crate) fn ctx() -> CallContext {
    CallContext { now: now() }
}

pub(crate) fn sim() -> Sim {
    Sim::new("http://sim.test", SECRET).expect("a valid channel")
}

pub(crate) fn key() -> SigningKey {
    SigningKey::new(SECRET).expect("a secret")
}

pub(crate) fn eur(minor: u64) -> Money {
    Money { amount: Amount::new(minor).expect("an amount"), currency: Currency::parse("EUR").expect("a currency") }
}

pub(crate) fn number() -> OutTradeNo {
    OutTradeNo::new(OrderId::from_bits([7; 15]), AttemptNo::FIRST)
}

pub(crate) fn attempt() -> AttemptRef {
    AttemptRef { out_trade_no: number(), reference: None, amount: eur(1999) }
}

pub(crate) fn place() -> PlaceRequest {
    PlaceRequest { out_trade_no: number(), amount: eur(1999), method: None, expires_at: now() }
}

pub(crate) fn refund() -> RefundRequest {
    let transaction = TransactionId::new("txn-1").expect("an id");
    RefundRequest { refund_no: RefundNo::new(number(), 1), transaction, refund: eur(500), paid: eur(1999) }
}

/// What the channel answers, signed.
pub(crate) fn answer(status: u16, body: impl Into<Vec<u8>>) -> HttpResponse {
    let body = body.into();
    let signature = key().sign(&Signed::Answer { status, body: &body }, now());
    let headers: Headers = [(SIGNATURE_HEADER, signature)].into_iter().collect();
    HttpResponse { status, headers, body: body.into() }
}

/// The same, from something between that cannot sign.
pub(crate) fn unsigned(status: u16, body: impl Into<Vec<u8>>) -> HttpResponse {
    HttpResponse { status, headers: Headers::default(), body: body.into().into() }
}
