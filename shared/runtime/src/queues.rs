//! The queues: sending needs the one permission `sqs:SendMessage`.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::operation::get_queue_attributes::GetQueueAttributesError;
use aws_sdk_sqs::operation::send_message::SendMessageError;
use expiry_core::limits;
use expiry_core::message::{Message, Queue};
use expiry_core::time::seconds_rounded_up;

/// The environment variable that holds the URL of `queue`.
#[must_use]
pub const fn url_variable(queue: Queue) -> &'static str {
    match queue {
        Queue::Close => "CLOSE_QUEUE_URL",
        Queue::StockRelease => "STOCK_RELEASE_QUEUE_URL",
        Queue::CouponRelease => "COUPON_RELEASE_QUEUE_URL",
        Queue::PointsRelease => "POINTS_RELEASE_QUEUE_URL",
        Queue::QuotaRelease => "QUOTA_RELEASE_QUEUE_URL",
        Queue::Refund => "REFUND_QUEUE_URL",
    }
}

/// The URLs of the queues one function sends to; made by [`Config::queue_urls`](crate::config::Config::queue_urls).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueUrls(BTreeMap<Queue, String>);

impl FromIterator<(Queue, String)> for QueueUrls {
    fn from_iter<I: IntoIterator<Item = (Queue, String)>>(urls: I) -> QueueUrls {
        QueueUrls(urls.into_iter().collect())
    }
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// This function was not started with that queue's URL.
    #[error("this function does not send to the queue {queue}")]
    NotConfigured {
        /// The queue.
        queue: Queue,
    },
    /// The queue did not confirm it. It may have been taken all the same: every message may be sent again.
    #[error("no message was confirmed by the queue {queue}")]
    Send {
        /// The queue.
        queue: Queue,
        /// What the SDK says.
        #[source]
        source: Box<SdkError<SendMessageError>>,
    },
}

/// Why a queue was not looked at.
#[derive(Debug, thiserror::Error)]
pub enum WarmError {
    /// This function was not started with that queue's URL.
    #[error("this function does not know the queue {queue}")]
    NotConfigured {
        /// The queue.
        queue: Queue,
    },
    /// The queue did not answer.
    #[error("the queue {queue} does not answer")]
    Look {
        /// The queue.
        queue: Queue,
        /// What the SDK says.
        #[source]
        source: Box<SdkError<GetQueueAttributesError>>,
    },
}

/// Sends to the queues of one function.
#[derive(Clone, Debug)]
pub struct Queues {
    client: Client,
    urls: QueueUrls,
}

impl Queues {
    /// A sender to `urls`.
    #[must_use]
    pub fn new(client: Client, urls: QueueUrls) -> Queues {
        Queues { client, urls }
    }

    /// Looks at `queue`, so that connection and credentials are there before the first event: while a function starts, Lambda gives it
    /// a whole processor. For a function that has no table to look at; needs `sqs:GetQueueAttributes` on that queue.
    ///
    /// # Errors
    /// When the queue does not answer, or this function has no such queue. The first event will tell.
    pub async fn warm(&self, queue: Queue) -> Result<(), WarmError> {
        let url = self.urls.0.get(&queue).ok_or(WarmError::NotConfigured { queue })?;
        let looked = self.client.get_queue_attributes().queue_url(url).send().await;
        looked.map(drop).map_err(|source| WarmError::Look { queue, source: Box::new(source) })
    }

    /// Sends `message`; see [`send`](Queues::send).
    ///
    /// # Errors
    /// When the queue did not confirm the message, or this function has no such queue.
    pub async fn send_message(&self, queue: Queue, message: &Message, delay: Duration) -> Result<(), SendError> {
        // Plain data with text keys: it always has a JSON form.
        let body = serde_json::to_string(message).unwrap_or_default();
        self.send(queue, &body, delay).await
    }

    /// Sends `body`, to be delivered no earlier than after `delay`.
    ///
    /// A delay is rounded up to whole seconds: early would be wrong, late by a second is not. More than
    /// [`limits::QUEUE_DELAY`] is cut to it, because no queue waits longer: whoever waits that long sends itself on at its arrival
    /// (DESIGN §5.1).
    ///
    /// # Errors
    /// When the queue did not confirm the message, or this function has no such queue.
    pub async fn send(&self, queue: Queue, body: &str, delay: Duration) -> Result<(), SendError> {
        let url = self.urls.0.get(&queue).ok_or(SendError::NotConfigured { queue })?;
        let sent = self
            .client
            .send_message()
            .queue_url(url)
            .message_body(body)
            .delay_seconds(delay_seconds(delay))
            .send()
            .await;
        sent.map(|_| ()).map_err(|source| SendError::Send { queue, source: Box::new(source) })
    }
}

fn delay_seconds(delay: Duration) -> i32 {
    let seconds = seconds_rounded_up(delay.min(limits::QUEUE_DELAY));
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::chain;
    use crate::wire::Wire;

    fn queues(wire: &Wire) -> Queues {
        let client = Client::from_conf(wire.configure_sqs(aws_sdk_sqs::Config::builder()).build());
        Queues::new(client, [(Queue::Close, "https://sqs/close".to_owned())].into_iter().collect())
    }

    #[tokio::test]
    async fn a_delay_is_rounded_up_to_whole_seconds_and_ends_at_fifteen_minutes() {
        for (delay, seconds) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (899_001, 900), (5_000_000, 900)] {
            let wire = Wire::default();
            wire.answer(200, r#"{"MessageId":"1","MD5OfMessageBody":"bogus"}"#);
            let sent = queues(&wire).send(Queue::Close, "{}", Duration::from_millis(delay)).await;
            assert!(sent.is_ok(), "{sent:?}");
            let body = wire.sent()[0].body.clone();
            assert_eq!((&body["DelaySeconds"], &body["MessageBody"]), (&seconds.into(), &"{}".into()), "{delay}");
            assert_eq!(body["QueueUrl"], "https://sqs/close");
        }
    }

    #[tokio::test]
    async fn a_message_that_is_not_confirmed_is_an_error_with_its_cause() {
        let wire = Wire::default();
        wire.answer(400, r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no such queue"}"#);
        let error = queues(&wire).send(Queue::Close, "{}", Duration::ZERO).await.expect_err("refused");
        assert!(chain(&error).contains("no such queue"), "{}", chain(&error));
        let error = queues(&wire).send(Queue::Refund, "{}", Duration::ZERO).await.expect_err("no URL");
        assert!(matches!(error, SendError::NotConfigured { queue: Queue::Refund }));
    }

    #[tokio::test]
    async fn a_start_looks_at_one_queue_and_hears_why_it_does_not_answer() {
        let wire = Wire::default();
        wire.answer(200, "{}");
        queues(&wire).warm(Queue::Close).await.expect("it answers");
        assert_eq!(wire.sent()[0].body, serde_json::json!({"QueueUrl": "https://sqs/close"}));
        wire.answer(400, r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no such queue"}"#);
        let error = chain(&queues(&wire).warm(Queue::Close).await.expect_err("refused"));
        assert!(error.starts_with("the queue close does not answer: ") && error.contains("no such queue"), "{error}");
        let error = queues(&wire).warm(Queue::Refund).await.expect_err("no URL");
        assert_eq!(error.to_string(), "this function does not know the queue refund");
    }

    #[test]
    fn every_queue_has_one_name_and_one_variable() {
        for queue in Queue::ALL {
            assert_eq!(Queue::parse(queue.name()), Some(queue));
            let variable = format!("{}_QUEUE_URL", queue.name().to_uppercase().replace('-', "_"));
            assert_eq!(url_variable(queue), variable);
        }
    }
}
