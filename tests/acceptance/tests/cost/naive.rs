//! The design that most shops begin with, measured by the same database: order, payment, reservation and outbox in rows of their own,
//! which transactions keep together. It has no lease, no evidence, no refunds and no unique transactions, and costs more.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, ConsumedCapacity, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, Projection, ProjectionType, Put, ReturnConsumedCapacity, ScalarAttributeType, TransactWriteItem, Update,
};
use local::clock::MovableClock;
use local::cloud::{Cloud, CloudConfig};

const TABLE: &str = "naive";

/// The naive shop, and the write units it has used.
struct Naive {
    client: Client,
    units: u64,
}

impl Naive {
    async fn open() -> Naive {
        let clock = MovableClock::running();
        let cloud = Cloud::new(CloudConfig::in_memory(clock, 0)).expect("a cloud");
        let client = Client::new(&cloud.sdk_config());
        with_due_index(client.create_table().table_name(TABLE)).send().await.expect("a table");
        let stock = client.put_item().table_name(TABLE).item("pk", text("stock"));
        stock.item("n", number(5)).send().await.expect("stock");
        Naive { client, units: 0 }
    }

    fn used(&mut self, capacity: &[ConsumedCapacity]) -> u64 {
        let units: f64 = capacity.iter().filter_map(ConsumedCapacity::capacity_units).sum();
        self.units += units as u64;
        units as u64
    }

    async fn transaction(&mut self, writes: Vec<TransactWriteItem>) -> u64 {
        let request = self.client.transact_write_items().set_transact_items(Some(writes));
        let done = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.expect("written");
        self.used(done.consumed_capacity())
    }

    /// The order, what it holds and the message that arms its wake-up.
    async fn creates(&mut self) -> u64 {
        let order = put("order").item("status", text("PENDING")).item("due", text("open")).item("at", number(1_800));
        self.transaction(vec![
            written(order),
            written(put("reservation").item("status", text("RESERVED"))),
            updated("stock", "SET n = n - :one", &[(":one", number(1))]),
            written(put("outbox-1")),
        ])
        .await
    }

    /// A payment is tried.
    async fn starts_a_payment(&mut self) -> u64 {
        let put = self.client.put_item().table_name(TABLE).item("pk", text("payment")).item("status", text("NEW"));
        let done = put.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.expect("written");
        self.used(done.consumed_capacity().map_or(&[][..], std::slice::from_ref))
    }

    /// The order ends, and with it everything it had; somebody is told.
    async fn ends(&mut self, status: &str) -> u64 {
        let to = [(":status", text(status))];
        let set = "SET #s = :status";
        self.transaction(vec![
            updated("order", "SET #s = :status REMOVE due, #a", &to),
            updated("payment", set, &to),
            updated("reservation", set, &to),
            updated(
                "stock",
                if status == "PAID" { "SET sold = :one" } else { "SET n = n + :one" },
                &[(":one", number(1))],
            ),
            written(put("outbox-2")),
        ])
        .await
    }

    /// The outbox's message was sent.
    async fn sent(&mut self, message: &str) -> u64 {
        let delete = self.client.delete_item().table_name(TABLE).key("pk", text(message));
        let done = delete.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.expect("deleted");
        self.used(done.consumed_capacity().map_or(&[][..], std::slice::from_ref))
    }
}

fn with_due_index(table: CreateTableFluentBuilder) -> CreateTableFluentBuilder {
    let attribute = |name: &str, kind| AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build();
    let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let due = GlobalSecondaryIndex::builder()
        .index_name("due")
        .key_schema(key("due", KeyType::Hash).expect("a key"))
        .key_schema(key("at", KeyType::Range).expect("a key"))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build());
    table
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S).expect("an attribute"))
        .attribute_definitions(attribute("due", ScalarAttributeType::S).expect("an attribute"))
        .attribute_definitions(attribute("at", ScalarAttributeType::N).expect("an attribute"))
        .key_schema(key("pk", KeyType::Hash).expect("a key"))
        .global_secondary_indexes(due.build().expect("an index"))
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn put(pk: &str) -> aws_sdk_dynamodb::types::builders::PutBuilder {
    Put::builder().table_name(TABLE).item("pk", text(pk))
}

fn written(put: aws_sdk_dynamodb::types::builders::PutBuilder) -> TransactWriteItem {
    TransactWriteItem::builder().put(put.build().expect("a put")).build()
}

fn updated(pk: &str, expression: &str, values: &[(&str, AttributeValue)]) -> TransactWriteItem {
    let mut update = Update::builder().table_name(TABLE).key("pk", text(pk)).update_expression(expression);
    for (placeholder, name) in [("#s", "status"), ("#a", "at")] {
        if expression.contains(placeholder) {
            update = update.expression_attribute_names(placeholder, name);
        }
    }
    for (name, value) in values {
        update = update.expression_attribute_values(*name, value.clone());
    }
    TransactWriteItem::builder().update(update.build().expect("an update")).build()
}

#[tokio::test]
async fn rows_of_their_own_for_order_payment_reservation_and_outbox_cost_twenty_three_units() {
    for status in ["CLOSED", "PAID"] {
        let mut naive = Naive::open().await;
        let steps = [
            ("create", naive.creates().await),
            ("its message sent", naive.sent("outbox-1").await),
            ("start payment", naive.starts_a_payment().await),
            ("end", naive.ends(status).await),
            ("its message sent", naive.sent("outbox-2").await),
        ];
        println!("naive, {status}: {steps:?}");
        assert_eq!(steps.map(|(_, units)| units), [9, 1, 1, 11, 1]);
        assert_eq!(naive.units, 23);
    }
}
