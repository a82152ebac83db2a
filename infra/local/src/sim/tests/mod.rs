//! The simulated channel as the shop and a test see it: the real client over the in-process way, the control paths over HTTP.

mod control;
mod wire;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use expiry_channels::sim::Sim;
use expiry_channels::sim::signature::SigningKey;
use expiry_channels::{
    AttemptRef, ChannelClient, Credential, Headers, NotificationRejection, PaymentChannel, PlaceRequest,
    RawNotification, RefundRequest,
};
use expiry_core::fact::{CloseOutcome, PaymentFact, PlaceOutcome, RefundFact};
use expiry_core::ids::{AttemptNo, Method, OrderId, OutTradeNo, RefundNo, TransactionId};
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::time::{Clock, Timestamp};
use serde_json::{Value, json};

use super::payment::CALLS;
use super::*;

const LONG: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct StandingClock;

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(1_767_225_600).expect("a valid time")
    }
}

/// Answers every callback as the shop would that only verifies it, and keeps what that found.
#[derive(Debug)]
struct Shop {
    channel: Sim,
    heard: Mutex<Vec<Result<PaymentFact, NotificationRejection>>>,
}

impl CallbackSink for Shop {
    fn deliver(&self, path: &str, headers: Headers, body: Bytes) -> CallbackFuture<'_> {
        assert_eq!(path, "/webhooks/sim");
        let raw = RawNotification { headers: &headers, body: &body };
        let heard = self.channel.verify_notification(&raw, StandingClock.now()).map(|notification| notification.fact);
        let status = heard.as_ref().map_or_else(|rejection| rejection.status().as_u16(), |_| 200);
        self.heard.lock().expect("no panic").push(heard);
        Box::pin(async move { Ok(CallbackAnswer { status, body: Bytes::from_static(b"{\"code\":\"SUCCESS\"}") }) })
    }
}

struct Scene {
    sim: SimChannel,
    client: ChannelClient,
    shop: Arc<Shop>,
}

fn scene() -> Scene {
    let clock: Arc<dyn Clock> = Arc::new(StandingClock);
    let channel = Sim::new("http://sim.local", "sim-secret").expect("a channel");
    let sim = SimChannel::new(SigningKey::new("sim-secret").expect("a secret"), Arc::clone(&clock));
    let shop = Arc::new(Shop { channel: channel.clone(), heard: Mutex::default() });
    sim.set_callback_sink(Arc::clone(&shop) as Arc<dyn CallbackSink>);
    let client = ChannelClient::new(Arc::new(channel), Arc::new(sim.clone()), clock, LONG);
    Scene { sim, client, shop }
}

/// A scene in which the payment of 1999 EUR has been started.
async fn started() -> Scene {
    let scene = scene();
    scene.place().await;
    scene
}

fn number() -> OutTradeNo {
    OutTradeNo::new(OrderId::from_bits([7; 15]), AttemptNo::FIRST)
}

fn eur(minor: u64) -> Money {
    Money { amount: Amount::new(minor).expect("an amount"), currency: Currency::parse("EUR").expect("a currency") }
}

fn place() -> PlaceRequest {
    PlaceRequest { out_trade_no: number(), amount: eur(1999), method: None, expires_at: StandingClock.now() }
}

fn refund(k: u8, minor: u64) -> RefundRequest {
    let transaction = TransactionId::new(format!("txn-{}", number())).expect("an id");
    RefundRequest { refund_no: RefundNo::new(number(), k), transaction, refund: eur(minor), paid: eur(1999) }
}

impl Scene {
    async fn place(&self) -> PlaceOutcome<Credential> {
        self.client.place(&place(), LONG).await.answer
    }

    async fn query(&self) -> PaymentFact {
        self.client.query(&attempt(), LONG).await.answer
    }

    async fn close(&self) -> CloseOutcome {
        self.client.close(&attempt(), LONG).await.answer
    }

    async fn refund(&self, k: u8, minor: u64) -> RefundFact {
        self.client.refund(&refund(k, minor), LONG).await.answer
    }

    async fn query_refund(&self, k: u8, minor: u64) -> RefundFact {
        self.client.query_refund(&refund(k, minor), LONG).await.answer
    }

    async fn control(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let path = format!("/_sim/payments/{path}");
        let answer = self.sim.handle(method, &path, &Headers::default(), body.to_string().as_bytes()).await;
        (answer.status, serde_json::from_slice(&answer.body).expect("JSON"))
    }

    async fn told(&self, settings: Value) -> Value {
        let (status, view) = self.control("PUT", &number().to_string(), settings).await;
        assert_eq!(status, 200, "{view}");
        view
    }

    async fn view(&self) -> Value {
        self.control("GET", &number().to_string(), Value::Null).await.1
    }

    async fn calls(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let view = self.view().await;
        view["calls"]
            .as_array()
            .expect("calls")
            .iter()
            .map(|call| (text(&call["call"]), text(&call["answer"])))
            .collect()
    }

    async fn notified(&self, overrides: Value) -> (u16, Value) {
        self.control("POST", &format!("{}/notify", number()), overrides).await
    }

    fn heard(&self) -> Result<PaymentFact, NotificationRejection> {
        self.shop.heard.lock().expect("no panic").last().cloned().expect("a callback")
    }
}

fn attempt() -> AttemptRef {
    AttemptRef { out_trade_no: number(), reference: None, amount: eur(1999) }
}

fn is_unknown(fact: &PaymentFact) -> bool {
    matches!(fact, PaymentFact::Unknown(_))
}
