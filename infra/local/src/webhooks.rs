//! The way of a simulated channel's callbacks to the functions of the same process.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use expiry_channels::Headers;

use crate::drivers::gateway::{self, Incoming};
use crate::functions::Functions;
use crate::sim::{CallbackAnswer, CallbackError, CallbackFuture, CallbackSink};

/// The channel's callbacks come in by the same door as everybody's. The functions hold the channel, so it must not hold them.
#[derive(Debug)]
pub(crate) struct Webhooks(Weak<Functions>);

impl Webhooks {
    /// The door of `functions`.
    pub(crate) fn of(functions: &Arc<Functions>) -> Webhooks {
        Webhooks(Arc::downgrade(functions))
    }
}

/// Why a callback finds nobody.
#[derive(Debug, thiserror::Error)]
#[error("the shop is gone")]
struct ShopGone;

impl CallbackSink for Webhooks {
    fn deliver(&self, path: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_> {
        let path = path.to_owned();
        Box::pin(async move {
            let failed = |error: http::Error| CallbackError(error.into());
            let mut request = http::Request::post(path);
            for (name, value) in headers.iter() {
                request = request.header(name, value);
            }
            let (parts, body) = request.body(body).map_err(failed)?.into_parts();
            let incoming = Incoming { method: parts.method, uri: parts.uri, headers: parts.headers, body };
            let functions = self.0.upgrade().ok_or_else(|| CallbackError(ShopGone.into()))?;
            let response = gateway::serve(&functions, incoming).await;
            let body = response.body.map(|body| Bytes::copy_from_slice(body.as_ref())).unwrap_or_default();
            Ok(CallbackAnswer { status: u16::try_from(response.status_code).unwrap_or(500), body })
        })
    }
}
