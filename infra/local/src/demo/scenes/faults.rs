//! What goes wrong around an order: the channel is silent, a worker dies, a wake-up is lost, everything comes twice.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use expiry_core::limits;
use expiry_core::message::{Message, Queue};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::reservation::HoldStatus;
use futures_util::future::try_join_all;
use serde_json::json;

use super::super::scene::{Cast, Expected, Played, Scene};
use super::super::shop::{LEASE, SCAN_GRACE, Shop, Surprise, deadline_of, ensure, surprised};
use super::order;
use crate::cloud::Faults;

/// How many callbacks come at once.
const CALLBACKS: usize = 10;

/// I3: the order is CLOSING and holds everything.
fn is_protected(order: &Order) -> Result<(), Surprise> {
    let held = order.lines.iter().all(|line| line.hold == HoldStatus::Reserved);
    ensure(order.status == OrderStatus::Closing && held, || {
        format!("CLOSING with its stock held expected, not {}: {:?}", order.status.name(), order.lines)
    })
}

/// Nobody knows whether money came.
pub(super) const SILENT_CHANNEL: Scene = Scene {
    name: "Silent channel",
    story: "At T the channel cannot be reached. Unknown is not unpaid: CLOSING, and nothing is released. Ten seconds \
            later it is asked again.",
    expected: Expected {
        status: "PAID",
        money: "¥10 kept",
        goods: "stock 4, 1 sold",
        decided: "retry: the channel, asked, says paid",
    },
    play: silent_channel,
};

fn silent_channel(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("radio", 5).await?;
        let id = shop.ordered(&order("fay", "radio", "quick")).await?;
        let payment = shop.pay(&id, None).await?;
        shop.channel(&payment, json!({"state": "SUCCESS"})).await?;
        shop.faults(Faults { channel_down: vec!["sim".to_owned()], ..Faults::default() });
        shop.pass_deadline(&id).await?;
        is_protected(&shop.load(&id).await?)?;
        shop.cannot_pay(&id, "order_closing").await?;
        shop.faults(Faults::default());
        shop.advance(limits::RETRY_RHYTHM[0] + limits::CHECK_DELAY_MARGIN + Duration::from_secs(1)).await?;
        Ok(Cast::of(id, stock))
    })
}

/// A claim whose owner is gone.
pub(super) const WORKER_CRASH: Scene = Scene {
    name: "Worker crash",
    story: "The worker that claimed the order dies asking the channel. The message its claim caused waits out the lease; \
            another worker goes on.",
    expected: Expected {
        status: "CLOSED",
        money: "none came",
        goods: "stock 5",
        decided: "retry: every attempt is settled",
    },
    play: worker_crash,
};

fn worker_crash(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("bell", 5).await?;
        let id = shop.ordered(&order("gil", "bell", "quick")).await?;
        let payment = shop.pay(&id, None).await?;
        let deadline = deadline_of(&shop.load(&id).await?)?;
        // Only the worker that will die is handed the wake-up, and the channel lets it wait.
        shop.faults(Faults { hold_queues: vec![Queue::Close.name().to_owned()], ..Faults::default() });
        shop.channel(&payment, json!({"delay_ms": 2_500})).await?;
        shop.jump_to(deadline.plus(Duration::from_millis(1_500))).await?;
        let wake = Message::Wake { order_id: id.clone(), expire_at: deadline, hop: 0 };
        let functions = std::sync::Arc::clone(&shop.system.functions);
        let event = batch_of(&wake)?;
        let worker = tokio::spawn(async move { functions.close_order.handle(event).await });
        shop.until("the claim", async || Ok(shop.load(&id).await?.status == OrderStatus::Closing)).await?;
        worker.abort();
        let died = worker.await.is_err_and(|error| error.is_cancelled());
        ensure(died, || "the worker finished before it could die".to_owned())?;
        shop.channel(&payment, json!({"delay_ms": 0})).await?;
        shop.faults(Faults::default());
        // The wake-up itself finds the order leased and does nothing.
        shop.rest().await?;
        is_protected(&shop.load(&id).await?)?;
        shop.advance(LEASE + limits::CHECK_DELAY_MARGIN + Duration::from_secs(1)).await?;
        let claims = shop.load(&id).await?.closing.map_or(0, |task| task.attempts);
        ensure(claims == 2, || format!("{claims} claims instead of 2"))?;
        Ok(Cast::of(id, stock))
    })
}

/// The event of a queue that holds one message.
fn batch_of(message: &Message) -> Result<SqsEvent, Surprise> {
    let body = serde_json::to_string(message).map_err(surprised)?;
    let record = json!({"messageId": "wake", "body": body, "attributes": {}, "messageAttributes": {},
        "eventSource": "aws:sqs"});
    serde_json::from_value(json!({"Records": [record]})).map_err(surprised)
}

/// No reminder at all.
pub(super) const LOST_WAKE_UP: Scene = Scene {
    name: "Lost wake-up",
    story: "The reminder is lost and never comes. The fallback scan trusts no reminder: it walks the due index and finds \
            the order.",
    expected: Expected {
        status: "CLOSED",
        money: "none came",
        goods: "stock 5",
        decided: "scan: deadline passed, nobody to ask",
    },
    play: lost_wake_up,
};

fn lost_wake_up(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        let stock = shop.stock("drum", 5).await?;
        let id = shop.ordered(&order("ivo", "drum", "quick")).await?;
        let deadline = deadline_of(&shop.load(&id).await?)?;
        shop.rest().await?;
        shop.faults(Faults { drop_wakes: true, ..Faults::default() });
        shop.jump_to(deadline.plus(Duration::from_secs(2))).await?;
        shop.rest().await?;
        shop.faults(Faults::default());
        let found = shop.scan().await?;
        ensure(found == 0, || format!("the scan found {found} orders before its grace was over"))?;
        let status = shop.load(&id).await?.status;
        ensure(status == OrderStatus::PendingPayment, || format!("something woke the order: {}", status.name()))?;
        shop.advance(SCAN_GRACE).await?;
        let found = shop.scan().await?;
        ensure(found == 1, || format!("the scan found {found} orders instead of one"))?;
        Ok(Cast::of(id, stock))
    })
}

/// Everything comes more than once.
pub(super) const DUPLICATES: Scene = Scene {
    name: "Duplicates",
    story: "Every message is delivered twice, every callback ten times at once. One customer pays in time, the other \
            after the end.",
    expected: Expected {
        status: "1 PAID, 1 CLOSED",
        money: "¥10 kept, ¥10 refunded once",
        goods: "stock 4, 1 sold",
        decided: "callback: the channel says paid\nwake-up: every attempt is settled",
    },
    play: duplicates,
};

fn duplicates(shop: &Shop) -> Played<'_> {
    Box::pin(async {
        shop.faults(Faults { duplicate_deliveries: true, ..Faults::default() });
        let stock = shop.stock("mirror", 5).await?;
        let in_time = shop.ordered(&order("jo", "mirror", "quick")).await?;
        let too_late = shop.ordered(&order("kim", "mirror", "quick")).await?;
        let payments = [shop.pay(&in_time, None).await?, shop.pay(&too_late, None).await?];
        for (payment, id) in payments.iter().zip([&in_time, &too_late]) {
            if *id == too_late {
                shop.pass_deadline(id).await?;
            }
            shop.channel(payment, json!({"state": "SUCCESS"})).await?;
            try_join_all((0..CALLBACKS).map(|_| shop.callback(payment))).await?;
            shop.rest().await?;
        }
        Ok(Cast { orders: vec![in_time, too_late], counters: vec![stock], coupon: None })
    })
}
