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
use expiry_core::limits;
use expiry_core::message::Queue;
use expiry_core::time::Clock;
use expiry_runtime::http::{json_response, parse_json, problem_response};
use expiry_runtime::problem::{Code, Problem};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::cloud::Faults;
use crate::drivers::gateway::Incoming;
use crate::drivers::schedules;
use crate::system::System;

/// The largest body that API Gateway takes.
pub(crate) const GATEWAY_BODY_BYTES: usize = 10 * 1024 * 1024;
/// How long open requests may take to end after a signal.
const LAST_REQUESTS: Duration = Duration::from_secs(3);

/// Serves `system` on `listener` until `stop` resolves; open requests get three seconds.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    system: Arc<System>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    serve_router(Router::new().fallback(answer).with_state(system), listener, stop).await
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

async fn answer(State(system): State<Arc<System>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let answered = match to_bytes(body, GATEWAY_BODY_BYTES).await {
        Ok(body) => respond(&system, http::Request::from_parts(parts, body)).await,
        Err(_) => from_function(problem_response(&Problem::new(Code::PayloadTooLarge))),
    };
    answered.map(Body::from)
}

/// Answers one request: what the server does with what it reads from a socket.
pub async fn respond(system: &System, request: http::Request<Bytes>) -> http::Response<Bytes> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path.starts_with("/sim/") || path.starts_with("/_sim/") {
        let target = parts.uri.path_and_query().map_or(path, |target| target.as_str());
        return from_sim(system.sim.handle(parts.method.as_str(), target, &headers(&parts.headers), &body).await);
    }
    if let Some(command) = path.strip_prefix("/_local/") {
        let answer = local(system, &parts.method, command, &body).await;
        return from_function(answer.unwrap_or_else(|problem| problem_response(&problem)));
    }
    let incoming = Incoming { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    from_function(system.serve(incoming).await)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockRequest {
    advance_seconds: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliverRequest {
    queue: String,
    body: Value,
}

type FunctionResponse = expiry_runtime::http::Response;

async fn local(system: &System, method: &Method, command: &str, body: &Bytes) -> Result<FunctionResponse, Problem> {
    match (method.as_str(), command) {
        ("GET", "clock") => Ok(json_response(200, &json!({"now": system.clock.now().to_string()}))),
        ("PUT", "clock") => {
            let ClockRequest { advance_seconds } = parse_json(body)?;
            if advance_seconds > limits::WINDOW_SECONDS {
                let detail = format!("must be from 0 to {}", limits::WINDOW_SECONDS);
                return Err(Problem::invalid("#/advance_seconds", detail));
            }
            let now = system.advance(Duration::from_secs(advance_seconds)).await;
            Ok(json_response(200, &json!({"now": now.to_string()})))
        }
        ("PUT", "faults") => {
            let faults: Faults = parse_json(body)?;
            if let Some(name) = faults.unknown_name() {
                return Err(Problem::invalid("#", format!("{name:?} is no queue or channel")));
            }
            system.set_faults(faults);
            Ok(json_response(200, &json!({})))
        }
        ("POST", "scan") => match schedules::scan(&system.functions).await {
            Ok(scanned) => Ok(json_response(200, &scanned)),
            Err(_) => Err(Problem::new(Code::TryAgain)),
        },
        ("POST", "deliver") => {
            let DeliverRequest { queue, body } = parse_json(body)?;
            let queue = Queue::parse(&queue).ok_or_else(|| Problem::invalid("#/queue", "is not a queue"))?;
            let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            match system.deliver(queue, &text).await {
                Ok(message_id) => Ok(json_response(202, &json!({"message_id": message_id}))),
                Err(error) => {
                    tracing::warn!(%queue, error = %error, "the message was not taken");
                    Err(Problem::new(Code::TryAgain))
                }
            }
        }
        ("GET", "queues") => Ok(json_response(200, &system.cloud.queue_counts())),
        ("GET", "schedules") => Ok(json_response(200, &system.cloud.schedules())),
        ("GET", "metrics") => Ok(json_response(200, &system.figures.all())),
        _ => Err(Problem::new(Code::NotFound)),
    }
}

pub(crate) fn headers(headers: &HeaderMap) -> Headers {
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

pub(crate) fn from_sim(response: expiry_channels::HttpResponse) -> http::Response<Bytes> {
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
