//! The functions over an embedded cloud without drivers, so that every call is made, and timed, by hand.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_lambda_events::event::dynamodb::Event;
use aws_lambda_events::event::sqs::SqsEvent;
use aws_sdk_dynamodbstreams::Client as Streams;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;
use expiry_adjudication::Surroundings;
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::http::{Request, Response};
use expiry_runtime::ids::SystemIds;
use expiry_runtime::metrics::Metrics;
use local::Settings;
use local::clock::MovableClock;
use local::cloud::{Cloud, CloudConfig};
use local::drivers::stream::event_of;
use local::functions::Functions;
use local::provision::provision;
use local::settings::{ORDERS_TABLE, REGION};
use local::sim::SimChannel;
use serde_json::{Value, json};

pub(crate) struct Scene {
    pub(crate) clock: MovableClock,
    pub(crate) functions: Functions,
    pub(crate) sdk: SdkConfig,
    iterator: Option<String>,
}

impl Scene {
    pub(crate) async fn new(environment: &[(&str, &str)]) -> Scene {
        let lookup =
            |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let settings = Settings::from_lookup(&lookup).unwrap();
        let clock = MovableClock::paused(Timestamp::from_seconds(1_800_000_000).unwrap());
        let cloud = Cloud::new(CloudConfig::in_memory(clock.clone(), 1)).unwrap();
        let sdk = cloud.sdk_config();
        provision(&sdk, REGION, settings.visibility_seconds, &settings.sim_secret).await.unwrap();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let key = expiry_channels::sim::signature::SigningKey::new(&settings.sim_secret).unwrap();
        let sim = SimChannel::new(key, Arc::clone(&shared));
        let surroundings = Surroundings {
            metrics: Metrics::new(Arc::clone(&shared), Arc::new(|_| {})),
            clock: shared,
            ids: Arc::new(SystemIds),
        };
        let functions = Functions::new(&settings.config, &sdk, surroundings, Arc::new(sim)).unwrap();
        Scene { clock, functions, sdk, iterator: None }
    }

    pub(crate) async fn stock(&self, sku: &str, on_hand: u64) {
        let path = format!("/admin/stock/{sku}/default/default");
        let request = http_event("PUT", &path, Value::Null, &json!({"on_hand": on_hand}));
        ok(&self.functions.admin_api.handle(&request).await, 200);
    }

    pub(crate) async fn admin(&self, path: &str, body: &Value) {
        ok(&self.functions.admin_api.handle(&http_event("PUT", path, Value::Null, body)).await, 200);
    }

    /// The stream records written since the last call, each as an event of its own.
    pub(crate) async fn records(&mut self) -> Vec<Event> {
        let streams = Streams::new(&self.sdk);
        if self.iterator.is_none() {
            let arn = streams.list_streams().table_name(ORDERS_TABLE).send().await.unwrap().streams()[0]
                .stream_arn()
                .unwrap()
                .to_owned();
            let stream = streams.describe_stream().stream_arn(&arn).send().await.unwrap();
            let shard = stream.stream_description().unwrap().shards()[0].shard_id().unwrap().to_owned();
            let from = streams.get_shard_iterator().stream_arn(arn).shard_id(shard);
            let from = from.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await.unwrap();
            self.iterator = from.shard_iterator().map(str::to_owned);
        }
        let mut events = Vec::new();
        loop {
            let at = self.iterator.clone().unwrap();
            let read = streams.get_records().shard_iterator(at).send().await.unwrap();
            self.iterator = read.next_shard_iterator().map(str::to_owned);
            if read.records().is_empty() {
                return events;
            }
            events.extend(read.records().iter().map(|record| event_of(&[record]).unwrap()));
        }
    }

    pub(crate) fn pass_the_deadline(&self) {
        self.clock.advance(Duration::from_secs(1_801));
    }
}

/// An API Gateway event, payload format 2.0, by an operator.
pub(crate) fn http_event(method: &str, path: &str, parameters: Value, body: &Value) -> Request {
    serde_json::from_value(json!({
        "version": "2.0",
        "routeKey": format!("{method} {path}"),
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "pathParameters": parameters,
        "requestContext": {
            "stage": "$default",
            "http": {"method": method, "path": path},
            "authorizer": {"jwt": {"claims": {"sub": "bench", "role": "operator"}, "scopes": null}},
        },
        "body": body.to_string(),
        "isBase64Encoded": false,
    }))
    .unwrap()
}

/// An SQS event of one message.
pub(crate) fn queue_event(body: &Value) -> SqsEvent {
    serde_json::from_value(json!({"Records": [{
        "messageId": "m", "receiptHandle": "r", "body": body.to_string(), "md5OfBody": "", "attributes": {},
        "messageAttributes": {}, "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:::q", "awsRegion": "us-east-1",
    }]}))
    .unwrap()
}

/// An order of the user `user` for one piece of `sku`, with further fields.
pub(crate) fn order_body(user: &str, sku: &str, further: &Value) -> Value {
    let mut body = json!({
        "user_id": user,
        "currency": "CNY",
        "lines": [{"sku": sku, "quantity": 1, "unit_price": 1_000}],
        "payable_amount": 1_000,
    });
    for (name, value) in further.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

#[track_caller]
pub(crate) fn ok(response: &Response, status: i64) -> Value {
    let body = response.body.as_ref().map(|body| body.as_ref().to_vec()).unwrap_or_default();
    assert_eq!(response.status_code, status, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap_or(Value::Null)
}

/// `part` of `whole` as text with two decimals; the figures are whole numbers.
pub(crate) fn ratio(part: Duration, whole: Duration) -> String {
    let hundredths = part.as_nanos() * 100 / whole.as_nanos().max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// How many of `count` fit into a second.
pub(crate) fn per_second(count: usize, span: Duration) -> u128 {
    count as u128 * 1_000_000_000 / span.as_nanos().max(1)
}
