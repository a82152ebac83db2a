//! A scene: what happens, how it must end, and how it is played and compared.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use expiry_core::ids::{CouponId, OrderId};
use expiry_core::order::Order;
use expiry_core::reservation::CounterKey;

use super::cells;
use super::shop::{Shop, Surprise};

/// How far the clock is moved while effects wait for their next try.
const STEP: Duration = Duration::from_secs(2);
/// How often.
const PATIENCE: u32 = 10;

/// What a scene leaves behind: the orders and goods it was about.
#[derive(Debug, Default)]
pub(super) struct Cast {
    pub(super) orders: Vec<OrderId>,
    pub(super) counters: Vec<CounterKey>,
    pub(super) coupon: Option<CouponId>,
}

impl Cast {
    /// One order and the counter it reserved from.
    pub(super) fn of(order: OrderId, counter: CounterKey) -> Cast {
        Cast { orders: vec![order], counters: vec![counter], coupon: None }
    }
}

/// A scene being played.
pub(super) type Played<'a> = Pin<Box<dyn Future<Output = Result<Cast, Surprise>> + 'a>>;

/// How a scene must end, cell by cell as the page shows it.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) status: &'static str,
    pub(super) money: &'static str,
    pub(super) goods: &'static str,
    pub(super) decided: &'static str,
}

/// A scene.
pub(super) struct Scene {
    /// Its name.
    pub(super) name: &'static str,
    /// What happens in it.
    pub(super) story: &'static str,
    /// How it must end.
    pub(super) expected: Expected,
    /// What is done, and what must hold on the way.
    pub(super) play: for<'a> fn(&'a Shop) -> Played<'a>,
}

impl fmt::Debug for Scene {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Scene").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A played scene, as the page shows it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) story: &'static str,
    pub(super) status: String,
    pub(super) money: String,
    pub(super) goods: String,
    pub(super) decided: String,
    /// How long after their deadline its orders were closed; empty when none expired.
    pub(super) lag: String,
    pub(super) took: Duration,
    /// How far the clock was moved.
    pub(super) moved: Duration,
    /// What was not as expected.
    pub(super) surprises: Vec<String>,
}

impl Scene {
    /// Plays it, reads back how it ended, and compares.
    pub(super) async fn play(&self, shop: &Shop) -> Row {
        let (began, added) = (Instant::now(), shop.system.clock.added());
        let mut row = match self.end(shop).await {
            Ok(row) => row,
            Err(surprise) => self.broken_off(surprise),
        };
        shop.faults(crate::cloud::Faults::default());
        row.took = began.elapsed();
        row.moved = shop.system.clock.added().saturating_sub(added);
        row
    }

    async fn end(&self, shop: &Shop) -> Result<Row, Surprise> {
        let cast = (self.play)(shop).await?;
        let orders = finished(shop, &cast.orders).await?;
        let row = Row {
            name: self.name,
            story: self.story,
            status: cells::status(&orders),
            money: cells::money(shop, &orders).await?,
            goods: cells::goods(shop, &cast).await?,
            decided: cells::decided(&orders),
            lag: cells::lag(&orders),
            took: Duration::ZERO,
            moved: Duration::ZERO,
            surprises: Vec::new(),
        };
        Ok(self.compared(row))
    }

    /// Compares the cells with what was expected.
    fn compared(&self, mut row: Row) -> Row {
        let Expected { status, money, goods, decided } = &self.expected;
        let cells = [
            ("order", *status, &row.status),
            ("money", *money, &row.money),
            ("goods", *goods, &row.goods),
            ("decision", *decided, &row.decided),
        ];
        let differ = cells.iter().filter(|(_, expected, found)| expected != found);
        row.surprises =
            differ.map(|(cell, expected, found)| format!("{cell}: expected {expected:?}, found {found:?}")).collect();
        row
    }

    fn broken_off(&self, surprise: Surprise) -> Row {
        Row {
            name: self.name,
            story: self.story,
            status: "—".to_owned(),
            money: "—".to_owned(),
            goods: "—".to_owned(),
            decided: "broken off".to_owned(),
            lag: String::new(),
            took: Duration::ZERO,
            moved: Duration::ZERO,
            surprises: vec![surprise.0],
        }
    }
}

/// The orders once their effects are done: a refund that met others at its order is sent again after some seconds, like any message
/// that meets contention. What never ends is left for the verdicts.
async fn finished(shop: &Shop, ids: &[OrderId]) -> Result<Vec<Order>, Surprise> {
    shop.rest().await?;
    let mut tries = 0;
    loop {
        let mut orders = Vec::with_capacity(ids.len());
        for id in ids {
            orders.push(shop.load(id).await?);
        }
        if tries == PATIENCE || orders.iter().all(|order| order.pending.is_empty()) {
            return Ok(orders);
        }
        tries += 1;
        shop.advance(STEP).await?;
    }
}
