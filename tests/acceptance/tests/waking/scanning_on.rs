//! A scan that is killed, or hindered at its head, goes on where it stopped.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use acceptance::{Shop, ShopBuilder, order, shop};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use local::cloud::fate::{CallFate, Failure, Service};
use serde_json::{Value, json};

fn still() -> ShopBuilder {
    shop().with_stock("SKU", 50).with_time_standing_still()
}

/// Thirty overdue orders, whose wake-ups were lost.
async fn thirty_overdue(shop: &Shop) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(shop.ordered().await);
    }
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_921).await;
    ids
}

async fn closed(shop: &Shop, ids: &[String]) -> usize {
    let orders = join_all(ids.iter().map(|id| shop.order(id))).await;
    orders.iter().filter(|order| order["status"] == "CLOSED").count()
}

/// How often a scan ended well, and when last.
fn last_success(shop: &Shop) -> (u64, u64) {
    let figure = shop.system.figures.all().get("ScanLastSuccess").copied().unwrap_or_default();
    (figure.lines, figure.most)
}

/// Whether a call sends to the queue `close`.
fn sends_close(call: &local::cloud::fate::Call<'_>) -> bool {
    call.service == Service::Sqs && call.operation == "SendMessage" && call.resource == "close"
}

#[tokio::test]
async fn b29_after_a_scan_that_broke_off_in_mid_batch_the_next_one_closes_all_that_is_due_and_the_gap_shows() {
    let shop = still().open().await;
    let ids = thirty_overdue(&shop).await;
    let sent = AtomicUsize::new(0);
    shop.system.cloud.on_call(move |call| {
        let breaks = sends_close(call) && sent.fetch_add(1, Ordering::SeqCst) >= 7;
        breaks.then(|| CallFate::Fail(Failure::new(500, "InternalError")))
    });
    let _ = shop.call("POST", "/_local/scan", Value::Null).await.expect_problem(503, "try_again");
    shop.rest().await;
    let first = closed(&shop, &ids).await;
    assert!((1..30).contains(&first), "what it had sent is closed, the rest is not: {first}");
    assert_eq!(last_success(&shop), (0, 0), "a run that broke off is no success");

    shop.system.cloud.clear_call_rules();
    shop.advance(60).await;
    assert_eq!(shop.scan().await as usize, 30 - first);
    assert_eq!((closed(&shop, &ids).await, shop.stock("SKU").await), (30, (50, 0, 0)));
    assert_eq!(last_success(&shop), (1, u64::try_from(shop.now().as_seconds()).unwrap_or_default()));
    assert_eq!(shop.metric("OrderClosed"), 30);
}

#[tokio::test]
async fn b29_after_a_scan_that_was_killed_and_a_rule_that_changed_the_next_run_closes_all_that_is_due() {
    let folder = std::env::temp_dir().join(format!("order-expiry-scan-{}", std::process::id()));
    let shop = still().with_data(&folder).open().await;
    let ids = thirty_overdue(&shop).await;
    // The run is killed while it sends its fifth message.
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    shop.system.cloud.on_call(move |call| {
        let hangs = sends_close(call) && counted.fetch_add(1, Ordering::SeqCst) >= 4;
        hangs.then_some(CallFate::Delay(Duration::from_secs(3_600)))
    });
    let run = tokio::spawn({
        let (functions, deadline) = (Arc::clone(&shop.system.functions), shop.now().plus(Duration::from_secs(900)));
        async move { functions.fallback_scan.handle(deadline).await }
    });
    shop.until("the scan hangs", |_| sent.load(Ordering::SeqCst) >= 5).await;
    run.abort();
    assert!(run.await.is_err_and(|error| error.is_cancelled()));
    shop.until("what it sent is worked off", |shop| shop.metric("OrderClosed") == 4).await;

    let (clock, still_open) = (shop.system.clock.clone(), 30 - closed(&shop, &ids).await);
    assert_eq!(still_open, 26);
    drop(shop);
    let rules = r#"[{"id":"default","version":2,"seconds":86400}]"#;
    let shop = acceptance::shop().with_data(&folder).with_env("EXPIRY_RULES", rules).on(clock).open().await;
    let created = shop.create(&order()).await.expect(201).body;
    assert_eq!(created["expiry_rule"], json!({"id": "default", "version": 2}));
    assert_eq!(shop.order(&ids[29]).await["expiry_rule"]["version"], 1, "a rule that changes moves no order");

    let _ = shop.scan().await;
    let _ = shop.scan().await;
    assert_eq!(closed(&shop, &ids).await, 30);
    assert_eq!(shop.stock("SKU").await, (49, 1, 0), "and no order of the new rule");
    assert_eq!(last_success(&shop).0, 2);
    drop(shop);
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test]
async fn b29_a_restart_that_loses_every_queue_and_schedule_loses_no_order() {
    let folder = std::env::temp_dir().join(format!("order-expiry-restart-{}", std::process::id()));
    let shop = still().with_data(&folder).open().await;
    let (open, cancelled) = (shop.ordered().await, shop.ordered().await);
    shop.faults(json!({"hold_queues": ["stock-release"]})).await;
    let _ = shop.cancel(&cancelled).await.expect(200);
    shop.rest().await;
    assert_eq!((shop.queued("stock-release"), shop.schedules().await.len()), ((1, 0, 0), 1));
    let clock = shop.system.clock.clone();
    drop(shop);

    let shop = acceptance::shop().with_data(&folder).on(clock).open().await;
    assert_eq!((shop.queued("stock-release"), shop.schedules().await), ((0, 0, 0), vec![]));
    shop.advance(1_921).await;
    let _ = shop.scan().await;
    assert_eq!(
        (shop.status(&open).await.as_str(), shop.order(&cancelled).await["pending"].clone()),
        ("CLOSED", json!([]))
    );
    assert_eq!(shop.stock("SKU").await, (50, 0, 0));
    drop(shop);
    let _ = std::fs::remove_dir_all(folder);
}

/// Puts `count` orders into the shard of order `like`, all due before it, that no run can move: CLOSING, with a next check far ahead.
async fn stick(shop: &Shop, like: &str, count: usize) {
    let mut stuck = shop.item(like).await;
    let due_at: i64 = stuck["da"].as_n().ok().and_then(|text| text.parse().ok()).expect("a due time");
    let number = |millis: i64| AttributeValue::N(millis.to_string());
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let task = HashMap::from([
        ("s".to_owned(), number(due_at)),
        ("t".to_owned(), text("W")),
        ("n".to_owned(), number(9)),
        ("x".to_owned(), number(due_at + 400 * 86_400_000)),
    ]);
    let evidence = HashMap::from([
        ("v".to_owned(), number(2)),
        ("a".to_owned(), number(due_at)),
        ("s".to_owned(), text("G")),
        ("t".to_owned(), text("wake")),
        ("f".to_owned(), text("deadline")),
    ]);
    stuck.insert("s".to_owned(), text("G"));
    stuck.insert("v".to_owned(), number(2));
    stuck.insert("cr".to_owned(), text("E"));
    stuck.insert("cl".to_owned(), AttributeValue::M(task));
    stuck.insert("e".to_owned(), AttributeValue::L(vec![AttributeValue::M(evidence)]));
    for n in 0..count {
        stuck.insert("pk".to_owned(), text(&format!("O#{n:024}")));
        stuck.insert("da".to_owned(), number(due_at - 3_600_000 + i64::try_from(n).unwrap_or_default()));
        let put = shop.database().put_item().table_name("orders").set_item(Some(stuck.clone())).send().await;
        let _ = put.expect("the database takes it");
    }
    shop.rest().await;
}

/// Lets every run read but one page of the shard of order `like`.
async fn one_page_a_run(shop: &Shop, like: &str) -> Arc<AtomicUsize> {
    let shard = shop.item(like).await["ds"].as_n().cloned().expect("a shard");
    let pages = Arc::new(AtomicUsize::new(0));
    let read = Arc::clone(&pages);
    shop.system.cloud.on_call(move |call| {
        let is_page = call.operation == "Query" && call.body["ExpressionAttributeValues"][":shard"]["N"] == shard;
        let breaks = is_page && read.fetch_add(1, Ordering::SeqCst) >= 1;
        breaks.then(|| CallFate::Fail(Failure::new(400, "ValidationException")))
    });
    pages
}

#[tokio::test]
async fn orders_stuck_at_the_head_never_hide_later_ones_even_when_every_run_breaks_off_after_a_page() {
    let shop = still().open().await;
    let id = shop.ordered().await;
    stick(&shop, &id, 250).await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_921).await;
    let pages = one_page_a_run(&shop, &id).await;
    for run in 1..=2 {
        pages.store(0, Ordering::SeqCst);
        let _ = shop.call("POST", "/_local/scan", Value::Null).await.expect_problem(503, "try_again");
        shop.rest().await;
        assert_eq!(shop.status(&id).await, "PENDING_PAYMENT", "run {run} came no further than the stuck ones");
    }
    // The third begins behind two hundred of them, and reaches the order; then it wraps, and breaks off.
    pages.store(0, Ordering::SeqCst);
    let _ = shop.call("POST", "/_local/scan", Value::Null).await.expect_problem(503, "try_again");
    shop.rest().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.metric("FoundByScan")), ("CLOSED", 1));
}

#[tokio::test]
async fn a_scan_that_goes_on_where_it_stopped_wraps_and_finds_each_order_once() {
    let shop = still().open().await;
    let id = shop.ordered().await;
    stick(&shop, &id, 250).await;
    shop.faults(json!({"drop_wakes": true})).await;
    shop.advance(1_921).await;
    let _ = one_page_a_run(&shop, &id).await;
    let _ = shop.call("POST", "/_local/scan", Value::Null).await.expect_problem(503, "try_again");
    shop.system.cloud.clear_call_rules();

    let run = shop.call("POST", "/_local/scan", Value::Null).await.expect(200).body;
    assert_eq!(run, json!({"found": 251, "sent": 1, "complete": true}));
    shop.rest().await;
    assert_eq!(shop.status(&id).await, "CLOSED");
    // A lap that ended leaves no cursor: the next begins at the oldest.
    let run = shop.call("POST", "/_local/scan", Value::Null).await.expect(200).body;
    assert_eq!(run, json!({"found": 250, "sent": 0, "complete": true}));
}

#[tokio::test]
async fn an_order_that_cannot_be_read_hides_no_other_and_is_counted() {
    let shop = still().open().await;
    let (broken, fine) = (shop.ordered().await, shop.ordered().await);
    shop.faults(json!({"drop_wakes": true})).await;
    shop.damage(&broken, "SET s = :unknown", &[(":unknown", AttributeValue::S("?".to_owned()))]).await;
    shop.rest().await;
    let seen = shop.metric("InvariantBreach");
    shop.advance(1_921).await;
    assert_eq!(shop.scan().await, 2);
    assert_eq!((shop.status(&fine).await.as_str(), shop.metric("InvariantBreach")), ("CLOSED", seen + 1));
    assert!(shop.is_due(&broken).await, "it stays visible");
}
