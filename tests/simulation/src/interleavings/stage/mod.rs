//! The stage of every cast: a whole local system whose drivers stand still, so that nobody moves but the actors.

mod actors;
mod ending;
mod errand;
mod judgement;
mod payer;
mod world;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use expiry_channels::Headers;
use expiry_core::ids::OrderId;
use expiry_core::limits;
use expiry_core::message::{Message, Queue};
use expiry_core::order::Order;
use expiry_core::pending::Unit;
use expiry_core::time::Clock;
use futures_util::FutureExt;
use local::server;
use local::system::Parts;
use local::{Settings, System};
use serde_json::{Value, json};

use super::cast::{Actor, Acts, Ending, Stage};
use super::fingerprint::Fingerprint;
use super::gate::{ActorNo, Gate};
use crate::panics;
use crate::random::SeededIds;
use crate::timeline::Timeline;
use crate::watch::Watch;

pub(crate) use self::errand::Errand;
use self::payer::{Payer, Post};
use self::world::World;

/// What an order costs.
pub(crate) const PRICE: u64 = 1_000;
/// The window in which it must be paid.
pub(crate) const WINDOW: Duration = Duration::from_secs(90);
/// The lease of a worker.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// When a message whose receiver died is visible again.
pub(crate) const VISIBILITY: Duration = Duration::from_secs(60);

/// The shop on stage, while the scene is set.
pub(crate) struct Scene {
    pub(crate) system: Arc<System>,
    gate: Gate,
    settings: Settings,
    watch: Watch,
    timeline: Timeline,
    world: World,
    post: Arc<Post>,
    actors: Vec<Actor>,
    /// What each actor does when its caller calls again.
    again: Vec<Again>,
}

/// A second call.
enum Again {
    Errand(Errand),
    Payer(Payer),
    Nobody,
}

impl Scene {
    /// A shop with `stock` shirts, ann's coupon, and nothing else.
    pub(crate) async fn open(gate: Gate, stock: u64) -> Scene {
        panics::watch();
        let clock = gate.clock();
        let environment = |name: &str| match name {
            "EXPIRY_RULES" => Some(format!(r#"[{{"id":"default","version":1,"seconds":{}}}]"#, WINDOW.as_secs())),
            _ => None,
        };
        let settings = Settings::from_lookup(&environment).expect("valid settings");
        let parts = Parts::new(clock.clone(), Arc::new(SeededIds::new(0)));
        let system = Arc::new(System::start(&settings, parts).await.expect("the local system starts"));
        system.stop();
        let timeline = Timeline::new(clock);
        let watch = Watch::on(&system.cloud, &timeline);
        let world = World::of(&system.cloud);
        let post = Arc::new(Post::default());
        system.sim.set_callback_sink(Arc::clone(&post) as _);
        let (actors, again) = (Vec::new(), Vec::new());
        let scene = Scene { system, gate, settings, watch, timeline, world, post, actors, again };
        scene.admin("PUT", "/stock/SHIRT/default/default", json!({"on_hand": stock})).await;
        let coupon = json!({"user_id": "ann", "valid_until": "2040-01-01T00:00:00Z", "refundable": true, "campaign_active": true});
        scene.admin("PUT", "/coupons/C-ann", coupon).await;
        scene
    }

    /// The body of an order of one shirt.
    pub(crate) fn order_body(user: &str) -> Value {
        let lines = json!([{"sku": "SHIRT", "quantity": 1, "unit_price": PRICE}]);
        json!({"user_id": user, "currency": "CNY", "lines": lines, "payable_amount": PRICE})
    }

    /// Ann orders a shirt.
    pub(crate) async fn order(&self) -> OrderId {
        self.ordered(Scene::order_body("ann")).await
    }

    /// An order as `body` says.
    pub(crate) async fn ordered(&self, body: Value) -> OrderId {
        let order = self.call("POST", "/orders", &[("idempotency-key", "1")], body).await;
        OrderId::parse(order["order_id"].as_str().unwrap_or_default()).expect("an order")
    }

    /// Ann begins to pay; answers our number of it.
    pub(crate) async fn payment(&self, order: &OrderId, method: &str) -> String {
        let body = json!({"channel": "sim", "method": method});
        let payment = self.call("POST", &format!("/orders/{order}/payments"), &[], body).await;
        payment["out_trade_no"].as_str().expect("a payment").to_owned()
    }

    /// Sets what the channel says of a payment.
    pub(crate) async fn channel(&self, payment: &str, fields: Value) {
        self.call("PUT", &format!("/_sim/payments/{payment}"), &[], fields).await;
    }

    /// Time passes.
    pub(crate) fn pass(&self, span: Duration) {
        self.system.clock.advance(span);
    }

    /// The wake-up of an order.
    pub(crate) fn wake(&self, order: &OrderId) -> Errand {
        let expire_at = self.stored(order).expire_at.expect("a deadline");
        Errand::Message(Queue::Close, Message::Wake { order_id: order.clone(), expire_at, hop: 0 })
    }

    /// The message for a unit of work of an order.
    pub(crate) fn unit(order: &OrderId, unit: Unit) -> Errand {
        let queue = Queue::of(&unit).expect("work of a queue");
        Errand::Message(queue, Message::Unit { order_id: order.clone(), unit, check_at: None })
    }

    /// Somebody did `errand` before the scene begins.
    pub(crate) async fn done(&self, errand: Errand) {
        let heard = errand.run(&self.system.functions).await;
        assert!(heard.is_done, "{heard:?}");
    }

    /// The money of a payment came, and its callback, before the scene begins.
    pub(crate) async fn paid(&self, payment: &str) {
        let payer = Payer { payment: payment.to_owned(), anyway: true, notify_id: "notify".to_owned() };
        payer.pay(&self.system.sim);
        let heard = payer.notify(&self.system.sim, &self.post, &self.system.functions).await;
        assert!(heard.is_done, "{heard:?}");
    }

    /// Lets a scan pass through every shard of the due index in which no order of this scene stands: nobody but the scan reads or
    /// writes anything of such a shard, its own place in it included.
    pub(crate) async fn ignore_empty_shards(&self) {
        let store = &self.system.functions.context.store;
        let end = self.system.clock.now().plus(Duration::from_secs(86_400));
        for shard in 0..limits::DUE_SHARDS {
            let page = store.due_page(shard, end, None, 1).await.expect("the due index");
            if page.hits.is_empty() {
                let place = format!("S#scan/{shard:02}");
                let lines = [format!("GetItem {place}"), format!("Query shard {shard}"), format!("PutItem {place}")];
                self.gate.let_through(lines);
            }
        }
    }

    /// The order as it is stored.
    pub(crate) fn stored(&self, order: &OrderId) -> Order {
        self.watch.orders().into_iter().find(|stored| stored.id == *order).expect("an order")
    }

    /// One request that must be granted; answers its body.
    pub(crate) async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> Value {
        let mut request = http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Bytes::from(body.to_string())).expect("a request");
        let answer = server::respond(self.system.as_ref(), request).await;
        let body = String::from_utf8_lossy(answer.body());
        assert!(answer.status().is_success(), "{method} {path}: {} {body}", answer.status());
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }

    async fn admin(&self, method: &str, path: &str, body: Value) -> Value {
        self.call(method, &format!("/admin{path}"), &[("authorization", "Bearer local-admin")], body).await
    }
}

impl Stage for Scene {
    /// Tables, queues, payments and the time.
    fn state(&self) -> u128 {
        let mut state = Fingerprint::default();
        state.add(&(self.world.fingerprint(), self.system.clock.now().as_millis()));
        for payment in self.payments() {
            state.add(&(&payment, self.at_channel(&payment).to_string()));
        }
        state.value()
    }

    fn breaches(&self) -> Vec<String> {
        self.watch.breaches()
    }

    fn end(self: Box<Self>, again: Vec<ActorNo>) -> Acts<'static, Ending> {
        Box::pin(ending::of(*self, again))
    }

    fn story(&self) -> Vec<String> {
        self.timeline.lines().into_iter().filter(|line| line.is_story).map(|line| line.text).collect()
    }
}

impl Scene {
    /// Our number of every payment begun.
    fn payments(&self) -> Vec<String> {
        let orders = self.watch.orders();
        let numbers = orders.iter().flat_map(|order| order.numbered_attempts().map(|(no, _)| order.out_trade_no(no)));
        numbers.map(|number| number.to_string()).collect()
    }

    /// What the channel holds of a payment, without the questions that were asked about it; null when it does not know it.
    fn at_channel(&self, payment: &str) -> Value {
        let path = format!("/_sim/payments/{payment}");
        let answer = self.system.sim.handle("GET", &path, &Headers::default(), &[]).now_or_never();
        let answer = answer.filter(|answer| answer.status == 200);
        let mut known: Value = answer.and_then(|answer| serde_json::from_slice(&answer.body).ok()).unwrap_or_default();
        if let Some(calls) = known["calls"].as_array_mut() {
            calls.retain(|call| call["call"] == "place" || call["call"] == "refund");
        }
        known
    }
}
