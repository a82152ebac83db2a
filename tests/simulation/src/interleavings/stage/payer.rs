//! The payer and the channel's callback.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use expiry_channels::Headers;
use futures_util::FutureExt;
use local::functions::Functions;
use local::sim::{CALLBACK_PATH, CallbackAnswer, CallbackFuture, CallbackSink, SimChannel};
use serde_json::{Value, json};

use super::errand::post;
use crate::interleavings::cast::Heard;

/// Somebody who pays, and whose channel says so.
#[derive(Clone, Debug)]
pub(super) struct Payer {
    pub(super) payment: String,
    /// Whatever the channel has said before: money that comes late.
    pub(super) anyway: bool,
    pub(super) notify_id: String,
}

/// Keeps the callback that the channel has signed, for whoever is to take it.
#[derive(Debug, Default)]
pub(super) struct Post(Mutex<Option<(Headers, Bytes)>>);

impl CallbackSink for Post {
    fn deliver(&self, _: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((headers, body));
        Box::pin(std::future::ready(Ok(CallbackAnswer { status: 200, body: Bytes::new() })))
    }
}

impl Payer {
    /// Pays, if that is possible; whether it is paid now.
    pub(super) fn pay(&self, channel: &SimChannel) -> bool {
        let path = format!("/_sim/payments/{}", self.payment);
        let known = said(channel, "GET", &path, &Value::Null);
        let state = known["state"].as_str().unwrap_or_default();
        if self.anyway || matches!(state, "NOTPAY" | "USERPAYING") {
            said(channel, "PUT", &path, &json!({"state": "SUCCESS"}));
            return true;
        }
        state == "SUCCESS"
    }

    /// The channel's callback, as `functions` take it.
    pub(super) async fn notify(&self, channel: &SimChannel, post_box: &Post, functions: &Functions) -> Heard {
        let path = format!("/_sim/payments/{}/notify", self.payment);
        said(channel, "POST", &path, &json!({"notify_id": self.notify_id}));
        let kept = post_box.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (headers, body) = kept.expect("a callback");
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (status, _) = post(functions, CALLBACK_PATH, headers, body).await;
        Heard { answer: format!("callback {status}"), is_done: status == 200 }
    }
}

/// What the channel's control answers; it never waits.
fn said(channel: &SimChannel, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let answered = channel.handle(method, path, &Headers::default(), &body).now_or_never();
    answered.and_then(|answer| serde_json::from_slice(&answer.body).ok()).unwrap_or_default()
}
