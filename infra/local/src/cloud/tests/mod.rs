//! The embedded cloud as its callers see it: through the real SDK clients.

mod calls;
mod capacity;
mod dynamodb;
mod faults;
mod persistence;
mod scheduler;
mod secrets;
mod sqs;
mod streams;

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
};
use aws_sdk_scheduler::types::{ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use expiry_core::time::Timestamp;

use super::{Cloud, CloudConfig};
use crate::clock::MovableClock;

pub(super) type Item = HashMap<String, AttributeValue>;

/// A paused cloud with its clients: time moves only when a test says so.
pub(super) struct Scene {
    pub(super) cloud: Cloud,
    pub(super) dynamodb: aws_sdk_dynamodb::Client,
    pub(super) streams: aws_sdk_dynamodbstreams::Client,
    pub(super) sqs: aws_sdk_sqs::Client,
    pub(super) scheduler: aws_sdk_scheduler::Client,
    pub(super) secrets: aws_sdk_secretsmanager::Client,
}

/// The moment every scene begins.
pub(super) fn start() -> Timestamp {
    Timestamp::parse_rfc3339("2026-01-01T00:00:00Z").expect("a time")
}

pub(super) fn scene() -> Scene {
    scene_of(CloudConfig::in_memory(MovableClock::paused(start()), 42))
}

pub(super) fn scene_of(config: CloudConfig) -> Scene {
    let cloud = Cloud::new(config).expect("a cloud");
    let sdk = cloud.sdk_config();
    Scene {
        dynamodb: aws_sdk_dynamodb::Client::new(&sdk),
        streams: aws_sdk_dynamodbstreams::Client::new(&sdk),
        sqs: aws_sdk_sqs::Client::new(&sdk),
        scheduler: aws_sdk_scheduler::Client::new(&sdk),
        secrets: aws_sdk_secretsmanager::Client::new(&sdk),
        cloud,
    }
}

pub(super) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(super) fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(super) fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The key of an order, and the beginning of its item.
pub(super) fn order(id: &str) -> Item {
    item([("pk", s(&format!("O#{id}"))), ("sk", s("O"))])
}

/// `base` with further attributes.
pub(super) fn with<const N: usize>(mut base: Item, attributes: [(&str, AttributeValue); N]) -> Item {
    base.extend(item(attributes));
    base
}

impl Scene {
    pub(super) fn advance(&self, seconds: u64) {
        self.cloud.clock().advance(Duration::from_secs(seconds));
    }

    /// The table `orders` with its stream and its sparse, keys-only due index.
    pub(super) async fn with_orders(self) -> Scene {
        let attribute = |name: &str, kind| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().expect("complete")
        };
        let key = |name: &str, kind| {
            KeySchemaElement::builder().attribute_name(name).key_type(kind).build().expect("complete")
        };
        let index = GlobalSecondaryIndex::builder()
            .index_name("due")
            .key_schema(key("due_shard", KeyType::Hash))
            .key_schema(key("due_at", KeyType::Range))
            .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
            .build()
            .expect("complete");
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build()
            .expect("complete");
        self.dynamodb
            .create_table()
            .table_name("orders")
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(attribute("pk", ScalarAttributeType::S))
            .attribute_definitions(attribute("sk", ScalarAttributeType::S))
            .attribute_definitions(attribute("due_shard", ScalarAttributeType::N))
            .attribute_definitions(attribute("due_at", ScalarAttributeType::N))
            .key_schema(key("pk", KeyType::Hash))
            .key_schema(key("sk", KeyType::Range))
            .global_secondary_indexes(index)
            .stream_specification(stream)
            .send()
            .await
            .expect("created");
        self
    }

    /// The table `resources`.
    pub(super) async fn with_resources(self) -> Scene {
        let attribute = AttributeDefinition::builder().attribute_name("pk").attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder().attribute_name("pk").key_type(KeyType::Hash);
        self.dynamodb
            .create_table()
            .table_name("resources")
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(attribute.build().expect("complete"))
            .key_schema(key.build().expect("complete"))
            .send()
            .await
            .expect("created");
        self
    }

    pub(super) async fn put_order(&self, item: Item) {
        self.dynamodb.put_item().table_name("orders").set_item(Some(item)).send().await.expect("put");
    }

    pub(super) async fn get_order(&self, id: &str) -> Option<Item> {
        let got =
            self.dynamodb.get_item().table_name("orders").set_key(Some(order(id))).consistent_read(true).send().await;
        got.expect("got").item
    }

    /// The queue `name`, with attributes; answers its URL.
    pub(super) async fn queue(&self, name: &str, attributes: &[(QueueAttributeName, &str)]) -> String {
        let mut request = self.sqs.create_queue().queue_name(name);
        for (key, value) in attributes {
            request = request.attributes(key.clone(), *value);
        }
        request.send().await.expect("created").queue_url.expect("a URL")
    }

    pub(super) async fn send(&self, url: &str, body: &str, delay: i32) {
        self.sqs.send_message().queue_url(url).message_body(body).delay_seconds(delay).send().await.expect("sent");
    }

    pub(super) async fn receive(&self, url: &str) -> Vec<Message> {
        let request = self.sqs.receive_message().queue_url(url).max_number_of_messages(10);
        request.send().await.expect("received").messages.unwrap_or_default()
    }

    /// The bodies that can be received now.
    pub(super) async fn bodies(&self, url: &str) -> Vec<String> {
        self.receive(url).await.into_iter().filter_map(|message| message.body).collect()
    }

    /// A one-time schedule that sends `input` to the queue `close`.
    pub(super) fn schedule(
        &self,
        name: &str,
        at: Timestamp,
        input: &str,
    ) -> aws_sdk_scheduler::operation::create_schedule::builders::CreateScheduleFluentBuilder {
        let text = at.to_string();
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().expect("complete");
        let target = Target::builder()
            .arn("arn:aws:sqs:us-east-1:000000000000:close")
            .role_arn("arn:aws:iam::000000000000:role/scheduler")
            .input(input)
            .build()
            .expect("complete");
        self.scheduler
            .create_schedule()
            .name(name)
            .schedule_expression(format!("at({})", &text[..19]))
            .flexible_time_window(window)
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(target)
    }
}
