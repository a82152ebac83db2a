//! The payment channel: what becomes of each payment there, what it says of it, and what it sends.

use std::time::Duration;

use expiry_core::attempt::Attempt;
use expiry_core::time::{Clock, Timestamp};
use fastrand::Rng;
use serde_json::{Value, json};

use super::credentials::Credentials;
use super::plan::Kind;
use super::scene::{Character, Scene};

/// What a capricious channel may say of a payment that is not paid.
const MOODS: [&str; 6] = ["NOTPAY", "USERPAYING", "NOT_FOUND", "ERROR", "FAILED", "CLOSED"];
/// How often a callback is sent again that was not acknowledged.
const RESENDS: usize = 15;

/// A payment whose credential a customer was given.
#[derive(Debug)]
pub(super) struct Payment {
    out_trade_no: String,
    expires_at: Timestamp,
    amount: u64,
}

impl Payment {
    /// What is wrong with its credential having left.
    pub(super) fn breach(&self, credentials: &Credentials) -> Option<String> {
        credentials.left(&self.out_trade_no)
    }

    /// Reads the answer of a started payment.
    pub(super) fn read(answer: &Value) -> Option<Payment> {
        Some(Payment {
            out_trade_no: answer["out_trade_no"].as_str()?.to_owned(),
            expires_at: Timestamp::parse_rfc3339(answer["expires_at"].as_str()?)?,
            amount: answer["amount"].as_u64()?,
        })
    }
}

/// The channel, as far as one payment is concerned.
pub(super) struct Channel {
    scene: Scene,
    rng: Rng,
}

impl Channel {
    pub(super) fn new(scene: Scene, rng: Rng) -> Channel {
        Channel { scene, rng }
    }

    /// The life of one payment from now on: moods, money at some moment or never, callbacks that may come or not.
    pub(super) async fn lives(mut self, payment: Payment) {
        for _ in 0..self.rng.u64(0..4) {
            self.waits(40_000).await;
            let number = self.rng.u64(..);
            if self.scene.weather.is_calm() || !self.scene.happens(Kind::Mood, number) {
                continue;
            }
            match self.scene.character {
                Character::Honest => self.is_slow_for_a_while(&payment).await,
                Character::Capricious => self.says_anything(&payment).await,
            }
        }
        if self.rng.u8(0..100) < 55 {
            self.waits(150_000).await;
            if self.scene.weather.is_calm() {
                return;
            }
            match self.scene.character {
                Character::Honest => self.is_paid_if_it_can_be(&payment).await,
                Character::Capricious => self.is_paid_whatever_it_said(&payment).await,
            }
        }
    }

    /// Answers are late, lost or none, but never wrong.
    async fn is_slow_for_a_while(&mut self, payment: &Payment) {
        let number = &payment.out_trade_no;
        match self.rng.u8(0..5) {
            0 => {
                let state = self.scene.state(number).await;
                if !matches!(state.as_str(), "NOTPAY" | "USERPAYING") {
                    return;
                }
                // While it answers nothing, nothing else can become of it but this.
                let in_time = self.scene.shop.system.clock.now() < payment.expires_at;
                let then = if in_time && self.rng.u8(0..100) < 30 { "SUCCESS" } else { state.as_str() };
                self.scene.truth().insert(number.clone(), then.to_owned());
                self.scene.set(number, json!({"state": "ERROR"})).await;
                self.waits(30_000).await;
                self.scene.reveal(number).await;
            }
            1 => {
                self.scene.set(number, json!({"close": "error"})).await;
                self.waits(30_000).await;
                self.scene.set(number, json!({"close": "ok"})).await;
            }
            2 => {
                self.scene.set(number, json!({"delay_ms": self.rng.u64(0..6_000)})).await;
                self.waits(30_000).await;
                self.scene.set(number, json!({"delay_ms": 0})).await;
            }
            3 => {
                // A channel that knows a payment only once the payer acts.
                if self.scene.state(number).await == "NOTPAY" {
                    self.scene.set(number, json!({"state": "NOT_FOUND"})).await;
                }
            }
            _ => self.notifies(number).await,
        }
    }

    async fn says_anything(&mut self, payment: &Payment) {
        let number = &payment.out_trade_no;
        if self.scene.truth().contains_key(number) {
            return;
        }
        let state = MOODS[self.rng.usize(0..MOODS.len())];
        let close = ["ok", "ok", "already_closed", "already_paid", "error"][self.rng.usize(0..5)];
        let delay = if self.rng.u8(0..100) < 15 { self.rng.u64(0..6_000) } else { 0 };
        self.scene.set(number, json!({"state": state, "close": close, "delay_ms": delay})).await;
        if self.rng.u8(0..100) < 30 {
            self.notifies(number).await;
        }
    }

    /// A payer pays only what can be paid, and only with a credential that has not expired.
    async fn is_paid_if_it_can_be(&mut self, payment: &Payment) {
        let number = &payment.out_trade_no;
        let in_time = self.scene.shop.system.clock.now() < payment.expires_at;
        let can_be = matches!(self.scene.state(number).await.as_str(), "NOTPAY" | "USERPAYING" | "NOT_FOUND");
        if !in_time || !can_be {
            return;
        }
        let odd = self.oddity(payment);
        self.scene.set(number, odd).await;
        if self.scene.shop.system.sim.pay(number) {
            self.scene.weather.timeline.note(&format!("the payer pays {number}"));
            if self.scene.takes_for_settled(number) {
                self.scene.watch.report(format!("I3: {number} is settled without money, and now it is paid"));
            }
            // Some callbacks never come: then only asking finds the money.
            self.notifies_some(number).await;
        }
    }

    async fn is_paid_whatever_it_said(&mut self, payment: &Payment) {
        let number = &payment.out_trade_no;
        let is_new = self.scene.truth().insert(number.clone(), "SUCCESS".to_owned()).is_none();
        let odd = self.oddity(payment);
        if is_new {
            self.scene.set(number, odd).await;
        }
        self.scene.set(number, json!({"state": "SUCCESS", "delay_ms": 0})).await;
        self.notifies_some(number).await;
    }

    /// Now and then another amount comes than was asked for, or some of it was given back by hand; and refunds have moods.
    fn oddity(&mut self, payment: &Payment) -> Value {
        let refund = ["ok", "ok", "pending", "error", "failed"][self.rng.usize(0..5)];
        match self.rng.u8(0..100) {
            0..5 => json!({"refund": refund, "amount": payment.amount.saturating_sub(1).max(1)}),
            5..10 => json!({"refund": refund, "refunded_amount": self.rng.u64(1..=payment.amount)}),
            10..25 if self.scene.character == Character::Capricious => {
                let transaction = self.scene.one_transaction_for_all(&payment.out_trade_no);
                json!({"refund": refund, "transaction_id": transaction})
            }
            _ => json!({"refund": refund}),
        }
    }

    async fn notifies_some(&mut self, number: &str) {
        for _ in 0..self.rng.usize(0..4) {
            self.notifies(number).await;
            self.waits(30_000).await;
        }
    }

    /// Mostly the callback as it is; now and then one that nobody may trust.
    async fn notifies(&mut self, number: &str) {
        let what = match self.rng.u8(0..20) {
            0 => json!({"secret": "a guess"}),
            1 => json!({"state": "SUCCESS", "amount": 1}),
            2 => json!({"merchant_id": "another"}),
            3 => json!({"age_seconds": 4_000}),
            _ => Value::Null,
        };
        self.scene.notify(number, what).await;
    }

    async fn waits(&mut self, most_millis: u64) {
        tokio::time::sleep(Duration::from_millis(self.rng.u64(0..most_millis))).await;
    }
}

impl Scene {
    /// What the channel says of a payment.
    async fn state(&self, number: &str) -> String {
        let (_, payment) = self.shop.call("GET", &format!("/_sim/payments/{number}"), &[], Value::Null).await;
        payment["state"].as_str().unwrap_or_default().to_owned()
    }

    async fn set(&self, number: &str, fields: Value) {
        self.weather.timeline.note(&format!("channel {number} {fields}"));
        self.shop.call("PUT", &format!("/_sim/payments/{number}"), &[], fields).await;
    }

    async fn notify(&self, number: &str, what: Value) -> u64 {
        let path = format!("/_sim/payments/{number}/notify");
        let patience = Duration::from_millis(match fastrand::u64(0..100) {
            0..8 if !self.weather.is_calm() => fastrand::u64(0..30),
            _ => 60_000,
        });
        let call = self.shop.call("POST", &path, &[], what.clone());
        // A channel that does not wait cuts the function off wherever it is.
        let answer = tokio::time::timeout(patience, call).await.map_or(Value::Null, |(_, answer)| answer);
        let status = answer["status"].as_u64().unwrap_or(0);
        self.weather.timeline.note(&format!("callback of {number} {what} is answered {status}"));
        status
    }

    /// The channel says again what is so.
    async fn reveal(&self, number: &str) {
        let truth = self.truth().remove(number);
        if let Some(state) = truth {
            self.set(number, json!({"state": state})).await;
        }
    }

    /// From now on every payment is what it is, and refunds are given.
    pub(super) async fn tell_the_truth(&self) {
        let mut rng = self.rng("truth");
        for payment in self.shop.payments().await {
            let state = self.state(&payment).await;
            if state.is_empty() {
                // It never reached the channel, and never will: rule NF.
                continue;
            }
            self.set(&payment, json!({"close": "ok", "refund": "ok", "delay_ms": 0})).await;
            match self.character {
                Character::Honest => self.reveal(&payment).await,
                Character::Capricious => self.end_its_lies(&payment, &state, &mut rng).await,
            }
        }
    }

    /// Whether money of this payment is recorded.
    fn is_recorded(&self, payment: &str) -> bool {
        self.stored(payment).is_some_and(|attempt| attempt.receipt.is_some())
    }

    /// Whether the shop believes that no money can come of this payment any more.
    fn takes_for_settled(&self, payment: &str) -> bool {
        self.stored(payment).is_some_and(|attempt| !attempt.is_unsettled() && attempt.receipt.is_none())
    }

    /// The attempt of this payment as it is stored.
    fn stored(&self, payment: &str) -> Option<Attempt> {
        self.watch.orders().iter().find_map(|order| {
            let mut attempts = order.numbered_attempts();
            let found = attempts.find(|(no, _)| order.out_trade_no(*no).to_string() == payment);
            found.map(|(_, attempt)| attempt.clone())
        })
    }

    /// Paid, or closed without money; and a channel sends its callbacks again until one is acknowledged.
    async fn end_its_lies(&self, payment: &str, state: &str, rng: &mut Rng) {
        let was_paid = self.truth().contains_key(payment);
        // What was closed stays closed; of what is not known, some is found to be paid.
        let is_paid = was_paid || (state != "CLOSED" && rng.u8(0..100) < 25);
        self.truth().insert(payment.to_owned(), "ENDED".to_owned());
        let mut ends = json!({"state": if is_paid { "SUCCESS" } else { "CLOSED" }});
        if !self.is_recorded(payment) {
            // A transaction that was named for several payments is that of the one it was recorded for.
            ends["transaction_id"] = json!(format!("own-{payment}"));
        }
        self.set(payment, ends).await;
        for _ in 0..RESENDS {
            if self.notify(payment, Value::Null).await == 200 || !is_paid {
                break;
            }
        }
    }
}
