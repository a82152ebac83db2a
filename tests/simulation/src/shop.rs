//! The shop as its customers, its channel and its operators reach it: by HTTP alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use expiry_core::ids::OrderId;
use expiry_core::message::Queue;
use expiry_core::order::Order;
use http::Request;
use local::settings::ORDERS_TABLE;
use local::{System, server};
use serde_json::{Value, json};

/// The goods, each with what is in stock.
pub(crate) const GOODS: [(&str, u64); 2] = [("SHIRT", 4), ("HAT", 3)];
/// The users, each with a coupon `C-<user>` and points.
pub(crate) const USERS: [&str; 3] = ["ann", "bob", "cem"];
/// The user whose coupon ends in the storm, and when.
pub(crate) const ENDING: &str = "cem";
const ENDS: &str = "2027-01-15T08:02:00Z";
/// The points of each user.
pub(crate) const POINTS: u64 = 50;
/// The slots of the one flash sale.
pub(crate) const SLOTS: u64 = 3;
/// How often it is looked whether there is rest, in simulated time, and how many times before it is looked at what is left.
const LOOK: Duration = Duration::from_millis(500);
const LOOKS: usize = 240;

/// A shop on a simulated system.
#[derive(Clone, Debug)]
pub(crate) struct Shop {
    pub(crate) system: Arc<System>,
}

impl Shop {
    /// Puts everything in its place before anything can go wrong.
    pub(crate) async fn open(system: Arc<System>) -> Shop {
        let shop = Shop { system };
        for (sku, on_hand) in GOODS {
            shop.admin("PUT", &format!("/stock/{sku}/default/default"), json!({"on_hand": on_hand})).await;
        }
        for user in USERS {
            // One of them ends while orders hold it.
            let valid_until = if user == ENDING { ENDS } else { "2040-01-01T00:00:00Z" };
            let coupon =
                json!({"user_id": user, "valid_until": valid_until, "refundable": true, "campaign_active": true});
            shop.admin("PUT", &format!("/coupons/C-{user}"), coupon).await;
            shop.admin("PUT", &format!("/points/{user}"), json!({"balance": POINTS})).await;
        }
        shop.admin("PUT", "/quotas/sale", json!({"limit": SLOTS})).await;
        shop
    }

    /// One request; answers status and body.
    pub(crate) async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = request.body(body).expect("a request");
        let answer = server::respond(self.system.as_ref(), request).await;
        (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or(Value::Null))
    }

    /// One request of an operator.
    pub(crate) async fn admin(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.call(method, &format!("/admin{path}"), &[("authorization", "Bearer local-admin")], body).await
    }

    /// Waits until nothing is left to do now.
    pub(crate) async fn rest(&self) {
        for _ in 0..LOOKS {
            // Whatever was begun goes on meanwhile.
            tokio::time::sleep(LOOK).await;
            if self.system.is_quiet() {
                return;
            }
        }
    }

    /// Every order there is, as it is stored, whoever knows of it.
    pub(crate) async fn orders(&self) -> Vec<Order> {
        let database = Client::new(&self.system.cloud.sdk_config());
        let mut ids = Vec::new();
        let mut after = None;
        loop {
            let page = database.scan().table_name(ORDERS_TABLE).set_exclusive_start_key(after).send().await;
            let page = page.expect("the orders table");
            ids.extend(page.items().iter().filter_map(order_id));
            after = page.last_evaluated_key;
            if after.is_none() {
                break;
            }
        }
        let (orders, unreadable) = self.system.functions.context.store.load_many(&ids).await.expect("orders");
        assert!(unreadable.is_empty(), "{unreadable:?}");
        let mut orders: Vec<Order> = orders.into_iter().map(|order| order.order).collect();
        orders.sort_by(|order, other| order.id.cmp(&other.id));
        orders
    }

    /// Our number of every payment ever begun.
    pub(crate) async fn payments(&self) -> Vec<String> {
        let orders = self.orders().await;
        let numbers =
            orders.iter().flat_map(|order| order.numbered_attempts().map(|(no, _)| order.out_trade_no(no).to_string()));
        numbers.collect()
    }

    /// A message on a queue that anybody could have put there.
    pub(crate) async fn poison(&self, queue: Queue, body: &str) {
        // Whether it is taken is up to the storm.
        let _ = self.system.deliver(queue, body).await;
    }
}

fn order_id(item: &HashMap<String, AttributeValue>) -> Option<OrderId> {
    let key = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
    let id = key("pk")?.strip_prefix("O#").filter(|_| key("sk").is_some_and(|sk| sk == "O"))?;
    OrderId::parse(id).ok()
}
