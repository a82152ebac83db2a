//! The shop of the demo: the local system, spoken to by its HTTP surface as the shop's backend, its customers and the channel do.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use expiry_core::ids::{ActivityId, Batch, CouponId, OrderId, Sku, UserId, Warehouse};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::reservation::{CounterKey, StockKey};
use expiry_core::time::{Clock, Timestamp};
use http::Request;
use serde_json::{Value, json};

use super::DemoError;
use crate::cloud::Faults;
use crate::system::Parts;
use crate::{Settings, System, server};

/// Decides what chance decides.
const SEED: u64 = 20_260_101;
/// The lease of a closer, in seconds: short, because a scene waits for its end.
pub(super) const LEASE: Duration = Duration::from_secs(5);
/// How long the scan leaves what is due to the wake-up.
pub(super) const SCAN_GRACE: Duration = Duration::from_secs(5);
/// The rules. `quick` is the window of most scenes, `blink` one that is really waited for.
const RULES: &str = r#"[{"id":"default","version":1,"seconds":1800},
    {"id":"quick","version":3,"seconds":5},{"id":"blink","version":1,"seconds":1}]"#;
/// How long the system may take to come to rest; reached only by one that never does.
const REST: Duration = Duration::from_secs(10);
/// The steps in which a deadline is passed, so that a wake-up is seen at its own moment.
const STEP: Duration = Duration::from_millis(100);
/// Most of them: a wake-up is delayed by whole seconds, rounded up.
const STEPS: usize = 15;

/// Something that is not as the scene expects it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Surprise(pub(super) String);

/// `Ok` when `holds`, else the surprise that `what` names.
pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Surprise> {
    if holds { Ok(()) } else { Err(Surprise(what())) }
}

/// Any failure as a surprise.
pub(super) fn surprised(error: impl std::fmt::Display) -> Surprise {
    Surprise(error.to_string())
}

/// An answer of the HTTP surface.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    /// The stable code of a refusal; empty when it is none.
    pub(super) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    fn expect(self, status: u16) -> Result<Value, Surprise> {
        ensure(self.status == status, || format!("{status} expected, {} came: {}", self.status, self.body))?;
        Ok(self.body)
    }
}

/// A payment that was refused because its order is not payable (I10).
#[derive(Debug)]
pub(super) struct Refused {
    /// The code it was refused with.
    pub(super) code: &'static str,
    /// Whether the order has the same attempts as before.
    pub(super) left_no_trace: bool,
}

/// What the demo remembers, to hold it against the books at the end.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Every order that was created.
    pub(super) orders: Vec<OrderId>,
    /// Every counter that was set up, and with how much.
    pub(super) counters: Vec<(CounterKey, u64)>,
    /// Every coupon that was set up.
    pub(super) coupons: Vec<CouponId>,
    /// Payments that were tried on orders that are not payable.
    pub(super) refused: Vec<Refused>,
    /// Buyers who were sent away.
    pub(super) turned_away: usize,
}

/// The open shop.
#[derive(Debug)]
pub(super) struct Shop {
    /// The system below.
    pub(super) system: System,
    memory: Mutex<Memory>,
}

impl Shop {
    /// Opens an empty shop; the environment has no say in it.
    pub(super) async fn open() -> Result<Shop, DemoError> {
        let mut settings = Settings::from_lookup(&|name| match name {
            "EXPIRY_RULES" => Some(RULES.to_owned()),
            "LEASE_SECONDS" => Some(LEASE.as_secs().to_string()),
            "SCAN_GRACE_SECONDS" => Some(SCAN_GRACE.as_secs().to_string()),
            _ => None,
        })?;
        settings.seed = SEED;
        let system = System::start(&settings, Parts::default()).await?;
        Ok(Shop { system, memory: Mutex::default() })
    }

    /// What the demo remembers so far.
    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Result<Answer, Surprise> {
        let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let answer = server::respond(&self.system, request.body(body).map_err(surprised)?).await;
        let status = answer.status().as_u16();
        Ok(Answer { status, body: serde_json::from_slice(answer.body()).unwrap_or(Value::Null) })
    }

    async fn admin(&self, path: &str, body: Value) -> Result<(), Surprise> {
        let headers = [("authorization", "Bearer local-admin")];
        self.send("PUT", &format!("/admin/{path}"), &headers, &body).await?.expect(200).map(drop)
    }

    /// Puts `units` of `sku` in stock.
    pub(super) async fn stock(&self, sku: &str, units: u64) -> Result<CounterKey, Surprise> {
        self.admin(&format!("stock/{sku}/default/default"), json!({"on_hand": units})).await?;
        let (warehouse, batch) = (Warehouse::new("default"), Batch::new("default"));
        let (warehouse, batch) = (warehouse.map_err(surprised)?, batch.map_err(surprised)?);
        let key = CounterKey::Stock(StockKey { sku: Sku::new(sku).map_err(surprised)?, warehouse, batch });
        self.memory().counters.push((key.clone(), units));
        Ok(key)
    }

    /// Gives `user` points.
    pub(super) async fn points(&self, user: &str, balance: u64) -> Result<CounterKey, Surprise> {
        self.admin(&format!("points/{user}"), json!({"balance": balance})).await?;
        let key = CounterKey::Points(UserId::new(user).map_err(surprised)?);
        self.memory().counters.push((key.clone(), balance));
        Ok(key)
    }

    /// Opens an activity with `limit` slots.
    pub(super) async fn quota(&self, activity: &str, limit: u64) -> Result<CounterKey, Surprise> {
        self.admin(&format!("quotas/{activity}"), json!({"limit": limit})).await?;
        let key = CounterKey::Quota(ActivityId::new(activity).map_err(surprised)?);
        self.memory().counters.push((key.clone(), limit));
        Ok(key)
    }

    /// Gives `user` a coupon that comes back.
    pub(super) async fn coupon(&self, id: &str, user: &str) -> Result<CouponId, Surprise> {
        let terms = json!({"user_id": user, "valid_until": "2099-01-01T00:00:00Z", "refundable": true,
            "campaign_active": true});
        self.admin(&format!("coupons/{id}"), terms).await?;
        let id = CouponId::new(id).map_err(surprised)?;
        self.memory().coupons.push(id.clone());
        Ok(id)
    }

    /// `POST /orders`. The key makes every run create the same order ids.
    pub(super) async fn order(&self, body: &Value) -> Result<Answer, Surprise> {
        let answer = self.send("POST", "/orders", &[("idempotency-key", "demo")], body).await?;
        if answer.status == 201 {
            self.memory().orders.push(id_of(&answer.body)?);
        }
        Ok(answer)
    }

    /// A created order.
    pub(super) async fn ordered(&self, body: &Value) -> Result<OrderId, Surprise> {
        id_of(&self.order(body).await?.expect(201)?)
    }

    async fn try_to_pay(&self, id: &OrderId, amount: Option<u64>) -> Result<Answer, Surprise> {
        let mut body = json!({"channel": "sim"});
        if let Some(amount) = amount {
            body["amount"] = Value::from(amount);
        }
        self.send("POST", &format!("/orders/{id}/payments"), &[], &body).await
    }

    /// Starts a payment of all that is unpaid, or of a leg: our number of it at the channel.
    pub(super) async fn pay(&self, id: &OrderId, amount: Option<u64>) -> Result<String, Surprise> {
        let started = self.try_to_pay(id, amount).await?.expect(201)?;
        ensure(started["credential"]["pay_url"].is_string(), || format!("no credential in {started}"))?;
        Ok(started["out_trade_no"].as_str().unwrap_or_default().to_owned())
    }

    /// Tries to pay what must not be payable: refused with `code`, and nothing of it is left (I10).
    pub(super) async fn cannot_pay(&self, id: &OrderId, code: &'static str) -> Result<(), Surprise> {
        let before = self.load(id).await?.attempts.len();
        let answer = self.try_to_pay(id, None).await?;
        let refused = answer.status == 409 && answer.code() == code && answer.body.get("credential").is_none();
        ensure(refused, || format!("{code} expected, {} came: {}", answer.status, answer.body))?;
        let left_no_trace = self.load(id).await?.attempts.len() == before;
        self.memory().refused.push(Refused { code, left_no_trace });
        Ok(())
    }

    /// The customer cancels: the order's status in the answer.
    pub(super) async fn cancel(&self, id: &OrderId) -> Result<String, Surprise> {
        let body = json!({"reason": "changed my mind"});
        let document = self.send("POST", &format!("/orders/{id}/cancel"), &[], &body).await?.expect(200)?;
        Ok(document["status"].as_str().unwrap_or_default().to_owned())
    }

    /// Sets what the channel says about a payment.
    pub(super) async fn channel(&self, payment: &str, fields: Value) -> Result<(), Surprise> {
        self.send("PUT", &format!("/_sim/payments/{payment}"), &[], &fields).await?.expect(200).map(drop)
    }

    /// What the channel knows of a payment.
    pub(super) async fn at_channel(&self, payment: &str) -> Result<Value, Surprise> {
        self.send("GET", &format!("/_sim/payments/{payment}"), &[], &Value::Null).await?.expect(200)
    }

    /// The channel sends its signed callback, which must be acknowledged.
    pub(super) async fn callback(&self, payment: &str) -> Result<(), Surprise> {
        let sent =
            self.send("POST", &format!("/_sim/payments/{payment}/notify"), &[], &Value::Null).await?.expect(200)?;
        ensure(sent["status"] == 200, || format!("the callback was answered {sent}"))
    }

    /// The customer pays at the channel, which says so.
    pub(super) async fn paid(&self, payment: &str) -> Result<(), Surprise> {
        self.channel(payment, json!({"state": "SUCCESS"})).await?;
        self.callback(payment).await
    }

    /// Runs the fallback scan to its end: how many orders it found overdue.
    pub(super) async fn scan(&self) -> Result<u64, Surprise> {
        let scanned = self.send("POST", "/_local/scan", &[], &Value::Null).await?.expect(200)?;
        self.rest().await?;
        Ok(scanned["found"].as_u64().unwrap_or_default())
    }

    /// Replaces the faults.
    pub(super) fn faults(&self, faults: Faults) {
        self.system.set_faults(faults);
    }

    /// The order as it is stored.
    pub(super) async fn load(&self, id: &OrderId) -> Result<Order, Surprise> {
        let loaded = self.system.functions.context.store.load(id).await.map_err(surprised)?;
        loaded.map(|loaded| loaded.order).ok_or_else(|| Surprise(format!("the order {id} is gone")))
    }

    /// Waits until nothing is left to do now.
    pub(super) async fn rest(&self) -> Result<(), Surprise> {
        let rests = self.system.settled(REST).await;
        ensure(rests, || format!("the system never came to rest: {:?}", self.system.cloud.queue_counts()))
    }

    /// Lets what is due finish, moves the clock, and lets what became due finish.
    pub(super) async fn advance(&self, span: Duration) -> Result<(), Surprise> {
        self.rest().await?;
        self.system.advance(span).await;
        self.rest().await
    }

    /// Lets what is due finish and moves the clock to `at`; what becomes due then is on its way when this returns.
    pub(super) async fn jump_to(&self, at: Timestamp) -> Result<(), Surprise> {
        self.rest().await?;
        self.system.advance(at.since(self.system.clock.now())).await;
        Ok(())
    }

    /// Moves the clock past the order's deadline until its wake-up has been handled.
    pub(super) async fn pass_deadline(&self, id: &OrderId) -> Result<(), Surprise> {
        let deadline = deadline_of(&self.load(id).await?)?;
        self.jump_to(deadline.plus(expiry_core::limits::EXPIRY_SETTLE_TIME)).await?;
        self.rest().await?;
        for _ in 0..STEPS {
            if !matches!(self.load(id).await?.status, OrderStatus::PendingPayment | OrderStatus::Paying) {
                // It may have been woken just now: its closer is let finish.
                return self.rest().await;
            }
            self.advance(STEP).await?;
        }
        Err(Surprise(format!("the order {id} was not woken")))
    }

    /// Waits, in real time, until `done`.
    pub(super) async fn until(
        &self,
        what: &str,
        mut done: impl AsyncFnMut() -> Result<bool, Surprise>,
    ) -> Result<(), Surprise> {
        let waiting = async {
            while !done().await? {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            Ok(())
        };
        tokio::time::timeout(REST, waiting).await.unwrap_or_else(|_| Err(Surprise(format!("never came: {what}"))))
    }
}

/// The order's deadline.
pub(super) fn deadline_of(order: &Order) -> Result<Timestamp, Surprise> {
    order.expire_at.ok_or_else(|| Surprise(format!("the order {} has no deadline", order.id)))
}

fn id_of(document: &Value) -> Result<OrderId, Surprise> {
    OrderId::parse(document["order_id"].as_str().unwrap_or_default()).map_err(surprised)
}
