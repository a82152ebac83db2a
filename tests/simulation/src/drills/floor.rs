//! The shop of a drill: many ordinary orders, ordinary latencies, and what can be measured of them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use expiry_core::order::{Order, OrderStatus};
use expiry_core::time::Timestamp;
use fastrand::Rng;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use local::cloud::fate::{Call, CallFate, Fate, SeededFate};
use local::system::Parts;
use local::{Settings, System};
use serde_json::json;

use crate::panics;
use crate::random::{SeededIds, rng};
use crate::shop::Shop;
use crate::timeline::Timeline;
use crate::watch::Watch;

/// Over which time the orders are created, and so expire.
const SPREAD: Duration = Duration::from_secs(60);
/// Orders that are created after everything, to see whether the shop is well again.
const AFTERWARDS: usize = 5;
/// Customers who order or wait for their turn at the same time.
const AT_ONCE: usize = 10_000;
/// How long a call of AWS takes, in milliseconds.
const AWS_MILLIS: std::ops::Range<u64> = 2..10;
/// How often it is looked whether anything is left to do.
const LOOK: Duration = Duration::from_secs(1);
/// The one good that is sold.
const SKU: &str = "/stock/BULK/default/default";
/// Tries of a customer whose order was not taken.
const TRIES: usize = 5;

/// A shop in ordinary motion.
#[derive(Debug)]
pub(super) struct Floor {
    pub(super) shop: Shop,
    watch: Watch,
    backlog: Arc<AtomicU64>,
}

impl Floor {
    /// A shop with stock for `orders`.
    pub(super) async fn open(orders: usize) -> Floor {
        Floor::with_pollers(orders, local::settings::POLLERS).await
    }

    /// A shop whose functions work on so many batches of each queue at once.
    pub(super) async fn with_pollers(orders: usize, pollers: usize) -> Floor {
        fastrand::seed(0);
        panics::watch();
        let clock = crate::simulated_clock();
        let mut settings = Settings::from_lookup(&|_| None).expect("valid settings");
        settings.pollers = pollers;
        // As in the template.
        settings.visibility_seconds = 180;
        let parts = Parts::new(clock.clone(), Arc::new(SeededIds::new(0)));
        let system = Arc::new(System::start(&settings, parts).await.expect("the local system starts"));
        let watch = Watch::on(&system.cloud, &Timeline::new(clock));
        system.cloud.set_fate(Latency { schedules: SeededFate::new(0), rng: rng(0, "latency") });
        let shop = Shop { system };
        shop.admin("PUT", SKU, json!({"on_hand": orders + AFTERWARDS})).await;
        Floor { shop, watch, backlog: Arc::default() }
    }

    /// Creates orders evenly over [`SPREAD`], each with a payment that nobody completes if asked for.
    pub(super) async fn orders(&self, count: usize, with_payment: bool) {
        let began = tokio::time::Instant::now();
        let apart = SPREAD / u32::try_from(count).unwrap_or(u32::MAX);
        let customers = stream::iter((0_u32..).zip(0..count)).map(async |(turn, number)| {
            tokio::time::sleep_until(began + apart * turn).await;
            self.order(number, with_payment).await;
        });
        customers.buffer_unordered(AT_ONCE).collect().await
    }

    async fn order(&self, number: usize, with_payment: bool) {
        let body = json!({
            "user_id": format!("u-{number}"),
            "currency": "CNY",
            "lines": [{"sku": "BULK", "quantity": 1, "unit_price": 1_000}],
            "payable_amount": 1_000,
        });
        let key = format!("order-{number}");
        for _ in 0..TRIES {
            let (status, order) = self.shop.call("POST", "/orders", &[("idempotency-key", &key)], body.clone()).await;
            if status == 201 {
                if with_payment {
                    let path = format!("/orders/{}/payments", order["order_id"].as_str().unwrap_or_default());
                    self.shop.call("POST", &path, &[], json!({"channel": "sim"})).await;
                }
                return;
            }
        }
    }

    /// How long it took until nothing was left to do; `None` when `most` was not enough.
    pub(super) async fn waits_for_rest(&self, most: Duration) -> Option<Duration> {
        let began = tokio::time::Instant::now();
        while self.watch.unfinished() > 0 {
            if began.elapsed() >= most {
                return None;
            }
            tokio::time::sleep(LOOK).await;
        }
        Some(began.elapsed())
    }

    /// Looks at the queues until `until` is over.
    pub(super) async fn watches_queues<T>(&self, until: impl Future<Output = T>) -> T {
        let watching = async {
            loop {
                let counts = self.shop.system.cloud.queue_counts();
                let waiting = counts.iter().filter(|(name, _)| !name.ends_with("-dlq")).map(|(_, count)| count.visible);
                self.backlog.fetch_max(waiting.sum::<usize>() as u64, Ordering::SeqCst);
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            biased;
            done = until => done,
            () = watching => unreachable!("it watches for ever"),
        }
    }

    pub(super) fn unfinished(&self) -> usize {
        self.watch.unfinished()
    }

    pub(super) fn backlog(&self) -> u64 {
        self.backlog.load(Ordering::SeqCst)
    }

    pub(super) fn found_by_scan(&self) -> u64 {
        self.shop.system.figures.sum("FoundByScan")
    }

    pub(super) fn dead_letters(&self) -> u64 {
        let counts = self.shop.system.cloud.queue_counts();
        counts.iter().filter(|(name, _)| name.ends_with("-dlq")).map(|(_, count)| count.visible as u64).sum()
    }

    /// From `expire_at` to `closed_at` of every order that expired.
    pub(super) fn lateness(&self) -> Lateness {
        let orders = self.watch.orders();
        let late = orders.iter().filter(|order| order.status == OrderStatus::Closed);
        Lateness::of(late.filter_map(|order| Some(order.closed_at?.since(order.expire_at?))).collect())
    }

    /// How many orders there are.
    pub(super) fn created(&self) -> usize {
        self.watch.orders().len()
    }

    /// Whether the shop does its ordinary work again: a few more orders are closed at their time by wake-ups alone.
    pub(super) async fn is_well_again(&self) -> Option<String> {
        let (created, found_by_scan) = (self.created(), self.found_by_scan());
        join_all((created..created + AFTERWARDS).map(|number| self.order(number, false))).await;
        tokio::time::sleep(super::WINDOW + SPREAD).await;
        let is_well = self.created() == created + AFTERWARDS
            && self.watch.unfinished() == 0
            && self.found_by_scan() == found_by_scan
            && self.shop.system.is_quiet();
        (!is_well).then(|| "orders created afterwards were not closed at their time".to_owned())
    }

    /// What was wrong on the way, and at the end, of a shop in which `asked` orders were asked for.
    pub(super) fn breaches(&self, asked: usize, with_payment: bool) -> Vec<String> {
        let mut found = self.watch.breaches();
        found.extend(panics::taken());
        let orders = self.watch.orders();
        if orders.len() != asked {
            found.push(format!("{} orders were created of {asked}", orders.len()));
        }
        let as_meant =
            |order: &&Order| order.status == OrderStatus::Closed && order.attempts.is_empty() != with_payment;
        let others = orders.len() - orders.iter().filter(as_meant).count();
        if others > 0 {
            found.push(format!("{others} orders are not CLOSED, or not after what they were meant to go through"));
        }
        let breaches = self.shop.system.figures.sum("InvariantBreach");
        if breaches > 0 {
            found.push(format!("{breaches} stream images broke an invariant"));
        }
        found
    }
}

/// How late orders were closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Half were not later.
    pub p50: Duration,
    /// Of a hundred, one was later.
    pub p99: Duration,
    /// The latest.
    pub most: Duration,
}

impl Lateness {
    fn of(mut late: Vec<Duration>) -> Lateness {
        late.sort_unstable();
        let at = |percent: usize| late.get((late.len() * percent / 100).min(late.len().saturating_sub(1)));
        let at = |percent| at(percent).copied().unwrap_or_default();
        Lateness { p50: at(50), p99: at(99), most: at(100) }
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |span: Duration| format!("{}.{:01} s", span.as_secs(), span.subsec_millis() / 100);
        write!(out, "{} / {} / {}", seconds(self.p50), seconds(self.p99), seconds(self.most))
    }
}

/// Calls take their time; nothing else happens to them.
#[derive(Debug)]
struct Latency {
    schedules: SeededFate,
    rng: Rng,
}

impl Fate for Latency {
    fn schedule_fires(&mut self, name: &str, due: Timestamp, window: Duration) -> Timestamp {
        self.schedules.schedule_fires(name, due, window)
    }

    fn call(&mut self, _: &Call<'_>) -> CallFate {
        CallFate::Delay(Duration::from_millis(self.rng.u64(AWS_MILLIS)))
    }
}
