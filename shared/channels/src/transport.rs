//! How a request reaches a channel: over the network with the AWS SDK's own HTTP client, or in-process in tests and locally.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::http::{Request, Response};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::BytesMut;

use crate::http::{Headers, HttpRequest, HttpResponse};

/// Most bytes of an answer that are read; every documented one is far smaller.
pub const ANSWER_BYTES: usize = 256 * 1024;
/// An idle connection is dropped after this: a frozen function must not wake up to connections the other side has closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// The future of [`ChannelTransport::send`].
pub type TransportFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, TransportError>> + Send + 'a>>;

/// Sends one request and waits for its answer. It must not retry: what a failure means is the caller's judgement.
pub trait ChannelTransport: fmt::Debug + Send + Sync {
    /// Sends `request`; gives up after `deadline`, which covers connecting, sending and the whole answer.
    ///
    /// # Errors
    /// [`TransportError`], after which nobody knows whether the request arrived.
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_>;
}

/// Why there is no answer. None of them says that the request did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Nothing came within the deadline.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// No connection, or it broke.
    #[error("connection failed")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The request is not valid HTTP.
    #[error("not a valid HTTP request")]
    InvalidRequest(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is longer than [`ANSWER_BYTES`].
    #[error("the answer is longer than {ANSWER_BYTES} bytes")]
    AnswerTooLong,
}

/// The network: the HTTP client of the AWS SDK (hyper, rustls, aws-lc), so that no second HTTP or TLS stack is linked.
///
/// One per process; its connections are reused. Both `http://` and `https://` are followed, redirects are not.
///
/// Nothing is made before the first call: TLS goes through all the system's certificates, and most starts end without asking a channel.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    connector: Arc<LazyLock<SharedHttpConnector>>,
}

impl HttpTransport {
    /// A transport with the system's root certificates.
    #[must_use]
    pub fn new() -> HttpTransport {
        let connect = || {
            let connector = Connector::builder()
                .pool_idle_timeout(IDLE_CONNECTION)
                .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
                .build();
            SharedHttpConnector::new(connector)
        };
        HttpTransport { connector: Arc::new(LazyLock::new(connect)) }
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let request = encode(request)?;
        let answer = self.connector.call(request).await.map_err(|error| TransportError::Connection(Box::new(error)))?;
        read(answer).await
    }
}

impl Default for HttpTransport {
    fn default() -> HttpTransport {
        HttpTransport::new()
    }
}

impl ChannelTransport for HttpTransport {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            match tokio::time::timeout(deadline, self.exchange(request)).await {
                Ok(answer) => answer,
                Err(_) => Err(TransportError::Timeout(deadline)),
            }
        })
    }
}

fn encode(request: HttpRequest) -> Result<Request<SdkBody>, TransportError> {
    let invalid = |error| TransportError::InvalidRequest(Box::new(error));
    let mut encoded = Request::new(SdkBody::from(request.body));
    encoded.set_method(request.method.as_str()).map_err(invalid)?;
    encoded.set_uri(request.url).map_err(invalid)?;
    for (name, value) in request.headers.iter() {
        encoded.headers_mut().try_append(name.to_owned(), value.to_owned()).map_err(invalid)?;
    }
    Ok(encoded)
}

async fn read(mut answer: Response<SdkBody>) -> Result<HttpResponse, TransportError> {
    let status = answer.status().as_u16();
    // A value that is not text cannot be one that a channel's protocol reads.
    let headers: Headers = answer
        .headers()
        .iter_bytes()
        .filter_map(|(name, value)| std::str::from_utf8(value).ok().map(|value| (name.to_owned(), value.to_owned())))
        .collect();
    let mut stream = ByteStream::new(answer.take_body());
    let mut body = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| TransportError::Connection(Box::new(error)))?;
        if body.len() + chunk.len() > ANSWER_BYTES {
            return Err(TransportError::AnswerTooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status, headers, body: body.freeze() })
}
