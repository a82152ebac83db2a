//! Complete unpaid lifecycles through the handlers, beside the bare SDK calls they cannot do without.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client as DynamoDb;
use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use aws_sdk_scheduler::Client as Scheduler;
use aws_sdk_scheduler::types::{ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use aws_sdk_sqs::Client as Sqs;
use expiry_core::message::Queue;
use local::settings::{ORDERS_TABLE, RESOURCES_TABLE, SCHEDULE_GROUP, queue_arn, queue_url};
use serde_json::{Value, json};

use crate::scene::{Scene, http_event, ok, order_body, per_second, queue_event, ratio};

/// Lifecycles of one measurement.
const ORDERS: usize = 400;
/// Measurements; the best of each side is compared, as the one least disturbed.
const ROUNDS: usize = 5;

type Item = HashMap<String, AttributeValue>;

pub(crate) async fn measure() {
    let (mut handlers, mut bare) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let (span, item) = through_handlers().await;
        handlers = handlers.min(span);
        bare = bare.min(by_bare_calls(&item).await);
    }
    println!("## Unpaid lifecycles: create, arm, wake, close, disarm, release\n");
    println!("| | per second | ratio |\n|---|---|---|");
    println!("| bare SDK calls | {} | 1.00 |", per_second(ORDERS, bare));
    println!("| through the handlers | {} | {} |\n", per_second(ORDERS, handlers), ratio(handlers, bare));
}

/// How long the handlers take, and an order as they stored it.
async fn through_handlers() -> (Duration, Item) {
    let mut scene = Scene::new(&[]).await;
    scene.stock("SKU", 1_000_000).await;
    let _ = scene.records().await;
    let mut span = Duration::ZERO;
    let requests: Vec<_> = (0..ORDERS)
        .map(|n| http_event("POST", "/orders", Value::Null, &order_body(&format!("u{n}"), "SKU", &json!({}))))
        .collect();
    let mut wakes = Vec::with_capacity(ORDERS);
    let began = Instant::now();
    let mut created = Vec::with_capacity(ORDERS);
    for request in &requests {
        created.push(scene.functions.create_order.handle(request).await);
    }
    span += began.elapsed();
    let mut settles = Vec::with_capacity(ORDERS);
    for response in &created {
        let order = ok(response, 201);
        let expire_at = expiry_core::time::Timestamp::parse_rfc3339(order["expire_at"].as_str().unwrap()).unwrap();
        let id = order["order_id"].as_str().unwrap();
        wakes.push(queue_event(&json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis()})));
        settles.push(queue_event(&json!({"type": "unit", "order_id": id, "unit": "stock"})));
    }
    let id = ok(&created[0], 201)["order_id"].as_str().unwrap().to_owned();
    let item = stored(&scene, &id).await;
    span += fan_out(&mut scene).await;
    scene.pass_the_deadline();
    let began = Instant::now();
    for wake in wakes {
        assert!(scene.functions.close_order.handle(wake).await.unwrap().batch_item_failures.is_empty());
    }
    span += began.elapsed();
    span += fan_out(&mut scene).await;
    let began = Instant::now();
    for settle in settles {
        assert!(scene.functions.settle_resources.handle(settle).await.unwrap().batch_item_failures.is_empty());
    }
    span += began.elapsed();
    span += fan_out(&mut scene).await;
    (span, item)
}

async fn fan_out(scene: &mut Scene) -> Duration {
    let records = scene.records().await;
    let began = Instant::now();
    for record in records {
        assert!(scene.functions.outbox_fanout.handle(record).await.unwrap().batch_item_failures.is_empty());
    }
    began.elapsed()
}

async fn stored(scene: &Scene, id: &str) -> Item {
    let got = DynamoDb::new(&scene.sdk)
        .get_item()
        .table_name(ORDERS_TABLE)
        .key("pk", AttributeValue::S(format!("O#{id}")))
        .key("sk", AttributeValue::S("O".to_owned()))
        .send()
        .await
        .unwrap();
    got.item.unwrap()
}

/// The same reads and writes with nothing around them: two transactions, one update, two reads, a schedule made and removed, a message.
async fn by_bare_calls(item: &Item) -> Duration {
    let scene = Scene::new(&[]).await;
    scene.stock("SKU", 1_000_000).await;
    let database = DynamoDb::new(&scene.sdk);
    let (scheduler, sqs) = (Scheduler::new(&scene.sdk), Sqs::new(&scene.sdk));
    let began = Instant::now();
    for n in 0..ORDERS {
        let pk = AttributeValue::S(format!("O#{n:024}"));
        let mut order = item.clone();
        order.insert("pk".to_owned(), pk.clone());
        create(&database, order).await;
        arm(&scheduler, n).await;
    }
    for n in 0..ORDERS {
        let pk = AttributeValue::S(format!("O#{n:024}"));
        read(&database, &pk).await;
        close(&database, &pk).await;
        scheduler.delete_schedule().name(format!("{n:024}")).group_name(SCHEDULE_GROUP).send().await.unwrap();
        let body = json!({"type": "unit", "order_id": format!("{n:024}"), "unit": "stock"}).to_string();
        sqs.send_message().queue_url(queue_url(Queue::StockRelease)).message_body(body).send().await.unwrap();
    }
    for n in 0..ORDERS {
        let pk = AttributeValue::S(format!("O#{n:024}"));
        read(&database, &pk).await;
        release(&database, &pk).await;
    }
    began.elapsed()
}

async fn read(database: &DynamoDb, pk: &AttributeValue) {
    let get = database.get_item().table_name(ORDERS_TABLE).key("pk", pk.clone());
    get.key("sk", AttributeValue::S("O".to_owned())).consistent_read(true).send().await.unwrap();
}

async fn create(database: &DynamoDb, order: Item) {
    let put = Put::builder()
        .table_name(ORDERS_TABLE)
        .set_item(Some(order))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .unwrap();
    let items = [TransactWriteItem::builder().put(put).build(), stock("av", "rs")];
    database.transact_write_items().set_transact_items(Some(items.into())).send().await.unwrap();
}

fn stock(from: &str, to: &str) -> TransactWriteItem {
    let update = Update::builder()
        .table_name(RESOURCES_TABLE)
        .key("pk", AttributeValue::S("stock#SKU/default/default".to_owned()))
        .update_expression("SET #f = #f - :q, #t = #t + :q")
        .condition_expression("#f >= :q")
        .expression_attribute_names("#f", from)
        .expression_attribute_names("#t", to)
        .expression_attribute_values(":q", AttributeValue::N("1".to_owned()))
        .build()
        .unwrap();
    TransactWriteItem::builder().update(update).build()
}

async fn close(database: &DynamoDb, pk: &AttributeValue) {
    database
        .update_item()
        .table_name(ORDERS_TABLE)
        .key("pk", pk.clone())
        .key("sk", AttributeValue::S("O".to_owned()))
        .update_expression("SET v = :two, s = :closed, cx = :now, w = :work")
        .condition_expression("v = :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .expression_attribute_values(":two", AttributeValue::N("2".to_owned()))
        .expression_attribute_values(":closed", AttributeValue::S("C".to_owned()))
        .expression_attribute_values(":now", AttributeValue::N("1800001801000".to_owned()))
        .expression_attribute_values(":work", AttributeValue::Ss(vec!["stock".to_owned()]))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .unwrap();
}

async fn release(database: &DynamoDb, pk: &AttributeValue) {
    let update = Update::builder()
        .table_name(ORDERS_TABLE)
        .key("pk", pk.clone())
        .key("sk", AttributeValue::S("O".to_owned()))
        .update_expression("SET v = :three REMOVE w, ds, da")
        .condition_expression("v = :two")
        .expression_attribute_values(":two", AttributeValue::N("2".to_owned()))
        .expression_attribute_values(":three", AttributeValue::N("3".to_owned()))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .unwrap();
    let items = [TransactWriteItem::builder().update(update).build(), stock("rs", "av")];
    database.transact_write_items().set_transact_items(Some(items.into())).send().await.unwrap();
}

async fn arm(scheduler: &Scheduler, n: usize) {
    let target = Target::builder().arn(queue_arn("close")).role_arn("arn:aws:iam::000000000000:role/r");
    let input = json!({"type": "wake", "order_id": format!("{n:024}"), "expire_at": 1_800_001_800_000_u64});
    scheduler
        .create_schedule()
        .name(format!("{n:024}"))
        .group_name(SCHEDULE_GROUP)
        .schedule_expression("at(2027-01-15T08:29:00)")
        .flexible_time_window(FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().unwrap())
        .action_after_completion(ActionAfterCompletion::Delete)
        .target(target.input(input.to_string()).build().unwrap())
        .send()
        .await
        .unwrap();
}
