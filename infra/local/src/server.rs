//! The HTTP server: the shop's routes, the channel's, and those that only a local system has (`/_local/*`, `/_sim/*`).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use expiry_channels::Headers;
use expiry_runtime::http::problem_response;
use expiry_runtime::problem::{Code, Problem};
use http::{HeaderMap, HeaderValue, Method};
use tokio::net::TcpListener;

use crate::drivers::gateway::{self, Incoming};
use crate::functions::Functions;
use crate::sim::SimChannel;

type FunctionResponse = expiry_runtime::http::Response;

/// The largest body that API Gateway takes.
const GATEWAY_BODY_BYTES: usize = 10 * 1024 * 1024;
/// How long open requests may take to end after a signal.
const LAST_REQUESTS: Duration = Duration::from_secs(3);

/// What is behind the server.
pub trait Host: Send + Sync + 'static {
    /// The functions of the shop's routes.
    fn functions(&self) -> &Functions;
    /// The channel simulator.
    fn sim(&self) -> &SimChannel;
    /// Carries out `/_local/{command}`.
    fn command(
        &self,
        method: &Method,
        command: &str,
        body: &Bytes,
    ) -> impl Future<Output = Result<FunctionResponse, Problem>> + Send;
}

/// Serves `host` on `listener` until `stop` resolves; open requests get three seconds.
///
/// # Errors
/// When the listener fails.
pub async fn serve<H: Host>(
    host: Arc<H>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    serve_router(Router::new().fallback(answer::<H>).with_state(host), listener, stop).await
}

pub(crate) async fn serve_router(
    router: Router,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let (stopping, stopped) = tokio::sync::oneshot::channel();
    let served = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop.await;
        let _ = stopping.send(());
    });
    tokio::select! {
        served = served => served,
        () = async { let _ = stopped.await; tokio::time::sleep(LAST_REQUESTS).await } => Ok(()),
    }
}

async fn answer<H: Host>(State(host): State<Arc<H>>, request: Request) -> Response {
    let answered = match read(request).await {
        Ok(request) => respond(host.as_ref(), request).await,
        Err(refusal) => refusal,
    };
    answered.map(Body::from)
}

/// The request with its whole body, or the refusal of one that is too long.
pub(crate) async fn read(request: Request) -> Result<http::Request<Bytes>, http::Response<Bytes>> {
    let (parts, body) = request.into_parts();
    match to_bytes(body, GATEWAY_BODY_BYTES).await {
        Ok(body) => Ok(http::Request::from_parts(parts, body)),
        Err(_) => Err(from_function(problem_response(&Problem::new(Code::PayloadTooLarge)))),
    }
}

/// The channel's answer, where the path is one of its own.
pub(crate) async fn said_by(sim: &SimChannel, request: &http::Request<Bytes>) -> Option<http::Response<Bytes>> {
    let (path, body) = (request.uri().path(), request.body());
    if !(path.starts_with("/sim/") || path.starts_with("/_sim/")) {
        return None;
    }
    let target = request.uri().path_and_query().map_or(path, |target| target.as_str());
    Some(from_sim(sim.handle(request.method().as_str(), target, &headers(request.headers()), body).await))
}

/// Answers one request: what the server does with what it reads from a socket.
pub async fn respond(host: &impl Host, request: http::Request<Bytes>) -> http::Response<Bytes> {
    if let Some(answer) = said_by(host.sim(), &request).await {
        return answer;
    }
    let (parts, body) = request.into_parts();
    if let Some(command) = parts.uri.path().strip_prefix("/_local/") {
        let answer = host.command(&parts.method, command, &body).await;
        return from_function(answer.unwrap_or_else(|problem| problem_response(&problem)));
    }
    let incoming = Incoming { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    from_function(gateway::serve(host.functions(), incoming).await)
}

fn headers(headers: &HeaderMap) -> Headers {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}

pub(crate) fn from_function(response: FunctionResponse) -> http::Response<Bytes> {
    let body = response.body.map(|body| Bytes::copy_from_slice(body.as_ref())).unwrap_or_default();
    let mut answer = http::Response::new(body);
    *answer.status_mut() = u16::try_from(response.status_code)
        .ok()
        .and_then(|status| http::StatusCode::from_u16(status).ok())
        .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = response.headers;
    answer
}

fn from_sim(response: expiry_channels::HttpResponse) -> http::Response<Bytes> {
    let mut answer = http::Response::new(response.body);
    *answer.status_mut() =
        http::StatusCode::from_u16(response.status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in response.headers.iter() {
        if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), HeaderValue::try_from(value)) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}
