//! API Gateway: an HTTP request becomes the event of the function that serves its route.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use expiry_runtime::http::{Request, Response, problem_response};
use expiry_runtime::problem::{Code, Problem};
use http::{HeaderMap, Method, Uri};
use serde_json::{Map, Value, json};
use tracing::Instrument;

use crate::functions::Functions;

/// The longest an HTTP API waits for a function.
const FUNCTION_TIME: Duration = Duration::from_secs(29);

/// A request as it came in.
#[derive(Debug)]
pub struct Incoming {
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, whole.
    pub body: Bytes,
}

/// Which function serves a route, and what the route's parameters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    CreateOrder,
    OrderApi,
    StartPayment,
    PaymentCallback,
    AdminApi,
}

/// Serves `incoming` by its function.
pub async fn serve(functions: &Functions, incoming: Incoming) -> Response {
    let Some(path) = decoded(incoming.uri.path()) else {
        return problem_response(&Problem::with_detail(Code::InvalidRequest, "The path is not percent-encoded UTF-8."));
    };
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let Some((route, parameters)) = route(&segments) else {
        return problem_response(&Problem::new(Code::NotFound));
    };
    let event = event(&incoming, &path, parameters, claims(route, &incoming.headers));
    let request: Request = match serde_json::from_value(event) {
        Ok(request) => request,
        Err(error) => {
            tracing::warn!(%error, "a request that is no event");
            return problem_response(&Problem::new(Code::InvalidRequest));
        }
    };
    let request_id = request.request_context.request_id.clone().unwrap_or_default();
    invoke(functions, route, &request).instrument(tracing::info_span!("event", request_id)).await
}

async fn invoke(functions: &Functions, route: Route, request: &Request) -> Response {
    match route {
        Route::CreateOrder => functions.create_order.handle(request).await,
        Route::OrderApi => functions.order_api.handle(request).await,
        Route::StartPayment => {
            let deadline = functions.context.clock.now().plus(FUNCTION_TIME);
            functions.start_payment.handle(request, deadline).await
        }
        Route::PaymentCallback => functions.payment_callback.handle(request).await,
        Route::AdminApi => functions.admin_api.handle(request).await,
    }
}

/// The routes of `openapi.yaml`.
fn route(segments: &[&str]) -> Option<(Route, Map<String, Value>)> {
    let named = |name: &str, value: &str| Map::from_iter([(name.to_owned(), Value::from(value))]);
    match segments {
        ["orders"] => Some((Route::CreateOrder, Map::new())),
        ["orders", id] | ["orders", id, "cancel"] => Some((Route::OrderApi, named("id", id))),
        ["orders", id, "payments"] => Some((Route::StartPayment, named("id", id))),
        ["webhooks", channel] => Some((Route::PaymentCallback, named("channel", channel))),
        ["admin", ..] => Some((Route::AdminApi, Map::new())),
        _ => None,
    }
}

fn decoded(path: &str) -> Option<String> {
    percent_encoding::percent_decode_str(path).decode_utf8().ok().map(|path| path.into_owned())
}

/// The claims that the JWT authorizer of the cloud would have verified: none on storefront routes, fixed tokens on the admin routes.
fn claims(route: Route, headers: &HeaderMap) -> Option<Value> {
    let authorization = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let token = authorization.strip_prefix("Bearer ").or_else(|| authorization.strip_prefix("bearer "))?;
    match (route, token) {
        (Route::AdminApi | Route::OrderApi, "local-admin") => Some(json!({"sub": token, "role": "operator"})),
        (Route::AdminApi, "local-viewer") => Some(json!({"sub": token, "role": "viewer"})),
        (Route::CreateOrder | Route::OrderApi | Route::StartPayment, _) => {
            let user = token.strip_prefix("local-user-")?;
            Some(json!({"sub": token, "user_id": user}))
        }
        (Route::AdminApi | Route::PaymentCallback, _) => None,
    }
}

/// The event, payload format 2.0.
fn event(incoming: &Incoming, path: &str, parameters: Map<String, Value>, claims: Option<Value>) -> Value {
    let mut headers = Map::new();
    for name in incoming.headers.keys() {
        let values = incoming.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        headers.insert(name.as_str().to_owned(), Value::from(values.collect::<Vec<_>>().join(",")));
    }
    let query = incoming.uri.query().unwrap_or_default();
    let mut query_parameters = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (decoded(name), decoded(&value.replace('+', " "))) {
            query_parameters.insert(name, Value::from(value));
        }
    }
    let (body, is_base64) = body(incoming);
    let method = incoming.method.as_str();
    let mut context = json!({
        "accountId": "000000000000",
        "apiId": "local",
        "domainName": "localhost",
        "stage": "$default",
        "requestId": format!("{:016x}", fastrand::u64(..)),
        "routeKey": format!("{method} {path}"),
        "timeEpoch": 0,
        "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": ""},
    });
    if let Some(claims) = claims {
        context["authorizer"] = json!({"jwt": {"claims": claims, "scopes": null}});
    }
    json!({
        "version": "2.0",
        "routeKey": format!("{method} {path}"),
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "queryStringParameters": query_parameters,
        "pathParameters": parameters,
        "requestContext": context,
        "body": body,
        "isBase64Encoded": is_base64,
    })
}

/// Text, JSON, XML and JavaScript arrive as they are, everything else base64 (DESIGN §10).
fn body(incoming: &Incoming) -> (Option<String>, bool) {
    if incoming.body.is_empty() {
        return (None, false);
    }
    let kind = incoming.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_text = kind.starts_with("text/") || ["json", "xml", "javascript"].iter().any(|word| kind.contains(word));
    match std::str::from_utf8(&incoming.body) {
        Ok(text) if is_text => (Some(text.to_owned()), false),
        Ok(_) | Err(_) => (Some(STANDARD.encode(&incoming.body)), true),
    }
}
