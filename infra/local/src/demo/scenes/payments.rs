//! Money that comes: in time, in the last second, too late, in part.

use std::time::Duration;

use expiry_core::order::OrderStatus;
use serde_json::json;

use super::super::scene::{Cast, Expected, Played, Scene};
use super::super::shop::{Shop, deadline_of, ensure};
use super::order;

/// The ordinary case.
pub(super) const PAID: Scene = Scene {
    name: "Paid",
    story: "The customer pays, the channel calls back. A second click on “pay” is refused.",
    expected: Expected {
        status: "PAID",
        money: "¥10 kept",
        goods: "stock 4, 1 sold",
        decided: "callback: the channel says paid",
    },
    play: paid,
};

fn paid(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("tea", 5).await?;
        let id = shop.ordered(&order("ada", "tea", "quick")).await?;
        let payment = shop.pay(&id, None).await?;
        shop.paid(&payment).await?;
        shop.cannot_pay(&id, "order_paid").await?;
        Ok(Cast::of(id, stock))
    })
}

/// The callback meets an order that a wake-up has just claimed.
pub(super) const LAST_SECOND: Scene = Scene {
    name: "Last second",
    story: "Money moves at T − 0.5 s. The wake-up claims the order and asks the channel; before the answer is here, the \
            callback lands. The closer sees that it lost.",
    expected: Expected {
        status: "PAID",
        money: "¥10 kept",
        goods: "stock 4, 1 sold",
        decided: "callback: the channel says paid",
    },
    play: last_second,
};

fn last_second(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("lamp", 5).await?;
        let id = shop.ordered(&order("ben", "lamp", "quick")).await?;
        let payment = shop.pay(&id, None).await?;
        let deadline = deadline_of(&shop.load(&id).await?)?;
        shop.jump_to(deadline.minus(Duration::from_millis(500))).await?;
        // Its answers take a second from here on: the closer is still waiting when the callback comes.
        shop.channel(&payment, json!({"state": "SUCCESS", "delay_ms": 1_000})).await?;
        shop.cannot_pay(&id, "order_expired").await?;
        shop.jump_to(deadline.plus(Duration::from_millis(1_500))).await?;
        shop.until("the claim", async || Ok(shop.load(&id).await?.status == OrderStatus::Closing)).await?;
        shop.callback(&payment).await?;
        let status = shop.load(&id).await?.status;
        ensure(status == OrderStatus::Paid, || format!("the callback on a CLOSING order left it {}", status.name()))?;
        Ok(Cast::of(id, stock))
    })
}

/// Money for an order that is closed already.
pub(super) const TOO_LATE: Scene = Scene {
    name: "Paid too late",
    story: "Asked about, closed at the channel, closed here, stock given back. Then money comes after all. No revival: \
            the goods may be another's.",
    expected: Expected {
        status: "CLOSED",
        money: "¥10 refunded once",
        goods: "stock 5",
        decided: "wake-up: every attempt is settled",
    },
    play: too_late,
};

fn too_late(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("vase", 5).await?;
        let id = shop.ordered(&order("cai", "vase", "quick")).await?;
        let payment = shop.pay(&id, None).await?;
        shop.pass_deadline(&id).await?;
        let status = shop.load(&id).await?.status;
        ensure(status == OrderStatus::Closed, || format!("CLOSED expected before the money, not {}", status.name()))?;
        shop.paid(&payment).await?;
        Ok(Cast::of(id, stock))
    })
}

/// Two legs, then a change of mind.
pub(super) const TWO_LEGS: Scene = Scene {
    name: "Paid in part",
    story: "¥4 and ¥3 of ¥10 are paid, each by a payment of its own. Then the customer cancels; both go back.",
    expected: Expected {
        status: "CLOSED",
        money: "¥4 + ¥3 refunded",
        goods: "stock 5",
        decided: "customer: every attempt is settled",
    },
    play: two_legs,
};

fn two_legs(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("chair", 5).await?;
        let id = shop.ordered(&order("hal", "chair", "quick")).await?;
        for leg in [400, 300] {
            let payment = shop.pay(&id, Some(leg)).await?;
            shop.paid(&payment).await?;
        }
        let paid = shop.load(&id).await?.paid_amount().minor();
        ensure(paid == 700, || format!("{paid} of 700 counted"))?;
        let status = shop.cancel(&id).await?;
        ensure(status == "CLOSED", || format!("the cancel answered {status}"))?;
        Ok(Cast::of(id, stock))
    })
}
