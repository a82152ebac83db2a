//! The database's `Date` is the authority on time (DESIGN §5): a function whose clock is further than 1.5 s from it acts on nothing.

use std::sync::Arc;
use std::time::Duration;

use acceptance::Shop;
use bytes::Bytes;
use expiry_adjudication::Surroundings;
use expiry_channels::Headers;
use expiry_core::time::Timestamp;
use expiry_runtime::ids::SystemIds;
use expiry_runtime::metrics::Metrics;
use local::Settings;
use local::clock::MovableClock;
use local::drivers::gateway::{self, Incoming};
use local::functions::Functions;
use local::sim::{CallbackAnswer, CallbackFuture, CallbackSink};
use serde_json::{Value, json};

use crate::scene::{pass_deadline_unnoticed, still_shop, wake_event};

/// The functions of the shop on a clock of their own.
fn functions_on(shop: &Shop, time: Timestamp) -> Functions {
    let settings = Settings::from_lookup(&|_| None).expect("valid settings");
    let clock = Arc::new(MovableClock::paused(time));
    let surroundings = Surroundings {
        metrics: Metrics::new(clock.clone(), shop.system.figures.sink()),
        clock,
        ids: Arc::new(SystemIds),
    };
    Functions::new(&settings.config, &shop.system.cloud.sdk_config(), surroundings, Arc::new(shop.system.sim.clone()))
        .expect("the functions start")
}

/// The shop's time, moved by `millis`; its clock stands at a whole second, so that `Date` hides nothing.
fn moved(shop: &Shop, millis: i64) -> Timestamp {
    let span = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 { shop.now().minus(span) } else { shop.now().plus(span) }
}

async fn serve(functions: &Functions, request: http::Request<Bytes>) -> i64 {
    let (parts, body) = request.into_parts();
    let incoming = Incoming { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    gateway::serve(functions, incoming).await.status_code
}

async fn post(functions: &Functions, path: &str, body: Value) -> i64 {
    let request = http::Request::post(path).header("content-type", "application/json");
    serve(functions, request.body(Bytes::from(body.to_string())).expect("a request")).await
}

/// `Date` names a second: a clock up to a second after it is right, and 1.5 s beyond either end is still trusted.
const TRUSTED: [i64; 3] = [-1_500, 0, 2_500];
const UNTRUSTED: [i64; 4] = [-60_000, -1_501, 2_501, 60_000];

#[tokio::test]
async fn a_function_whose_clock_is_wrong_acts_on_nothing_and_says_so() {
    for millis in UNTRUSTED {
        let shop = still_shop().open().await;
        let (id, other) = (shop.ordered().await, shop.ordered().await);
        let payment = shop.paying(&id).await;
        pass_deadline_unnoticed(&shop).await;
        let (order, other_order) = (shop.order(&id).await, shop.order(&other).await);
        let functions = functions_on(&shop, moved(&shop, millis));

        assert_eq!(post(&functions, "/orders", acceptance::order().0).await, 503, "{millis} ms: create");
        assert_eq!(post(&functions, &format!("/orders/{id}/payments"), json!({"channel": "sim"})).await, 503, "pay");
        assert_eq!(post(&functions, &format!("/orders/{id}/cancel"), json!({"reason": "x"})).await, 503, "cancel");
        for order in [&order, &other_order] {
            let event = serde_json::from_value(wake_event(order)).expect("an event");
            assert!(functions.close_order.handle(event).await.is_err(), "{millis} ms: the wake-up is wanted again");
        }
        let scanned = functions.fallback_scan.handle(shop.now().plus(Duration::from_secs(900))).await;
        assert!(scanned.is_err(), "{millis} ms: {scanned:?}");
        shop.rest().await;

        assert!(shop.metric("ClockSkew") >= 6, "{millis} ms: {}", shop.metric("ClockSkew"));
        assert_eq!(shop.order(&id).await["version"], order["version"], "{millis} ms");
        assert_eq!(shop.order(&other).await["version"], other_order["version"], "{millis} ms");
        assert_eq!(shop.stock("SKU").await, (3, 2, 0), "{millis} ms: nothing more is held, nothing released");
        assert_eq!(shop.calls(&payment, "query").await, 0, "{millis} ms: the channel heard nothing");
        assert_eq!(shop.at_channel(&payment).await["state"], "NOTPAY");
    }
}

#[tokio::test]
async fn a_callback_that_meets_a_wrong_clock_is_sent_again() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    // The channel calls back at functions whose clock is wrong, though within the tolerance of its signature.
    for millis in [-10_000, 10_000] {
        let functions = Arc::new(functions_on(&shop, moved(&shop, millis)));
        shop.system.sim.set_callback_sink(Arc::new(Door(functions)));
        assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 503, "{millis} ms");
        assert_eq!(shop.status(&id).await, "PAYING", "{millis} ms");
    }
    assert_eq!(shop.metric("ClockSkew"), 2);
    shop.system.sim.set_callback_sink(Arc::new(Door(Arc::clone(&shop.system.functions))));
    assert_eq!(shop.notify(&payment, Value::Null).await.body["status"], 200, "the right time takes it");
    assert_eq!(shop.status(&id).await, "PAID");
}

/// The way of the channel's callbacks to some functions.
#[derive(Debug)]
struct Door(Arc<Functions>);

impl CallbackSink for Door {
    fn deliver(&self, path: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_> {
        let mut request = http::Request::post(path);
        for (name, value) in headers.iter() {
            request = request.header(name, value);
        }
        let request = request.body(body).expect("a request");
        Box::pin(async move {
            let status = serve(&self.0, request).await;
            Ok(CallbackAnswer { status: u16::try_from(status).expect("a status"), body: Bytes::new() })
        })
    }
}

#[tokio::test]
async fn a_function_whose_clock_is_right_enough_acts() {
    for millis in TRUSTED {
        let shop = still_shop().open().await;
        let functions = functions_on(&shop, moved(&shop, millis));
        assert_eq!(post(&functions, "/orders", acceptance::order().0).await, 201, "{millis} ms");
        assert_eq!(shop.stock("SKU").await, (4, 1, 0));
        assert_eq!(shop.metric("ClockSkew"), 0);
    }
}
