//! What follows from an order as it stands: the effects of a change for the stream, the messages of an overdue order for the scan
//! (DESIGN §5, §6).

mod scene;

use std::time::Duration;

use expiry_core::attempt::Standing;
use expiry_core::closing::Turn;
use expiry_core::limits;
use expiry_core::message::{Message, Queue};
use expiry_core::order::Order;
use expiry_core::outbox::{Effect, effects, overdue, stand_in};
use expiry_core::pending::Unit;
use expiry_core::refund::RefundStatus;
use expiry_core::reservation::ResourceKind;
use expiry_core::time::Timestamp;
use scene::*;

fn armed_wake(order: &Order) -> Message {
    Message::Wake { order_id: order.id.clone(), expire_at: order.expire_at.expect("a deadline"), hop: 0 }
}

fn unit(order: &Order, unit: Unit) -> Message {
    Message::Unit { order_id: order.id.clone(), unit, check_at: None }
}

fn sent(effects: Vec<Effect>) -> Vec<(Queue, Message, Duration)> {
    let only_sent = |effect| match effect {
        Effect::Send { queue, message, delay } => Some((queue, message, delay)),
        Effect::Arm { .. } | Effect::Disarm => None,
    };
    effects.into_iter().filter_map(only_sent).collect()
}

mod schedule {
    use super::*;

    #[test]
    fn a_new_order_is_armed_one_minute_ahead() {
        let order = order().build();
        let armed = Effect::Arm { at: deadline().minus(seconds(60)), wake: armed_wake(&order) };
        assert_eq!(effects(None, &order, created()), [armed]);
    }

    #[test]
    fn what_is_due_within_two_minutes_gets_a_delayed_message_instead() {
        let order = order().build();
        // Due is half a second after the deadline, and no delay ends early.
        for (ahead, delay) in [(seconds(119), 120), (millis(119_500), 120), (seconds(1), 2), (Duration::ZERO, 1)] {
            let wake = Effect::Send { queue: Queue::Close, message: armed_wake(&order), delay: seconds(delay) };
            assert_eq!(effects(None, &order, deadline().minus(ahead)), [wake], "{ahead:?} ahead");
        }
        let just_above = effects(None, &order, deadline().minus(millis(119_501)));
        assert!(matches!(just_above[..], [Effect::Arm { .. }]));
    }

    #[test]
    fn a_deadline_that_has_passed_is_sent_at_once() {
        let order = order().build();
        assert_eq!(sent(effects(None, &order, later())), [(Queue::Close, armed_wake(&order), Duration::ZERO)]);
    }

    #[test]
    fn it_is_armed_once_and_again_when_the_deadline_moves() {
        let (fresh, paying) = (order().build(), order().attempt(attempt()).build());
        assert_eq!(effects(Some(&fresh), &paying, in_time()), []);
        let mut extended = paying.clone();
        extended.expire_at = Some(deadline().plus(seconds(600)));
        let armed = Effect::Arm { at: deadline().plus(seconds(540)), wake: armed_wake(&extended) };
        assert_eq!(effects(Some(&paying), &extended, in_time()), [armed]);
    }

    #[test]
    fn it_is_gone_as_soon_as_the_order_is_not_open_any_more() {
        let open = order().attempt(attempt()).build();
        let [closing, paid, closed] =
            [order().attempt(attempt()).closing().build(), order().paid().build(), order().closed().build()];
        for after in [&closing, &paid, &closed] {
            let count = |before| {
                let all = effects(Some(before), after, later());
                all.into_iter().filter(|effect| *effect == Effect::Disarm).count()
            };
            assert_eq!((count(&open), count(&closing)), (1, 0), "b39: {:?}", after.status);
        }
    }

    #[test]
    fn an_order_that_never_expires_and_one_with_nothing_to_pay_have_none() {
        let (never, cancelled) = (never_expiring().build(), never_expiring().closed().build());
        assert_eq!(effects(None, &never, created()), []);
        assert!(!effects(Some(&never), &cancelled, later()).contains(&Effect::Disarm), "b32");
        assert_eq!(effects(None, &order().paid().settled().build(), created()), [], "b40");
    }

    #[test]
    fn a_stand_in_waits_at_most_900_s_and_is_tried_eight_times() {
        let order = order().build();
        let mut message = armed_wake(&order);
        for hop in 1..=limits::SCHEDULE_HOPS {
            let (next, delay) = stand_in(&message, created()).expect("a hop");
            assert!(matches!(next, Message::Wake { hop: of, expire_at, .. } if of == hop && expire_at == deadline()));
            assert_eq!(delay, limits::QUEUE_DELAY);
            message = next;
        }
        assert_eq!(stand_in(&message, created()), None, "the scan is left");
        let near = stand_in(&armed_wake(&order), deadline().minus(seconds(10)));
        assert_eq!(near.map(|(_, delay)| delay), Some(seconds(11)), "rounded up");
        assert_eq!(stand_in(&Message::Overdue { order_id: order.id }, created()), None);
    }
}

mod next_check {
    use super::*;

    fn closing(at: Timestamp) -> Order {
        order().attempt(attempt()).closing_with(Turn::at(at)).build()
    }

    #[test]
    fn a_new_check_within_900_s_becomes_one_delayed_message_rounded_up_plus_2_s() {
        let before = closing(due());
        for (ahead, delay) in
            [(Duration::ZERO, 2), (millis(1), 3), (seconds(10), 12), (seconds(898), 900), (seconds(900), 900)]
        {
            let after = closing(later().plus(ahead));
            let check_at = later().plus(ahead);
            let message = Message::Check { order_id: after.id.clone(), check_at, again: false };
            assert_eq!(sent(effects(Some(&before), &after, later())), [(Queue::Close, message, seconds(delay))]);
        }
    }

    #[test]
    fn a_longer_wait_belongs_to_the_scan() {
        let after = closing(later().plus(millis(900_001)));
        assert_eq!(effects(Some(&closing(due())), &after, later()), []);
    }

    #[test]
    fn a_check_that_was_there_before_is_not_sent_again() {
        let before = closing(later().plus(seconds(10)));
        let after = order().attempt(attempt()).closing_with(Turn::leased(me(), later().plus(seconds(10)))).build();
        assert_eq!(effects(Some(&before), &after, later()), []);
    }

    #[test]
    fn the_end_of_a_lease_is_a_check_so_that_a_crash_is_resumed() {
        let open = order().attempt(attempt()).build();
        let claimed = order().attempt(attempt()).closing().build();
        let messages = sent(effects(Some(&open), &claimed, due()));
        let check_at = due().plus(LEASE);
        let message = Message::Check { order_id: claimed.id.clone(), check_at, again: false };
        assert_eq!(messages, [(Queue::Close, message, LEASE + seconds(2))], "s3, s8");
    }

    #[test]
    fn the_next_ask_and_the_next_try_of_a_refund_are_delayed_alike_each_on_its_queue() {
        let at = later().plus(seconds(30));
        let surplus = attempt().succeeded(Standing::Surplus).refund(PAYABLE, RefundStatus::Submitted);
        let scene = order().attempt(attempt().succeeded(Standing::Counted)).attempt(attempt()).attempt(surplus).paid();
        let before = scene.clone().build();
        let after = scene
            .asking(1, Turn::at(at))
            .with(|order| order.attempts[2].refund.as_mut().expect("a refund").turn = Turn::at(at))
            .build();
        let message = |unit| Message::Unit { order_id: after.id.clone(), unit, check_at: Some(at) };
        assert_eq!(
            sent(effects(Some(&before), &after, later())),
            [
                (Queue::Close, message(Unit::Ask(no(2))), seconds(32)),
                (Queue::Refund, message(Unit::Refund(no(3))), seconds(32)),
            ]
        );
    }
}

mod units {
    use super::*;

    #[test]
    fn each_unit_a_change_added_is_sent_once_on_its_queue() {
        let open = order().holding_everything().attempt(attempt()).attempt(attempt()).closing().build();
        let legs = order()
            .holding_everything()
            .attempt(attempt().amount(1).succeeded(Standing::Counted).refund(1, RefundStatus::Pending))
            .attempt(attempt())
            .closing()
            .closed()
            .build();
        let messages: Vec<_> = sent(effects(Some(&open), &legs, later()))
            .into_iter()
            .map(|(queue, message, _)| (queue, message))
            .collect();
        let mut expected = vec![
            (Queue::StockRelease, unit(&legs, Unit::Settle(ResourceKind::Stock))),
            (Queue::CouponRelease, unit(&legs, Unit::Settle(ResourceKind::Coupon))),
            (Queue::PointsRelease, unit(&legs, Unit::Settle(ResourceKind::Points))),
            (Queue::QuotaRelease, unit(&legs, Unit::Settle(ResourceKind::Quota))),
            (Queue::QuotaRelease, unit(&legs, Unit::Cap)),
            (Queue::Refund, unit(&legs, Unit::Refund(no(1)))),
            (Queue::Close, unit(&legs, Unit::Ask(no(2)))),
        ];
        expected.sort_by_key(|(queue, _)| *queue);
        let mut sorted = messages.clone();
        sorted.sort_by_key(|(queue, _)| *queue);
        assert_eq!(sorted, expected);
        assert_eq!(sent(effects(Some(&legs), &legs, later())), [], "what was there before is not sent again");
    }

    #[test]
    fn an_ask_that_stood_before_the_end_is_sent_again_at_the_end_because_only_then_it_is_worked_off() {
        let scene =
            order().attempt(attempt().succeeded(Standing::Counted)).attempt(attempt()).pending(Unit::Ask(no(2)));
        let paid = scene.clone().paid().build();
        let legs = scene.with(|order| order.payable = amount(PAYABLE + 1));
        let asked = (Queue::Close, unit(&paid, Unit::Ask(no(2))), Duration::ZERO);
        for before in [legs.clone().build(), legs.closing().build()] {
            assert!(sent(effects(Some(&before), &paid, later())).contains(&asked), "I13: {:?}", before.status);
        }
        assert_eq!(sent(effects(Some(&paid), &paid, later())), [], "once");
    }

    #[test]
    fn what_a_person_or_a_newer_program_must_do_is_sent_nowhere() {
        let scene = order().paid();
        let anomaly = Unit::Anomaly(ResourceKind::Stock, "SKU/default/default".to_owned());
        let after = scene.clone().pending(anomaly).pending(Unit::Foreign("new-work".to_owned())).build();
        assert_eq!(effects(Some(&scene.build()), &after, later()), []);
    }

    #[test]
    fn the_effects_come_in_order_schedule_first_then_checks_then_units() {
        let open = order().attempt(attempt()).build();
        let closed = order().attempt(attempt()).closing().closed().build();
        let kinds: Vec<_> = effects(Some(&open), &closed, later())
            .iter()
            .map(|effect| match effect {
                Effect::Arm { .. } => "arm",
                Effect::Disarm => "disarm",
                Effect::Send { .. } => "send",
            })
            .collect();
        assert_eq!(kinds, ["disarm", "send", "send"]);
    }
}

mod overdue_orders {
    use super::*;

    fn queues(order: &Order, now: Timestamp) -> Vec<(Queue, Message)> {
        overdue(order, now)
    }

    #[test]
    fn an_open_order_past_its_deadline_is_sent_to_be_closed() {
        let open = order().attempt(attempt()).build();
        let message = Message::Overdue { order_id: open.id.clone() };
        assert_eq!(queues(&open, due()), [(Queue::Close, message)]);
        assert_eq!(queues(&open, due().minus(millis(1))), [], "I7");
    }

    #[test]
    fn a_live_lease_or_a_check_to_come_holds_back_the_close_message() {
        let until = later().plus(millis(1));
        for turn in [Turn::leased(another(), until), Turn::at(until)] {
            let held = order().attempt(attempt()).closing_with(turn.clone()).build();
            assert_eq!(queues(&held, later()), []);
            assert_eq!(queues(&held, until), [(Queue::Close, Message::Overdue { order_id: held.id.clone() })]);
        }
    }

    #[test]
    fn and_it_holds_back_nothing_else() {
        let until = later().plus(seconds(60));
        let surplus = attempt().succeeded(Standing::Mismatch).refund(PAYABLE, RefundStatus::Pending);
        let held = order().attempt(attempt()).attempt(surplus).closing_with(Turn::at(until)).build();
        assert_eq!(queues(&held, later()), [(Queue::Refund, unit(&held, Unit::Refund(no(2))))]);
        let asking = order().attempt(attempt().succeeded(Standing::Counted)).attempt(attempt()).paid();
        let asking = asking.asking(1, Turn::at(until)).build();
        assert_eq!(
            queues(&asking, later()),
            [(Queue::StockRelease, unit(&asking, Unit::Settle(ResourceKind::Stock)))],
            "the ask waits for its own turn, the rest does not"
        );
        let free = order().attempt(attempt().succeeded(Standing::Counted)).attempt(attempt()).paid().settled().build();
        assert_eq!(queues(&free, later()), [(Queue::Close, unit(&free, Unit::Ask(no(2))))]);
    }

    #[test]
    fn a_failed_refund_and_one_whose_next_try_is_to_come_are_not_sent() {
        let until = later().plus(seconds(60));
        let surplus = |status| attempt().succeeded(Standing::Surplus).refund(PAYABLE, status);
        let of = |status, turn: Turn| {
            order()
                .attempt(attempt().succeeded(Standing::Counted))
                .attempt(surplus(status))
                .paid()
                .settled()
                .with(|order| order.attempts[1].refund.as_mut().expect("a refund").turn = turn)
                .build()
        };
        assert_eq!(queues(&of(RefundStatus::Failed, Turn::default()), later()), []);
        assert_eq!(queues(&of(RefundStatus::Submitted, Turn::at(until)), later()), []);
        let due = of(RefundStatus::Submitted, Turn::at(later()));
        assert_eq!(queues(&due, later()), [(Queue::Refund, unit(&due, Unit::Refund(no(2))))]);
    }

    #[test]
    fn an_order_that_never_expires_is_sent_when_a_credential_of_it_has_expired() {
        let expiry = in_time();
        let scene = never_expiring().attempt(attempt().expires(expiry, None));
        let order = scene.clone().build();
        assert_eq!(queues(&order, expiry.minus(millis(1))), []);
        assert_eq!(queues(&order, expiry), [(Queue::Close, Message::Overdue { order_id: order.id.clone() })]);
        let held = scene.asking(1, Turn::at(expiry.plus(seconds(10)))).build();
        assert_eq!(queues(&held, expiry), [], "its check is to come");
    }

    #[test]
    fn a_terminal_order_is_sent_its_work_and_nothing_else() {
        let paid = order().paid().build();
        assert_eq!(queues(&paid, later()), [(Queue::StockRelease, unit(&paid, Unit::Settle(ResourceKind::Stock)))]);
        assert_eq!(queues(&order().paid().settled().build(), later()), []);
    }
}

#[test]
fn a_message_is_read_back_as_it_was_written_and_names_only_orders_and_work() {
    let order = order().build();
    let id = order.id.clone();
    for (message, json) in [
        (armed_wake(&order), r#"{"type":"wake","order_id":"ID","expire_at":1767227400000,"hop":0}"#),
        (
            Message::Check { order_id: id.clone(), check_at: deadline(), again: true },
            r#"{"type":"check","order_id":"ID","check_at":1767227400000,"again":true}"#,
        ),
        (Message::Overdue { order_id: id.clone() }, r#"{"type":"overdue","order_id":"ID"}"#),
        (unit(&order, Unit::Ask(no(2))), r#"{"type":"unit","order_id":"ID","unit":"ask:2"}"#),
    ] {
        let json = json.replace("ID", id.as_str());
        assert_eq!(serde_json::to_string(&message).expect("JSON"), json);
        assert_eq!(serde_json::from_str::<Message>(&json).expect("a message"), message);
    }
}
