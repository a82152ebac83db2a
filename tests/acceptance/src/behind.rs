//! What stands behind the HTTP surface and no route shows: stored items, the due index, schedules, queues.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::limits;
use expiry_core::message::Queue;
use expiry_core::time::{Clock, Timestamp};
use expiry_store::DuePosition;
use serde_json::{Value, json};

use crate::{Answer, Shop};

/// How long [`Shop::until`] waits; reached only when what it waits for never comes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A time of a document.
///
/// # Panics
/// When the field is no time.
#[must_use]
#[track_caller]
pub fn at(document: &Value, field: &str) -> Timestamp {
    let text = document[field].as_str().and_then(Timestamp::parse_rfc3339);
    text.unwrap_or_else(|| panic!("{field} is no time in {document:#}"))
}

/// Milliseconds from the first time to the second; negative when it lies before.
#[must_use]
pub fn millis_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millis() - from.as_millis()
}

impl Shop {
    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.system.clock.now()
    }

    /// The present moment and `seconds`, as RFC 3339.
    #[must_use]
    pub fn in_seconds(&self, seconds: u64) -> String {
        self.now().plus(Duration::from_secs(seconds)).to_string()
    }

    /// Waits until `done`, for what no resting system shows: a message that failed and waits to be visible again.
    ///
    /// # Panics
    /// When it never is.
    pub async fn until(&self, what: &str, mut done: impl FnMut(&Shop) -> bool) {
        let waiting = async {
            while !done(self) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "never: {what}");
    }

    /// `POST /_local/deliver`.
    pub async fn deliver(&self, queue: Queue, body: Value) -> Answer {
        self.call("POST", "/_local/deliver", json!({"queue": queue.name(), "body": body})).await
    }

    /// Delivers the wake-up of an order as its schedule would, and lets it finish.
    pub async fn wake(&self, id: &str, expire_at: Timestamp) {
        let body = json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis(), "hop": 0});
        let _ = self.deliver(Queue::Close, body).await.expect(202);
        self.rest().await;
    }

    /// How many messages a queue holds: visible, delayed, in flight.
    #[must_use]
    pub fn queued(&self, queue: &str) -> (usize, usize, usize) {
        let counts = self.system.cloud.queue_counts().get(queue).copied().unwrap_or_default();
        (counts.visible, counts.delayed, counts.in_flight)
    }

    /// The schedules of orders: name and the moment each fires.
    pub async fn schedules(&self) -> Vec<(String, Timestamp)> {
        let schedules = self.call("GET", "/_local/schedules", Value::Null).await.expect(200).body;
        let schedules = schedules.as_array().cloned().unwrap_or_default();
        let of_orders = schedules.iter().filter(|schedule| schedule["group"] == "order-expiry");
        of_orders
            .map(|schedule| (schedule["name"].as_str().unwrap_or_default().to_owned(), at(schedule, "fires_at")))
            .collect()
    }

    /// Everything that stands in the due index, whatever its time.
    ///
    /// # Panics
    /// When the index cannot be read.
    pub async fn due(&self) -> Vec<DuePosition> {
        let end = Timestamp::from_seconds(253_402_300_799).expect("the last second");
        let mut found = Vec::new();
        for shard in 0..limits::DUE_SHARDS {
            let store = &self.system.functions.context.store;
            let page = store.due_page(shard, end, None, 10_000).await.expect("the due index answers");
            found.extend(page.hits);
        }
        found
    }

    /// Whether an order stands in the due index (I12).
    pub async fn is_due(&self, id: &str) -> bool {
        self.due().await.iter().any(|hit| hit.order.as_str() == id)
    }

    /// The database itself.
    #[must_use]
    pub fn database(&self) -> Client {
        Client::new(&self.system.cloud.sdk_config())
    }

    /// The stored item of an order.
    ///
    /// # Panics
    /// When there is none.
    pub async fn item(&self, id: &str) -> HashMap<String, AttributeValue> {
        let output = self.database().get_item().table_name("orders").set_key(Some(order_key(id))).send().await;
        output.expect("the database answers").item.expect("an item")
    }

    /// Changes the stored item of an order behind everybody's back, without raising its version.
    ///
    /// # Panics
    /// When the database refuses.
    pub async fn damage(&self, id: &str, update: &str, values: &[(&str, AttributeValue)]) {
        let mut change =
            self.database().update_item().table_name("orders").set_key(Some(order_key(id))).update_expression(update);
        for (name, value) in values {
            change = change.expression_attribute_values(*name, value.clone());
        }
        let _ = change.send().await.expect("the database takes it");
    }
}

fn order_key(id: &str) -> HashMap<String, AttributeValue> {
    let text = |text: String| AttributeValue::S(text);
    HashMap::from([("pk".to_owned(), text(format!("O#{id}"))), ("sk".to_owned(), text("O".to_owned()))])
}
