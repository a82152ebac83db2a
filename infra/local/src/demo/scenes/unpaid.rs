//! Orders that nobody pays.

use std::time::Duration;

use expiry_core::time::Clock;

use super::super::scene::{Cast, Expected, Played, Scene};
use super::super::shop::{Shop, deadline_of, ensure};
use super::order;

/// The one window that is really waited for.
pub(super) const ABANDONED: Scene = Scene {
    name: "Abandoned",
    story: "The customer leaves. One second to pay, and this once nobody moves the clock: the wait is real.",
    expected: Expected {
        status: "CLOSED",
        money: "none came",
        goods: "stock 5",
        decided: "wake-up: deadline passed, nobody to ask",
    },
    play: abandoned,
};

fn abandoned(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("kite", 5).await?;
        let id = shop.ordered(&order("dee", "kite", "blink")).await?;
        shop.until("the wake-up", async || Ok(shop.load(&id).await?.status.is_terminal())).await?;
        shop.cannot_pay(&id, "order_closed").await?;
        Ok(Cast::of(id, stock))
    })
}

/// A schedule is imprecise; the wake-up makes up for it.
pub(super) const EARLY_REMINDER: Scene = Scene {
    name: "Early reminder",
    story: "Half an hour to pay. The Scheduler, armed a minute ahead, fires somewhere in that minute; the early wake-up \
            waits out the rest by itself.",
    expected: Expected {
        status: "CLOSED",
        money: "none came",
        goods: "stock 5",
        decided: "wake-up: deadline passed, nobody to ask",
    },
    play: early_reminder,
};

fn early_reminder(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("clock", 5).await?;
        let id = shop.ordered(&order("eve", "clock", "default")).await?;
        shop.rest().await?;
        let is_armed = || shop.system.cloud.schedules().iter().any(|schedule| schedule.name == id.as_str());
        ensure(is_armed(), || "no schedule was armed".to_owned())?;
        let early = || shop.system.figures.sum("WakeEarly");
        let (before, deadline) = (early(), deadline_of(&shop.load(&id).await?)?);
        shop.jump_to(deadline.minus(Duration::from_secs(1))).await?;
        shop.until("an early wake-up", async || Ok(early() > before)).await?;
        ensure(shop.system.clock.now() < deadline, || "the wake-up was not early".to_owned())?;
        shop.pass_deadline(&id).await?;
        ensure(!is_armed(), || "the schedule outlived its order".to_owned())?;
        Ok(Cast::of(id, stock))
    })
}
