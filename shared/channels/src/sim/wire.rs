//! The messages of the channel `sim`, as JSON. Amounts are integers of minor units, times RFC 3339.
//!
//! | call | request | answer 200 |
//! |---|---|---|
//! | place | `POST /sim/payments` [`PlaceBody`] | [`PlacedBody`] |
//! | query | `GET /sim/payments/{out_trade_no}?merchant_id=` | [`PaymentBody`] |
//! | close | `POST /sim/payments/{out_trade_no}/close` [`CloseBody`] | [`ClosedBody`] |
//! | refund | `POST /sim/payments/{out_trade_no}/refunds` [`RefundBody`] | [`RefundedBody`] |
//! | query refund | `GET /sim/payments/{out_trade_no}/refunds/{refund_no}?merchant_id=` | [`RefundedBody`] |
//!
//! Every other answer is a [`ProblemBody`]. Every request and every answer is signed (see [`signature`](super::signature)).
//! What was received is checked after it is read: a field that a message does not always have is an `Option` here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Starts a payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceBody {
    /// Our merchant number.
    pub merchant_id: String,
    /// Our number of the attempt.
    pub out_trade_no: String,
    /// Minor units to be paid.
    pub amount: u64,
    /// ISO 4217.
    pub currency: String,
    /// Any; the channel takes all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// When the credential shall expire.
    pub expires_at: String,
}

/// A started payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedBody {
    /// Our number of the attempt.
    pub out_trade_no: String,
    /// What the payer needs.
    pub credential: Map<String, Value>,
    /// When it expires; absent when that is what was asked for.
    #[serde(default)]
    pub expires_at: Option<String>,
}

/// A payment as the channel sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentBody {
    /// Whose payment it is.
    pub merchant_id: String,
    /// Our number of the attempt.
    pub out_trade_no: String,
    /// `NOTPAY`, `USERPAYING`, `SUCCESS`, `CLOSED` or `FAILED`.
    pub state: String,
    /// The channel's number of the payment.
    pub transaction_id: Option<String>,
    /// Minor units.
    pub amount: Option<u64>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// Minor units given back so far, at most `amount`.
    pub refunded_amount: Option<u64>,
}

/// A callback about a payment: a payment as the channel sees it, and the number of the notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackBody {
    /// The number of the notification, unchanged over re-sends.
    pub notify_id: String,
    /// Whose payment it is.
    pub merchant_id: String,
    /// Our number of the attempt.
    pub out_trade_no: String,
    /// The channel's number of the payment.
    pub transaction_id: Option<String>,
    /// Minor units.
    pub amount: Option<u64>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// As in [`PaymentBody`].
    pub state: String,
}

/// Closes a payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseBody {
    /// Our merchant number.
    pub merchant_id: String,
}

/// What a close did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedBody {
    /// Our number of the attempt.
    pub out_trade_no: String,
    /// `CLOSED`, `ALREADY_CLOSED` or `ALREADY_PAID`.
    pub result: String,
}

/// Requests a refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundBody {
    /// Our merchant number.
    pub merchant_id: String,
    /// Our number of the refund.
    pub refund_no: String,
    /// The channel's number of the payment.
    pub transaction_id: String,
    /// Minor units to give back.
    pub amount: u64,
    /// ISO 4217.
    pub currency: String,
}

/// A refund as the channel sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundedBody {
    /// Our number of the refund.
    pub refund_no: String,
    /// Minor units.
    pub amount: u64,
    /// `SUCCEEDED`, `PENDING` or `FAILED` (this number is dead; no money went back by it).
    pub status: String,
}

/// Why there is no other answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemBody {
    /// One of [`code`], or a word we do not know.
    pub code: String,
    /// For people.
    pub message: String,
}

/// The codes of a [`ProblemBody`] that mean something.
pub mod code {
    /// 404: the channel knows no such payment.
    pub const PAYMENT_NOT_FOUND: &str = "PAYMENT_NOT_FOUND";
    /// 404: the channel knows no such refund.
    pub const REFUND_NOT_FOUND: &str = "REFUND_NOT_FOUND";
    /// 409: place on a closed payment.
    pub const PAYMENT_CLOSED: &str = "PAYMENT_CLOSED";
    /// 409: place again under one number with other terms.
    pub const PAYMENT_DIFFERS: &str = "PAYMENT_DIFFERS";
    /// 409: refund of what is not paid.
    pub const NOT_PAID: &str = "NOT_PAID";
    /// 409: refund again under one number with another amount, or of another transaction.
    pub const REFUND_DIFFERS: &str = "REFUND_DIFFERS";
    /// 409: refund of more than is left.
    pub const REFUND_EXCEEDS: &str = "REFUND_EXCEEDS";
    /// 400: the request is not one of this channel's.
    pub const INVALID_REQUEST: &str = "INVALID_REQUEST";
    /// 401: the request is not signed by us.
    pub const BAD_SIGNATURE: &str = "BAD_SIGNATURE";
    /// 403: not this channel's merchant.
    pub const UNKNOWN_MERCHANT: &str = "UNKNOWN_MERCHANT";
    /// 500: the channel failed.
    pub const SYSTEM_ERROR: &str = "SYSTEM_ERROR";
}
