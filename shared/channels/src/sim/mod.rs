//! The channel `sim`: on the wire like the others, with a protocol of our own (DESIGN §9). Enabled by `CHANNELS`, off in the cloud.
//!
//! [`wire`] has the messages, [`signature`] the scheme, `answers` the way from bytes to facts.

mod answers;
pub mod signature;
pub mod wire;

use std::time::Duration;

use bytes::Bytes;
use expiry_core::fact::{CloseOutcome, Notification, PaymentFact, PlaceOutcome, RefundFact};
use expiry_core::ids::{ChannelId, InvalidId, MerchantId, NotifyId, OutTradeNo};
use expiry_core::time::Timestamp;
use serde::Serialize;
use serde_json::json;

use self::signature::{KeyRing, SIGNATURE_HEADER, SignatureError, Signed, SigningKey};
use self::wire::{CallbackBody, CloseBody, PlaceBody, RefundBody};
use crate::channel::{
    AttemptRef, CallContext, Capabilities, Credential, EncodeError, PaymentChannel, PlaceRequest, RefundRequest,
};
use crate::http::{HttpMethod, HttpReply, HttpRequest, HttpResponse};
use crate::notification::{AckOutcome, NotificationRejection, RawNotification};

/// The name of the channel.
pub const CHANNEL: &str = "sim";
/// Our merchant number at it (DESIGN §9).
pub const MERCHANT: &str = "sim-merchant";

/// The codec of the channel `sim`.
#[derive(Clone, Debug)]
pub struct Sim {
    id: ChannelId,
    merchant: MerchantId,
    base_url: String,
    keys: KeyRing,
    capabilities: Capabilities,
}

/// Why the channel `sim` cannot be set up; a function that needs it refuses to start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimConfigError {
    /// Its secret is empty.
    #[error("the channel sim needs a secret")]
    NoSecret,
    /// The address is not one.
    #[error("the channel sim needs an address that begins with http:// or https://")]
    BaseUrl,
    /// A built-in name is not valid.
    #[error("the channel sim has an invalid name")]
    Name(#[from] InvalidId),
}

impl Sim {
    /// The channel at `base_url` (`http://host:port`; its paths begin with `/sim/`), with the shared `secret`.
    ///
    /// # Errors
    /// [`SimConfigError`]; there is no default for either.
    pub fn new(base_url: &str, secret: &str) -> Result<Sim, SimConfigError> {
        let base_url = base_url.trim_end_matches('/');
        if !["http://", "https://"]
            .iter()
            .any(|scheme| base_url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
        {
            return Err(SimConfigError::BaseUrl);
        }
        Ok(Sim {
            id: ChannelId::new(CHANNEL)?,
            merchant: MerchantId::new(MERCHANT)?,
            base_url: base_url.to_owned(),
            keys: KeyRing { current: SigningKey::new(secret).ok_or(SimConfigError::NoSecret)?, previous: None },
            capabilities: Capabilities {
                earliest_close_after: Duration::ZERO,
                min_expiry: Duration::ZERO,
                max_expiry: None,
                order_exists_on_create: true,
                query_by_merchant_no: true,
            },
        })
    }

    /// Believes what is signed with `previous` too, the secret before the one it signs with.
    #[must_use]
    pub fn believing(mut self, previous: Option<&str>) -> Sim {
        self.keys.previous = previous.and_then(SigningKey::new);
        self
    }

    fn get(&self, path: &str, ctx: &CallContext) -> HttpRequest {
        self.request(HttpMethod::Get, format!("{path}?merchant_id={}", self.merchant), Bytes::new(), ctx)
    }

    fn post(&self, path: &str, body: &impl Serialize, ctx: &CallContext) -> Result<HttpRequest, EncodeError> {
        let body = serde_json::to_vec(body).map_err(|_| EncodeError::Unsupported("content"))?;
        Ok(self.request(HttpMethod::Post, path.to_owned(), body.into(), ctx))
    }

    fn request(&self, method: HttpMethod, path: String, body: Bytes, ctx: &CallContext) -> HttpRequest {
        let signature = self.keys.current.sign(&Signed::Request { method, path: &path, body: &body }, ctx.now);
        let headers = [("Content-Type", "application/json"), (SIGNATURE_HEADER, signature.as_str())];
        HttpRequest { method, url: format!("{}{path}", self.base_url), headers: headers.into_iter().collect(), body }
    }
}

fn payment_path(payment: &OutTradeNo) -> String {
    format!("/sim/payments/{payment}")
}

impl PaymentChannel for Sim {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn merchant(&self) -> &MerchantId {
        &self.merchant
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn place_payment(&self, place: &PlaceRequest, ctx: &CallContext) -> Result<HttpRequest, EncodeError> {
        let body = PlaceBody {
            merchant_id: self.merchant.to_string(),
            out_trade_no: place.out_trade_no.to_string(),
            amount: place.amount.amount.minor(),
            currency: place.amount.currency.code().to_owned(),
            method: place.method.as_ref().map(ToString::to_string),
            expires_at: place.expires_at.to_string(),
        };
        self.post("/sim/payments", &body, ctx)
    }

    fn parse_place(&self, place: &PlaceRequest, answer: &HttpResponse, ctx: &CallContext) -> PlaceOutcome<Credential> {
        answers::placed(place, answers::read(answer, &self.keys, ctx.now))
    }

    fn knows_key_of(&self, answer: &HttpResponse, ctx: &CallContext) -> bool {
        let signed = Signed::Answer { status: answer.status, body: &answer.body };
        self.keys.verify(answer.headers.get(SIGNATURE_HEADER), &signed, ctx.now) != Err(SignatureError::Mismatch)
    }

    fn verify_notification(
        &self,
        raw: &RawNotification<'_>,
        now: Timestamp,
    ) -> Result<Notification, NotificationRejection> {
        let signed = Signed::Callback { body: raw.body };
        self.keys.verify(raw.headers.get(SIGNATURE_HEADER), &signed, now).map_err(|error| match error {
            SignatureError::Missing => NotificationRejection::MissingHeader,
            SignatureError::Mismatch => NotificationRejection::BadSignature,
            SignatureError::Stale => NotificationRejection::StaleTimestamp,
            SignatureError::Future => NotificationRejection::FutureTimestamp,
        })?;
        let callback: CallbackBody = serde_json::from_slice(raw.body).map_err(|_| NotificationRejection::Malformed)?;
        let notify_id = NotifyId::new(&*callback.notify_id).map_err(|_| NotificationRejection::Malformed)?;
        let payment = OutTradeNo::parse(&callback.out_trade_no).map_err(|_| NotificationRejection::UnknownOrder)?;
        let stated = answers::payment_of(callback);
        let fact = answers::fact(&stated);
        let is_success = matches!(fact, PaymentFact::Succeeded(_));
        if stated.state == "SUCCESS" && !is_success {
            return Err(NotificationRejection::Malformed);
        }
        // A success carries its merchant to the domain; no other fact does.
        if !is_success && stated.merchant_id != self.merchant.as_str() {
            return Err(NotificationRejection::MerchantMismatch);
        }
        Ok(Notification { notify_id, payment, fact })
    }

    fn acknowledge(&self, outcome: AckOutcome) -> HttpReply {
        let (status, body) = match outcome {
            AckOutcome::Accepted => (200, json!({"code": "SUCCESS"})),
            AckOutcome::Retry => (503, json!({"code": "FAIL", "message": "try_again"})),
            AckOutcome::Rejected(refusal) => {
                (refusal.status.as_u16(), json!({"code": "FAIL", "message": refusal.reason}))
            }
        };
        HttpReply { status, content_type: "application/json", body: body.to_string() }
    }

    fn query_payment(&self, attempt: &AttemptRef, ctx: &CallContext) -> Result<HttpRequest, EncodeError> {
        Ok(self.get(&payment_path(&attempt.out_trade_no), ctx))
    }

    fn parse_payment(&self, attempt: &AttemptRef, answer: &HttpResponse, ctx: &CallContext) -> PaymentFact {
        answers::payment(&attempt.out_trade_no.to_string(), &self.merchant, answers::read(answer, &self.keys, ctx.now))
    }

    fn close_payment(&self, attempt: &AttemptRef, ctx: &CallContext) -> Result<HttpRequest, EncodeError> {
        let path = format!("{}/close", payment_path(&attempt.out_trade_no));
        self.post(&path, &CloseBody { merchant_id: self.merchant.to_string() }, ctx)
    }

    fn parse_close(&self, attempt: &AttemptRef, answer: &HttpResponse, ctx: &CallContext) -> CloseOutcome {
        answers::closed(&attempt.out_trade_no.to_string(), answers::read(answer, &self.keys, ctx.now))
    }

    fn request_refund(&self, refund: &RefundRequest, ctx: &CallContext) -> Result<HttpRequest, EncodeError> {
        let body = RefundBody {
            merchant_id: self.merchant.to_string(),
            refund_no: refund.refund_no.to_string(),
            transaction_id: refund.transaction.to_string(),
            amount: refund.refund.amount.minor(),
            currency: refund.refund.currency.code().to_owned(),
        };
        self.post(&format!("{}/refunds", payment_path(refund.refund_no.payment())), &body, ctx)
    }

    fn query_refund(&self, refund: &RefundRequest, ctx: &CallContext) -> Result<HttpRequest, EncodeError> {
        Ok(self.get(&format!("{}/refunds/{}", payment_path(refund.refund_no.payment()), refund.refund_no), ctx))
    }

    fn parse_refund(&self, refund: &RefundRequest, answer: &HttpResponse, ctx: &CallContext) -> RefundFact {
        answers::refunded(refund, answers::read(answer, &self.keys, ctx.now))
    }
}
