//! The write units the engine reports, which docs/COST.md rests on.

use aws_sdk_dynamodb::types::{ConsumedCapacity, Delete, Put, ReturnConsumedCapacity, TransactWriteItem, Update};

use super::{Item, Scene, item, n, order, s, scene, with};

/// Write units of the table and of its index `due`, in tenths so that no float is compared.
fn units(consumed: &ConsumedCapacity) -> (String, String, String) {
    let show = |units: Option<f64>| format!("{:.1}", units.unwrap_or(0.0));
    let index = consumed.global_secondary_indexes().and_then(|indexes| indexes.get("due"));
    let table = consumed.table().and_then(|table| table.write_capacity_units().or(table.capacity_units()));
    let index = index.and_then(|index| index.write_capacity_units().or(index.capacity_units()));
    (show(consumed.write_capacity_units().or(consumed.capacity_units())), show(table), show(index))
}

fn told(total: &str, table: &str, index: &str) -> (String, String, String) {
    (total.to_owned(), table.to_owned(), index.to_owned())
}

fn due(base: Item, at: i64) -> Item {
    with(base, [("due_shard", n(3)), ("due_at", n(at))])
}

async fn update(scene: &Scene, expression: &str, value: i64) -> (String, String, String) {
    let mut request = scene
        .dynamodb
        .update_item()
        .table_name("orders")
        .set_key(Some(order("1")))
        .update_expression(expression)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    if expression.contains(":v") {
        request = request.expression_attribute_values(":v", n(value));
    }
    units(&request.send().await.expect("updated").consumed_capacity.expect("capacity"))
}

async fn transact(scene: &Scene, items: Vec<TransactWriteItem>) -> Vec<(String, String, String)> {
    let answer = scene
        .dynamodb
        .transact_write_items()
        .set_transact_items(Some(items))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .expect("committed");
    answer.consumed_capacity.unwrap_or_default().iter().map(units).collect()
}

fn put(item: Item) -> TransactWriteItem {
    TransactWriteItem::builder()
        .put(Put::builder().table_name("orders").set_item(Some(item)).build().expect("complete"))
        .build()
}

fn update_of(table: &str, key: Item, expression: &str, value: i64) -> TransactWriteItem {
    let mut update = Update::builder().table_name(table).set_key(Some(key)).update_expression(expression);
    if expression.contains(":v") {
        update = update.expression_attribute_values(":v", n(value));
    }
    TransactWriteItem::builder().update(update.build().expect("complete")).build()
}

#[tokio::test]
async fn single_writes_cost_one_unit_per_kilobyte_and_one_for_each_change_of_the_index() {
    let scene = scene().with_orders().await;
    let put = scene
        .dynamodb
        .put_item()
        .table_name("orders")
        .set_item(Some(due(order("1"), 100)))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
        .send()
        .await
        .expect("put");
    assert_eq!(units(&put.consumed_capacity.expect("capacity")), told("2.0", "1.0", "1.0"), "insert into the index");
    assert_eq!(update(&scene, "SET version = :v", 1).await, told("1.0", "1.0", "0.0"), "index untouched");
    assert_eq!(
        update(&scene, "SET due_at = :v", 200).await,
        told("3.0", "1.0", "2.0"),
        "index key moved: delete and put"
    );
    assert_eq!(
        update(&scene, "REMOVE due_shard, due_at", 0).await,
        told("2.0", "1.0", "1.0"),
        "removed from the index"
    );
    assert_eq!(update(&scene, "SET version = :v", 2).await, told("1.0", "1.0", "0.0"), "outside the index");
}

#[tokio::test]
async fn a_transaction_costs_two_units_per_kilobyte_and_its_index_changes_cost_as_outside_one() {
    let scene = scene().with_orders().await.with_resources().await;
    let stock = || item([("pk", s("S#sku"))]);
    let created = vec![put(due(order("1"), 100)), update_of("resources", stock(), "ADD reserved :v", 1)];
    assert_eq!(transact(&scene, created).await, [told("3.0", "2.0", "1.0"), told("2.0", "2.0", "0.0")], "create: 5");
    let settled = vec![
        update_of("orders", order("1"), "REMOVE due_shard, due_at", 0),
        update_of("resources", stock(), "ADD reserved :v", -1),
    ];
    assert_eq!(transact(&scene, settled).await, [told("3.0", "2.0", "1.0"), told("2.0", "2.0", "0.0")], "settle: 5");
    let touched = vec![update_of("orders", order("1"), "SET version = :v", 2)];
    assert_eq!(transact(&scene, touched).await, [told("2.0", "2.0", "0.0")]);
    transact(&scene, vec![update_of("orders", order("1"), "SET due_shard = :v, due_at = :v", 2)]).await;
    let moved = vec![update_of("orders", order("1"), "SET due_at = :v", 7)];
    assert_eq!(transact(&scene, moved).await, [told("4.0", "2.0", "2.0")]);
    let delete = Delete::builder().table_name("orders").set_key(Some(order("1"))).build().expect("complete");
    let deleted = vec![TransactWriteItem::builder().delete(delete).build()];
    assert_eq!(transact(&scene, deleted).await, [told("3.0", "2.0", "1.0")]);
}

#[tokio::test]
async fn one_byte_above_a_kilobyte_doubles_a_write() {
    let scene = scene().with_orders().await;
    // Names and values count: pk O#2, sk O, text.
    let filled = |bytes: usize| with(order("2"), [("text", s(&"x".repeat(bytes - "pkO#2skOtext".len())))]);
    assert_eq!(transact(&scene, vec![put(filled(1_024))]).await, [told("2.0", "2.0", "0.0")]);
    assert_eq!(transact(&scene, vec![put(filled(1_025))]).await, [told("4.0", "4.0", "0.0")]);
}
