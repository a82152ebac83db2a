//! What an actor is sent for: one event of one function, as AWS, a customer or the channel would send it.

use bytes::Bytes;
use expiry_core::message::{Message, Queue};
use http::{HeaderMap, Method};
use local::drivers::gateway::{self, Incoming};
use local::drivers::schedules;
use local::functions::Functions;
use local::settings::queue_arn;
use serde_json::{Value, json};

use crate::interleavings::cast::Heard;

/// One event.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    /// A message of a queue.
    Message(Queue, Message),
    /// A request; its caller does not call again when it is refused.
    Request {
        /// Its path.
        path: String,
        /// Headers besides the content type.
        headers: Vec<(&'static str, &'static str)>,
        /// Its body.
        body: Value,
    },
    /// The fallback scan.
    Scan,
}

impl Errand {
    /// `user` orders a shirt, by a key of the shop.
    pub(crate) fn order(user: &str, key: &'static str) -> Errand {
        let headers = vec![("idempotency-key", key)];
        Errand::Request { path: "/orders".to_owned(), headers, body: super::Scene::order_body(user) }
    }

    /// A customer's or operator's POST.
    pub(crate) fn post(path: String, body: Value) -> Errand {
        let headers =
            if path.starts_with("/admin") { vec![("authorization", "Bearer local-admin")] } else { Vec::new() };
        Errand::Request { path, headers, body }
    }

    /// Has `functions` do it.
    pub(crate) async fn run(&self, functions: &Functions) -> Heard {
        match self {
            Errand::Message(queue, message) => deliver(functions, *queue, message).await,
            Errand::Request { path, headers, body } => {
                let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                let (status, answer) = post(functions, path, headers, body.to_string().into()).await;
                let said = if status < 300 { &answer["status"] } else { &answer["code"] };
                Heard::done(format!("{status} {}", said.as_str().unwrap_or_default()))
            }
            Errand::Scan => {
                let scanned = schedules::scan(functions).await;
                Heard { answer: format!("{scanned:?}"), is_done: true }
            }
        }
    }
}

/// One POST to the shop; answers status and body.
pub(crate) async fn post(
    functions: &Functions,
    path: &str,
    headers: impl IntoIterator<Item = (String, String)>,
    body: Bytes,
) -> (i64, Value) {
    let named = [("content-type".to_owned(), "application/json".to_owned())].into_iter().chain(headers);
    let named = named.filter_map(|(name, value)| {
        Some((http::HeaderName::try_from(name).ok()?, http::HeaderValue::try_from(value).ok()?))
    });
    let headers: HeaderMap = named.collect();
    let uri = path.parse().expect("a path");
    let answer = gateway::serve(functions, Incoming { method: Method::POST, uri, headers, body }).await;
    let body = answer.body.map(|body| body.as_ref().to_vec()).unwrap_or_default();
    (answer.status_code, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// One message to the function of its queue.
async fn deliver(functions: &Functions, queue: Queue, message: &Message) -> Heard {
    let body = serde_json::to_string(message).unwrap_or_default();
    let event = json!({"Records": [{
        "messageId": "1", "receiptHandle": "1", "body": body, "md5OfBody": "", "attributes": {}, "messageAttributes": {},
        "eventSource": "aws:sqs", "eventSourceARN": queue_arn(queue.name()), "awsRegion": "us-east-1",
    }]});
    let event = serde_json::from_value(event).expect("an event");
    let handled = match queue {
        Queue::Close => functions.close_order.handle(event).await,
        Queue::StockRelease | Queue::CouponRelease | Queue::PointsRelease | Queue::QuotaRelease => {
            functions.settle_resources.handle(event).await
        }
        Queue::Refund => functions.refund_payment.handle(event).await,
    };
    match handled {
        Ok(response) if response.batch_item_failures.is_empty() => Heard::done("handled"),
        Ok(_) => Heard { answer: "failed".to_owned(), is_done: false },
        Err(failed) => Heard { answer: failed.to_string(), is_done: false },
    }
}
