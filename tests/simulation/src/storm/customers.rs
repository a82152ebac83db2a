//! Customers: they order, pay, pay otherwise, cancel, and close their browser at any moment.

use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::channel::{Channel, Payment};
use super::plan::Kind;
use super::scene::Scene;
use crate::shop::{GOODS, USERS};

/// Customers of the smallest run, and how many sizes of runs there are.
const CUSTOMERS: u64 = 2;
const SIZES: u64 = 2;
/// How often a customer tries again whose order may or may not have been taken.
const TRIES: usize = 4;

/// Every customer of the run.
pub(super) async fn all(scene: &Scene) {
    // Small shops show single faults, large ones what happens between orders.
    let customers = (0..CUSTOMERS + scene.seed / 2 % SIZES).filter(|n| scene.happens(Kind::Customer, *n)).map(|n| {
        let customer = Customer { scene: scene.clone(), rng: scene.rng(&format!("customer {n}")), n };
        customer.lives()
    });
    join_all(customers).await;
}

/// Waits at most so long.
pub(super) async fn wait(rng: &mut Rng, most_millis: u64) {
    tokio::time::sleep(Duration::from_millis(rng.u64(0..most_millis))).await;
}

/// Another window of the same customer.
struct SecondWindow {
    scene: Scene,
    id: String,
    n: u64,
}

impl SecondWindow {
    /// Cancels while the first window is still waiting.
    async fn cancels(&self, mut rng: Rng) {
        wait(&mut rng, 3_000).await;
        let (who, path) = (format!("customer {} elsewhere", self.n), format!("/orders/{}/cancel", self.id));
        self.scene.does(&who, "POST", &path, "", json!({"reason": "no more"})).await;
    }
}

struct Customer {
    scene: Scene,
    rng: Rng,
    n: u64,
}

impl Customer {
    async fn lives(mut self) {
        wait(&mut self.rng, 60_000).await;
        let body = self.cart();
        let Some(id) = self.orders(&body).await else { return };
        for act in 0..self.rng.u64(0..4) {
            wait(&mut self.rng, 50_000).await;
            let mut rng = Rng::with_seed(self.rng.u64(..));
            let changes_mind = self.rng.u8(0..100) < 20;
            if self.scene.happens(Kind::Act, self.n * 10 + act) {
                let cancels = changes_mind && self.scene.happens(Kind::Act, self.n * 10 + act + 5);
                let second_window = SecondWindow { scene: self.scene.clone(), id: id.clone(), n: self.n };
                let mind = Rng::with_seed(self.rng.u64(..));
                futures_util::join!(self.acts(&mut rng, &id), async {
                    if cancels {
                        second_window.cancels(mind).await;
                    }
                });
            }
        }
    }

    fn cart(&mut self) -> Value {
        let rng = &mut self.rng;
        let user = USERS[rng.usize(0..USERS.len())];
        let (sku, _) = GOODS[rng.usize(0..GOODS.len())];
        let price = if rng.u8(0..100) < 5 { 0 } else { 1_000 };
        let rule = if rng.bool() { "default" } else { "long" };
        let mut body = json!({
            "user_id": user,
            "currency": "CNY",
            "lines": [{"sku": sku, "quantity": 1, "unit_price": 1_000}],
            "payable_amount": price,
            "expiry_rule": rule,
        });
        if rng.u8(0..100) < 40 {
            body["coupon_id"] = json!(format!("C-{user}"));
        }
        if rng.u8(0..100) < 40 {
            body["points"] = json!(rng.u64(1..30));
        }
        if rng.u8(0..100) < 40 {
            body["quotas"] = json!([{"activity": "sale", "quantity": 1}]);
        }
        body
    }

    /// Orders, and again with the same key when it is not clear whether that worked.
    async fn orders(&mut self, body: &Value) -> Option<String> {
        let key = format!("customer-{}", self.n);
        for _ in 0..TRIES {
            match self.asks("POST", "/orders", &key, body.clone()).await {
                Some((201, order)) => return order["order_id"].as_str().map(str::to_owned),
                Some((503, _)) | None => wait(&mut self.rng, 3_000).await,
                Some(_) => return None,
            }
        }
        None
    }

    /// Cancels, or pays: then what becomes of the payment is up to the channel.
    async fn acts(&mut self, rng: &mut Rng, id: &str) {
        if rng.u8(0..100) < 15 {
            self.asks("POST", &format!("/orders/{id}/cancel"), "", json!({"reason": "no more"})).await;
            return;
        }
        let mut body = json!({"channel": "sim"});
        if rng.u8(0..100) < 25 {
            body["method"] = json!("card");
        }
        if rng.u8(0..100) < 25 {
            body["amount"] = json!(rng.u64(1..1_200));
        }
        self.scene.credentials.asked_for(id);
        let answer = self.asks("POST", &format!("/orders/{id}/payments"), "", body).await;
        let Some(payment) = answer.filter(|(status, _)| *status == 201).and_then(|(_, body)| Payment::read(&body))
        else {
            return;
        };
        payment.breach(&self.scene.credentials).into_iter().for_each(|breach| self.scene.watch.report(breach));
        let channel = Channel::new(self.scene.clone(), Rng::with_seed(rng.u64(..)));
        tokio::spawn(channel.lives(payment));
    }

    /// One request; `None` when it was cut off on the way, wherever the function was.
    async fn asks(&mut self, method: &str, path: &str, key: &str, body: Value) -> Option<(u16, Value)> {
        let patience = Duration::from_millis(if self.rng.u8(0..100) < 8 { self.rng.u64(0..40) } else { 40_000 });
        let who = format!("customer {}", self.n);
        let answered = tokio::time::timeout(patience, self.scene.does(&who, method, path, key, body)).await;
        if answered.is_err() {
            self.scene.weather.timeline.note(&format!("{who} was cut off"));
        }
        answered.ok()
    }
}
