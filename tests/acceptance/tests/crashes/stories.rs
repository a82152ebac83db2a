//! Whole lives of orders, each of which writes in its own way; told again and again while something goes wrong in between.

use std::time::Duration;

use acceptance::{Answer, OrderBody, Shop, WINDOW, order, shop};
use serde_json::{Value, json};

/// How long a failed message stays hidden, and a little more.
const VISIBILITY: Duration = Duration::from_secs(61);
/// Longest real time in which a system that has nothing to wait for comes to rest.
const SOON: Duration = Duration::from_millis(400);
/// How long the scan leaves what is due to others, and a little more.
const GRACE: u64 = 121;
/// The first wait of the rhythm, with what a delayed message waits beyond it.
const FIRST_RETRY: u64 = 12;

/// One life of an order that holds stock, a coupon, points and a flash-sale slot, and counts as its user's open order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Story {
    /// Paid by callback.
    Paid,
    /// Paid, and only the channel knows until the deadline.
    PaidUnnoticed,
    /// No payment ever begun.
    Abandoned,
    /// Given more time by an operator, and never paid.
    Extended,
    /// Cancelled while a payment was open.
    Cancelled,
    /// The channel silent at first.
    Undecided,
    /// Paid after it was closed; the refund takes a while.
    PaidLate,
    /// Paid twice, the second time unnoticed.
    PaidTwice,
    /// No stream, no reminder: the scan finds it.
    FoundByScan,
}

/// Whoever acts in a story.
pub(crate) struct Teller {
    pub(crate) shop: Shop,
    /// How often a request is made before it is given up: once where nothing may fail.
    tries: usize,
}

impl Teller {
    /// Opens the shop of a story. When `everything_succeeds`, a request that is refused ends the story.
    pub(crate) async fn open(everything_succeeds: bool) -> Teller {
        let shop = shop().with_time_standing_still().with_env("MAX_OPEN_ORDERS_PER_USER", "3").open().await;
        Teller { shop, tries: if everything_succeeds { 1 } else { 4 } }
    }

    /// Tells `story`, and what has become of everything in the end.
    pub(crate) async fn tell(&self, story: Story) -> Value {
        let shop = &self.shop;
        self.stock_the_shop().await;
        if let Story::FoundByScan = story {
            shop.faults(json!({"drop_stream": true, "drop_wakes": true})).await;
        }
        let id = self.ordered().await;
        let mut payments = Vec::new();
        if !matches!(story, Story::Abandoned | Story::Extended) {
            payments.push(self.paying(&id, json!({"channel": "sim"})).await);
        }
        let first = payments.first().cloned().unwrap_or_default();
        match story {
            Story::Paid => self.paid(&first).await,
            Story::PaidUnnoticed => {
                shop.channel(&first, json!({"state": "SUCCESS"})).await;
                self.pass_deadline().await;
            }
            Story::Abandoned => self.pass_deadline().await,
            Story::Extended => {
                let path = format!("/orders/{id}/extend");
                let extend = async || shop.admin("POST", &path, json!({"seconds": 600, "reason": "a call"})).await;
                let _ = self.insist(extend, |answer| answer.status == 200).await;
                self.calm().await;
                self.advance(600).await;
                self.pass_deadline().await;
            }
            Story::Cancelled => {
                let cancelled = self.insist(async || shop.cancel(&id).await, |answer| answer.status < 300).await;
                assert!(matches!(cancelled.status, 200 | 202), "{cancelled:?}");
            }
            Story::Undecided => {
                shop.channel(&first, json!({"state": "ERROR"})).await;
                self.pass_deadline().await;
                shop.channel(&first, json!({"state": "NOTPAY"})).await;
                self.advance(FIRST_RETRY).await;
            }
            Story::PaidLate => {
                shop.channel(&first, json!({"refund": "pending"})).await;
                self.pass_deadline().await;
                self.paid(&first).await;
                self.calm().await;
                shop.channel(&first, json!({"refund": "ok"})).await;
                self.advance(FIRST_RETRY).await;
            }
            Story::PaidTwice => {
                shop.channel(&first, json!({"state": "NOT_FOUND"})).await;
                let second = self.paying(&id, json!({"channel": "sim", "method": "other"})).await;
                self.paid(&second).await;
                self.calm().await;
                payments.push(second);
                shop.channel(&first, json!({"state": "SUCCESS"})).await;
                self.advance(FIRST_RETRY).await;
            }
            Story::FoundByScan => {
                self.advance(WINDOW + GRACE).await;
                shop.faults(json!({})).await;
                self.scan().await;
            }
        }
        self.calm().await;
        if self.tries > 1 {
            // Whoever was given up on is left to the scan.
            self.advance(GRACE).await;
            self.scan().await;
        }
        // What follows is looking, and no part of the story.
        shop.system.cloud.clear_call_rules();
        self.end(&id, &payments).await
    }

    /// Everything that can be read of the story when it is over.
    async fn end(&self, id: &str, payments: &[String]) -> Value {
        let shop = &self.shop;
        let mut channel = Vec::new();
        for payment in payments {
            let at_channel = shop.at_channel(payment).await;
            channel.push(json!({"state": at_channel["state"], "refunds": at_channel["refunds"]}));
        }
        let counted = ["OrderClosed", "OrderPaid", "LatePayment", "RefundSucceeded"].map(|name| shop.metric(name));
        json!({
            "order": shop.order(id).await,
            "channel": channel,
            "stock": shop.stock("SKU").await,
            "coupon": shop.coupon("C1").await,
            "points": shop.points("u1").await,
            "quota": shop.quota("sale").await,
            "due": shop.is_due(id).await,
            "breaches": shop.metric("InvariantBreach"),
            "counted": counted,
            "room_for_orders": self.room_for_orders().await,
        })
    }

    async fn stock_the_shop(&self) {
        let until = self.shop.in_seconds(86_400);
        let coupon = json!({"user_id": "u1", "valid_until": until, "refundable": true, "campaign_active": true});
        for (path, body) in [
            ("/stock/SKU/default/default", json!({"on_hand": 7})),
            ("/stock/SKU/default/default", json!({"on_hand": 5})),
            ("/coupons/C1", coupon),
            ("/points/u1", json!({"balance": 100})),
            ("/quotas/sale", json!({"limit": 2})),
        ] {
            let _ = self
                .insist(async || self.shop.admin("PUT", path, body.clone()).await, |answer| answer.status == 200)
                .await;
        }
    }

    async fn ordered(&self) -> String {
        let OrderBody(body) = order()
            .with("coupon_id", "C1")
            .with("points", 30)
            .with("quotas", json!([{"activity": "sale", "quantity": 1}]));
        // A key makes the order's id the same in every telling.
        let headers = [("content-type", "application/json"), ("idempotency-key", "the order")];
        let create = async || self.shop.send("POST", "/orders", &headers, body.to_string()).await;
        self.insist(create, |answer| answer.status == 201).await.text("order_id").to_owned()
    }

    async fn paying(&self, id: &str, body: Value) -> String {
        let path = format!("/orders/{id}/payments");
        let pay = async || self.shop.call("POST", &path, body.clone()).await;
        self.insist(pay, |answer| answer.status == 201).await.text("out_trade_no").to_owned()
    }

    /// The channel says that it was paid, and says so again until it is acknowledged.
    async fn paid(&self, payment: &str) {
        self.shop.channel(payment, json!({"state": "SUCCESS"})).await;
        let notify = async || self.shop.notify(payment, Value::Null).await;
        let _ = self.insist(notify, |answer| answer.body["status"] == 200).await;
    }

    async fn scan(&self) {
        let scan = async || self.shop.call("POST", "/_local/scan", Value::Null).await;
        let _ = self.insist(scan, |answer| answer.status == 200).await;
        self.calm().await;
    }

    /// How many more orders the user may have open.
    async fn room_for_orders(&self) -> usize {
        let _ = self.shop.put_stock("OTHER", 9).await.expect(200);
        let mut room = 0;
        while room < 9 && self.shop.create(&order().of("OTHER", 1).by("u1")).await.status == 201 {
            room += 1;
        }
        room
    }

    /// Makes a request until it is `done`.
    async fn insist(&self, request: impl AsyncFn() -> Answer, done: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 1..self.tries {
            let answer = request().await;
            if done(&answer) {
                return answer;
            }
        }
        let answer = request().await;
        assert!(done(&answer), "{answer:?}");
        answer
    }

    async fn pass_deadline(&self) {
        self.advance(WINDOW - 1).await;
        self.advance(3).await;
    }

    async fn advance(&self, seconds: u64) {
        self.shop.system.advance(Duration::from_secs(seconds)).await;
        self.calm().await;
    }

    /// Lets everything finish; where deliveries may fail, also what is hidden until it is delivered again.
    async fn calm(&self) {
        if self.tries == 1 {
            return self.shop.rest().await;
        }
        while !self.shop.system.settled(SOON).await {
            self.shop.system.clock.advance(VISIBILITY);
        }
    }
}
