//! The two ways out of a function, AWS and the payment channel, each through the gate.

use std::io;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest as AwsRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use expiry_channels::{ChannelTransport, HttpRequest, TransportError, TransportFuture};
use local::cloud::fate::CallFate;
use local::sim::SimChannel;
use serde_json::Value;

use super::gate::{ActorNo, Gate};

/// What an actor hears of a call whose answer is lost.
const LOST: &[u8] = b"lost";
/// Secrets Manager: a secret says nothing of an order, whenever it is read.
const SECRETS: &str = "secretsmanager.";

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the answer was lost")
}

/// The HTTP client of one actor's SDK clients.
#[derive(Clone, Debug)]
pub(super) struct GatedClient {
    pub(super) gate: Gate,
    pub(super) actor: ActorNo,
    pub(super) cloud: SharedHttpClient,
}

impl HttpClient for GatedClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, parts: &RuntimeComponents) -> SharedHttpConnector {
        let cloud = self.cloud.http_connector(settings, parts);
        SharedHttpConnector::new(GatedConnector { gate: self.gate.clone(), actor: self.actor, cloud })
    }
}

#[derive(Clone, Debug)]
struct GatedConnector {
    gate: Gate,
    actor: ActorNo,
    cloud: SharedHttpConnector,
}

impl HttpConnector for GatedConnector {
    fn call(&self, request: AwsRequest) -> HttpConnectorFuture {
        let GatedConnector { gate, actor, cloud } = self.clone();
        HttpConnectorFuture::new(async move {
            if request.headers().get("x-amz-target").is_some_and(|target| target.starts_with(SECRETS)) {
                return cloud.call(request).await;
            }
            let line = aws_line(&request);
            let fate = gate.turn(actor, &line, true).await;
            let answer = cloud.call(request).await?;
            if fate == CallFate::LoseAnswer {
                gate.heard(actor, &line, LOST);
                return Err(ConnectorError::io(broken().into()));
            }
            gate.heard(actor, &line, &canonical(answer.body().bytes().unwrap_or_default()));
            Ok(answer)
        })
    }
}

/// What is answered. The number that a queue gives a message counts all calls of the cloud; nobody reads it.
fn canonical(body: &[u8]) -> Vec<u8> {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(mut answer)) => {
            answer.remove("MessageId");
            Value::Object(answer).to_string().into_bytes()
        }
        Ok(_) | Err(_) => body.to_vec(),
    }
}

/// The operation, and what it is about.
fn aws_line(request: &AwsRequest) -> String {
    let Some(target) = request.headers().get("x-amz-target") else {
        return format!("{} {}", request.method(), request.uri());
    };
    let operation = target.rsplit('.').next().unwrap_or_default();
    let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
    let mut about = Vec::new();
    subjects(&body, &mut about);
    about.sort();
    format!("{operation} {}", about.join(", "))
}

/// Every key that a request names, every queue and every shard of the index.
fn subjects(body: &Value, about: &mut Vec<String>) {
    match body {
        Value::Object(members) => {
            let text = |name: &str| members.get(name)?.get("S")?.as_str();
            if let Some(pk) = text("pk") {
                about.push(text("sk").map_or_else(|| pk.to_owned(), |sk| format!("{pk}/{sk}")));
                return;
            }
            let shard = members.get(":shard").and_then(|shard| shard.get("N")?.as_str());
            about.extend(shard.map(|shard| format!("shard {shard}")));
            let queue = members.get("QueueUrl").and_then(|url| url.as_str()?.rsplit('/').next());
            about.extend(queue.map(str::to_owned));
            members.values().for_each(|member| subjects(member, about));
        }
        Value::Array(members) => members.iter().for_each(|member| subjects(member, about)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One actor's way to the payment channel.
#[derive(Clone, Debug)]
pub(super) struct GatedChannel {
    pub(super) gate: Gate,
    pub(super) actor: ActorNo,
    pub(super) channel: SimChannel,
}

impl ChannelTransport for GatedChannel {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            let path = request.url.split_once("://").map_or(request.url.as_str(), |(_, rest)| rest);
            let line = format!("channel {} {path}", request.method.as_str());
            let fate = self.gate.turn(self.actor, &line, true).await;
            let answer = self.channel.send(request, deadline).await?;
            if fate == CallFate::LoseAnswer {
                self.gate.heard(self.actor, &line, LOST);
                return Err(TransportError::Connection(broken().into()));
            }
            self.gate.heard(self.actor, &line, &answer.body);
            Ok(answer)
        })
    }
}
