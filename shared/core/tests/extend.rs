//! More time to pay: for an order that is open and not past its deadline, by who knows the deadline it has.

mod scene;

use std::time::Duration;

use expiry_core::decide::extend::{Extend, ExtendOutcome};
use expiry_core::evidence::Actor;
use expiry_core::fact::Cause;
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use scene::*;

fn extend(order: &Order, from: Timestamp, to: Timestamp, now: Timestamp) -> Run<ExtendOutcome> {
    let actor = Actor::Named("ops".to_owned());
    run(order, &Extend { from, to, actor, reason: Cause::new("a call") }, &world(), now)
}

#[test]
fn the_deadline_moves_and_with_it_the_place_in_the_due_index() {
    for order in [order().build(), order().attempt(attempt()).build()] {
        let run = extend(&order, deadline(), deadline().plus(seconds(600)), deadline().minus(millis(1)));
        assert_eq!(run.outcome, ExtendOutcome::Extended);
        assert_eq!(run.order.expire_at, Some(deadline().plus(seconds(600))));
        assert_eq!(run.order.due_at, run.order.expire_at);
        assert_eq!(run.order.attempts, order.attempts, "credentials keep their expiry");
    }
    let working = order().attempt(attempt()).pending(Unit::Ask(no(1))).build();
    let run = extend(&working, deadline(), deadline().plus(seconds(600)), in_time());
    assert_eq!(run.order.due_at, working.due_at, "I12: work is not postponed");
}

#[test]
fn from_another_deadline_than_it_has_nothing_moves() {
    for from in [deadline().minus(millis(1)), deadline().plus(millis(1))] {
        let run = extend(&order().build(), from, deadline().plus(seconds(600)), in_time());
        assert_eq!((run.outcome, run.changed_nothing()), (ExtendOutcome::Changed, true));
    }
}

#[test]
fn it_becomes_later_and_no_longer_than_a_window_may_be() {
    let longest = created().plus(Duration::from_secs(limits::WINDOW_SECONDS));
    for (to, outcome) in [
        (deadline().minus(seconds(1)), ExtendOutcome::OutOfBounds),
        (deadline(), ExtendOutcome::OutOfBounds),
        (longest, ExtendOutcome::Extended),
        (longest.plus(millis(1)), ExtendOutcome::OutOfBounds),
    ] {
        assert_eq!(extend(&order().build(), deadline(), to, in_time()).outcome, outcome, "{to}");
    }
}

#[test]
fn what_is_past_its_deadline_has_none_or_is_not_open_is_left() {
    let to = deadline().plus(seconds(600));
    assert_eq!(extend(&order().build(), deadline(), to, deadline()).outcome, ExtendOutcome::Passed);
    assert_eq!(extend(&never_expiring().build(), deadline(), to, in_time()).outcome, ExtendOutcome::Passed);
    let closed = [order().attempt(attempt()).closing(), order().paid(), order().closed()];
    for (scene, status) in closed.into_iter().zip([OrderStatus::Closing, OrderStatus::Paid, OrderStatus::Closed]) {
        assert_eq!(extend(&scene.build(), deadline(), to, in_time()).outcome, ExtendOutcome::NotOpen(status));
    }
}
