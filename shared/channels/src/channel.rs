//! The trait of a channel and what its calls are about.

use std::fmt::Debug;
use std::time::Duration;

use expiry_core::fact::{CloseOutcome, Notification, PaymentFact, PlaceOutcome, RefundFact};
use expiry_core::ids::{ChannelId, ChannelReference, MerchantId, Method, OutTradeNo, RefundNo, TransactionId};
use expiry_core::money::Money;
use expiry_core::time::Timestamp;

use crate::http::{HttpReply, HttpRequest, HttpResponse};
use crate::notification::{AckOutcome, NotificationRejection, RawNotification};

/// What a payer needs to pay, in the channel's own words; opaque to everyone but the payer's client.
pub type Credential = serde_json::Map<String, serde_json::Value>;

/// One acquirer or payment service provider (CHANNELS §6).
///
/// Encoding, decoding and verification are pure. An implementation must
/// - map every answer, whatever its bytes, to a fact: parsers are total and never panic;
/// - map what it does not know for certain to `Unknown` or `InDoubt`, an unmapped word included, never to a default;
/// - answer `NotFound` and `Refused` only when the channel itself says so, never for an answer that something between may have given;
/// - verify a notification over the raw bytes before it parses them;
/// - leave the comparison of a success's merchant, amount and currency to the domain.
pub trait PaymentChannel: Debug + Send + Sync {
    /// Its name, as in `CHANNELS` and `POST /webhooks/{channel}`.
    fn id(&self) -> &ChannelId;

    /// Our merchant number there; stored on every attempt, and what its successes must name.
    fn merchant(&self) -> &MerchantId;

    /// What it can and cannot do.
    fn capabilities(&self) -> &Capabilities;

    /// The request that starts a payment. The same `place` and a later `ctx` make the same request but for its signature.
    ///
    /// # Errors
    /// When the channel cannot express it; then nothing may be sent.
    fn place_payment(&self, place: &PlaceRequest, ctx: &CallContext) -> Result<HttpRequest, EncodeError>;

    /// What the answer to [`place_payment`](Self::place_payment) says.
    fn parse_place(&self, place: &PlaceRequest, answer: &HttpResponse, ctx: &CallContext) -> PlaceOutcome<Credential>;

    /// Whether `answer` may be signed by a key that we hold. One that is signed by no such key means nothing, and the keys are to be read
    /// again: the channel may have changed its own. A channel that signs no answers always says yes.
    fn knows_key_of(&self, answer: &HttpResponse, ctx: &CallContext) -> bool;

    /// Verifies and reads a notification.
    ///
    /// # Errors
    /// When it is not to be believed; nothing in it may then be used.
    fn verify_notification(
        &self,
        raw: &RawNotification<'_>,
        now: Timestamp,
    ) -> Result<Notification, NotificationRejection>;

    /// The answer to a notification, in the channel's own form.
    fn acknowledge(&self, outcome: AckOutcome) -> HttpReply;

    /// The request that asks about a payment.
    ///
    /// # Errors
    /// When the channel cannot be asked, for example by our number alone.
    fn query_payment(&self, attempt: &AttemptRef, ctx: &CallContext) -> Result<HttpRequest, EncodeError>;

    /// What the answer to [`query_payment`](Self::query_payment) says.
    fn parse_payment(&self, attempt: &AttemptRef, answer: &HttpResponse, ctx: &CallContext) -> PaymentFact;

    /// The request that makes a payment unpayable; never one that could refund (CHANNELS §0.4).
    ///
    /// # Errors
    /// When the channel cannot be asked to.
    fn close_payment(&self, attempt: &AttemptRef, ctx: &CallContext) -> Result<HttpRequest, EncodeError>;

    /// What the answer to [`close_payment`](Self::close_payment) says; never a proof (CHANNELS §0.3).
    fn parse_close(&self, attempt: &AttemptRef, answer: &HttpResponse, ctx: &CallContext) -> CloseOutcome;

    /// The request for a refund. Sent any number of times under one [`RefundNo`] it is one refund (I9).
    ///
    /// # Errors
    /// When the channel cannot express it; then nothing may be sent.
    fn request_refund(&self, refund: &RefundRequest, ctx: &CallContext) -> Result<HttpRequest, EncodeError>;

    /// The request that asks about a refund.
    ///
    /// # Errors
    /// When the channel cannot be asked.
    fn query_refund(&self, refund: &RefundRequest, ctx: &CallContext) -> Result<HttpRequest, EncodeError>;

    /// What the answer to [`request_refund`](Self::request_refund) or [`query_refund`](Self::query_refund) says.
    fn parse_refund(&self, refund: &RefundRequest, answer: &HttpResponse, ctx: &CallContext) -> RefundFact;
}

/// What a channel can and cannot do (the table in CHANNELS §6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// It closes nothing younger than this; zero where it always does.
    pub earliest_close_after: Duration,
    /// The shortest life of a credential it accepts; an order due sooner gets this and is closed explicitly (DESIGN §4.3).
    pub min_expiry: Duration,
    /// The longest life of a credential it accepts; `None` where there is no bound.
    pub max_expiry: Option<Duration>,
    /// Whether a payment exists at the channel as soon as it handed out a credential. Where not, `NotFound` proves nothing while the
    /// credential lives (CHANNELS §0.1).
    pub order_exists_on_create: bool,
    /// Whether it can be asked by our number. Where not, a create in doubt is resolved by replaying it (DESIGN §4.5).
    pub query_by_merchant_no: bool,
}

/// What a call needs that is not its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// When the request is encoded, or the answer was received.
    pub now: Timestamp,
}

/// A payment to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRequest {
    /// Our number of the attempt.
    pub out_trade_no: OutTradeNo,
    /// What is to be paid.
    pub amount: Money,
    /// How, where the channel has several ways.
    pub method: Option<Method>,
    /// When the credential shall expire; stored once and never changed, so that a resumed create is the identical request (DESIGN §4.2).
    pub expires_at: Timestamp,
}

/// A payment to ask about or to close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRef {
    /// Our number of the attempt.
    pub out_trade_no: OutTradeNo,
    /// The channel's own handle, where it gave one.
    pub reference: Option<ChannelReference>,
    /// What was asked to be paid.
    pub amount: Money,
}

/// Money to give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundRequest {
    /// Our number of the refund; it names the payment too.
    pub refund_no: RefundNo,
    /// The channel's number of the payment.
    pub transaction: TransactionId,
    /// How much goes back.
    pub refund: Money,
    /// How much had been paid; some channels want to be told.
    pub paid: Money,
}

/// Why a channel cannot express a call. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The channel can be asked only by its own reference, and we hold none.
    #[error("the channel has given no reference to ask it with")]
    NoReference,
    /// The channel does not take this method, currency or amount.
    #[error("the channel does not take this {0}")]
    Unsupported(&'static str),
}
