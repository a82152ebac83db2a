//! The channel's callbacks: signed as the channel signs, or forged as a test wants, and handed to whoever stands for the shop.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use expiry_channels::sim::signature::{SIGNATURE_HEADER, Signed, SigningKey};
use expiry_channels::{Headers, HttpResponse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::control::{no_such_payment, object};
use super::reply::Reply;
use super::{SimChannel, lock};
use crate::AnyError;

/// Where the shop takes the callbacks of the channel `sim` (DESIGN §8).
pub const CALLBACK_PATH: &str = "/webhooks/sim";

/// The future of [`CallbackSink::deliver`].
pub type CallbackFuture<'a> = Pin<Box<dyn Future<Output = Result<CallbackAnswer, CallbackError>> + Send + 'a>>;

/// The way from the channel to the shop.
pub trait CallbackSink: fmt::Debug + Send + Sync {
    /// POSTs `body` with `headers` to `path` of the shop, once.
    ///
    /// # Errors
    /// [`CallbackError`] when the shop gave no answer at all.
    fn deliver(&self, path: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_>;
}

/// What the shop answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

/// Why there is no answer of the shop.
#[derive(Debug, thiserror::Error)]
#[error("the callback was not answered")]
pub struct CallbackError(#[source] pub AnyError);

/// What `POST …/notify` may say otherwise than the payment: every fault that a callback can have (case b44).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Overrides {
    /// Any JSON, also what no channel would send; so for the five below.
    notify_id: Option<Value>,
    merchant_id: Option<Value>,
    out_trade_no: Option<Value>,
    transaction_id: Option<Value>,
    amount: Option<Value>,
    currency: Option<Value>,
    state: Option<Value>,
    /// Signed as of this Unix second.
    timestamp: Option<i64>,
    /// Signed that many seconds ago; negative: in the future.
    age_seconds: Option<i64>,
    /// Signed with this secret instead.
    secret: Option<String>,
    /// The whole value of the signature header instead.
    signature: Option<String>,
    /// No signature header at all.
    #[serde(default)]
    unsigned: bool,
}

impl Overrides {
    fn read(body: &[u8]) -> Result<Overrides, String> {
        if body.trim_ascii().is_empty() {
            return Ok(Overrides::default());
        }
        object(body)
    }

    fn key(&self, ours: &SigningKey) -> Result<SigningKey, String> {
        match &self.secret {
            Some(secret) => SigningKey::new(secret).ok_or_else(|| "secret must not be empty".to_owned()),
            None => Ok(ours.clone()),
        }
    }

    /// Replaces what is given in the callback.
    fn apply(self, callback: &mut Value) {
        let given = [
            ("notify_id", self.notify_id),
            ("merchant_id", self.merchant_id),
            ("out_trade_no", self.out_trade_no),
            ("transaction_id", self.transaction_id),
            ("amount", self.amount),
            ("currency", self.currency),
            ("state", self.state),
        ];
        for (field, value) in given {
            if let Some(value) = value {
                callback[field] = value;
            }
        }
    }
}

impl SimChannel {
    /// Sends one callback about a payment; answers `{status, body}` of the shop's answer, and the `notify_id` it sent.
    pub(super) async fn notify(&self, out_trade_no: &str, body: &[u8]) -> HttpResponse {
        let invalid = |message: String| Reply::control_problem(422, "invalid_request", &message);
        let overrides = match Overrides::read(body) {
            Ok(overrides) => overrides,
            Err(message) => return invalid(message),
        };
        let key = match overrides.key(&self.keys().current) {
            Ok(key) => key,
            Err(message) => return invalid(message),
        };
        let notify_id = format!("sim-notify-{}", self.0.notified.fetch_add(1, Ordering::Relaxed) + 1);
        let Some(callback) = self.payments().get(out_trade_no).map(|payment| payment.callback(notify_id)) else {
            return no_such_payment();
        };
        let Some(sink) = lock(&self.0.callbacks).as_ref().map(Arc::clone) else {
            return Reply::control_problem(503, "no_shop", "nobody takes callbacks");
        };
        let now = self.0.clock.now().as_seconds();
        let seconds = overrides.timestamp.unwrap_or(now).saturating_sub(overrides.age_seconds.unwrap_or(0));
        let (own_signature, unsigned) = (overrides.signature.clone(), overrides.unsigned);
        let mut callback = json!(callback);
        overrides.apply(&mut callback);

        let sent_id = callback["notify_id"].clone();
        let body = Bytes::from(callback.to_string());
        let signature =
            own_signature.unwrap_or_else(|| key.sign_at_seconds(&Signed::Callback { body: &body }, seconds));
        let content_type = ("Content-Type", "application/json".to_owned());
        let signature = (!unsigned).then_some((SIGNATURE_HEADER, signature));
        let headers: Headers = std::iter::once(content_type).chain(signature).collect();
        match sink.deliver(CALLBACK_PATH, headers, body).await {
            Ok(answer) => Reply::control(
                200,
                &json!({"status": answer.status, "body": readable(&answer.body), "notify_id": sent_id}),
            ),
            Err(error) => {
                tracing::warn!(out_trade_no, error = %error.0, "callback not answered");
                Reply::control_problem(502, "no_answer", &error.to_string())
            }
        }
    }
}

/// JSON as JSON, anything else as text.
fn readable(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}
