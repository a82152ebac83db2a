//! A channel's notification: verified on its raw bytes, matched, its consequence made durable, and only then acknowledged in the
//! channel's own form (DESIGN §3, §7).

use std::sync::Arc;

use expiry_adjudication::{ChannelsError, Context, RunError};
use expiry_channels::{AckOutcome, ChannelClient, Headers, RawNotification, Refusal, RefusalStatus};
use expiry_core::decide::notified::{NotificationRefusal, Notified, NotifiedOutcome, signal_without_commit};
use expiry_core::fact::Notification;
use expiry_core::ids::{ChannelId, OrderId};
use expiry_runtime::http::{
    Request, Response, WEBHOOK_BODY_BYTES, body_bytes, method, path_parameter, problem_response, response,
};
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::{Dimension, Metric};
use expiry_runtime::problem::{Code, Problem};
use expiry_store::{Entry, EntryKind};
use serde_json::json;

/// The function.
#[derive(Debug)]
pub struct PaymentCallback {
    context: Arc<Context>,
}

impl PaymentCallback {
    /// The function.
    #[must_use]
    pub fn new(context: Arc<Context>) -> PaymentCallback {
        PaymentCallback { context }
    }

    /// `POST /webhooks/{channel}` → the channel's own acknowledgement, or its refusal: 400, 401, or 503 for "send it again".
    pub async fn handle(&self, request: &Request) -> Response {
        if method(request) != "POST" {
            return problem_response(&Problem::method_not_allowed("POST"));
        }
        let channels = match self.context.channels().await {
            Ok(channels) => channels,
            Err(error) => return cannot_judge(&error),
        };
        let channel = path_parameter(request, "channel").ok().and_then(|name| ChannelId::new(name).ok());
        let Some(client) = channel.and_then(|channel| channels.get(&channel)) else {
            return problem_response(&Problem::with_detail(Code::NotFound, "There is no such channel."));
        };
        let outcome = match self.verified(client, request).await {
            Ok(notification) => self.received(client, notification).await,
            Err(outcome) => outcome,
        };
        let reply = client.channel().acknowledge(outcome);
        response(reply.status, reply.content_type, reply.body)
    }

    /// What anybody can send leaves a counter and a log line only.
    async fn verified(&self, client: &ChannelClient, request: &Request) -> Result<Notification, AckOutcome> {
        let Ok(body) = body_bytes(request, WEBHOOK_BODY_BYTES) else {
            return Err(self.refuse(client, Refusal { status: RefusalStatus::BadRequest, reason: "malformed" }));
        };
        let named = request.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let headers: Headers = named.collect();
        let raw = RawNotification { headers: &headers, body: &body };
        let mut verified = client.verify_notification(&raw);
        if verified.as_ref().is_err_and(|rejection| rejection.fits_no_key()) {
            // Asked again, the channel comes with keys that are no longer in doubt.
            let channels = self.context.channels().await.unwrap_or_default();
            if let Some(client) = channels.get(client.channel().id()) {
                verified = client.verify_notification(&raw);
            }
        }
        verified.map_err(|rejection| self.refuse(client, rejection.refusal()))
    }

    fn refuse(&self, client: &ChannelClient, refusal: Refusal) -> AckOutcome {
        let channel = client.channel().id().as_str();
        let dimensions = [(Dimension::Channel, channel), (Dimension::Reason, refusal.reason)];
        self.context.metrics.count(Metric::CallbackRefused, 1, &dimensions);
        tracing::warn!(channel, reason = refusal.reason, "callback refused");
        AckOutcome::Rejected(refusal)
    }

    async fn received(&self, client: &ChannelClient, notification: Notification) -> AckOutcome {
        let id = notification.payment.order().clone();
        let command = Notified { channel: client.channel().id().clone(), notification };
        match self.context.run(&id, &command).await {
            Ok(ran) => {
                if let Some(signal) = signal_without_commit(&ran.order.order, &command, &ran.outcome) {
                    self.context.raise(&id, &signal, ran.at).await;
                }
                match ran.outcome {
                    NotifiedOutcome::Accepted => AckOutcome::Accepted,
                    NotifiedOutcome::Refused(refusal) => {
                        self.keep_evidence(&id, ran.order.order.version, &command, refusal).await;
                        self.refuse(client, Refusal { status: RefusalStatus::BadRequest, reason: refusal.reason() })
                    }
                }
            }
            Err(RunError::NotFound) => {
                self.refuse(client, Refusal { status: RefusalStatus::BadRequest, reason: "unknown_order" })
            }
            Err(error) => {
                tracing::error!(order_id = %id, error = %chain(&error), "callback to be sent again");
                AckOutcome::Retry
            }
        }
    }

    /// A verified callback about one of our numbers that does not fit is kept with the order (case b44).
    async fn keep_evidence(&self, id: &OrderId, version: u64, command: &Notified, refusal: NotificationRefusal) {
        let notification = &command.notification;
        let body = json!({
            "channel": command.channel.as_str(),
            "notify_id": notification.notify_id.as_str(),
            "out_trade_no": notification.payment.to_string(),
            "reason": refusal.reason(),
            "fact": format!("{:?}", notification.fact),
        });
        let at = self.context.clock.now();
        let entry = Entry { at, version, kind: EntryKind::RefusedCallback, body: body.to_string() };
        self.context.record(id, &entry).await;
    }
}

/// Without a channel's secret nobody can say what a callback is worth: it is to come again.
fn cannot_judge(error: &ChannelsError) -> Response {
    tracing::error!(error = %chain(error), "callback to be sent again");
    problem_response(&Problem::new(Code::TryAgain))
}
