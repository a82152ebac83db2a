//! Giving money back (DESIGN §6): verified first, SUBMITTED written before it is sent, one number until the channel states it dead.

mod scene;

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::Turn;
use expiry_core::decide::refund::{RefundOutcome, WorkRefund};
use expiry_core::decide::retry_refund::{RetryOutcome, RetryRefund};
use expiry_core::decide::{Answer, Decision, Knowledge, Question, Sequence, Then, decide};
use expiry_core::evidence::Actor;
use expiry_core::fact::{Cause, PaymentFact, RefundFact, Success};
use expiry_core::ids::AttemptNo;
use expiry_core::limits;
use expiry_core::order::Order;
use expiry_core::pending::Unit;
use expiry_core::refund::{Refund, RefundStatus};
use expiry_core::signal::Signal;
use scene::*;

const REFUND_1: Unit = Unit::Refund(AttemptNo::FIRST);

/// CLOSED and settled; the money of attempt 1 is owed back.
fn owed() -> OrderScene {
    order()
        .attempt(attempt().succeeded(Standing::Surplus).refund(PAYABLE, RefundStatus::Pending))
        .closing()
        .closed()
        .settled()
}

/// The same, sent under its number, free to be taken up.
fn sent() -> OrderScene {
    owed().with(|order| {
        let refund = order.attempts[0].refund.as_mut().expect("a refund");
        (refund.status, refund.sent, refund.tries, refund.turn) = (RefundStatus::Submitted, true, 1, Turn::at(due()));
    })
}

fn refund(order: &Order) -> &Refund {
    order.attempts[0].refund.as_ref().expect("a refund")
}

/// The channel confirms the money of attempt 1, of which `refunded` has gone back.
fn confirms(order: &Order, refunded: u64) -> World {
    world().says(1, PaymentFact::Succeeded(Success { refunded: amount(refunded), ..success(order, 1) }))
}

fn kinds(asked: &[Question]) -> Vec<&'static str> {
    let kind = |question: &Question| match question {
        Question::Payments(_) => "verify",
        Question::RefundStatus(_) => "status",
        Question::SubmitRefund(_) => "submit",
        Question::Coupon(_) => "coupon",
    };
    asked.iter().map(kind).collect()
}

#[test]
fn the_money_is_verified_then_submitted_then_done() {
    let order = owed().build();
    let run = run(&order, &give_back(1), &confirms(&order, 0), later());
    assert_eq!(run.outcome, RefundOutcome::Succeeded);
    assert_eq!(kinds(&run.asked), ["verify", "submit"]);
    assert_eq!(run.asked[0], Question::Payments(vec![(no(1), Sequence::Query)]));
    assert!(!run.order.pending.contains(&REFUND_1));
    assert_eq!((refund(&run.order).status, refund(&run.order).k), (RefundStatus::Succeeded, 1));
    assert_eq!(run.signals, [Signal::RefundSucceeded(no(1))]);
    assert_eq!(run.order.due_at, None, "it leaves the index");
}

#[test]
fn submitted_is_durable_with_a_lease_before_the_channel_hears_of_it() {
    let order = owed().build();
    let mut known = Knowledge::default();
    let Decision::Ask(question) = decide(&order, &give_back(1), &known, later()) else { panic!("verified first") };
    assert!(matches!(question, Question::Payments(_)));
    known.learn(&order, confirms(&order, 0).answer(&question, later()));
    let Decision::Commit(commit) = decide(&order, &give_back(1), &known, later()) else { panic!("a commit") };
    assert_eq!(commit.then, Then::Continue);
    assert_eq!(refund(&commit.order).status, RefundStatus::Submitted);
    assert_eq!(refund(&commit.order).turn, Turn::leased(me(), later().plus(LEASE)));
    assert_eq!(decide(&commit.order, &give_back(1), &known, later()), Decision::Ask(Question::SubmitRefund(no(1))));
}

#[test]
fn what_the_channel_does_not_confirm_is_not_submitted() {
    let order = owed().build();
    let other = Success { transaction: transaction("another"), ..success(&order, 1) };
    for fact in [unknown(), PaymentFact::NotFound, PaymentFact::Open, PaymentFact::Succeeded(other)] {
        let run = run(&order, &give_back(1), &world().says(1, fact.clone()), later());
        assert_eq!(run.outcome, RefundOutcome::Open { next_try_at: later().plus(seconds(10)) }, "{fact:?}");
        assert_eq!(kinds(&run.asked), ["verify"]);
        assert_eq!((refund(&run.order).status, refund(&run.order).tries), (RefundStatus::Pending, 1));
        assert!(run.order.pending.contains(&REFUND_1), "b16: open and visible");
        assert!(refund(&run.order).last_error.is_some());
    }
}

#[test]
fn only_what_is_left_is_given_back_and_nothing_when_nothing_is_left() {
    let order = owed().build();
    let part = run(&order, &give_back(1), &confirms(&order, 4_000), later());
    assert_eq!(refund(&part.order).money, euros(6_000));
    assert_eq!(part.signals, [Signal::RefundedElsewhere(no(1)), Signal::RefundSucceeded(no(1))]);
    let nothing = run(&order, &give_back(1), &confirms(&order, PAYABLE), later());
    assert_eq!((nothing.outcome, kinds(&nothing.asked)), (RefundOutcome::Succeeded, vec!["verify"]));
    assert_eq!(nothing.signals, [Signal::RefundedElsewhere(no(1))]);
}

#[test]
fn an_order_that_is_not_paid_needs_nothing_of_the_money_whatever_it_counted_for() {
    for standing in [Standing::Surplus, Standing::Counted] {
        // A leg of 80, of which 30 went back by hand.
        let leg = attempt().amount(8_000).succeeded(standing);
        let scene = order().attempt(leg).closing().closed().settled().pending(REFUND_1);
        let order = scene.with(|order| order.attempts[0].refund = Some(Refund::owed(euros(5_000)))).build();
        let run = run(&order, &give_back(1), &confirms(&order, 3_000), later());
        assert_eq!((run.outcome, refund(&run.order).money), (RefundOutcome::Succeeded, euros(5_000)), "{standing:?}");
    }
}

#[test]
fn one_look_is_one_try_however_far_it_got() {
    for fact in [RefundFact::Pending, RefundFact::Unknown(Cause::new("timeout"))] {
        let order = owed().build();
        let run = run(&order, &give_back(1), &confirms(&order, 0).refunds(fact.clone()), later());
        assert_eq!((refund(&run.order).status, refund(&run.order).tries), (RefundStatus::Submitted, 1), "{fact:?}");
    }
}

#[test]
fn of_an_excess_only_what_the_paid_order_does_not_need_goes_back() {
    let excess = 4_000;
    let scene = order().attempt(attempt().succeeded(Standing::Counted)).paid().pending(REFUND_1);
    let order = scene
        .with(|order| {
            order.payable = amount(PAYABLE - excess);
            order.attempts[0].refund = Some(Refund::owed(euros(excess)));
        })
        .build();
    let whole = run(&order, &give_back(1), &confirms(&order, 0), later());
    assert_eq!((kinds(&whole.asked), refund(&whole.order).money), (vec!["verify", "submit"], euros(excess)));
    let by_hand = run(&order, &give_back(1), &confirms(&order, excess), later());
    assert_eq!((by_hand.outcome, kinds(&by_hand.asked)), (RefundOutcome::Succeeded, vec!["verify"]));
    let in_part = run(&order, &give_back(1), &confirms(&order, 1_000), later());
    assert_eq!(refund(&in_part.order).money, euros(excess - 1_000));
}

#[test]
fn after_a_first_submit_our_number_is_asked_about_before_anything_else() {
    let order = sent().build();
    let done = run(&order, &give_back(1), &confirms(&order, PAYABLE).refunds(RefundFact::Refunded), later());
    assert_eq!((done.outcome, kinds(&done.asked)), (RefundOutcome::Succeeded, vec!["status"]));
    assert_eq!(done.signals, [Signal::RefundSucceeded(no(1))], "our own refund never counts as foreign");
    for fact in [RefundFact::Pending, RefundFact::Unknown(Cause::new("timeout"))] {
        let open = run(&order, &give_back(1), &confirms(&order, 0).refunds(fact.clone()), later());
        assert_eq!(kinds(&open.asked), ["status"], "{fact:?}: it is not sent again");
        assert_eq!((refund(&open.order).status, refund(&open.order).k), (RefundStatus::Submitted, 1));
        assert_eq!(open.outcome, RefundOutcome::Open { next_try_at: later().plus(seconds(30)) });
    }
}

#[test]
fn a_number_the_channel_does_not_know_is_sent_again_after_the_money_was_verified_again() {
    let order = sent().build();
    let run = run(&order, &give_back(1), &confirms(&order, 0).refunds(RefundFact::NotFound), later());
    assert_eq!(kinds(&run.asked), ["status", "verify", "submit"]);
    assert_eq!(refund(&run.order).k, 1, "I9: the same number");
    assert_eq!(refund(&run.order).money, euros(PAYABLE));
}

#[test]
fn under_a_number_that_was_sent_another_amount_is_never_sent() {
    let order = sent().build();
    let run = run(&order, &give_back(1), &confirms(&order, 1).refunds(RefundFact::NotFound), later());
    assert_eq!((run.outcome, kinds(&run.asked)), (RefundOutcome::Failed, vec!["status", "verify"]));
}

#[test]
fn the_next_number_is_used_only_after_the_channel_states_the_former_one_dead() {
    let order = sent().build();
    let dead = run(&order, &give_back(1), &world().refunds(RefundFact::Closed(Cause::new("closed"))), later());
    assert_eq!((refund(&dead.order).status, refund(&dead.order).k), (RefundStatus::Pending, 2));
    let next = refund(&dead.order).turn.next_check_at.expect("a next try");
    let again = run(&dead.order, &give_back(1), &confirms(&order, 0), next);
    assert_eq!((again.outcome, kinds(&again.asked)), (RefundOutcome::Succeeded, vec!["verify", "submit"]));
    assert_eq!(refund(&again.order).k, 2);
    let last = sent().with(|order| order.attempts[0].refund.as_mut().expect("a refund").k = limits::REFUND_NUMBERS);
    let dead = run(&last.build(), &give_back(1), &world().refunds(RefundFact::Closed(Cause::new("closed"))), later());
    assert_eq!((dead.outcome, refund(&dead.order).k), (RefundOutcome::Failed, limits::REFUND_NUMBERS));
}

#[test]
fn a_failed_refund_keeps_its_unit_and_waits_for_a_person() {
    let order = sent().build();
    for fact in [RefundFact::Rejected(Cause::new("no")), RefundFact::NeedsManual(Cause::new("account gone"))] {
        let failed = run(&order, &give_back(1), &confirms(&order, 0).refunds(fact), later());
        assert_eq!((failed.outcome, refund(&failed.order).status), (RefundOutcome::Failed, RefundStatus::Failed));
        assert!(failed.order.pending.contains(&REFUND_1) && failed.order.due_at.is_some());
        assert_eq!(failed.signals, [Signal::RefundFailed(no(1))]);
        assert!(run(&failed.order, &give_back(1), &world(), later()).changed_nothing());
    }
}

#[test]
fn a_person_has_a_failed_refund_tried_again_under_its_number_which_is_asked_about_first() {
    let order = sent().build();
    let rejected = confirms(&order, 0).refunds(RefundFact::Rejected(Cause::new("no")));
    let failed = run(&order, &give_back(1), &rejected, later()).order;
    let retry =
        |k| RetryRefund { attempt: no(1), k, actor: Actor::Named("ops".to_owned()), reason: Cause::new("call") };
    assert_eq!(run(&failed, &retry(2), &world(), later()).outcome, RetryOutcome::NotFound);
    let retried = run(&failed, &retry(1), &world(), later());
    assert_eq!((retried.outcome, refund(&retried.order).status), (RetryOutcome::Retried, RefundStatus::Pending));
    let again = run(&retried.order, &retry(1), &world(), later());
    assert_eq!(again.outcome, RetryOutcome::NotFailed(RefundStatus::Pending));
    // Money that went back after all is not sent twice (I9).
    let done = run(&retried.order, &give_back(1), &confirms(&order, 0).refunds(RefundFact::Refunded), later());
    assert_eq!((done.outcome, kinds(&done.asked)), (RefundOutcome::Succeeded, vec!["status"]));
}

#[test]
fn a_lease_a_try_to_come_and_an_outdated_message_hold_it_back() {
    let until = later().plus(millis(1));
    let with =
        |turn: Turn| sent().with(|order| order.attempts[0].refund.as_mut().expect("a refund").turn = turn).build();
    for turn in [Turn::leased(another(), until), Turn::at(until)] {
        let run = run(&with(turn), &give_back(1), &world(), later());
        assert_eq!((run.outcome.clone(), run.changed_nothing()), (RefundOutcome::Busy { until }, true));
    }
    let outdated = WorkRefund { check_at: Some(in_time()), ..give_back(1) };
    assert_eq!(run(&with(Turn::at(due())), &outdated, &world(), later()).outcome, RefundOutcome::Outdated);
}

#[test]
fn its_rhythm_is_that_of_the_close() {
    for (tries, span) in (0..).zip([10, 30, 60, 120, 300, 600, 900, 3_600]) {
        let order = owed().with(|order| order.attempts[0].refund.as_mut().expect("a refund").tries = tries).build();
        let run = run(&order, &give_back(1), &world().says(1, unknown()), later());
        assert_eq!(run.outcome, RefundOutcome::Open { next_try_at: later().plus(seconds(span)) });
        assert_eq!(run.signals.contains(&Signal::NeedsAttention), span == 3_600, "b16: alarm by age");
    }
}

#[test]
fn what_nobody_owes_is_not_given_back() {
    for order in [order().paid().build(), order().attempt(attempt()).build()] {
        assert_eq!(run(&order, &give_back(1), &world(), later()).outcome, RefundOutcome::NothingToDo);
    }
    let done = run(&owed().build(), &give_back(1), &confirms(&owed().build(), 0), later()).order;
    assert_eq!(run(&done, &give_back(1), &world(), later()).outcome, RefundOutcome::NothingToDo, "I9");
}

#[test]
fn an_answer_about_the_attempt_as_it_was_before_counts_for_nothing() {
    let order = owed().build();
    let mut as_it_was = order.clone();
    as_it_was.attempts[0].status = AttemptStatus::Unknown;
    let mut known = Knowledge::default();
    known.learn(&as_it_was, Answer::Refund(no(1), RefundFact::Refunded));
    assert!(matches!(decide(&order, &give_back(1), &known, later()), Decision::Ask(Question::Payments(_))));
}
