//! What is held for an order and given back with it: coupon, points, slots, and stock that many want.

use futures_util::future::try_join_all;
use serde_json::json;

use super::super::scene::{Cast, Expected, Played, Scene};
use super::super::shop::{Shop, ensure, surprised};
use super::order;

/// Buyers of the flash sale.
const BUYERS: usize = 50;
/// What they want.
const UNITS: usize = 10;
/// How many of those who get one pay.
const PAYERS: usize = 3;

/// Four kinds of resources in one order.
pub(super) const EVERYTHING_BACK: Scene = Scene {
    name: "Everything back",
    story: "A coupon, 200 points and a flash-sale slot are held with the goods. The order is abandoned: each of the four \
            comes back by itself, once.",
    expected: Expected {
        status: "CLOSED",
        money: "none came",
        goods: "stock 5\npoints 500\nslots 3\ncoupon AVAILABLE",
        decided: "wake-up: deadline passed, nobody to ask",
    },
    play: everything_back,
};

fn everything_back(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("globe", 5).await?;
        let points = shop.points("lea", 500).await?;
        let slots = shop.quota("spring", 3).await?;
        let coupon = shop.coupon("half-price", "lea").await?;
        let mut body = order("lea", "globe", "quick");
        body["coupon_id"] = json!(coupon);
        body["points"] = json!(200);
        body["quotas"] = json!([{"activity": "spring", "quantity": 1}]);
        body["payable_amount"] = json!(300);
        let id = shop.ordered(&body).await?;
        let held = shop.system.functions.context.store.counter(&points).await.map_err(surprised)?.unwrap_or_default();
        ensure((held.available, held.reserved) == (300, 200), || format!("the points are {held:?}"))?;
        shop.pass_deadline(&id).await?;
        Ok(Cast { orders: vec![id], counters: vec![stock, points, slots], coupon: Some(coupon) })
    })
}

/// Nothing to wait for.
pub(super) const FREE: Scene = Scene {
    name: "Free order",
    story: "A coupon covers it all: paid, sold and used in the transaction that creates the order. No deadline to watch.",
    expected: Expected {
        status: "PAID",
        money: "none came",
        goods: "stock 4, 1 sold\ncoupon USED",
        decided: "creation: nothing to pay",
    },
    play: free,
};

fn free(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("card", 5).await?;
        let coupon = shop.coupon("all-of-it", "mia").await?;
        let mut body = order("mia", "card", "default");
        body["coupon_id"] = json!(coupon);
        body["payable_amount"] = json!(0);
        let id = shop.ordered(&body).await?;
        shop.rest().await?;
        let armed = shop.system.cloud.schedules().iter().any(|schedule| schedule.name == id.as_str());
        ensure(!armed, || "a wake-up was armed for an order that is paid".to_owned())?;
        Ok(Cast { orders: vec![id], counters: vec![stock], coupon: Some(coupon) })
    })
}

/// Many buyers, few units.
pub(super) const FLASH_SALE: Scene = Scene {
    name: "Flash sale",
    story: "50 buyers at once for 10 units: 10 orders, 40 refusals that hold nothing. Three pay; the other seven units \
            are for sale again.",
    expected: Expected {
        status: "3 PAID, 7 CLOSED",
        money: "¥30 kept",
        goods: "stock 7, 3 sold",
        decided: "3 × callback: the channel says paid\n7 × wake-up: deadline passed, nobody to ask",
    },
    play: flash_sale,
};

fn flash_sale(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("drone", UNITS as u64).await?;
        let bodies: Vec<_> = (1..=BUYERS).map(|buyer| order(&format!("buyer-{buyer:02}"), "drone", "quick")).collect();
        let answers = try_join_all(bodies.iter().map(|body| shop.order(body))).await?;
        let accepted: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        let refused = answers.iter().filter(|answer| answer.status == 409 && answer.code() == "insufficient_stock");
        let (accepted, refused) = (accepted, refused.count());
        ensure((accepted.len(), refused) == (UNITS, BUYERS - UNITS), || {
            format!("{} accepted and {refused} refused of {BUYERS}", accepted.len())
        })?;
        shop.memory().turned_away += refused;
        let held = shop.system.functions.context.store.counter(&stock).await.map_err(surprised)?.unwrap_or_default();
        ensure((held.available, held.reserved) == (0, UNITS as u64), || format!("the stock is {held:?}"))?;
        let mut orders = Vec::with_capacity(UNITS);
        for answer in accepted {
            orders.push(expiry_core::ids::OrderId::parse(answer.body["order_id"].as_str().unwrap_or_default()));
        }
        let orders: Vec<_> = orders.into_iter().collect::<Result<_, _>>().map_err(surprised)?;
        for id in orders.iter().take(PAYERS) {
            let payment = shop.pay(id, None).await?;
            shop.paid(&payment).await?;
        }
        for id in orders.iter().skip(PAYERS) {
            shop.pass_deadline(id).await?;
        }
        Ok(Cast { orders, counters: vec![stock], coupon: None })
    })
}
