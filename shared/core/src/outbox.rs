//! What follows from an order as it stands: commit → effects (DESIGN §6). The stream computes the effects of a change, the scan the
//! messages of an order that is overdue; neither looks at anything but images of the order and the time.

use std::time::Duration;

use crate::closing::Turn;
use crate::decide::ask::never_expiring_overdue;
use crate::limits;
use crate::message::{Message, Queue};
use crate::order::{Order, OrderStatus};
use crate::pending::Unit;
use crate::refund::RefundStatus;
use crate::time::{Timestamp, seconds_rounded_up};

/// Something to be done outside the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Arm the order's one schedule.
    Arm {
        /// When it fires, at the earliest; the Scheduler knows whole seconds and rounds it down.
        at: Timestamp,
        /// What it sends.
        wake: Message,
    },
    /// Remove the order's schedule.
    Disarm,
    /// Send a message.
    Send {
        /// On which queue.
        queue: Queue,
        /// What.
        message: Message,
        /// Not to be received before this much time has passed; whole seconds.
        delay: Duration,
    },
}

/// The effects of the change from `before` to `after`, in the order in which they are to be done: the stream sends what the new image
/// added.
#[must_use]
pub fn effects(before: Option<&Order>, after: &Order, now: Timestamp) -> Vec<Effect> {
    let mut effects: Vec<Effect> = wake_up(before, after, now).into_iter().collect();
    effects.extend(next_checks(before, after, now));
    // Only a terminal order works its asks off; before, one was a single question, or the closer's (DESIGN §5.6).
    let ends = after.status.is_terminal() && before.is_some_and(|before| !before.status.is_terminal());
    let is_new = |unit: &&Unit| {
        let is_known = before.is_some_and(|before| before.pending.contains(unit));
        !is_known || (ends && matches!(unit, Unit::Ask(_)))
    };
    effects.extend(after.pending.iter().filter(is_new).filter_map(|unit| unit_message(after, unit)));
    effects
}

fn is_open(order: &Order) -> bool {
    matches!(order.status, OrderStatus::PendingPayment | OrderStatus::Paying)
}

/// One schedule per open order: armed at creation and whenever its deadline moves, gone once it is not open any more (case b39).
fn wake_up(before: Option<&Order>, after: &Order, now: Timestamp) -> Option<Effect> {
    let was_open = before.is_some_and(is_open);
    if !is_open(after) {
        return (was_open && after.expire_at.is_some()).then_some(Effect::Disarm);
    }
    let expire_at = after.expire_at?;
    let is_armed = before.is_some_and(|before| before.expire_at == Some(expire_at));
    (!is_armed).then(|| arm(after, expire_at, now))
}

/// The wake-up of an order: a schedule one minute ahead, or a delayed message when it is due within two.
fn arm(order: &Order, expire_at: Timestamp, now: Timestamp) -> Effect {
    let wake = Message::Wake { order_id: order.id.clone(), expire_at, hop: 0 };
    let due = expire_at.plus(limits::EXPIRY_SETTLE_TIME);
    if due.since(now) <= limits::SCHEDULE_HORIZON {
        Effect::Send { queue: Queue::Close, message: wake, delay: whole_seconds(due.since(now)) }
    } else {
        Effect::Arm { at: expire_at.minus(limits::SCHEDULE_AHEAD), wake }
    }
}

/// The message that stands in for a schedule that could not be created, until it is tried again; `None` once it was tried
/// [`limits::SCHEDULE_HOPS`] times and the scan is left.
#[must_use]
pub fn stand_in(wake: &Message, now: Timestamp) -> Option<(Message, Duration)> {
    let Message::Wake { order_id, expire_at, hop } = wake else {
        return None;
    };
    if *hop >= limits::SCHEDULE_HOPS {
        return None;
    }
    let due = expire_at.plus(limits::EXPIRY_SETTLE_TIME);
    let delay = whole_seconds(due.since(now)).min(limits::QUEUE_DELAY);
    Some((Message::Wake { order_id: order_id.clone(), expire_at: *expire_at, hop: hop + 1 }, delay))
}

/// Every new next check at most 900 s ahead becomes one delayed message; longer waits belong to the scan.
fn next_checks(before: Option<&Order>, after: &Order, now: Timestamp) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut check = |was: Option<&Turn>, is: Option<&Turn>, queue, message: &dyn Fn(Timestamp) -> Message| {
        let Some(at) = is.and_then(|turn| turn.next_check_at) else {
            return;
        };
        if was.and_then(|turn| turn.next_check_at) == Some(at) || at.since(now) > limits::QUEUE_DELAY {
            return;
        }
        let delay = (whole_seconds(at.since(now)) + limits::CHECK_DELAY_MARGIN).min(limits::QUEUE_DELAY);
        effects.push(Effect::Send { queue, message: message(at), delay });
    };
    let order_id = &after.id;
    check(
        before.and_then(|order| order.closing.as_ref()).map(|task| &task.turn),
        after.closing.as_ref().map(|task| &task.turn),
        Queue::Close,
        &|check_at| Message::Check { order_id: order_id.clone(), check_at, again: false },
    );
    let asked = after.pending.iter().find(|unit| matches!(unit, Unit::Ask(_))).cloned();
    let overdue = after.unsettled_attempts().map(|(no, _)| Unit::Ask(no)).next();
    if let Some(unit) = asked.or(overdue) {
        check(
            before.and_then(|order| order.asking.as_ref()).map(|task| &task.turn),
            after.asking.as_ref().map(|task| &task.turn),
            Queue::Close,
            &|check_at| Message::Unit { order_id: order_id.clone(), unit: unit.clone(), check_at: Some(check_at) },
        );
    }
    for (no, attempt) in after.numbered_attempts() {
        check(
            before.and_then(|order| order.attempt(no)?.refund.as_ref()).map(|refund| &refund.turn),
            attempt.refund.as_ref().map(|refund| &refund.turn),
            Queue::Refund,
            &|check_at| Message::Unit { order_id: order_id.clone(), unit: Unit::Refund(no), check_at: Some(check_at) },
        );
    }
    effects
}

fn unit_message(order: &Order, unit: &Unit) -> Option<Effect> {
    let message = Message::Unit { order_id: order.id.clone(), unit: unit.clone(), check_at: None };
    Some(Effect::Send { queue: Queue::of(unit)?, message, delay: Duration::ZERO })
}

/// What the scan sends for an order that stands overdue in the index: a live lease or a future check holds back only that task's
/// message, everything else that is pending is sent again.
#[must_use]
pub fn overdue(order: &Order, now: Timestamp) -> Vec<(Queue, Message)> {
    let mut messages = Vec::new();
    let is_free = |turn: Option<&Turn>| turn.and_then(|turn| turn.next_check_at).is_none_or(|at| at <= now);
    let closing_is_free = is_free(order.closing.as_ref().map(|task| &task.turn));
    let asking_is_free = is_free(order.asking.as_ref().map(|task| &task.turn));
    let is_due = match order.status {
        OrderStatus::PendingPayment | OrderStatus::Paying => {
            let expired = order.expire_at.is_some_and(|at| at.plus(limits::EXPIRY_SETTLE_TIME) <= now);
            expired || (asking_is_free && !never_expiring_overdue(order, now).is_empty())
        }
        OrderStatus::Closing => closing_is_free,
        OrderStatus::Paid | OrderStatus::Closed => false,
    };
    if is_due {
        messages.push((Queue::Close, Message::Overdue { order_id: order.id.clone() }));
    }
    for unit in &order.pending {
        let is_held_back = match unit {
            Unit::Ask(_) => !asking_is_free,
            Unit::Refund(no) => order
                .attempt(*no)
                .and_then(|attempt| attempt.refund.as_ref())
                .is_some_and(|refund| refund.status == RefundStatus::Failed || !is_free(Some(&refund.turn))),
            Unit::Settle(_) | Unit::Cap | Unit::Anomaly(..) | Unit::Foreign(_) => false,
        };
        if let (false, Some(queue)) = (is_held_back, Queue::of(unit)) {
            messages.push((queue, Message::Unit { order_id: order.id.clone(), unit: unit.clone(), check_at: None }));
        }
    }
    messages
}

/// A delay SQS can keep: whole seconds, rounded up.
#[must_use]
pub fn whole_seconds(span: Duration) -> Duration {
    Duration::from_secs(seconds_rounded_up(span))
}
