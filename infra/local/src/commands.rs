//! `/_local/*`: what a person or a test may do with a local system and nobody with the cloud.

use std::time::Duration;

use aws_config::SdkConfig;
use bytes::Bytes;
use expiry_core::limits;
use expiry_core::message::Queue;
use expiry_core::time::Clock;
use expiry_runtime::http::{Response, json_response, parse_json};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cloud::Faults;
use crate::drivers::{queues, schedules};
use crate::functions::Functions;
use crate::server::Host;
use crate::settings::queue_url;
use crate::sim::SimChannel;
use crate::system::System;

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

impl Host for System {
    fn functions(&self) -> &Functions {
        &self.functions
    }

    fn sim(&self) -> &SimChannel {
        &self.sim
    }

    async fn command(&self, method: &Method, command: &str, body: &Bytes) -> Result<Response, Problem> {
        match (method.as_str(), command) {
            ("GET", "clock") => Ok(json_response(200, &json!({"now": self.clock.now().to_string()}))),
            ("PUT", "clock") => {
                let ClockRequest { advance_seconds } = parse_json(body)?;
                if advance_seconds > limits::WINDOW_SECONDS {
                    let detail = format!("must be from 0 to {}", limits::WINDOW_SECONDS);
                    return Err(Problem::invalid("#/advance_seconds", detail));
                }
                let now = self.advance(Duration::from_secs(advance_seconds)).await;
                Ok(json_response(200, &json!({"now": now.to_string()})))
            }
            ("PUT", "faults") => {
                let faults: Faults = parse_json(body)?;
                if let Some(name) = faults.unknown_name() {
                    return Err(Problem::invalid("#", format!("{name:?} is no queue or channel")));
                }
                self.set_faults(faults);
                Ok(json_response(200, &json!({})))
            }
            ("POST", "scan") => scan(&self.functions).await,
            ("POST", "deliver") => deliver(body, &self.cloud.sdk_config(), queue_url).await,
            ("GET", "queues") => Ok(json_response(200, &self.cloud.queue_counts())),
            ("GET", "schedules") => Ok(json_response(200, &self.cloud.schedules())),
            ("GET", "metrics") => Ok(json_response(200, &self.figures.all())),
            _ => Err(Problem::new(Code::NotFound)),
        }
    }
}

/// Runs one scan to its end.
pub(crate) async fn scan(functions: &Functions) -> Result<Response, Problem> {
    match schedules::scan(functions).await {
        Ok(scanned) => Ok(json_response(200, &scanned)),
        Err(_) => Err(Problem::new(Code::TryAgain)),
    }
}

/// Sends what `body` says to the queue it names; `url` tells where that is.
pub(crate) async fn deliver(body: &Bytes, sdk: &SdkConfig, url: impl Fn(Queue) -> String) -> Result<Response, Problem> {
    let DeliverRequest { queue, body } = parse_json(body)?;
    let queue = Queue::parse(&queue).ok_or_else(|| Problem::invalid("#/queue", "is not a queue"))?;
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    match queues::send(sdk, &url(queue), &text).await {
        Ok(message_id) => Ok(json_response(202, &json!({"message_id": message_id}))),
        Err(error) => {
            tracing::warn!(%queue, error = %chain(error.as_ref()), "the message was not taken");
            Err(Problem::new(Code::TryAgain))
        }
    }
}
