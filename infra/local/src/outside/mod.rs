//! What stands outside the shop, over real HTTP: the payment channel's simulator and an issuer of tokens. For a shop that runs
//! elsewhere, above all the deployed one on an emulator (tests/emulator).
//!
//! | route | answers |
//! |---|---|
//! | `/sim/…`, `/_sim/…` | the channel, see [`crate::sim`] |
//! | `PUT /_shop {"url"}` | callbacks go there from now on |
//! | `GET /.well-known/openid-configuration`, `/.well-known/jwks.json` | the issuer |
//! | `POST /_tokens {claims}` | `{"token"}`, signed by the issuer |

mod issuer;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use expiry_channels::sim::signature::SigningKey;
use expiry_channels::{ChannelTransport, Headers, HttpMethod, HttpRequest, HttpTransport};
use expiry_runtime::clock::SystemClock;
use expiry_runtime::http::{json_response, parse_json, problem_response};
use expiry_runtime::problem::{Code, Problem};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

pub use self::issuer::Issuer;
use crate::server::{from_function, read, said_by, serve_router};
use crate::sim::{CallbackAnswer, CallbackError, CallbackFuture, CallbackSink, SimChannel};

/// The longest an HTTP API waits for a function; the channel waits as long for its acknowledgement.
const CALLBACK_TIME: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Outside {
    sim: SimChannel,
    issuer: Issuer,
}

/// Serves channel and issuer on `listener` until `stop` resolves. `key` is the secret that the channel shares with the shop.
///
/// # Errors
/// When the listener fails, or no key for the tokens can be made.
pub async fn serve(
    key: SigningKey,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let issuer = Issuer::open(format!("http://{}", listener.local_addr()?)).map_err(io::Error::other)?;
    let outside = Outside { sim: SimChannel::new(key, Arc::new(SystemClock)), issuer };
    serve_router(Router::new().fallback(answer).with_state(Arc::new(outside)), listener, stop).await
}

async fn answer(State(outside): State<Arc<Outside>>, request: Request) -> Response {
    let answered = match read(request).await {
        Ok(request) => outside.answer(&request).await,
        Err(refusal) => refusal,
    };
    answered.map(Body::from)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShopRequest {
    url: String,
}

impl Outside {
    async fn answer(&self, request: &http::Request<Bytes>) -> http::Response<Bytes> {
        if let Some(answer) = said_by(&self.sim, request).await {
            return answer;
        }
        let said = self.say(request.method().as_str(), request.uri().path(), request.body());
        from_function(said.unwrap_or_else(|problem| problem_response(&problem)))
    }

    fn say(&self, method: &str, path: &str, body: &Bytes) -> Result<expiry_runtime::http::Response, Problem> {
        match (method, path) {
            ("GET", "/.well-known/openid-configuration") => Ok(json_response(200, &self.issuer.discovery())),
            ("GET", "/.well-known/jwks.json") => Ok(json_response(200, &self.issuer.keys())),
            ("POST", "/_tokens") => {
                let claims: Map<String, Value> = parse_json(body)?;
                let token = self.issuer.token(claims).map_err(|_| Problem::new(Code::TryAgain))?;
                Ok(json_response(201, &json!({"token": token})))
            }
            ("PUT", "/_shop") => {
                let ShopRequest { url } = parse_json(body)?;
                self.sim.set_callback_sink(Arc::new(Shop { url, transport: HttpTransport::new() }));
                Ok(json_response(200, &json!({})))
            }
            _ => Err(Problem::new(Code::NotFound)),
        }
    }
}

/// A shop at a URL, without a slash at its end.
#[derive(Debug)]
struct Shop {
    url: String,
    transport: HttpTransport,
}

impl CallbackSink for Shop {
    fn deliver(&self, path: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_> {
        let request = HttpRequest { method: HttpMethod::Post, url: format!("{}{path}", self.url), headers, body };
        Box::pin(async move {
            let answer = self.transport.send(request, CALLBACK_TIME).await;
            let answer = answer.map_err(|error| CallbackError(error.into()))?;
            Ok(CallbackAnswer { status: answer.status, body: answer.body })
        })
    }
}
