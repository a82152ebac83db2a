//! Payment channels: what the rest of the system may ask of one, and how its bytes become facts (CHANNELS §1, §6).
//!
//! A [`PaymentChannel`] only encodes, decodes and verifies: no clock, no socket, no environment. A [`ChannelClient`] joins one with
//! a [`ChannelTransport`]. Whether a success is *ours* (merchant, amount, currency) is never judged here but in the domain, so that
//! no channel can skip it.

pub mod channel;
pub mod client;
pub mod http;
pub mod notification;
pub mod registry;
pub mod sim;
pub mod transport;

pub use channel::{
    AttemptRef, CallContext, Capabilities, Credential, EncodeError, PaymentChannel, PlaceRequest, RefundRequest,
};
pub use client::{Answered, ChannelClient, Doubt};
pub use http::{Headers, HttpMethod, HttpReply, HttpRequest, HttpResponse};
pub use notification::{AckOutcome, NotificationRejection, RawNotification, Refusal, RefusalStatus};
pub use registry::Channels;
pub use transport::{ChannelTransport, HttpTransport, TransportError, TransportFuture};
