//! Every metric is emitted where it arises (DESIGN §10), and asserted by a test somewhere; here stand those that no case asserts.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use acceptance::{Shop, order, shop};
use expiry_core::decide::close::{Close, Occasion};
use expiry_core::ids::{OrderId, WorkerId};
use serde_json::{Value, json};

/// The highest value that the gauge `name` was set to.
fn gauge(shop: &Shop, name: &str) -> u64 {
    shop.system.figures.all().get(name).map_or(0, |figure| figure.most)
}

async fn overview(shop: &Shop) -> Value {
    shop.admin("GET", "/overview", Value::Null).await.expect(200).body
}

#[tokio::test]
async fn how_long_after_its_deadline_an_order_is_closed_is_measured_and_a_cancel_is_not() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let cancelled = shop.ordered().await;
    let _ = shop.cancel(&cancelled).await.expect(200);
    let _ = shop.ordered().await;
    shop.pass_deadline().await;
    let measured = shop.system.figures.all()["ExpireToClosed"];
    assert_eq!(measured.lines, 1);
    assert!((500..=3_000).contains(&measured.most), "{measured:?}");
}

#[tokio::test]
async fn what_waits_is_counted_by_the_overview_and_by_the_scan() {
    let shop = shop().with_stock("SKU", 9).open().await;
    shop.faults(json!({"drop_wakes": true})).await;
    let paid_late = shop.ordered().await;
    let payment = shop.paying(&paid_late).await;
    let _ = shop.cancel(&paid_late).await.expect(200);
    shop.rest().await;
    let _ = shop.ordered().await;
    shop.faults(json!({"drop_wakes": true, "hold_queues": ["refund", "stock-release", "close"]})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    let paid = shop.ordered().await;
    assert_eq!(shop.paid(&shop.paying(&paid).await).await, 200);
    shop.advance(2_000).await;
    let _ = shop.ordered().await;

    let seen = overview(&shop).await;
    assert_eq!(seen["orders"], json!({"CLOSED": 1, "PAID": 1, "PENDING_PAYMENT": 2}));
    assert_eq!((gauge(&shop, "UnpaidOrders"), gauge(&shop, "OverdueOrders")), (2, 1));
    assert!((190..=210).contains(&gauge(&shop, "OldestOverdueAge")), "{seen:#}");
    assert_eq!(gauge(&shop, "RefundBacklog"), 1);
    assert!(gauge(&shop, "OldestRefundAge") >= 2_000, "{seen:#}");
    assert_eq!(gauge(&shop, "PendingUnits{resource=stock}"), 1, "{:#?}", shop.system.figures.all());
    assert!(gauge(&shop, "OldestPendingAge{resource=stock}") >= 1_990);

    shop.advance(7_200).await;
    shop.scan().await;
    assert!(gauge(&shop, "OverdueOrders") >= 2, "the scan counts what it reads");
    assert!(gauge(&shop, "OldestOverdueAge") >= 7_000);
}

#[tokio::test]
async fn an_order_whose_worker_died_is_counted_as_closing_over_its_lease() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.faults(json!({"drop_wakes": true, "hold_queues": ["close"]})).await;
    shop.channel(&payment, json!({"delay_ms": 60_000})).await;
    shop.advance(1_801).await;
    let context = std::sync::Arc::clone(&shop.system.functions.context);
    let id = OrderId::parse(&id).expect("an order id");
    let command = Close {
        occasion: Occasion::Scan,
        worker: WorkerId::from_bits([7; 15]),
        lease: context.lease,
        scan_period: context.scan_period,
    };
    let worker = tokio::spawn(async move { context.run(&id, &command).await });
    shop.until("the claim is written", |shop| shop.system.cloud.stream_records_written()["orders"] >= 4).await;
    worker.abort();
    assert_eq!(overview(&shop).await["closing_over_lease"], 0, "its lease is live");
    shop.system.clock.advance(std::time::Duration::from_secs(31));
    assert_eq!(overview(&shop).await["closing_over_lease"], 1);
    assert_eq!(gauge(&shop, "ClosingOverLease"), 1);
}

#[tokio::test]
async fn a_transaction_that_belongs_to_another_order_and_a_refund_that_failed_are_counted() {
    let shop = shop().with_stock("SKU", 5).open().await;
    let (first, second) = (shop.ordered().await, shop.ordered().await);
    let (theirs, ours) = (shop.paying(&first).await, shop.paying(&second).await);
    assert_eq!(shop.paid(&theirs).await, 200);
    shop.channel(&ours, json!({"transaction_id": format!("txn-{theirs}")})).await;
    assert_eq!(shop.paid(&ours).await, 400);
    assert_eq!(shop.metric("TransactionTaken"), 1);

    let late = shop.order_of(&order().by("u2")).await;
    let payment = shop.paying(&late).await;
    let _ = shop.cancel(&late).await.expect(200);
    shop.channel(&payment, json!({"refund": "error"})).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    // Under a number that was sent, another amount would be another refund: only a person can go on.
    shop.channel(&payment, json!({"refund": "ok", "refunded_amount": 400})).await;
    shop.advance(13).await;
    assert_eq!(shop.metric("RefundFailed"), 1);
}

#[test]
fn every_metric_is_asserted_by_a_test() {
    let mut sources = String::new();
    read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")), &mut sources);
    let asserted = |name: &str| sources.contains(&format!("\"{name}\"")) || sources.contains(&format!("\"{name}{{"));
    let missing: BTreeSet<&str> = expiry_runtime::metrics::Metric::ALL
        .iter()
        .map(|metric| metric.as_str())
        .filter(|name| !asserted(name))
        .collect();
    assert_eq!(missing, BTreeSet::new());
}

fn read(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            read(&entry, sources);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&entry).expect("a source file"));
        }
    }
}
