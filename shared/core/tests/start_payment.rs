//! Starting a payment (DESIGN §4): who may, what is resumed, what is changed, and what the second write does.

mod scene;

use std::time::Duration;

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::Turn;
use expiry_core::decide::place_answered::{PlaceAnswered, PlacedOutcome};
use expiry_core::decide::start_payment::{StartOutcome, StartPayment, StartRefusal};
use expiry_core::decide::{Question, Sequence};
use expiry_core::fact::{Cause, PaymentFact, PlaceOutcome, Placed};
use expiry_core::ids::{ChannelReference, Method};
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use scene::*;

fn refused(refusal: StartRefusal) -> StartOutcome {
    StartOutcome::Refused(refusal)
}

fn started(order: &Order, command: &StartPayment) -> Run<StartOutcome> {
    run(order, command, &world(), in_time())
}

/// What the customer already has is good, unless the test says otherwise.
fn paying() -> Order {
    order().attempt(attempt()).build()
}

mod first_write {
    use super::*;

    #[test]
    fn no_payment_starts_from_one_second_before_the_deadline_on() {
        let last = deadline().minus(seconds(1));
        for order in [order().build(), paying()] {
            let at = |now| run(&order, &start(), &world(), now);
            assert_eq!(at(last.minus(millis(1))).outcome, StartOutcome::Place(no(1)), "I10");
            for now in [last, deadline(), later()] {
                let run = at(now);
                assert_eq!((run.outcome, run.changed_nothing()), (refused(StartRefusal::Expired), true), "I10: {now}");
                assert!(run.asked.is_empty(), "b15: nothing is sent to the channel");
            }
        }
    }

    #[test]
    fn no_payment_starts_on_an_order_that_is_not_open() {
        for (order, refusal) in [
            (order().attempt(attempt()).closing().build(), StartRefusal::Closing),
            (order().closed().build(), StartRefusal::Closed),
            (order().paid().build(), StartRefusal::Paid),
        ] {
            let run = started(&order, &start());
            assert_eq!((run.outcome, run.changed_nothing()), (refused(refusal), true), "b15");
            assert!(run.asked.is_empty());
        }
    }

    #[test]
    fn the_attempt_is_durable_as_an_in_doubt_create_before_the_channel_hears_of_it() {
        let run = started(&order().build(), &start());
        assert_eq!((run.outcome, run.commits), (StartOutcome::Place(no(1)), 1));
        let attempt = &run.order.attempts[0];
        assert_eq!(run.order.status, OrderStatus::Paying);
        assert_eq!((attempt.status, attempt.replaced), (AttemptStatus::Initiated, false));
        assert_eq!(attempt.asked_expiry, deadline());
        assert_eq!(attempt.place_before, Some(start().place_before));
    }

    #[test]
    fn a_create_is_sent_by_this_functions_deadline_and_never_in_the_last_second() {
        let last = deadline().minus(seconds(1));
        let by = |place_before| StartPayment { place_before, ..start() };
        for (own, bound) in [(in_time(), in_time()), (last, last), (later(), last)] {
            let begun = started(&order().build(), &by(own));
            assert_eq!(begun.order.attempts[0].place_before, Some(bound));
            let resumed = started(&paying(), &by(own));
            assert_eq!(resumed.order.attempts[0].place_before, Some(bound), "also when it is resumed");
        }
        let never = started(&never_expiring().build(), &by(later()));
        assert_eq!(
            never.order.attempts[0].place_before,
            Some(later()),
            "an order that never expires has no last second"
        );
    }

    #[test]
    fn the_credential_expires_with_the_order_or_after_the_channels_minimum() {
        for (minimum, expiry) in [
            (Duration::ZERO, deadline()),
            (WINDOW - seconds(60), deadline()),
            (seconds(3_600), in_time().plus(seconds(3_600))),
        ] {
            let run = started(&order().build(), &StartPayment { min_expiry: minimum, ..start() });
            assert_eq!(run.order.attempts[0].asked_expiry, expiry);
        }
    }

    #[test]
    fn the_amount_is_what_is_unpaid_or_a_leg_of_it() {
        let half = order().attempt(attempt().amount(4_000).succeeded(Standing::Counted)).build();
        let of = |minor| StartPayment { amount: Some(amount(minor)), ..start() };
        assert_eq!(started(&half, &start()).order.attempts[1].amount, amount(6_000));
        assert_eq!(started(&half, &of(1)).order.attempts[1].amount, amount(1));
        assert_eq!(started(&half, &of(6_000)).outcome, StartOutcome::Place(no(2)));
        for wrong in [0, 6_001, PAYABLE] {
            assert_eq!(started(&half, &of(wrong)).outcome, refused(StartRefusal::Amount), "{wrong}");
        }
    }

    #[test]
    fn there_are_at_most_twenty_attempts() {
        let nineteen =
            (1..limits::ATTEMPTS).fold(order(), |order, _| order.attempt(attempt().status(AttemptStatus::Failed)));
        let twentieth = started(&nineteen.build(), &start());
        assert_eq!(twentieth.outcome, StartOutcome::Place(no(20)));
        let full = twentieth.order;
        let again = started(&full, &start());
        assert_eq!(again.outcome, StartOutcome::Place(no(20)), "the last one may be resumed");
        let other = StartPayment { channel: channel("other"), ..start() };
        assert_eq!(started(&full, &other).outcome, refused(StartRefusal::TooMany));
    }

    #[test]
    fn what_no_attempt_is_left_for_closes_nothing_at_the_channel() {
        let full = (1..limits::ATTEMPTS)
            .fold(order(), |order, _| order.attempt(attempt().status(AttemptStatus::Failed)))
            .attempt(attempt())
            .build();
        let run = started(&full, &StartPayment { channel: channel("other"), ..start() });
        assert_eq!(run.outcome, refused(StartRefusal::TooMany));
        assert!(run.asked.is_empty(), "the payer keeps what can be paid");
    }
}

mod resume {
    use super::*;

    #[test]
    fn the_same_again_resumes_the_open_attempt_with_the_identical_request() {
        for status in [AttemptStatus::Initiated, AttemptStatus::Processing] {
            let open = order().attempt(attempt().method("native").status(status)).build();
            let same = StartPayment { method: Some(Method::new("native").expect("a method")), ..start() };
            let run = started(&open, &same);
            assert_eq!((run.outcome, run.commits), (StartOutcome::Place(no(1)), 1), "{status:?}");
            assert!(run.asked.is_empty());
            let (was, is) = (&open.attempts[0], &run.order.attempts[0]);
            assert_eq!((is.status, is.replaced), (status, true), "the state is never lowered");
            assert_eq!((is.asked_expiry, is.amount, &is.method), (was.asked_expiry, was.amount, &was.method));
            assert_eq!(is.place_before, Some(start().place_before), "a new one");
            assert_eq!(run.order.attempts.len(), 1);
        }
    }

    #[test]
    fn another_channel_method_or_amount_is_a_change() {
        for other in [
            StartPayment { channel: channel("other"), ..start() },
            StartPayment { method: Some(Method::new("native").expect("a method")), ..start() },
            StartPayment { amount: Some(amount(1)), ..start() },
        ] {
            let run = started(&paying(), &other);
            assert_eq!(run.asked, [Question::Payments(vec![(no(1), Sequence::QueryCloseQuery)])]);
            assert_eq!(run.outcome, StartOutcome::Place(no(2)));
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Closed);
        }
    }

    #[test]
    fn an_unknown_attempt_or_an_expired_credential_is_not_resumed() {
        for stale in [
            attempt().status(AttemptStatus::Unknown),
            attempt().expires(in_time(), None),
            attempt().expires(in_time(), Some(in_time().minus(seconds(1)))),
        ] {
            let run = started(&order().attempt(stale).build(), &start());
            assert_eq!(run.asked.len(), 1, "query, close, query");
            assert_eq!(run.outcome, StartOutcome::Place(no(2)));
        }
    }

    #[test]
    fn an_attempt_that_is_not_the_newest_is_not_resumed_because_its_credential_could_not_be_handed_out() {
        // The create of 1 was in doubt; 2 was begun through another channel and refused there; back to the first.
        let order = order()
            .attempt(attempt().status(AttemptStatus::Initiated))
            .attempt(attempt().channel("other").status(AttemptStatus::Failed))
            .build();
        let run = started(&order, &start());
        assert_eq!(run.asked, [Question::Payments(vec![(no(1), Sequence::QueryCloseQuery)])]);
        assert_eq!(run.outcome, StartOutcome::Place(no(3)));
    }
}

mod change {
    use super::*;

    fn changed(fact: PaymentFact) -> Run<StartOutcome> {
        let other = StartPayment { channel: channel("other"), ..start() };
        run(&paying(), &other, &world().says_of_all(fact), in_time())
    }

    #[test]
    fn found_paid_the_order_is_paid_and_no_other_attempt_begins() {
        let order = paying();
        let run = changed(PaymentFact::Succeeded(success(&order, 1)));
        assert_eq!(run.outcome, refused(StartRefusal::Paid));
        assert_eq!((run.order.status, run.order.attempts.len()), (OrderStatus::Paid, 1));
    }

    #[test]
    fn found_paid_in_part_the_amount_still_unpaid_is_judged_again() {
        let leg = order().attempt(attempt().amount(4_000)).build();
        let world = world().paid(&leg, 1);
        let rest = run(&leg, &start(), &world, in_time());
        assert_eq!(rest.outcome, StartOutcome::Place(no(2)));
        assert_eq!(rest.order.attempts[1].amount, amount(6_000));
        let all = StartPayment { amount: Some(amount(PAYABLE)), ..start() };
        assert_eq!(run(&leg, &all, &world, in_time()).outcome, refused(StartRefusal::Amount));
    }

    #[test]
    fn not_found_allows_a_new_one_and_the_old_one_stays_under_adjudication() {
        let run = changed(PaymentFact::NotFound);
        assert_eq!(run.outcome, StartOutcome::Place(no(2)));
        assert!(run.order.attempts[0].is_unsettled());
        assert_eq!(run.order.attempts[0].first_not_found, Some(in_time()));
    }

    #[test]
    fn in_flight_or_unknown_is_undecided() {
        for fact in [PaymentFact::Processing, PaymentFact::Open, unknown()] {
            let run = changed(fact.clone());
            assert_eq!(run.outcome, refused(StartRefusal::Undecided), "{fact:?}");
            assert_eq!(run.order.attempts.len(), 1, "{fact:?}");
        }
    }

    #[test]
    fn settled_a_new_one_begins() {
        for (fact, status) in
            [(PaymentFact::NotPaidClosed, AttemptStatus::Closed), (PaymentFact::Failed, AttemptStatus::Failed)]
        {
            let run = changed(fact);
            assert_eq!(run.outcome, StartOutcome::Place(no(2)));
            assert_eq!(run.order.attempts[0].status, status);
        }
    }
}

mod second_write {
    use super::*;

    fn credential(expires_at: Option<Timestamp>) -> PlaceAnswered {
        let reference = Some(ChannelReference::new("ref-1").expect("a reference"));
        let outcome = PlaceOutcome::Credential(Placed { reference, expires_at, credential: () });
        PlaceAnswered { attempt: no(1), outcome }
    }

    fn refusal() -> PlaceAnswered {
        PlaceAnswered { attempt: no(1), outcome: PlaceOutcome::Refused(Cause::new("no")) }
    }

    fn initiated() -> AttemptScene {
        attempt().status(AttemptStatus::Initiated)
    }

    #[test]
    fn the_credential_is_handed_out_on_a_payable_order_in_time() {
        let order = order().attempt(initiated()).build();
        let last = deadline().minus(seconds(1));
        let run = run(&order, &credential(Some(later())), &world(), last.minus(millis(1)));
        assert_eq!(run.outcome, PlacedOutcome::HandOut);
        let attempt = &run.order.attempts[0];
        assert_eq!((attempt.status, attempt.place_before), (AttemptStatus::Processing, None));
        assert_eq!(attempt.reference.as_ref().map(ChannelReference::as_str), Some("ref-1"));
        assert_eq!(attempt.channel_expiry, Some(later()));
        assert_eq!(attempt.asked_expiry, deadline(), "stored once, never changed");
    }

    #[test]
    fn it_is_withheld_on_every_other_order_and_what_the_channel_said_is_stored_all_the_same() {
        let open = order().attempt(initiated());
        let paid = order().attempt(initiated()).attempt(attempt().succeeded(Standing::Counted));
        let last = deadline().minus(seconds(1));
        for (what, order, now, why) in [
            ("too late", open.clone().build(), last, StartRefusal::Expired),
            ("CLOSING", open.clone().closing().build(), in_time(), StartRefusal::Closing),
            ("CLOSED", open.clone().closing().closed().build(), later(), StartRefusal::Closed),
            ("PAID", paid.paid().build(), in_time(), StartRefusal::Paid),
            ("not the newest", open.attempt(attempt()).build(), in_time(), StartRefusal::Undecided),
        ] {
            let run = run(&order, &credential(None), &world(), now);
            assert_eq!(run.outcome, PlacedOutcome::Withhold(why), "I10: {what}");
            assert_eq!(run.order.status, order.status, "{what}");
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Processing, "{what}");
            assert!(run.order.attempts[0].reference.is_some(), "{what}");
        }
    }

    #[test]
    fn an_attempt_settled_meanwhile_becomes_unknown_and_asked_the_one_permitted_lowering() {
        for status in [AttemptStatus::Closed, AttemptStatus::Failed] {
            let scene = order().attempt(attempt().status(status));
            for order in [scene.clone().build(), scene.clone().closing().build(), scene.closing().closed().build()] {
                let run = run(&order, &credential(None), &world(), in_time());
                assert!(matches!(run.outcome, PlacedOutcome::Withhold(_)), "{status:?} on {:?}", order.status);
                assert_eq!(run.order.attempts[0].status, AttemptStatus::Unknown);
                assert!(run.order.pending.contains(&Unit::Ask(no(1))));
            }
        }
    }

    #[test]
    fn unknown_and_succeeded_stay() {
        let unknown = order().attempt(attempt().status(AttemptStatus::Unknown)).build();
        assert_eq!(
            run(&unknown, &credential(None), &world(), in_time()).order.attempts[0].status,
            AttemptStatus::Unknown
        );
        let paid = order().paid().build();
        let run = run(&paid, &credential(None), &world(), in_time());
        assert_eq!(run.order.attempts[0].status, AttemptStatus::Succeeded);
        assert_eq!(run.outcome, PlacedOutcome::Withhold(StartRefusal::Paid));
    }

    #[test]
    fn it_only_adds_so_the_credentials_expiry_never_moves_to_an_earlier_time() {
        // Rule NF counts from the last moment at which any credential of the attempt may be good.
        let order = order().attempt(attempt().expires(deadline(), Some(later()))).build();
        for again in [None, Some(deadline()), Some(in_time())] {
            let run = run(&order, &credential(again), &world(), in_time());
            assert_eq!(run.order.attempts[0].credential_expiry(), later(), "{again:?}");
        }
        let longer = run(&order, &credential(Some(later().plus(seconds(9)))), &world(), in_time());
        assert_eq!(longer.order.attempts[0].credential_expiry(), later().plus(seconds(9)));
    }

    #[test]
    fn a_refused_first_create_is_settled_as_failed() {
        for order in [order().attempt(initiated()).build(), order().attempt(initiated()).closing().build()] {
            let run = run(&order, &refusal(), &world(), in_time());
            assert!(matches!(run.outcome, PlacedOutcome::Refused(_)));
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Failed, "rule NF(a)");
            assert_eq!(run.order.attempts[0].place_before, None);
            assert!(run.order.pending.is_empty());
        }
    }

    #[test]
    fn a_refusal_after_a_replace_proves_nothing() {
        for placed in [initiated().replaced(), attempt().replaced(), attempt()] {
            let run = run(&order().attempt(placed).build(), &refusal(), &world(), in_time());
            assert!(matches!(run.outcome, PlacedOutcome::Undecided(StartRefusal::Undecided)));
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Unknown);
            assert!(run.order.pending.contains(&Unit::Ask(no(1))));
        }
    }

    #[test]
    fn a_refusal_changes_nothing_where_it_is_known_better() {
        for status in [AttemptStatus::Unknown, AttemptStatus::Failed, AttemptStatus::Closed] {
            let order = order().attempt(attempt().status(status)).build();
            assert!(run(&order, &refusal(), &world(), in_time()).changed_nothing(), "{status:?}");
        }
        assert!(run(&order().paid().build(), &refusal(), &world(), in_time()).changed_nothing());
    }

    #[test]
    fn a_create_in_doubt_stays_initiated_until_the_channels_answer_is_stored() {
        let order = order().attempt(initiated()).build();
        let in_doubt = PlaceAnswered { attempt: no(1), outcome: PlaceOutcome::InDoubt(Cause::new("timeout")) };
        let run = run(&order, &in_doubt, &world(), in_time());
        assert!(run.changed_nothing());
        assert_eq!(run.outcome, PlacedOutcome::InDoubt(Cause::new("timeout")));
    }

    #[test]
    fn a_credential_that_turns_up_on_an_order_claimed_meanwhile_leaves_the_claim_alone() {
        let turn = Turn::leased(another(), later());
        let order = order().attempt(initiated()).closing_with(turn.clone()).build();
        let run = run(&order, &credential(None), &world(), due());
        assert_eq!(run.order.closing.map(|task| task.turn), Some(turn));
    }
}
