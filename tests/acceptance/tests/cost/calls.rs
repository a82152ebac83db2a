//! What one order makes of every service besides write units: the figures of docs/COST.md.

use std::sync::{Arc, Mutex, PoisonError};

use acceptance::{Shop, shop};
use local::cloud::fate::Service;

/// What was asked of each service, as its bill counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    /// Of DynamoDB: consistent reads of one item below 4 KB.
    read_units: u64,
    /// Schedules that fired.
    schedules: u64,
    /// Messages; each is sent, received and deleted.
    messages: u64,
    /// Of functions, with batches of one: requests, images of the order in the stream, messages.
    invocations: u64,
}

/// Counts from now on.
#[derive(Clone, Debug, Default)]
struct Meter(Arc<Mutex<Usage>>);

impl Meter {
    fn on(shop: &Shop) -> Meter {
        let meter = Meter::default();
        let counting = meter.clone();
        shop.system.cloud.on_call(move |call| {
            let mut usage = counting.lock();
            match (call.service, call.operation) {
                (Service::DynamoDb, "GetItem") => {
                    assert_eq!(call.body["ConsistentRead"], true, "a decision rests on a consistent read");
                    usage.read_units += 1;
                }
                (Service::Sqs, "DeleteMessage") => {
                    usage.messages += 1;
                    usage.invocations += 1;
                }
                _ => {}
            }
            None
        });
        let writing = meter.clone();
        shop.system.cloud.observe_writes(move |writes| {
            let orders = writes.iter().filter(|write| write.table == "orders" && write.key["sk"]["S"] == "O");
            writing.lock().invocations += orders.count() as u64;
        });
        meter
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Usage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was used, with so many requests to the API and schedules that fired.
    fn usage(&self, requests: u64, schedules: u64) -> Usage {
        let usage = *self.lock();
        Usage { schedules, invocations: usage.invocations + requests, ..usage }
    }
}

async fn open_shop() -> Shop {
    shop().with_stock("SKU", 5).with_env("SCAN_PERIOD_SECONDS", "86400").with_time_standing_still().open().await
}

#[tokio::test]
async fn an_unpaid_order_makes_three_reads_three_messages_and_seven_invocations() {
    let shop = open_shop().await;
    let meter = Meter::on(&shop);
    let id = shop.ordered().await;
    shop.pass_deadline().await;
    let usage = meter.usage(1, 1);
    println!("unpaid, no attempt: {usage:?}");
    assert_eq!(shop.status(&id).await, "CLOSED");
    assert_eq!(usage, Usage { read_units: 3, schedules: 1, messages: 3, invocations: 7 });
}

#[tokio::test]
async fn an_order_paid_by_callback_needs_one_message_and_its_reminder_never_fires() {
    let shop = open_shop().await;
    let meter = Meter::on(&shop);
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    shop.rest().await;
    let usage = meter.usage(3, 0);
    println!("paid by callback: {usage:?}");
    assert_eq!((shop.status(&id).await.as_str(), shop.schedules().await), ("PAID", vec![]));
    assert_eq!(usage, Usage { read_units: 3, schedules: 0, messages: 1, invocations: 9 });
}

#[tokio::test]
async fn an_unpaid_order_with_an_attempt_is_asked_about_and_closed_at_its_channel() {
    let shop = open_shop().await;
    let meter = Meter::on(&shop);
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.pass_deadline().await;
    let usage = meter.usage(2, 1);
    println!("unpaid, one attempt: {usage:?}");
    assert_eq!(shop.status(&id).await, "CLOSED");
    assert_eq!(usage, Usage { read_units: 4, schedules: 1, messages: 3, invocations: 11 });
    assert_eq!((shop.calls(&payment, "query").await, shop.calls(&payment, "close").await), (2, 1));
}
