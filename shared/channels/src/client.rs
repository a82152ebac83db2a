//! A channel that can be called: its codec, the way to it, and a clock.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use expiry_core::fact::{Cause, CloseOutcome, Notification, PaymentFact, PlaceOutcome, RefundFact};
use expiry_core::time::{Clock, Timestamp};

use crate::channel::{AttemptRef, CallContext, Credential, EncodeError, PaymentChannel, PlaceRequest, RefundRequest};
use crate::http::{HttpRequest, HttpResponse};
use crate::notification::{NotificationRejection, RawNotification};
use crate::transport::{ChannelTransport, TransportError};

/// What a channel answered, and when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered<T> {
    /// The fact.
    pub answer: T,
    /// When the request was sent: rule NF counts from here.
    pub sent_at: Timestamp,
}

/// One channel and the way to it. Every call ends by its deadline in a fact; a call that fails on the way is `InDoubt` or `Unknown`.
///
/// `deadline` is what the caller has left; the channel's own limit for one call applies when it is lower.
#[derive(Clone, Debug)]
pub struct ChannelClient {
    channel: Arc<dyn PaymentChannel>,
    transport: Arc<dyn ChannelTransport>,
    clock: Arc<dyn Clock>,
    call_deadline: Duration,
    doubt: Doubt,
}

/// Whether a channel has signed with a key that we do not hold. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct Doubt(Arc<AtomicBool>);

impl Doubt {
    /// Whether it has since this was last asked.
    #[must_use]
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl ChannelClient {
    /// Joins a channel with a transport. `call_deadline` bounds each single call (3 s unless configured, DESIGN §9).
    #[must_use]
    pub fn new(
        channel: Arc<dyn PaymentChannel>,
        transport: Arc<dyn ChannelTransport>,
        clock: Arc<dyn Clock>,
        call_deadline: Duration,
    ) -> ChannelClient {
        ChannelClient { channel, transport, clock, call_deadline, doubt: Doubt::default() }
    }

    /// Raises `doubt` when an answer or a notification is signed by a key that we do not hold.
    #[must_use]
    pub fn raising(self, doubt: Doubt) -> ChannelClient {
        ChannelClient { doubt, ..self }
    }

    /// The codec: its name, merchant and capabilities; notifications.
    #[must_use]
    pub fn channel(&self) -> &dyn PaymentChannel {
        self.channel.as_ref()
    }

    /// Verifies and reads a notification that came now.
    ///
    /// # Errors
    /// When it is not to be believed; nothing in it may then be used.
    pub fn verify_notification(&self, raw: &RawNotification<'_>) -> Result<Notification, NotificationRejection> {
        let verified = self.channel.verify_notification(raw, self.clock.now());
        if verified.as_ref().is_err_and(|rejection| rejection.fits_no_key()) {
            self.doubt.raise();
        }
        verified
    }

    /// Starts a payment. What the channel cannot even express is `Refused`: it was never sent.
    pub async fn place(&self, place: &PlaceRequest, deadline: Duration) -> Answered<PlaceOutcome<Credential>> {
        let (sent_at, call) = self.call("place", deadline, |ctx| self.channel.place_payment(place, ctx)).await;
        let answer = match call {
            Ok((answer, ctx)) => self.channel.parse_place(place, &answer, &ctx),
            Err(CallFailure::Encode(error)) => PlaceOutcome::Refused(Cause::new(error.to_string())),
            Err(CallFailure::Transport(error)) => PlaceOutcome::InDoubt(cause_of(&error)),
        };
        Answered { answer, sent_at }
    }

    /// Asks about a payment.
    pub async fn query(&self, attempt: &AttemptRef, deadline: Duration) -> Answered<PaymentFact> {
        let (sent_at, call) = self.call("query", deadline, |ctx| self.channel.query_payment(attempt, ctx)).await;
        let answer = match call {
            Ok((answer, ctx)) => self.channel.parse_payment(attempt, &answer, &ctx),
            Err(failure) => PaymentFact::Unknown(failure.cause()),
        };
        Answered { answer, sent_at }
    }

    /// Closes a payment. Its answer is never a proof: query afterwards (CHANNELS §0.3).
    pub async fn close(&self, attempt: &AttemptRef, deadline: Duration) -> Answered<CloseOutcome> {
        let (sent_at, call) = self.call("close", deadline, |ctx| self.channel.close_payment(attempt, ctx)).await;
        let answer = match call {
            Ok((answer, ctx)) => self.channel.parse_close(attempt, &answer, &ctx),
            Err(failure) => CloseOutcome::Unknown(failure.cause()),
        };
        Answered { answer, sent_at }
    }

    /// Requests a refund; any number of requests under one number are one refund (I9).
    pub async fn refund(&self, refund: &RefundRequest, deadline: Duration) -> Answered<RefundFact> {
        let (sent_at, call) = self.call("refund", deadline, |ctx| self.channel.request_refund(refund, ctx)).await;
        let answer = match call {
            Ok((answer, ctx)) => self.channel.parse_refund(refund, &answer, &ctx),
            Err(failure) => RefundFact::Unknown(failure.cause()),
        };
        Answered { answer, sent_at }
    }

    /// Asks about a refund.
    pub async fn query_refund(&self, refund: &RefundRequest, deadline: Duration) -> Answered<RefundFact> {
        let (sent_at, call) = self.call("query_refund", deadline, |ctx| self.channel.query_refund(refund, ctx)).await;
        let answer = match call {
            Ok((answer, ctx)) => self.channel.parse_refund(refund, &answer, &ctx),
            Err(failure) => RefundFact::Unknown(failure.cause()),
        };
        Answered { answer, sent_at }
    }

    async fn call(
        &self,
        name: &'static str,
        deadline: Duration,
        encode: impl FnOnce(&CallContext) -> Result<HttpRequest, EncodeError>,
    ) -> (Timestamp, Result<(HttpResponse, CallContext), CallFailure>) {
        let sent_at = self.clock.now();
        let result = match encode(&CallContext { now: sent_at }) {
            Ok(request) => match self.transport.send(request, deadline.min(self.call_deadline)).await {
                Ok(answer) => Ok((answer, CallContext { now: self.clock.now() })),
                Err(error) => Err(CallFailure::Transport(error)),
            },
            Err(error) => Err(CallFailure::Encode(error)),
        };
        match &result {
            Ok((answer, ctx)) => {
                if !self.channel.knows_key_of(answer, ctx) {
                    self.doubt.raise();
                }
                tracing::debug!(channel = %self.channel.id(), call = name, status = answer.status, "channel answered");
            }
            Err(failure) => {
                tracing::warn!(channel = %self.channel.id(), call = name, error = %chain(failure), "channel call failed");
            }
        }
        (sent_at, result)
    }
}

#[derive(Debug, thiserror::Error)]
enum CallFailure {
    #[error("not sent")]
    Encode(#[source] EncodeError),
    #[error("not answered")]
    Transport(#[source] TransportError),
}

impl CallFailure {
    fn cause(&self) -> Cause {
        match self {
            CallFailure::Encode(error) => Cause::new(error.to_string()),
            CallFailure::Transport(error) => cause_of(error),
        }
    }
}

/// A stable word for what is stored; the details stand in the log line.
fn cause_of(error: &TransportError) -> Cause {
    Cause::new(match error {
        TransportError::Timeout(_) => "timeout",
        TransportError::Connection(_) => "connection failed",
        TransportError::InvalidRequest(_) => "invalid request",
        TransportError::AnswerTooLong => "answer too long",
    })
}

/// An error and everything below it.
fn chain(error: &dyn Error) -> impl fmt::Display {
    fmt::from_fn(move |out| {
        write!(out, "{error}")?;
        let mut below = error.source();
        while let Some(source) = below {
            write!(out, ": {source}")?;
            below = source.source();
        }
        Ok(())
    })
}
