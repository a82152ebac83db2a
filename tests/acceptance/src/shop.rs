//! A shop on the local system.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use expiry_core::time::Timestamp;
use http::{Method, Request};
use local::clock::MovableClock;
use local::cloud::fate::{CallFate, Failure, Service};
use local::system::Parts;
use local::{Settings, System, server};
use serde_json::{Value, json};

use crate::{Answer, OrderBody, order};

/// How long a scene may take to come to rest; reached only by a system that never does.
const REST: Duration = Duration::from_secs(20);
/// Default window, in seconds.
pub const WINDOW: u64 = 1_800;

/// A shop to be opened.
#[derive(Debug, Default)]
pub struct ShopBuilder {
    environment: BTreeMap<String, String>,
    stock: Vec<(String, u64)>,
    clock: Option<MovableClock>,
    seed: u64,
    data: Option<PathBuf>,
    channel_call: Option<Duration>,
}

/// A shop with nothing in stock and the default settings.
#[must_use]
pub fn shop() -> ShopBuilder {
    ShopBuilder::default()
}

impl ShopBuilder {
    /// With `on_hand` units of `sku`.
    #[must_use]
    pub fn with_stock(mut self, sku: &str, on_hand: u64) -> ShopBuilder {
        self.stock.push((sku.to_owned(), on_hand));
        self
    }

    /// With a variable of the environment set.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> ShopBuilder {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// On a clock that is only moved by hand.
    #[must_use]
    pub fn on(mut self, clock: MovableClock) -> ShopBuilder {
        self.clock = Some(clock);
        self
    }

    /// On a clock that stands at a whole second until it is moved.
    #[must_use]
    pub fn with_time_standing_still(self) -> ShopBuilder {
        self.on(MovableClock::paused(Timestamp::EPOCH.plus(Duration::from_secs(1_800_000_000))))
    }

    /// With a folder in which the database outlives the shop.
    #[must_use]
    pub fn with_data(mut self, folder: impl Into<PathBuf>) -> ShopBuilder {
        self.data = Some(folder.into());
        self
    }

    /// With another time for one call of a channel, in real time: shorter than the whole seconds of the environment.
    #[must_use]
    pub fn with_channel_call(mut self, time: Duration) -> ShopBuilder {
        self.channel_call = Some(time);
        self
    }

    /// With another seed for what chance decides.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> ShopBuilder {
        self.seed = seed;
        self
    }

    /// Opens it.
    ///
    /// # Panics
    /// When the local system does not start.
    pub async fn open(self) -> Shop {
        let environment = self.environment;
        let mut settings = Settings::from_lookup(&|name| environment.get(name).cloned()).expect("valid settings");
        settings.seed = self.seed;
        settings.data = self.data;
        settings.config.channel_call = self.channel_call.unwrap_or(settings.config.channel_call);
        let parts = Parts { clock: self.clock.unwrap_or_else(MovableClock::running), ..Parts::default() };
        let system = System::start(&settings, parts).await.expect("the local system starts");
        let shop = Shop { system };
        for (sku, on_hand) in self.stock {
            let _ = shop.put_stock(&sku, on_hand).await.expect(200);
        }
        shop
    }
}

/// An open shop.
#[derive(Debug)]
pub struct Shop {
    /// The system below, for what has no route.
    pub system: System,
}

impl Shop {
    /// Sends a request with any headers and body.
    ///
    /// # Panics
    /// When it is no request.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).expect("a method")).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.into()).expect("a request");
        let answer = server::respond(&self.system, request).await;
        let content_type = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
        Answer {
            status: answer.status().as_u16(),
            content_type: content_type.unwrap_or_default().to_owned(),
            body: serde_json::from_slice(answer.body()).unwrap_or(Value::Null),
        }
    }

    /// Sends JSON, as the shop's backend.
    pub async fn call(&self, method: &str, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &[("content-type", "application/json")], body).await
    }

    /// Sends JSON to `/admin`, as an operator.
    pub async fn admin(&self, method: &str, path: &str, body: Value) -> Answer {
        let headers = [("content-type", "application/json"), ("authorization", "Bearer local-admin")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, &format!("/admin{path}"), &headers, body).await
    }

    /// `POST /orders`.
    pub async fn create(&self, order: &OrderBody) -> Answer {
        self.call("POST", "/orders", order.0.clone()).await
    }

    /// A created order's id.
    pub async fn order_of(&self, order: &OrderBody) -> String {
        self.create(order).await.expect(201).text("order_id").to_owned()
    }

    /// The id of a created order for one `SKU`.
    pub async fn ordered(&self) -> String {
        self.order_of(&order()).await
    }

    /// `GET /orders/{id}`.
    pub async fn order(&self, id: &str) -> Value {
        self.call("GET", &format!("/orders/{id}"), Value::Null).await.expect(200).body
    }

    /// The order's status.
    pub async fn status(&self, id: &str) -> String {
        self.order(id).await["status"].as_str().unwrap_or_default().to_owned()
    }

    /// `POST /orders/{id}/payments` by the channel `sim`.
    pub async fn pay(&self, id: &str) -> Answer {
        self.call("POST", &format!("/orders/{id}/payments"), json!({"channel": "sim"})).await
    }

    /// `POST /orders/{id}/payments` by the channel `sim`, with further fields of the body.
    pub async fn pay_with(&self, id: &str, mut body: Value) -> Answer {
        body["channel"] = "sim".into();
        self.call("POST", &format!("/orders/{id}/payments"), body).await
    }

    /// The `out_trade_no` of a payment started with further fields of the body.
    pub async fn paying_with(&self, id: &str, body: Value) -> String {
        self.pay_with(id, body).await.expect(201).text("out_trade_no").to_owned()
    }

    /// The `out_trade_no` of a started payment.
    pub async fn paying(&self, id: &str) -> String {
        self.pay(id).await.expect(201).text("out_trade_no").to_owned()
    }

    /// `POST /orders/{id}/cancel`.
    pub async fn cancel(&self, id: &str) -> Answer {
        self.call("POST", &format!("/orders/{id}/cancel"), json!({"reason": "changed my mind"})).await
    }

    /// `POST /admin/orders/{id}/check`.
    pub async fn check(&self, id: &str) -> Answer {
        self.admin("POST", &format!("/orders/{id}/check"), json!({"reason": "a customer asks"})).await
    }

    /// Sets what the channel answers about a payment.
    pub async fn channel(&self, out_trade_no: &str, fields: Value) -> Answer {
        self.call("PUT", &format!("/_sim/payments/{out_trade_no}"), fields).await.expect(200)
    }

    /// What the channel knows of a payment, with the calls it received.
    pub async fn at_channel(&self, out_trade_no: &str) -> Value {
        self.call("GET", &format!("/_sim/payments/{out_trade_no}"), Value::Null).await.expect(200).body
    }

    /// How often the channel received `call` for a payment.
    pub async fn calls(&self, out_trade_no: &str, call: &str) -> usize {
        let payment = self.at_channel(out_trade_no).await;
        let calls = payment["calls"].as_array().cloned().unwrap_or_default();
        calls.iter().filter(|made| made["call"] == call).count()
    }

    /// Has the channel send a signed callback; the answer tells what the shop answered: `{status, body}`.
    pub async fn notify(&self, out_trade_no: &str, overrides: Value) -> Answer {
        self.call("POST", &format!("/_sim/payments/{out_trade_no}/notify"), overrides).await
    }

    /// The customer pays: the channel holds the money and says so. Answers what the shop answered the callback.
    pub async fn paid(&self, out_trade_no: &str) -> u64 {
        self.channel(out_trade_no, json!({"state": "SUCCESS"})).await;
        self.notify(out_trade_no, Value::Null).await.body["status"].as_u64().unwrap_or_default()
    }

    /// `PUT /admin/stock/{sku}/default/default`.
    pub async fn put_stock(&self, sku: &str, on_hand: u64) -> Answer {
        self.admin("PUT", &format!("/stock/{sku}/default/default"), json!({"on_hand": on_hand})).await
    }

    /// The stock of `sku`: available, reserved, sold.
    pub async fn stock(&self, sku: &str) -> (u64, u64, u64) {
        let stock = self.admin("GET", &format!("/stock/{sku}/default/default"), Value::Null).await.expect(200).body;
        let read = |field: &str| stock[field].as_u64().unwrap_or_else(|| panic!("{field} of {stock}"));
        assert_eq!(read("on_hand"), read("available") + read("reserved") + read("sold"), "I5: {stock}");
        (read("available"), read("reserved"), read("sold"))
    }

    /// Waits until nothing is left to do now.
    ///
    /// # Panics
    /// When the system does not come to rest.
    pub async fn rest(&self) {
        assert!(
            self.system.settled(REST).await,
            "the system never came to rest: {:?}",
            self.system.cloud.queue_counts()
        );
    }

    /// Moves the clock, and lets what became due finish.
    pub async fn advance(&self, seconds: u64) {
        self.advance_by(Duration::from_secs(seconds)).await;
    }

    /// Moves the clock by any span, and lets what became due finish.
    pub async fn advance_by(&self, span: Duration) {
        self.system.advance(span).await;
        self.rest().await;
    }

    /// Moves the clock past the deadline of an order of the default rule, so that its wake-up has fired and been handled.
    pub async fn pass_deadline(&self) {
        // The early wake-up re-queues itself; two moves let both happen in their order.
        self.advance(WINDOW - 1).await;
        self.advance(3).await;
    }

    /// Replaces the faults.
    pub async fn faults(&self, faults: Value) {
        let _ = self.call("PUT", "/_local/faults", faults).await.expect(200);
    }

    /// From now on Secrets Manager fails, until the rules for calls are cleared.
    pub fn no_secret_can_be_read(&self) {
        self.system.cloud.on_call(|call| {
            let fails = call.service == Service::Secrets;
            fails.then(|| CallFate::Fail(Failure::new(500, "InternalServiceError")))
        });
    }

    /// Runs the scan to its end and lets what it sent finish: how many it found.
    pub async fn scan(&self) -> u64 {
        let found = self.call("POST", "/_local/scan", Value::Null).await.expect(200).body["found"].as_u64();
        self.rest().await;
        found.unwrap_or_default()
    }

    /// The sum of a metric over all its dimensions.
    #[must_use]
    pub fn metric(&self, name: &str) -> u64 {
        self.system.figures.sum(name)
    }

    /// How often a callback was refused for `reason`.
    #[must_use]
    pub fn refused_callbacks(&self, reason: &str) -> u64 {
        let name = format!("CallbackRefused{{channel=sim,reason={reason}}}");
        self.system.figures.all().get(&name).map_or(0, |figure| figure.sum)
    }

    /// The order's timeline of `GET /admin/orders/{id}`: its entries of `kind`.
    pub async fn timeline(&self, id: &str, kind: &str) -> Vec<Value> {
        let file = self.admin("GET", &format!("/orders/{id}"), Value::Null).await.expect(200).body;
        let entries = file["timeline"].as_array().cloned().unwrap_or_default();
        entries.into_iter().filter(|entry| entry["kind"] == kind).collect()
    }

    /// The names of today's findings about the order, in the order in which they were found.
    pub async fn findings(&self, id: &str) -> Vec<String> {
        let found = self.admin("GET", "/findings", Value::Null).await.expect(200).body["findings"].clone();
        let ours = found.as_array().into_iter().flatten().filter(|finding| finding["order_id"] == id);
        ours.filter_map(|finding| finding["name"].as_str()).map(str::to_owned).collect()
    }
}
