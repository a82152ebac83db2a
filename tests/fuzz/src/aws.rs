//! AWS as the bytes under test see it: every read finds one item, every write is taken and kept, every message is sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use crate::shop::SECRET;

/// The `Date` of every answer: the moment at which [`NOW`](crate::shop::NOW) stands.
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

/// AWS behind an SDK. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aws(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    item: Value,
    date: Option<Vec<u8>>,
    written: Vec<Value>,
}

impl Aws {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on every read finds `item`, as JSON of DynamoDB; null is none.
    pub(crate) fn holds(&self, item: Value) {
        self.lock().item = item;
    }

    /// From now on every answer is dated so.
    pub(crate) fn dates(&self, date: &[u8]) {
        self.lock().date = Some(date.to_owned());
    }

    /// The items that were put since the last call, alone or by transactions.
    pub(crate) fn take_put(&self) -> Vec<Value> {
        let written = std::mem::take(&mut self.lock().written);
        let puts = written.into_iter().flat_map(|mut body| match body.get_mut("TransactItems").map(Value::take) {
            Some(Value::Array(items)) => items.into_iter().map(|mut item| item["Put"]["Item"].take()).collect(),
            Some(_) | None => vec![body["Item"].take()],
        });
        puts.filter(|item| !item.is_null()).collect()
    }

    /// The SDK's configuration with this behind it: no retries, no network.
    pub(crate) fn sdk_config(&self) -> SdkConfig {
        let aws = self.clone();
        let credentials = Credentials::new("fuzz", "fuzz", None, None, "fuzz");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(aws.clone())))
            .build()
    }

    fn answer(&self, operation: &str, body: &[u8]) -> Value {
        let state = &mut *self.lock();
        let found: Vec<&Value> = Some(&state.item).filter(|item| !item.is_null()).into_iter().collect();
        match operation {
            "GetItem" => found.first().map_or_else(|| json!({}), |item| json!({"Item": item})),
            "Query" => json!({"Items": found, "Count": found.len(), "ScannedCount": found.len()}),
            "BatchGetItem" => json!({"Responses": {"orders": found}, "UnprocessedKeys": {}}),
            "PutItem" | "TransactWriteItems" => {
                state.written.extend(serde_json::from_slice::<Value>(body));
                json!({})
            }
            "UpdateItem" => json!({}),
            "GetSecretValue" => json!({"SecretString": SECRET}),
            "SendMessage" => json!({"MessageId": "1", "MD5OfMessageBody": "0"}),
            // The Scheduler, which speaks REST.
            _ => json!({"ScheduleArn": "arn:aws:scheduler:eu-central-1:000000000000:schedule/orders/1"}),
        }
    }
}

impl HttpConnector for Aws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let answer = self.answer(operation, request.body().bytes().unwrap_or_default());
        let ok = 200_u16.try_into().expect("a status");
        let mut response = HttpResponse::new(ok, SdkBody::from(answer.to_string()));
        let date = self.lock().date.clone().unwrap_or_else(|| DATE.into());
        if let Ok(date) = String::from_utf8(date) {
            // What is no header never arrives.
            let _ = response.headers_mut().try_insert("date", date);
        }
        HttpConnectorFuture::ready(Ok(response))
    }
}
