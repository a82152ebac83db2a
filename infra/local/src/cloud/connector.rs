//! The HTTP connector under the AWS SDK clients: a serialised request comes in, an HTTP answer goes back, no socket in between.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use expiry_core::time::Clock;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::changes::Changes;
use super::fate::{Call, CallFate, Service};
use super::wire::{Answer, ApiError, failure_answer, http_date};
use super::{Shared, scheduler, secrets, sqs};

/// The connector; clones share one cloud.
#[derive(Clone, Debug)]
pub(crate) struct Connector(pub(crate) Arc<Shared>);

impl HttpClient for Connector {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let shared = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move {
            // A network call always lets others run; so does this one.
            tokio::task::yield_now().await;
            let answer = match Request::read(&request) {
                Ok(request) => shared.answer(&request).await?,
                Err(error) => error.into_answer(),
            };
            shared.http_response(answer)
        })
    }
}

/// One request, read as far as every service needs it.
struct Request {
    service: Service,
    operation: String,
    /// Method, path and query of a Scheduler request.
    route: Option<scheduler::Route>,
    attempt: u32,
    body: Value,
}

/// What `X-Amz-Target` starts with, by service. Scheduler speaks REST and sends none.
const TARGETS: [(&str, Service); 4] = [
    ("DynamoDB_20120810.", Service::DynamoDb),
    ("DynamoDBStreams_20120810.", Service::Streams),
    ("AmazonSQS.", Service::Sqs),
    ("secretsmanager.", Service::Secrets),
];

impl Request {
    fn read(request: &HttpRequest) -> Result<Request, ApiError> {
        let unknown =
            || ApiError::new(400, "UnknownOperationException", format!("{} {}", request.method(), request.uri()));
        let bytes = request.body().bytes().unwrap_or_default();
        let body = match bytes {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes)
                .map_err(|error| ApiError::new(400, "SerializationException", error.to_string()))?,
        };
        let attempt = request.headers().get("amz-sdk-request").and_then(attempt_of).unwrap_or(1);
        let target = request.headers().get("x-amz-target");
        let Some(target) = target else {
            let uri: http::Uri = request.uri().parse().map_err(|_| unknown())?;
            let route = scheduler::Route::parse(request.method(), uri.path(), uri.query().unwrap_or_default())
                .ok_or_else(unknown)?;
            let operation = route.operation.to_owned();
            return Ok(Request { service: Service::Scheduler, operation, route: Some(route), attempt, body });
        };
        TARGETS
            .iter()
            .find_map(|(prefix, service)| target.strip_prefix(prefix).map(|operation| (*service, operation.to_owned())))
            .map(|(service, operation)| Request { service, operation, route: None, attempt, body })
            .ok_or_else(unknown)
    }

    fn call(&self) -> Call<'_> {
        let resource = match (&self.route, self.service) {
            (Some(route), _) => route.name.as_str(),
            (None, Service::Sqs) => sqs::queue_of(&self.body),
            (None, Service::Secrets) => secrets::id_of(&self.body),
            (None, Service::DynamoDb | Service::Streams | Service::Scheduler) => table_of(&self.body),
        };
        Call { service: self.service, operation: &self.operation, resource, attempt: self.attempt, body: &self.body }
    }
}

/// The attempt in a header such as `attempt=2; max=3`.
fn attempt_of(header: &str) -> Option<u32> {
    header.split(';').find_map(|part| part.trim().strip_prefix("attempt=")?.parse().ok())
}

/// The table a request names; of a batch or transaction its first.
fn table_of(body: &Value) -> &str {
    if let Some(table) = body.get("TableName").and_then(Value::as_str) {
        return table;
    }
    let of_member = || {
        let actions = body.get("TransactItems")?.as_array()?.first()?.as_object()?;
        actions.values().next()?.get("TableName")?.as_str()
    };
    let of_batch = || Some(body.get("RequestItems")?.as_object()?.keys().next()?.as_str());
    let of_stream = || body.get("StreamArn")?.as_str()?.split('/').nth(1);
    of_member().or_else(of_batch).or_else(of_stream).unwrap_or_default()
}

impl Shared {
    /// Lets chance decide about the call and carries it out. An error is what the SDK sees as a broken connection.
    async fn answer(&self, request: &Request) -> Result<Answer, ConnectorError> {
        let fate = self.lock().chance.call(&request.call());
        let fate = if let CallFate::Held(held) = fate { held.released().await } else { fate };
        match fate {
            // Who holds a call lets it go, not wait again.
            CallFate::Pass | CallFate::Held(_) => Ok(self.carry_out(request).await),
            CallFate::Delay(span) => {
                tokio::time::sleep(span).await;
                Ok(self.carry_out(request).await)
            }
            CallFate::Stale(lag) if request.service == Service::DynamoDb => {
                Ok(self.dynamodb.execute_stale(&request.operation, &request.body, lag))
            }
            CallFate::Stale(_) => Ok(self.carry_out(request).await),
            CallFate::Fail(failure) => Ok(failure_answer(&failure)),
            CallFate::LoseRequest => Err(broken_connection("the request was lost")),
            CallFate::LoseAnswer => {
                self.carry_out(request).await;
                Err(broken_connection("the answer was lost"))
            }
        }
    }

    async fn carry_out(&self, request: &Request) -> Answer {
        match request.service {
            Service::DynamoDb => {
                let lose_records = self.lock().chance.faults.drop_stream;
                let before = self.dynamodb.records_written();
                let answer = self.dynamodb.execute(&request.operation, &request.body, lose_records);
                if self.dynamodb.records_written() != before {
                    self.announce();
                }
                answer
            }
            Service::Streams => self.dynamodb.execute_streams(&request.operation, &request.body),
            Service::Sqs => self.sqs(request).await,
            Service::Secrets => match self.lock().secrets.execute(&request.operation, &request.body) {
                Ok(body) => Answer::ok(&body),
                Err(error) => error.into_answer(),
            },
            Service::Scheduler => match &request.route {
                Some(route) => self.scheduler(route, &request.body),
                None => ApiError::new(400, "UnknownOperationException", "no route").into_answer(),
            },
        }
    }

    async fn sqs(&self, request: &Request) -> Answer {
        let mut changes = Changes::new(self);
        let mut deadline = None;
        loop {
            let answer = self.sqs_now(request);
            let wait =
                answer.as_ref().ok().and_then(|answer| sqs::long_poll(&request.operation, &request.body, answer));
            let is_over = |deadline: &Instant| Instant::now() >= *deadline;
            match wait {
                Some(wait) if !deadline.as_ref().is_some_and(is_over) => {
                    let deadline = *deadline.get_or_insert_with(|| Instant::now() + wait);
                    // Waits in real time, like the HTTP request it is; the clock may jump meanwhile and make messages due.
                    let _ = tokio::time::timeout_at(deadline, changes.next(self)).await;
                }
                _ => {
                    return match answer {
                        Ok(body) => Answer::ok(&body),
                        Err(error) => error.into_answer(),
                    };
                }
            }
        }
    }

    fn sqs_now(&self, request: &Request) -> Result<Value, ApiError> {
        let now = self.clock.now();
        self.settle();
        let answer = {
            let state = &mut *self.lock();
            let mut cx = sqs::Context { queues: &mut state.queues, chance: &mut state.chance, names: &self.names, now };
            sqs::execute(&mut cx, &request.operation, &request.body)
        };
        // What was sent without delay is deliverable at once.
        self.settle();
        let found_nothing =
            request.operation == "ReceiveMessage" && answer.as_ref().is_ok_and(|answer| *answer == json!({}));
        if answer.is_ok() && !found_nothing {
            self.announce();
        }
        answer
    }

    fn scheduler(&self, route: &scheduler::Route, body: &Value) -> Answer {
        self.settle();
        let answer = {
            let state = &mut *self.lock();
            let mut cx = scheduler::Context {
                schedules: &mut state.schedules,
                chance: &mut state.chance,
                names: &self.names,
                now: self.clock.now(),
            };
            scheduler::execute(&mut cx, route, body)
        };
        self.announce();
        match answer {
            Ok(body) => Answer::ok(&body),
            Err(error) => error.into_answer(),
        }
    }

    fn http_response(&self, answer: Answer) -> Result<HttpResponse, ConnectorError> {
        let request_id = self.lock().chance.uuid();
        let mut builder = http::Response::builder()
            .status(answer.status)
            .header("content-type", "application/json")
            .header("x-amzn-requestid", request_id)
            .header("date", http_date(self.clock.now()));
        for (name, value) in answer.headers {
            builder = builder.header(name, value);
        }
        builder
            .body(SdkBody::from(answer.body))
            .map_err(|error| ConnectorError::other(error.into(), None))?
            .try_into()
            .map_err(|error: aws_smithy_runtime_api::http::HttpError| ConnectorError::other(error.into(), None))
    }
}

fn broken_connection(what: &'static str) -> ConnectorError {
    ConnectorError::io(std::io::Error::new(std::io::ErrorKind::ConnectionReset, what).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_the_table_it_goes_to_even_in_batches_and_transactions() {
        assert_eq!(table_of(&json!({"TableName": "orders"})), "orders");
        assert_eq!(table_of(&json!({"TransactItems": [{"Put": {"TableName": "orders"}}]})), "orders");
        assert_eq!(table_of(&json!({"RequestItems": {"orders": []}})), "orders");
        assert_eq!(table_of(&json!({"StreamArn": "arn:aws:dynamodb:x:0:table/orders/stream/1"})), "orders");
        assert_eq!(table_of(&Value::Null), "");
    }

    #[test]
    fn the_attempt_is_read_from_the_sdks_header() {
        assert_eq!(attempt_of("attempt=2; max=3"), Some(2));
        assert_eq!(attempt_of("ttl=20260101T000000Z; attempt=3; max=3"), Some(3));
        assert_eq!(attempt_of("max=3"), None);
    }
}
