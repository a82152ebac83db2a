//! Closing an order (DESIGN §5): when it may begin, whose turn it is, what channels must have said, and when they are asked again.

mod scene;

use std::time::Duration;

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::{CloseReason, CloseTrigger, Turn};
use expiry_core::decide::ask::AskOutcome;
use expiry_core::decide::close::{Close, CloseOutcome};
use expiry_core::decide::{Answer, Decision, Knowledge, Question, Sequence, decide};
use expiry_core::fact::{self, AttemptAnswers, Cause, PaymentFact};
use expiry_core::invariants::breaches;
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::reservation::{CouponStatus, HoldStatus};
use expiry_core::signal::Signal;
use expiry_core::time::Timestamp;
use scene::*;

/// The moment from which rule NF(b) holds for an attempt of the scene: its credential's expiry and the grace.
fn not_found_moment() -> Timestamp {
    deadline().plus(limits::NOT_FOUND_GRACE)
}

/// CLOSING with one attempt, free to be taken up, claimed `times` before.
fn waiting(times: u16) -> Order {
    order().attempt(attempt()).closing_with(Turn::at(later())).tried(times).build()
}

mod due {
    use super::*;

    #[test]
    fn the_expiry_path_acts_from_half_a_second_after_the_deadline_on_and_never_before() {
        let open = [order().build(), order().attempt(attempt()).build()];
        for order in open {
            for closer in [wake(), scan(), check()] {
                for now in [in_time(), deadline().minus(millis(1)), deadline(), due().minus(millis(1))] {
                    let run = run(&order, &closer, &world(), now);
                    assert!(run.changed_nothing(), "I7: {:?} at {now}", closer.occasion);
                }
                assert_eq!(run(&order, &closer, &world(), due()).outcome, CloseOutcome::Closed);
            }
        }
    }

    #[test]
    fn an_early_wake_up_tells_how_early_it_is_and_others_that_nothing_is_due() {
        let order = order().build();
        let early = run(&order, &wake(), &world(), deadline());
        assert_eq!(early.outcome, CloseOutcome::Early { wait: millis(500) });
        for closer in [scan(), check()] {
            assert_eq!(run(&order, &closer, &world(), deadline()).outcome, CloseOutcome::NotDue { due: Some(due()) });
        }
    }

    #[test]
    fn the_commit_of_the_expiry_path_demands_the_deadline_once_more_and_a_cancel_does_not() {
        for order in [order().build(), order().attempt(attempt()).build()] {
            let after_deadline = |closer: &Close, now| match decide(&order, closer, &Knowledge::default(), now) {
                Decision::Commit(commit) => commit.after_deadline,
                Decision::Ask(_) | Decision::Done(_) => panic!("not a commit"),
            };
            assert_eq!(after_deadline(&scan(), due()), Some(due()), "I7");
            assert_eq!(after_deadline(&cancel(), in_time()), None);
        }
    }

    #[test]
    fn a_wake_up_that_names_another_deadline_is_dropped() {
        let late = close(expiry_core::decide::close::Occasion::Wake { expire_at: deadline().plus(seconds(60)) });
        for order in [order().build(), order().attempt(attempt()).closing_with(Turn::at(due())).build()] {
            let run = run(&order, &late, &world(), later());
            assert_eq!((run.outcome.clone(), run.changed_nothing()), (CloseOutcome::Outdated, true));
        }
    }

    #[test]
    fn a_retry_of_an_order_that_is_not_closing_is_dropped() {
        for now in [in_time(), later()] {
            assert_eq!(run(&order().build(), &retry(now), &world(), now).outcome, CloseOutcome::Outdated);
        }
    }

    #[test]
    fn an_order_that_never_expires_is_closed_by_nobody_but_who_cancels_it() {
        let orders = [never_expiring().build(), never_expiring().attempt(attempt()).build()];
        let far = deadline().plus(seconds(365 * 86_400));
        for order in orders {
            for closer in [scan(), check()] {
                let run = run(&order, &closer, &world(), far);
                assert_eq!(run.outcome, CloseOutcome::NotDue { due: None }, "b32");
            }
            assert_eq!(run(&order, &wake(), &world(), far).outcome, CloseOutcome::Outdated);
            let cancelled = run(&order, &cancel(), &world(), far);
            assert_eq!(cancelled.outcome, CloseOutcome::Closed);
            assert_eq!(cancelled.order.close_reason, Some(CloseReason::CancelledByUser));
        }
    }

    #[test]
    fn a_terminal_order_is_left_as_it_is() {
        for order in [order().paid().build(), order().closed().build()] {
            for closer in [wake(), scan(), cancel(), check(), retry(later())] {
                let run = run(&order, &closer, &world(), later());
                assert_eq!((run.outcome.clone(), run.changed_nothing()), (CloseOutcome::Terminal(order.status), true));
            }
        }
    }

    #[test]
    fn without_any_attempt_one_write_closes_it() {
        let run = run(&order().holding_everything().build(), &scan(), &world(), due());
        assert_eq!((run.outcome, run.commits), (CloseOutcome::Closed, 1));
        assert!(run.asked.is_empty(), "there is nobody to ask");
        let pending: Vec<_> = run.order.pending.iter().map(ToString::to_string).collect();
        assert_eq!(pending, ["stock", "coupon", "points", "quota", "cap"]);
        assert_eq!((run.order.closed_at, run.order.close_reason), (Some(due()), Some(CloseReason::Expired)));
    }

    #[test]
    fn an_order_that_was_tried_is_asked_about_even_if_its_status_does_not_say_so() {
        let tried = order().attempt(attempt()).with(|order| order.status = OrderStatus::PendingPayment).build_damaged();
        let Decision::Commit(claim) = decide(&tried, &scan(), &Knowledge::default(), due()) else {
            panic!("it is claimed")
        };
        assert_eq!(claim.order.status, OrderStatus::Closing);
    }

    #[test]
    fn the_evidence_of_a_close_is_what_the_channels_said_or_the_deadline_where_nobody_was_asked() {
        for (scene, fact) in [(order(), "deadline"), (order().attempt(attempt()), "settled")] {
            let closed = run(&scene.build(), &scan(), &world(), due()).order;
            assert_eq!(
                closed.evidence.last().map(|last| (last.to, last.fact.as_str())),
                Some((OrderStatus::Closed, fact))
            );
        }
    }

    #[test]
    fn who_closes_first_gives_the_reason() {
        let order = order().attempt(attempt()).build();
        let cancelled = run(&order, &cancel(), &world().says_of_all(unknown()), in_time()).order;
        assert_eq!(cancelled.status, OrderStatus::Closing);
        let closed = run(&cancelled, &scan(), &world(), later());
        assert_eq!(closed.outcome, CloseOutcome::Closed);
        assert_eq!(closed.order.close_reason, Some(CloseReason::CancelledByUser));
    }
}

mod turns {
    use super::*;

    fn held_by(worker: expiry_core::ids::WorkerId, until: Timestamp) -> Order {
        order().attempt(attempt()).closing_with(Turn::leased(worker, until)).build()
    }

    #[test]
    fn a_live_lease_of_another_stops_everybody_also_an_operator() {
        let until = later().plus(seconds(1));
        for closer in [wake(), scan(), cancel(), check()] {
            let run = run(&held_by(another(), until), &closer, &world(), later());
            assert_eq!((run.outcome.clone(), run.changed_nothing()), (CloseOutcome::Busy { until }, true));
        }
        let early = run(&held_by(another(), until), &retry(until), &world(), later());
        assert_eq!((early.outcome.clone(), early.changed_nothing()), (CloseOutcome::Early { wait: seconds(1) }, true));
    }

    #[test]
    fn an_expired_lease_is_claimed() {
        let run = run(&held_by(another(), later()), &scan(), &world().says_of_all(unknown()), later());
        let task = run.order.closing.expect("a close task");
        assert_eq!((run.commits, task.attempts), (2, 2), "claimed, then given up until the next check");
    }

    #[test]
    fn its_own_lease_does_not_stop_a_worker() {
        let run = run(&held_by(me(), due().plus(LEASE)), &wake(), &world(), later());
        assert_eq!((run.outcome, run.commits), (CloseOutcome::Closed, 1), "no second claim");
    }

    #[test]
    fn a_claim_is_written_with_its_lease_before_anybody_is_asked() {
        let order = order().attempt(attempt()).build();
        let Decision::Commit(claim) = decide(&order, &scan(), &Knowledge::default(), later()) else {
            panic!("a claim is a commit");
        };
        let task = claim.order.closing.as_ref().expect("a close task");
        assert_eq!(claim.order.status, OrderStatus::Closing);
        assert_eq!(task.turn, Turn::leased(me(), later().plus(LEASE)));
        assert_eq!(claim.order.close_reason, Some(CloseReason::Expired), "the reason it will have");
        assert!(claim.order.pending.is_empty() && claim.rows.is_empty(), "I3: nothing is released");
    }

    #[test]
    fn a_check_to_come_stops_everybody_but_an_operator() {
        let until = later().plus(seconds(1));
        let order = order().attempt(attempt()).closing_with(Turn::at(until)).build();
        for closer in [wake(), scan(), cancel()] {
            let run = run(&order, &closer, &world(), later());
            assert_eq!((run.outcome.clone(), run.changed_nothing()), (CloseOutcome::Busy { until }, true));
        }
        assert_eq!(run(&order, &check(), &world(), later()).outcome, CloseOutcome::Closed);
    }

    #[test]
    fn a_retry_whose_check_is_still_to_come_tells_how_early_it_is() {
        let until = later().plus(seconds(1));
        let order = order().attempt(attempt()).closing_with(Turn::at(until)).build();
        assert_eq!(run(&order, &retry(until), &world(), later()).outcome, CloseOutcome::Early { wait: seconds(1) });
    }

    #[test]
    fn a_retry_whose_check_is_no_longer_the_orders_is_dropped() {
        for turn in [Turn::at(later()), Turn::leased(another(), later())] {
            let order = order().attempt(attempt()).closing_with(turn).build();
            let run = run(&order, &retry(due()), &world(), later());
            assert_eq!((run.outcome.clone(), run.changed_nothing()), (CloseOutcome::Outdated, true));
        }
    }

    #[test]
    fn a_retry_resumes_a_crashed_worker_after_its_lease() {
        let order = held_by(another(), later());
        assert_eq!(run(&order, &retry(later()), &world(), later()).outcome, CloseOutcome::Closed, "s3");
    }

    #[test]
    fn facts_gathered_before_the_order_changed_are_thrown_away() {
        let order = order().attempt(attempt()).closing().build();
        let mut known = Knowledge::default();
        let question = Question::Payments(vec![(no(1), Sequence::QueryCloseQuery)]);
        known.learn(&order, world().answer(&question, later()));
        assert!(matches!(decide(&order, &scan(), &known, later()), Decision::Commit(_)), "the attempt is as it was");
        let mut settled = order.clone();
        settled.version += 1;
        assert!(matches!(decide(&settled, &scan(), &known, later()), Decision::Commit(_)), "only the rest changed");
        let mut changed = order;
        changed.version += 1;
        changed.attempts[0].status = AttemptStatus::Unknown;
        assert_eq!(decide(&changed, &scan(), &known, later()), Decision::Ask(question));
    }
}

mod facts {
    use super::*;

    #[test]
    fn every_unsettled_attempt_is_queried_closed_and_queried_again_and_no_other() {
        let order = order()
            .attempt(attempt().status(AttemptStatus::Initiated))
            .attempt(attempt().status(AttemptStatus::Failed))
            .attempt(attempt().status(AttemptStatus::Unknown))
            .attempt(attempt().amount(1).succeeded(Standing::Counted))
            .attempt(attempt())
            .closing()
            .build();
        let run = run(&order, &scan(), &world(), later());
        let whole = |number| (no(number), Sequence::QueryCloseQuery);
        assert_eq!(run.asked, [Question::Payments(vec![whole(1), whole(3), whole(5)])], "b13");
    }

    #[test]
    fn only_the_query_after_a_close_settles_an_attempt() {
        let closing = order().attempt(attempt()).closing().build();
        let accepted = fact::CloseOutcome::Accepted;
        let refused = fact::CloseOutcome::InProgress;
        let (closed, failed) = (AttemptStatus::Closed, AttemptStatus::Failed);
        let (open, doubted) = (AttemptStatus::Processing, AttemptStatus::Unknown);
        for (fact, close, becomes) in [
            (PaymentFact::NotPaidClosed, Some(accepted.clone()), closed),
            (PaymentFact::NotPaidClosed, Some(fact::CloseOutcome::Unknown(Cause::new("timeout"))), closed),
            (PaymentFact::NotPaidClosed, None, doubted),
            (PaymentFact::Failed, Some(accepted.clone()), failed),
            (PaymentFact::Failed, Some(refused), doubted),
            (PaymentFact::Failed, None, doubted),
            // A close that was accepted proves nothing by itself (CHANNELS §0.3).
            (PaymentFact::Open, Some(accepted.clone()), open),
            (PaymentFact::Open, None, open),
            (PaymentFact::Processing, Some(accepted.clone()), open),
            (PaymentFact::NotFound, Some(accepted.clone()), open),
            (unknown(), Some(accepted), doubted),
            (unknown(), None, doubted),
        ] {
            let world = world().says(1, fact.clone());
            let world = match &close {
                Some(outcome) => world.closes(outcome.clone()),
                None => world.only_queried(),
            };
            let run = run(&closing, &scan(), &world, later());
            let settles = [closed, failed].contains(&becomes);
            let status = if settles { OrderStatus::Closed } else { OrderStatus::Closing };
            assert_eq!(run.order.attempts[0].status, becomes, "{fact:?} after {close:?}");
            assert_eq!(run.order.status, status, "{fact:?} after {close:?}");
            assert_eq!(run.order.pending.is_empty(), !settles, "I3: an unknown result releases nothing");
            assert!(settles || run.order.closing.is_some_and(|task| task.last_error.is_some()), "why it is not closed");
        }
    }

    #[test]
    fn one_attempt_that_is_not_settled_keeps_the_order_closing() {
        let order = order().attempt(attempt()).attempt(attempt()).closing().build();
        let run = run(&order, &scan(), &world().says(2, PaymentFact::Processing), later());
        assert_eq!(run.order.status, OrderStatus::Closing);
        assert_eq!(run.order.attempts[0].status, AttemptStatus::Closed, "what is known is kept");
    }

    #[test]
    fn an_attempt_nobody_answered_for_is_asked_about_and_the_others_are_not_asked_again() {
        let order = order().attempt(attempt()).attempt(attempt()).closing().build();
        let mut known = Knowledge::default();
        let one = AttemptAnswers {
            attempt: no(1),
            asked: fact::Asked::Closed(fact::CloseOutcome::Accepted),
            fact: PaymentFact::NotPaidClosed,
            sent_at: later(),
        };
        known.learn(&order, Answer::Payments(vec![one]));
        let again = Question::Payments(vec![(no(2), Sequence::QueryCloseQuery)]);
        assert_eq!(decide(&order, &scan(), &known, later()), Decision::Ask(again));
    }

    #[test]
    fn money_found_for_one_attempt_pays_and_every_other_unsettled_one_is_asked_about() {
        let order = order().attempt(attempt()).attempt(attempt()).closing().build();
        let run = run(&order, &scan(), &world().paid(&order, 1).says(2, PaymentFact::Open), later());
        assert_eq!(run.outcome, CloseOutcome::Paid);
        assert!(run.order.pending.contains(&Unit::Ask(no(2))), "I13, s6");
        assert!(!run.order.pending.contains(&Unit::Ask(no(1))));
    }
}

mod rule_nf {
    use super::*;

    /// CLOSING, an attempt of which NOT_FOUND was first asked for at `first`; asked again at `sent`.
    fn asked_again(first: Timestamp, sent: Timestamp, attempt: AttemptScene) -> Run<CloseOutcome> {
        let order = order().attempt(attempt.first_not_found(first)).closing().build();
        // The commit comes later than the query was sent: only the sending counts.
        run(&order, &scan(), &world().says(1, PaymentFact::NotFound).asked_at(sent), sent.plus(seconds(20)))
    }

    #[test]
    fn not_found_once_never_closes_however_late_it_is() {
        let order = order().attempt(attempt()).closing().build();
        let sent = not_found_moment().plus(seconds(86_400));
        let run = run(&order, &scan(), &world().says(1, PaymentFact::NotFound).asked_at(sent), sent);
        assert_eq!(run.order.status, OrderStatus::Closing);
        assert_eq!(run.order.attempts[0].first_not_found, Some(sent));
        assert_eq!(run.order.attempts[0].status, AttemptStatus::Processing, "NOT_FOUND is not 'not paid'");
    }

    #[test]
    fn not_found_twice_closes_from_the_grace_after_the_credentials_expiry_on() {
        let (first, moment) = (due(), not_found_moment());
        assert_eq!(asked_again(first, moment.minus(millis(1)), attempt()).order.status, OrderStatus::Closing);
        let run = asked_again(first, moment, attempt());
        assert_eq!((run.outcome, run.order.attempts[0].status), (CloseOutcome::Closed, AttemptStatus::Closed));
    }

    #[test]
    fn the_two_must_have_been_sent_sixty_seconds_apart() {
        let first = not_found_moment().plus(seconds(10));
        assert_eq!(asked_again(first, first.plus(millis(59_999)), attempt()).order.status, OrderStatus::Closing);
        assert_eq!(asked_again(first, first.plus(seconds(60)), attempt()).outcome, CloseOutcome::Closed);
    }

    #[test]
    fn the_later_of_both_expiries_counts() {
        let moment = not_found_moment();
        for (asked, own) in [
            (deadline(), Some(deadline().plus(seconds(300)))),
            (deadline().plus(seconds(300)), Some(deadline())),
            (deadline().plus(seconds(300)), None),
        ] {
            let attempt = attempt().expires(asked, own);
            let early = moment.plus(seconds(300)).minus(millis(1));
            assert_eq!(
                asked_again(due(), early, attempt.clone()).order.status,
                OrderStatus::Closing,
                "{asked} {own:?}"
            );
            assert_eq!(asked_again(due(), moment.plus(seconds(300)), attempt).outcome, CloseOutcome::Closed);
        }
    }

    #[test]
    fn without_a_close_in_between_it_settles_nothing() {
        let order = order().attempt(attempt().first_not_found(due())).closing().build();
        let world = world().says(1, PaymentFact::NotFound).only_queried();
        let run = run(&order, &scan(), &world, not_found_moment());
        assert_eq!(run.order.status, OrderStatus::Closing, "an attempt we never closed is never settled");
    }

    #[test]
    fn a_definite_answer_in_between_begins_anew_and_an_unknown_one_does_not() {
        let order = order().attempt(attempt().first_not_found(due())).closing().build();
        for (fact, kept) in [(PaymentFact::Open, false), (PaymentFact::Processing, false), (unknown(), true)] {
            let between = run(&order, &scan(), &world().says(1, fact.clone()), later()).order;
            assert_eq!(between.attempts[0].first_not_found.is_some(), kept, "{fact:?}");
            let moment = not_found_moment();
            let again = run(&between, &scan(), &world().says(1, PaymentFact::NotFound), moment);
            assert_eq!(again.order.status == OrderStatus::Closed, kept, "{fact:?}");
        }
    }

    #[test]
    fn an_attempt_whose_credential_cannot_be_out_is_settled_by_the_channels_refusal_alone() {
        use expiry_core::decide::place_answered::{PlaceAnswered, PlacedOutcome};
        let order = order().attempt(attempt().status(AttemptStatus::Initiated)).build();
        let cause = Cause::new("no such method");
        let refused = PlaceAnswered { attempt: no(1), outcome: fact::PlaceOutcome::Refused(cause.clone()) };
        let run = run(&order, &refused, &world(), in_time());
        assert_eq!(run.outcome, PlacedOutcome::Refused(cause));
        assert_eq!(run.order.attempts[0].status, AttemptStatus::Failed, "rule NF(a)");
    }

    #[test]
    fn an_in_doubt_create_needs_both_not_founds_like_any_other() {
        let initiated = || attempt().status(AttemptStatus::Initiated);
        let moment = not_found_moment();
        assert_eq!(asked_again(due(), moment.minus(millis(1)), initiated()).order.status, OrderStatus::Closing);
        assert_eq!(asked_again(due(), moment, initiated()).outcome, CloseOutcome::Closed);
    }
}

mod rhythm {
    use super::*;

    fn next_check(order: &Order, world: &World, now: Timestamp) -> (Duration, bool, bool) {
        let run = run(order, &retry(later()), world, now);
        let task = run.order.closing.expect("a close task");
        let at = task.turn.next_check_at.expect("a next check");
        assert_eq!(task.turn.owner, None, "the lease is given up");
        assert_eq!(run.outcome, CloseOutcome::Undecided { next_check_at: at });
        (at.since(now), task.needs_attention, run.signals.contains(&Signal::NeedsAttention))
    }

    #[test]
    fn it_is_asked_again_after_10_s_30_s_1_2_5_10_15_min_then_once_a_scan_period_with_attention() {
        let spans = [10, 30, 60, 120, 300, 600, 900].map(|span| (seconds(span), false, false));
        for (claimed_before, expected) in (0..).zip(spans) {
            let silent = world().says_of_all(unknown());
            assert_eq!(next_check(&waiting(claimed_before), &silent, later()), expected, "s1, {claimed_before}");
        }
        for claimed_before in [7, 8, 1_000, u16::MAX] {
            let look = next_check(&waiting(claimed_before), &world().says_of_all(unknown()), later());
            assert_eq!(look, (SCAN_PERIOD, true, true), "as long as it takes");
        }
    }

    #[test]
    fn the_moment_of_rule_nf_brings_a_check_forward() {
        let almost = not_found_moment().minus(seconds(100));
        let not_found = world().says_of_all(PaymentFact::NotFound);
        let order = order().attempt(attempt().first_not_found(due())).closing_with(Turn::at(later())).tried(6).build();
        assert_eq!(next_check(&order, &not_found, almost), (seconds(100), false, false), "not 15 minutes");
    }

    #[test]
    fn the_rhythm_goes_on_at_least_until_the_moment_of_rule_nf() {
        let far = attempt().expires(deadline().plus(seconds(7_200)), None).first_not_found(due());
        let order = order().attempt(far).closing_with(Turn::at(later())).tried(30).build();
        let not_found = world().says_of_all(PaymentFact::NotFound);
        assert_eq!(next_check(&order, &not_found, later()), (seconds(900), false, false));
    }

    #[test]
    fn what_is_found_out_at_last_ends_the_need_for_attention() {
        let order = waiting(8);
        let alarmed = run(&order, &retry(later()), &world().says_of_all(unknown()), later()).order;
        let at = alarmed.closing.as_ref().and_then(|task| task.turn.next_check_at).expect("a next check");
        let closed = run(&alarmed, &retry(at), &world(), at);
        assert_eq!(closed.outcome, CloseOutcome::Closed);
        assert!(closed.order.closing.is_some_and(|task| !task.needs_attention));
    }
}

mod confirmed {
    use super::*;

    /// Something it holds is confirmed though it is not paid (b22).
    fn damaged() -> Vec<(&'static str, OrderScene)> {
        let line = |scene: OrderScene| scene.with(|order| order.lines[0].hold = HoldStatus::Confirmed);
        let coupon = |scene: OrderScene| {
            scene.with(|order| order.coupon.as_mut().expect("a coupon").status = CouponStatus::Used)
        };
        vec![("stock", line(order())), ("coupon", coupon(order().holding_everything()))]
    }

    #[test]
    fn a_confirmed_entry_stops_the_close_with_or_without_an_attempt() {
        for (what, scene) in damaged() {
            for order in [scene.clone().build_damaged(), scene.clone().attempt(attempt()).build_damaged()] {
                for (closer, now) in [(scan(), later()), (cancel(), in_time())] {
                    let run = run(&order, &closer, &world(), now);
                    assert_eq!(run.order.status, OrderStatus::Closing, "b22, {what}");
                    assert!(run.order.pending.is_empty(), "nothing is released, {what}");
                    assert!(run.order.closing.as_ref().is_some_and(|task| task.needs_attention));
                    assert!(run.signals.iter().any(|signal| matches!(signal, Signal::ReservationAnomaly(_))));
                    assert!(run.signals.contains(&Signal::NeedsAttention));
                }
            }
        }
    }

    #[test]
    fn paid_stays_possible() {
        for (what, scene) in damaged() {
            let order = scene.attempt(attempt()).closing().build_damaged();
            let found = run(&order, &scan(), &world().paid(&order, 1), later());
            assert_eq!(found.outcome, CloseOutcome::Paid, "{what}");
            let told = run(&order, &callback_of(&order, 1, success(&order, 1)), &world(), later());
            assert_eq!(told.order.status, OrderStatus::Paid, "{what}");
            assert_eq!(breaches(&told.order), Vec::new(), "and all is well again");
        }
    }

    #[test]
    fn an_entry_released_before_its_time_does_not_stop_the_close() {
        let scene = order().holding_everything().every_hold(HoldStatus::Released, CouponStatus::Available);
        let run = run(&scene.build_damaged(), &scan(), &world(), later());
        assert_eq!(run.outcome, CloseOutcome::Closed, "b22");
        assert_eq!(breaches(&run.order), Vec::new());
    }

    #[test]
    fn an_entry_released_before_its_time_does_not_stop_the_money_either() {
        let scene = order().holding_everything().every_hold(HoldStatus::Released, CouponStatus::Available);
        let order = scene.attempt(attempt()).build_damaged();
        let told = run(&order, &callback_of(&order, 1, success(&order, 1)), &world(), in_time());
        assert_eq!(told.order.status, OrderStatus::Paid, "I2");
        let worst = breaches(&told.order);
        assert!(worst.iter().any(|breach| breach.invariant == "I4"), "the worst breach: alarm at once, {worst:?}");
    }
}

mod asking {
    use super::*;

    /// PAID by attempt 1; attempt 2 is to be asked about.
    fn paid_with_an_ask() -> OrderScene {
        order().attempt(attempt().succeeded(Standing::Counted)).attempt(attempt()).paid()
    }

    #[test]
    fn a_terminal_order_asks_with_a_lease_by_the_whole_sequence_and_its_status_stays() {
        for order in [paid_with_an_ask().build(), order().attempt(attempt()).closing().closed().build()] {
            let number = order.attempts.len() as u64;
            let run = run(&order, &ask(), &world(), later());
            assert_eq!((run.outcome, run.commits), (AskOutcome::Answered, 2), "claimed, then recorded");
            assert_eq!(run.asked, [Question::Payments(vec![(no(number), Sequence::QueryCloseQuery)])]);
            assert_eq!(run.order.status, order.status);
            assert!(!run.order.pending.contains(&Unit::Ask(no(number))));
            assert_eq!(run.order.asking, None);
        }
    }

    #[test]
    fn the_task_ends_with_what_it_asks_about_however_that_came_to_be_known() {
        let order = paid_with_an_ask().asking(1, Turn::at(later())).build();
        let told = run(&order, &callback_of(&order, 2, success(&order, 2)), &world(), later()).order;
        assert_eq!((told.asking.clone(), told.pending.contains(&Unit::Ask(no(2)))), (None, false), "{told:#?}");
    }

    #[test]
    fn only_the_end_ends_the_ask_of_a_terminal_order() {
        for fact in [PaymentFact::Open, PaymentFact::Processing, PaymentFact::NotFound, unknown()] {
            let run = run(&paid_with_an_ask().build(), &ask(), &world().says_of_all(fact.clone()), later());
            assert!(run.order.pending.contains(&Unit::Ask(no(2))), "{fact:?}");
            let next = later().plus(seconds(10));
            assert_eq!(run.outcome, AskOutcome::Undecided { next_check_at: Some(next) }, "{fact:?}");
        }
    }

    #[test]
    fn an_attempt_taken_for_settled_that_can_be_paid_after_all_is_asked_about_until_it_cannot() {
        let settled = attempt().status(AttemptStatus::Closed);
        let order = order().attempt(settled).closing().closed().pending(Unit::Ask(no(1))).build();
        for (fact, ends) in [
            (PaymentFact::Open, false),
            (PaymentFact::Processing, false),
            (unknown(), false),
            (PaymentFact::NotPaidClosed, true),
            (PaymentFact::NotFound, true),
        ] {
            let run = run(&order, &ask(), &world().says_of_all(fact.clone()), later());
            assert_eq!(run.order.pending.contains(&Unit::Ask(no(1))), !ends, "{fact:?}");
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Closed, "{fact:?}: never lowered by a query");
        }
    }

    #[test]
    fn its_rhythm_is_that_of_the_close_and_its_turn_is_its_own() {
        let spans = [10, 30, 60, 120, 300, 600, 900].map(seconds);
        for (asked_before, span) in (0..).zip(spans) {
            let order = paid_with_an_ask().asking(asked_before, Turn::at(due())).build();
            let run = run(&order, &ask(), &world().says_of_all(unknown()), later());
            assert_eq!(run.order.asking.and_then(|task| task.turn.next_check_at), Some(later().plus(span)));
        }
        let order = paid_with_an_ask().asking(7, Turn::at(due())).build();
        let run = run(&order, &ask(), &world().says_of_all(unknown()), later());
        assert_eq!(run.signals, [Signal::NeedsAttention]);
        assert_eq!(run.order.asking.and_then(|task| task.turn.next_check_at), Some(later().plus(SCAN_PERIOD)));
    }

    #[test]
    fn the_lease_of_another_and_a_check_to_come_hold_it_back() {
        let until = later().plus(seconds(1));
        for turn in [Turn::leased(another(), until), Turn::at(until)] {
            let order = paid_with_an_ask().asking(1, turn.clone()).build();
            let run = run(&order, &ask(), &world(), later());
            assert_eq!((run.outcome.clone(), run.changed_nothing()), (AskOutcome::Busy { until }, true), "{turn:?}");
        }
        let mut at_once = ask();
        at_once.at_once = true;
        let waiting = paid_with_an_ask().asking(1, Turn::at(until)).build();
        assert_eq!(run(&waiting, &at_once, &world(), later()).outcome, AskOutcome::Answered);
        let leased = paid_with_an_ask().asking(1, Turn::leased(another(), until)).build();
        assert_eq!(run(&leased, &at_once, &world(), later()).outcome, AskOutcome::Busy { until });
    }

    #[test]
    fn a_delayed_ask_whose_check_is_no_longer_the_orders_is_dropped() {
        let order = paid_with_an_ask().asking(1, Turn::at(later())).build();
        let mut outdated = ask();
        outdated.check_at = Some(due());
        assert_eq!(run(&order, &outdated, &world(), later()).outcome, AskOutcome::Outdated);
        outdated.check_at = Some(later());
        assert_eq!(run(&order, &outdated, &world(), later()).outcome, AskOutcome::Answered);
    }

    #[test]
    fn an_open_order_asks_once_without_a_lease_and_any_definite_answer_ends_it() {
        let order = order().attempt(attempt().status(AttemptStatus::Unknown)).pending(Unit::Ask(no(1))).build();
        for fact in [
            PaymentFact::Open,
            PaymentFact::Processing,
            PaymentFact::NotFound,
            PaymentFact::NotPaidClosed,
            PaymentFact::Failed,
        ] {
            let run = run(&order, &ask(), &world().says_of_all(fact.clone()), in_time());
            assert_eq!((run.outcome, run.commits), (AskOutcome::Answered, 1), "{fact:?}");
            assert_eq!(run.asked, [Question::Payments(vec![(no(1), Sequence::Query)])]);
            assert!(run.order.attempts[0].is_unsettled(), "{fact:?}: an attempt we never closed is never settled");
            assert!(run.order.pending.is_empty() && run.order.asking.is_none());
        }
        let unknown = run(&order, &ask(), &world().says_of_all(unknown()), in_time());
        assert_eq!(
            (unknown.outcome.clone(), unknown.changed_nothing()),
            (AskOutcome::Undecided { next_check_at: None }, true)
        );
    }

    #[test]
    fn the_closer_asks_anyhow() {
        let order = order().attempt(attempt()).closing().pending(Unit::Ask(no(1))).build();
        assert_eq!(run(&order, &ask(), &world(), later()).outcome, AskOutcome::NothingToAsk);
        let closed = run(&order, &scan(), &world(), later());
        assert!(!closed.order.pending.contains(&Unit::Ask(no(1))), "and its answer ends the ask");
    }
}

mod due_index {
    use super::*;

    /// A window of two days, and `order` in the index at its end.
    fn long(scene: OrderScene) -> Order {
        let end = created().plus(seconds(2 * 86_400));
        scene.with(|order| (order.expire_at, order.due_at) = (Some(end), Some(end))).build()
    }

    #[test]
    fn a_commit_into_closing_moves_a_due_at_more_than_an_hour_ahead_to_now() {
        let silent = world().says_of_all(unknown());
        let moved = run(&long(order().attempt(attempt())), &cancel(), &silent, in_time());
        assert_eq!(moved.order.due_at, Some(in_time()), "a crashed cancel waits for no far deadline");
        let Decision::Commit(claim) =
            decide(&long(order().attempt(attempt())), &cancel(), &Knowledge::default(), in_time())
        else {
            panic!("it is claimed")
        };
        assert_eq!(claim.order.due_at, Some(in_time()), "by the first commit, before anybody is asked");
        let far = created().plus(seconds(2 * 86_400));
        let closing = order().attempt(attempt()).closing().with(|order| order.due_at = Some(far)).build();
        assert_eq!(
            run(&closing, &retry(due().plus(LEASE)), &silent, later()).order.due_at,
            Some(far),
            "and by no later one"
        );
        let near = order().attempt(attempt()).with(|order| order.due_at = Some(in_time().plus(seconds(3_600)))).build();
        let kept = run(&near, &cancel(), &silent, in_time());
        assert_eq!(kept.order.due_at, near.due_at, "an index key is not rewritten for nothing");
    }

    #[test]
    fn so_does_a_terminal_commit_that_leaves_work() {
        let closed = run(&long(order()), &cancel(), &world(), in_time());
        assert_eq!(closed.order.due_at, Some(in_time()));
        let order = long(order().attempt(attempt()));
        let paid = run(&order, &callback_of(&order, 1, success(&order, 1)), &world(), in_time());
        assert_eq!(paid.order.due_at, Some(in_time()));
    }

    #[test]
    fn work_on_an_open_order_leaves_it_where_its_deadline_is() {
        let order = long(order().attempt(attempt()));
        let asked = run(&order, &callback(&order, 1, PaymentFact::Failed), &world(), in_time());
        assert_eq!(asked.order.due_at, order.due_at);
    }

    #[test]
    fn work_for_an_order_outside_puts_it_back_due_now() {
        let closed = order().attempt(attempt().status(AttemptStatus::Closed)).closing().closed().settled().build();
        assert_eq!(closed.due_at, None);
        let late = run(&closed, &callback_of(&closed, 1, success(&closed, 1)), &world(), later());
        assert_eq!(late.order.due_at, Some(later()), "s4");
        let never = never_expiring().attempt(attempt().status(AttemptStatus::Closed)).build();
        assert_eq!(never.due_at, None);
        let misfit = callback_of(&never, 1, expiry_core::fact::Success { paid: euros(1), ..success(&never, 1) });
        assert_eq!(run(&never, &misfit, &world(), later()).order.due_at, Some(later()));
    }
}

mod rule_never {
    use super::*;

    fn credential() -> Timestamp {
        created().plus(limits::NEVER_RULE_CREDENTIAL)
    }

    fn begun() -> OrderScene {
        never_expiring().attempt(attempt().expires(credential(), None)).with(|order| order.due_at = Some(credential()))
    }

    #[test]
    fn its_attempts_are_asked_and_closed_once_their_credentials_have_expired_and_the_order_stays_open() {
        let order = begun().build();
        let early = run(&order, &ask(), &world(), credential().minus(millis(1)));
        assert_eq!(early.outcome, AskOutcome::NothingToAsk);
        let run = run(&order, &ask(), &world(), credential());
        assert_eq!(run.outcome, AskOutcome::Answered);
        assert_eq!(run.order.status, OrderStatus::Paying, "the order stays open");
        assert_eq!(run.order.attempts[0].status, AttemptStatus::Closed);
        assert_eq!((run.order.due_at, run.order.asking), (None, None), "it leaves the index");
    }

    #[test]
    fn starting_a_payment_puts_it_in_the_index_for_when_the_credential_expires() {
        let order = never_expiring().build();
        assert_eq!(order.due_at, None);
        let run = run(&order, &start(), &world(), in_time());
        assert_eq!(run.order.attempts[0].asked_expiry, in_time().plus(limits::NEVER_RULE_CREDENTIAL));
        assert_eq!(run.order.due_at, Some(in_time().plus(limits::NEVER_RULE_CREDENTIAL)));
    }

    #[test]
    fn what_is_not_known_yet_is_asked_again_in_the_rhythm() {
        let silent = world().says_of_all(unknown());
        let run = run(&begun().build(), &ask(), &silent, credential());
        let next = credential().plus(seconds(10));
        assert_eq!(run.outcome, AskOutcome::Undecided { next_check_at: Some(next) });
        assert_eq!(run.order.status, OrderStatus::Paying);
    }

    #[test]
    fn money_found_so_pays_it() {
        let order = begun().build();
        let run = run(&order, &ask(), &world().paid(&order, 1), credential());
        assert_eq!(run.order.status, OrderStatus::Paid);
    }
}

#[test]
fn triggers_and_reasons_are_called_as_the_contract_calls_them() {
    assert_eq!(CloseTrigger::ALL.map(CloseTrigger::name), ["wake", "scan", "retry", "cancel", "operator"]);
    assert_eq!(CloseReason::ALL.map(CloseReason::name), ["expired", "cancelled_by_user", "cancelled_by_operator"]);
}
