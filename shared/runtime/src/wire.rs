//! Test doubles: a clock that is set, and the wire below an SDK client.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use expiry_core::time::{Clock, Timestamp};

pub(crate) fn at_millis(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("a time in range")
}

/// A clock that shows what it was set to. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SetClock(Arc<AtomicI64>);

impl SetClock {
    pub(crate) fn at(now: Timestamp) -> SetClock {
        SetClock(Arc::new(AtomicI64::new(now.as_millis())))
    }

    pub(crate) fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        at_millis(self.0.load(Ordering::SeqCst))
    }
}

/// One request as it left the SDK.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) body: serde_json::Value,
}

/// One answer to come.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: String,
    date: Option<String>,
}

/// Answers the calls of an SDK client in the order given, and keeps them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire {
    sent: Arc<Mutex<Vec<Sent>>>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
}

impl Wire {
    pub(crate) fn answer(&self, status: u16, body: &str) {
        self.queue(Answer { status, body: body.to_owned(), date: None });
    }

    pub(crate) fn answer_with_date(&self, status: u16, body: &str, date: &str) {
        self.queue(Answer { status, body: body.to_owned(), date: Some(date.to_owned()) });
    }

    fn queue(&self, answer: Answer) {
        self.answers.lock().expect("unpoisoned").push_back(answer);
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().expect("unpoisoned").clone()
    }
}

/// Puts the wire below a client of each service: no retries, no credentials, no network.
macro_rules! configure {
    ($($method:ident, $service:ident;)*) => {$(
        impl Wire {
            pub(crate) fn $method(&self, builder: $service::config::Builder) -> $service::config::Builder {
                let wire = self.clone();
                builder
                    .behavior_version($service::config::BehaviorVersion::latest())
                    .region($service::config::Region::new("eu-central-1"))
                    .allow_no_auth()
                    .retry_config($service::config::retry::RetryConfig::disabled())
                    .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(wire.clone())))
            }
        }
    )*};
}

configure! {
    configure, aws_sdk_dynamodb;
    configure_sqs, aws_sdk_sqs;
    configure_scheduler, aws_sdk_scheduler;
    configure_secrets, aws_sdk_secretsmanager;
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        self.sent.lock().expect("unpoisoned").push(Sent {
            method: request.method().to_owned(),
            uri: request.uri().to_owned(),
            body: serde_json::from_slice(body).unwrap_or_default(),
        });
        let Answer { status, body, date } =
            self.answers.lock().expect("unpoisoned").pop_front().expect("an answer for every call");
        let mut response = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body));
        if let Some(date) = date {
            response.headers_mut().insert("date", date);
        }
        HttpConnectorFuture::ready(Ok(response))
    }
}
