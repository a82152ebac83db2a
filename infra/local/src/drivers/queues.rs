//! The queue pollers: messages become batches of the function that works on their queue.

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use expiry_core::message::Queue;
use expiry_runtime::batch::BatchFailed;
use expiry_runtime::logs::chain;
use serde_json::{Map, Value, json};

use super::Signal;
use crate::AnyError;
use crate::functions::Functions;
use crate::settings::{REGION, queue_arn};

/// Messages of one batch.
const BATCH: i32 = 10;
/// How long one poll waits for a message, in seconds.
pub(crate) const POLL_SECONDS: i32 = 20;
/// How long a poller rests after an answer that was none.
const REST: Duration = Duration::from_millis(200);

/// Whether the next delivery of a queue is to fail: a fault that only the driver can inject.
pub type FailsDelivery = Arc<dyn Fn(Queue) -> bool + Send + Sync>;

/// Whether a message of a queue can be received.
pub type IsReceivable = Arc<dyn Fn(Queue) -> bool + Send + Sync>;

/// Sends a message to the queue at `url` as anybody could; answers its id.
///
/// # Errors
/// When the queue does not take it.
pub async fn send(sdk: &SdkConfig, url: &str, body: &str) -> Result<String, AnyError> {
    let sent = Client::new(sdk).send_message().queue_url(url).message_body(body).send().await?;
    Ok(sent.message_id.unwrap_or_default())
}

/// Polls one queue.
pub struct Poller {
    /// The service.
    pub sqs: Client,
    /// What works on the messages.
    pub functions: Arc<Functions>,
    /// Which queue.
    pub queue: Queue,
    /// Its address.
    pub url: String,
    /// The faults of its deliveries.
    pub fails: FailsDelivery,
    /// Whether it has anything.
    pub is_receivable: IsReceivable,
}

impl Poller {
    /// Polls for ever, waiting on `signal` while nothing can be received.
    pub async fn run(self, mut signal: impl Signal) {
        loop {
            while !(self.is_receivable)(self.queue) {
                signal.next().await;
            }
            let received = self
                .sqs
                .receive_message()
                .queue_url(&self.url)
                .max_number_of_messages(BATCH)
                .wait_time_seconds(POLL_SECONDS)
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await;
            match received {
                Ok(output) => {
                    let messages = output.messages.unwrap_or_default();
                    if !messages.is_empty() {
                        self.deliver(&messages).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(queue = %self.queue, error = %chain(&error), "the queue did not answer");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    async fn deliver(&self, messages: &[Message]) {
        let queue = self.queue;
        let (failing, delivered): (Vec<&Message>, Vec<&Message>) = messages.iter().partition(|_| (self.fails)(queue));
        if !failing.is_empty() {
            tracing::info!(%queue, messages = failing.len(), "deliveries failed by a fault");
        }
        if delivered.is_empty() {
            return;
        }
        let event: SqsEvent = match serde_json::from_value(event(queue, &delivered)) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(%queue, %error, "messages that are no event");
                return;
            }
        };
        let failed: Vec<String> = match invoke(&self.functions, queue, event).await {
            Ok(response) => response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect(),
            Err(error) => {
                tracing::warn!(%queue, %error, "the batch failed whole");
                return;
            }
        };
        self.delete(&delivered, &failed).await;
    }

    /// Deletes what succeeded; what failed becomes visible again by itself.
    async fn delete(&self, delivered: &[&Message], failed: &[String]) {
        for message in delivered {
            let id = message.message_id.clone().unwrap_or_default();
            if failed.contains(&id) {
                continue;
            }
            let handle = message.receipt_handle.clone().unwrap_or_default();
            let deleted = self.sqs.delete_message().queue_url(&self.url).receipt_handle(handle).send().await;
            if let Err(error) = deleted {
                tracing::warn!(queue = %self.queue, error = %chain(&error), "a handled message was not deleted");
            }
        }
    }
}

async fn invoke(functions: &Functions, queue: Queue, event: SqsEvent) -> Result<SqsBatchResponse, BatchFailed> {
    match queue {
        Queue::Close => functions.close_order.handle(event).await,
        Queue::StockRelease | Queue::CouponRelease | Queue::PointsRelease | Queue::QuotaRelease => {
            functions.settle_resources.handle(event).await
        }
        Queue::Refund => functions.refund_payment.handle(event).await,
    }
}

fn event(queue: Queue, messages: &[&Message]) -> Value {
    let record = |message: &&Message| {
        let attributes: Map<String, Value> = message
            .attributes()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str().to_owned(), Value::from(value.as_str())))
            .collect();
        json!({
            "messageId": message.message_id(),
            "receiptHandle": message.receipt_handle(),
            "body": message.body(),
            "md5OfBody": message.md5_of_body(),
            "attributes": attributes,
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": queue_arn(queue.name()),
            "awsRegion": REGION,
        })
    };
    json!({"Records": messages.iter().map(record).collect::<Vec<_>>()})
}
