//! From the bytes of `sim`'s answers to facts. Every function is total: what is not understood for certain is unknown.

use expiry_core::fact::{Cause, CloseOutcome, PaymentFact, PlaceOutcome, Placed, RefundFact, Success};
use expiry_core::ids::{MerchantId, TransactionId};
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::time::Timestamp;
use serde::de::DeserializeOwned;

use super::signature::{KeyRing, SIGNATURE_HEADER, Signed};
use super::wire::{CallbackBody, ClosedBody, PaymentBody, PlacedBody, ProblemBody, RefundedBody, code};
use crate::channel::{Credential, PlaceRequest, RefundRequest};
use crate::http::HttpResponse;

/// What an answer is, once it is known to come from the channel.
pub(super) enum Answer<T> {
    /// 200 with the message that belongs to the call.
    Body(T),
    /// 4xx with a code.
    Problem(String),
    /// Anything else.
    Unknown(Cause),
}

/// Reads an answer. Nothing is believed without the signature: a 404 of something in between must not pass for the channel's
/// "no such payment", which settles attempts (rule NF).
pub(super) fn read<T: DeserializeOwned>(answer: &HttpResponse, keys: &KeyRing, now: Timestamp) -> Answer<T> {
    if answer.status >= 500 {
        return Answer::Unknown(Cause::new(format!("HTTP {}", answer.status)));
    }
    let signed = Signed::Answer { status: answer.status, body: &answer.body };
    if let Err(error) = keys.verify(answer.headers.get(SIGNATURE_HEADER), &signed, now) {
        return Answer::Unknown(Cause::new(format!("HTTP {}, not believed: {error}", answer.status)));
    }
    match answer.status {
        200 => match serde_json::from_slice(&answer.body) {
            Ok(body) => Answer::Body(body),
            Err(_) => Answer::Unknown(Cause::new("the answer is not readable")),
        },
        400..500 => match serde_json::from_slice::<ProblemBody>(&answer.body) {
            Ok(problem) => Answer::Problem(problem.code),
            Err(_) => Answer::Unknown(Cause::new(format!("HTTP {}, not readable", answer.status))),
        },
        status => Answer::Unknown(Cause::new(format!("HTTP {status}"))),
    }
}

fn other_payment() -> Cause {
    Cause::new("the answer is about another payment")
}

fn refused(code: &str) -> Cause {
    Cause::new(format!("refused: {code}"))
}

pub(super) fn placed(place: &PlaceRequest, answer: Answer<PlacedBody>) -> PlaceOutcome<Credential> {
    let body = match answer {
        Answer::Body(body) => body,
        Answer::Problem(problem) => {
            return match problem.as_str() {
                code::PAYMENT_CLOSED | code::INVALID_REQUEST | code::UNKNOWN_MERCHANT => {
                    PlaceOutcome::Refused(refused(&problem))
                }
                // Another request under this number did create a payment, so this one is no proof that there is none.
                _ => PlaceOutcome::InDoubt(refused(&problem)),
            };
        }
        Answer::Unknown(cause) => return PlaceOutcome::InDoubt(cause),
    };
    if body.out_trade_no != place.out_trade_no.to_string() {
        return PlaceOutcome::InDoubt(other_payment());
    }
    if body.credential.is_empty() {
        return PlaceOutcome::InDoubt(Cause::new("the answer holds no credential"));
    }
    let expires_at = match body.expires_at.as_deref().map(Timestamp::parse_rfc3339) {
        None => None,
        Some(Some(at)) => Some(at),
        Some(None) => return PlaceOutcome::InDoubt(Cause::new("the answer's expiry is not readable")),
    };
    PlaceOutcome::Credential(Placed { reference: None, expires_at, credential: body.credential })
}

/// The fact in an answer about the payment `asked`.
pub(super) fn payment(asked: &str, merchant: &MerchantId, answer: Answer<PaymentBody>) -> PaymentFact {
    let body = match answer {
        Answer::Body(body) => body,
        Answer::Problem(problem) if problem == code::PAYMENT_NOT_FOUND => return PaymentFact::NotFound,
        Answer::Problem(problem) => return PaymentFact::Unknown(refused(&problem)),
        Answer::Unknown(cause) => return PaymentFact::Unknown(cause),
    };
    let fact = fact(&body);
    // A success carries what it is about, and the domain judges it; no other fact does.
    if !matches!(fact, PaymentFact::Succeeded(_))
        && (body.out_trade_no != asked || body.merchant_id != merchant.as_str())
    {
        return PaymentFact::Unknown(other_payment());
    }
    fact
}

/// The fact that a payment of the channel states; an unmapped state is unknown (CHANNELS §1).
pub(super) fn fact(payment: &PaymentBody) -> PaymentFact {
    match payment.state.as_str() {
        "NOTPAY" => PaymentFact::Open,
        "USERPAYING" => PaymentFact::Processing,
        "CLOSED" => PaymentFact::NotPaidClosed,
        "FAILED" => PaymentFact::Failed,
        "SUCCESS" => match success(payment) {
            Some(success) => PaymentFact::Succeeded(success),
            None => PaymentFact::Unknown(Cause::new("SUCCESS without merchant, transaction, amount or currency")),
        },
        state => PaymentFact::Unknown(Cause::new(format!("unmapped state {state}"))),
    }
}

fn success(payment: &PaymentBody) -> Option<Success> {
    let paid = Amount::new(payment.amount?)?;
    let refunded = Amount::new(payment.refunded_amount.unwrap_or(0)).filter(|refunded| *refunded <= paid)?;
    Some(Success {
        merchant: MerchantId::new(&*payment.merchant_id).ok()?,
        out_trade_no: payment.out_trade_no.clone(),
        paid: Money { amount: paid, currency: Currency::parse(payment.currency.as_deref()?)? },
        transaction: TransactionId::new(payment.transaction_id.as_deref()?).ok()?,
        refunded,
    })
}

/// A callback is a payment without its refunds.
pub(super) fn payment_of(callback: CallbackBody) -> PaymentBody {
    PaymentBody {
        merchant_id: callback.merchant_id,
        out_trade_no: callback.out_trade_no,
        state: callback.state,
        transaction_id: callback.transaction_id,
        amount: callback.amount,
        currency: callback.currency,
        refunded_amount: None,
    }
}

pub(super) fn closed(asked: &str, answer: Answer<ClosedBody>) -> CloseOutcome {
    match answer {
        Answer::Body(body) if body.out_trade_no != asked => CloseOutcome::Unknown(other_payment()),
        Answer::Body(body) => match body.result.as_str() {
            "CLOSED" => CloseOutcome::Accepted,
            "ALREADY_CLOSED" => CloseOutcome::AlreadyClosed,
            "ALREADY_PAID" => CloseOutcome::AlreadyPaid,
            result => CloseOutcome::Unknown(Cause::new(format!("unmapped result {result}"))),
        },
        Answer::Problem(problem) if problem == code::PAYMENT_NOT_FOUND => CloseOutcome::NotFound,
        Answer::Problem(problem) => CloseOutcome::Unknown(refused(&problem)),
        Answer::Unknown(cause) => CloseOutcome::Unknown(cause),
    }
}

pub(super) fn refunded(refund: &RefundRequest, answer: Answer<RefundedBody>) -> RefundFact {
    match answer {
        Answer::Body(body)
            if body.refund_no != refund.refund_no.to_string() || body.amount != refund.refund.amount.minor() =>
        {
            RefundFact::Unknown(Cause::new("the answer is about another refund"))
        }
        Answer::Body(body) => match body.status.as_str() {
            "SUCCEEDED" => RefundFact::Refunded,
            "PENDING" => RefundFact::Pending,
            "FAILED" => RefundFact::Closed(Cause::new("the channel states FAILED")),
            status => RefundFact::Unknown(Cause::new(format!("unmapped status {status}"))),
        },
        Answer::Problem(problem) => match problem.as_str() {
            code::REFUND_NOT_FOUND => RefundFact::NotFound,
            code::NOT_PAID
            | code::REFUND_DIFFERS
            | code::REFUND_EXCEEDS
            | code::INVALID_REQUEST
            | code::UNKNOWN_MERCHANT => RefundFact::Rejected(refused(&problem)),
            // Also "no such payment": the money was verified just before, so it may only be late to see.
            _ => RefundFact::Unknown(refused(&problem)),
        },
        Answer::Unknown(cause) => RefundFact::Unknown(cause),
    }
}
