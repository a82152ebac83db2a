//! Everything the verdicts are judged on, gathered once when all scenes are over.

use std::collections::BTreeMap;

use expiry_core::ids::{AttemptNo, OrderId};
use expiry_core::limits;
use expiry_core::order::Order;
use expiry_core::reservation::CounterKey;
use expiry_core::time::Timestamp;
use expiry_store::{Counter, Coupon};
use serde_json::Value;

use super::history::{self, Change};
use super::shop::{Refused, Shop, Surprise, surprised};

/// Most entries of the due index that are named when some are left.
const LEFT: u16 = 10;

/// A payment as the channel knows it, with the attempt it belongs to.
#[derive(Debug)]
pub(super) struct AtChannel {
    pub(super) order: OrderId,
    pub(super) attempt: AttemptNo,
    pub(super) payment: Value,
}

/// What was seen and what is left.
#[derive(Debug)]
pub(super) struct Evidence {
    /// Every order of the demo as it is stored now.
    pub(super) orders: Vec<Order>,
    /// Every write of every order, from the stream.
    pub(super) changes: Vec<Change>,
    /// Every counter, with how much was put into it.
    pub(super) counters: Vec<(CounterKey, Counter, u64)>,
    /// Every coupon.
    pub(super) coupons: Vec<Coupon>,
    /// Every payment at the channel.
    pub(super) payments: Vec<AtChannel>,
    /// Payments that were tried on orders that are not payable.
    pub(super) refused: Vec<Refused>,
    /// Buyers who were sent away.
    pub(super) turned_away: usize,
    /// Orders that stand in the due index.
    pub(super) due: Vec<OrderId>,
    /// Messages that are left, by queue.
    pub(super) messages: BTreeMap<String, usize>,
    /// Wake-ups that are still armed.
    pub(super) armed: Vec<String>,
    /// How many breaches the stream's own check counted while the scenes were played.
    pub(super) breaches_counted: u64,
}

impl Evidence {
    /// Reads it all.
    pub(super) async fn gather(shop: &Shop) -> Result<Evidence, Surprise> {
        let changes = history::read(shop).await?;
        let memory = std::mem::take(&mut *shop.memory());
        let store = &shop.system.functions.context.store;
        let mut orders = Vec::with_capacity(memory.orders.len());
        for id in &memory.orders {
            orders.push(shop.load(id).await?);
        }
        let mut payments = Vec::new();
        for order in &orders {
            for (attempt, _) in order.numbered_attempts() {
                let payment = shop.at_channel(&order.out_trade_no(attempt).to_string()).await?;
                payments.push(AtChannel { order: order.id.clone(), attempt, payment });
            }
        }
        let mut counters = Vec::with_capacity(memory.counters.len());
        for (key, supplied) in memory.counters {
            let counter = store.counter(&key).await.map_err(surprised)?.unwrap_or_default();
            counters.push((key, counter, supplied));
        }
        let mut coupons = Vec::with_capacity(memory.coupons.len());
        for id in memory.coupons {
            coupons.extend(store.coupon(&id).await.map_err(surprised)?);
        }
        let messages = shop.system.cloud.queue_counts().into_iter();
        let messages = messages.map(|(queue, left)| (queue, left.visible + left.delayed + left.in_flight));
        let is_wake = |target: &str| target.contains(":sqs:");
        Ok(Evidence {
            due: due(shop).await?,
            messages: messages.filter(|(_, left)| *left > 0).collect(),
            armed: shop.system.cloud.schedules().into_iter().filter(|s| is_wake(&s.target)).map(|s| s.name).collect(),
            breaches_counted: shop.system.figures.sum("InvariantBreach"),
            refused: memory.refused,
            turned_away: memory.turned_away,
            orders,
            changes,
            counters,
            coupons,
            payments,
        })
    }

    /// The order `id`.
    pub(super) fn order(&self, id: &OrderId) -> Option<&Order> {
        self.orders.iter().find(|order| order.id == *id)
    }
}

/// Everything in the due index, however far ahead.
async fn due(shop: &Shop) -> Result<Vec<OrderId>, Surprise> {
    let context = &shop.system.functions.context;
    let ever: Timestamp = context.clock.now().plus(std::time::Duration::from_secs(limits::WINDOW_SECONDS));
    let mut left = Vec::new();
    for shard in 0..limits::DUE_SHARDS {
        let page = context.store.due_page(shard, ever, None, LEFT).await.map_err(surprised)?;
        left.extend(page.hits.into_iter().map(|hit| hit.order));
    }
    Ok(left)
}
