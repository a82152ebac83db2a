//! The money rules of DESIGN §3, row by row: what a success does to an order of every status, told by the channel or found by asking.

mod scene;

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::decide::close::CloseOutcome;
use expiry_core::decide::notified::{NotificationRefusal, NotifiedOutcome, signal_without_commit};
use expiry_core::decide::{Decision, Knowledge, Question, Sequence, decide};
use expiry_core::fact::{PaymentFact, Success};
use expiry_core::ids::AttemptNo;
use expiry_core::money::{Amount, Money};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::refund::{Refund, RefundStatus};
use expiry_core::reservation::ResourceKind;
use expiry_core::row::Row;
use expiry_core::signal::Signal;
use scene::*;

const REFUND_1: Unit = Unit::Refund(AttemptNo::FIRST);
const ASK_1: Unit = Unit::Ask(AttemptNo::FIRST);

/// How a success becomes known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    ByCallback,
    ByQuery,
}

const BOTH: [Told; 2] = [Told::ByCallback, Told::ByQuery];

/// Attempt `number` of `order` is paid as `success` says; the order as it is afterwards, and what people heard of.
fn told(order: &Order, told: Told, number: u64, success: &Success) -> Run<String> {
    told_in(order, told, number, success, world())
}

fn told_in(order: &Order, told: Told, number: u64, success: &Success, world: World) -> Run<String> {
    fn text<O: std::fmt::Debug>(run: Run<O>) -> Run<String> {
        let Run { order, outcome, signals, rows, asked, commits, path } = run;
        Run { order, outcome: format!("{outcome:?}"), signals, rows, asked, commits, path }
    }
    match (told, order.status) {
        (Told::ByCallback, _) => text(run(order, &callback_of(order, number, success.clone()), &world, in_time())),
        (Told::ByQuery, OrderStatus::Closing) => {
            text(run(order, &scan(), &world.says(number, PaymentFact::Succeeded(success.clone())), later()))
        }
        (Told::ByQuery, status) => {
            let mut asked = order.clone();
            asked.pending.insert(Unit::Ask(no(number)));
            asked.due_at = asked.due_at.or(Some(in_time()));
            let now = if status.is_terminal() { later() } else { in_time() };
            text(run(&asked, &ask(), &world.says(number, PaymentFact::Succeeded(success.clone())), now))
        }
    }
}

fn refund_of(order: &Order, number: u64) -> Option<&Refund> {
    order.attempt(no(number)).and_then(|attempt| attempt.refund.as_ref())
}

fn standing(order: &Order, number: u64) -> Option<Standing> {
    order.attempt(no(number)).and_then(|attempt| attempt.receipt.as_ref()).map(|receipt| receipt.standing)
}

fn transactions(rows: &[Row]) -> usize {
    rows.iter().filter(|row| matches!(row, Row::Transaction { .. })).count()
}

/// An order with one attempt that is not settled, in every status in which its money still counts.
fn open_orders(attempt: &AttemptScene) -> [Order; 2] {
    [order().attempt(attempt.clone()).build(), order().attempt(attempt.clone()).closing().build()]
}

/// PAID by attempt 1, attempt 2 not settled.
fn paid_otherwise() -> Order {
    order().attempt(attempt().succeeded(Standing::Counted)).attempt(attempt()).paid().build()
}

#[test]
fn a_trusted_success_that_is_enough_makes_an_order_paid_from_every_status_in_which_it_is_not_terminal() {
    for order in open_orders(&attempt()) {
        for by in BOTH {
            let run = told(&order, by, 1, &success(&order, 1));
            assert_eq!(run.order.status, OrderStatus::Paid, "{by:?} on {:?}", order.status);
            assert_eq!(run.order.paid_amount(), amount(PAYABLE));
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Succeeded);
            assert_eq!(refund_of(&run.order, 1), None);
            assert_eq!(transactions(&run.rows), 1, "I9: its row is put in the same commit");
            assert!(run.order.pending.contains(&Unit::Settle(ResourceKind::Stock)));
            assert_eq!(run.order.close_reason, None);
        }
    }
}

#[test]
fn from_every_attempt_status_a_trusted_success_leads_to_succeeded() {
    for status in AttemptStatus::ALL.into_iter().filter(|status| *status != AttemptStatus::Succeeded) {
        let order = order().attempt(attempt().status(status)).build();
        for by in BOTH {
            let run = told(&order, by, 1, &success(&order, 1));
            assert_eq!(run.order.status, OrderStatus::Paid, "{by:?} on {status:?}");
            assert_eq!(run.order.attempts[0].status, AttemptStatus::Succeeded);
            assert_eq!(run.order.attempts[0].place_before, None);
        }
    }
}

#[test]
fn nothing_leads_out_of_succeeded() {
    let order = order().attempt(attempt().amount(4_000).succeeded(Standing::Counted)).build();
    for fact in [
        PaymentFact::NotPaidClosed,
        PaymentFact::Failed,
        PaymentFact::Open,
        PaymentFact::Processing,
        PaymentFact::NotFound,
        unknown(),
    ] {
        let run = run(&order, &callback(&order, 1, fact.clone()), &world(), in_time());
        assert!(run.changed_nothing(), "b09, b45: {fact:?}");
        assert_eq!(run.outcome, NotifiedOutcome::Accepted);
    }
}

#[test]
fn a_leg_below_the_payable_amount_changes_only_its_attempt_and_the_paid_amount() {
    let one = order().attempt(attempt().amount(4_000)).build();
    for by in BOTH {
        let run = told(&one, by, 1, &success(&one, 1));
        assert_eq!(run.order.status, OrderStatus::Paying, "{by:?}");
        assert_eq!((run.order.paid_amount(), run.order.unpaid()), (amount(4_000), amount(6_000)));
        assert!(run.order.pending.is_empty(), "{by:?}");
        assert_eq!(transactions(&run.rows), 1);
    }
}

#[test]
fn a_leg_found_while_closing_with_nothing_else_to_wait_for_is_refunded_with_the_close() {
    let order = order().attempt(attempt().amount(4_000)).closing().build();
    let run = told(&order, Told::ByQuery, 1, &success(&order, 1));
    assert_eq!(run.order.status, OrderStatus::Closed);
    assert_eq!(refund_of(&run.order, 1).map(|refund| refund.money), Some(euros(4_000)));
}

#[test]
fn a_leg_told_while_closing_leaves_the_order_closing() {
    let order = order().attempt(attempt().amount(4_000)).attempt(attempt().amount(6_000)).closing().build();
    let run = told(&order, Told::ByCallback, 1, &success(&order, 1));
    assert_eq!((run.order.status, run.order.paid_amount()), (OrderStatus::Closing, amount(4_000)));
    assert!(run.order.pending.is_empty());
}

#[test]
fn the_legs_add_up_to_paid() {
    for by in BOTH {
        let order = order()
            .attempt(attempt().amount(4_000).succeeded(Standing::Counted))
            .attempt(attempt().amount(6_000))
            .build();
        let run = told(&order, by, 2, &success(&order, 2));
        assert_eq!((run.order.status, run.order.paid_amount()), (OrderStatus::Paid, amount(PAYABLE)), "{by:?}");
        assert!(run.order.attempts.iter().all(|attempt| attempt.refund.is_none()));
    }
}

#[test]
fn the_success_that_takes_the_sum_over_is_refunded_by_the_excess_and_no_more() {
    let legs = order().attempt(attempt().amount(4_000).succeeded(Standing::Counted)).attempt(attempt());
    for order in [legs.clone().build(), legs.closing().build()] {
        for by in BOTH {
            let run = told(&order, by, 2, &success(&order, 2));
            assert_eq!(run.order.status, OrderStatus::Paid, "{by:?} on {:?}", order.status);
            assert_eq!(refund_of(&run.order, 1), None, "what was needed stays");
            assert_eq!(refund_of(&run.order, 2), Some(&Refund::owed(euros(4_000))));
            assert_eq!(run.order.paid_amount(), amount(PAYABLE), "counted money less its excess");
            assert_eq!(run.signals, [Signal::Overpaid(no(2))]);
            let again = told(&run.order, Told::ByCallback, 2, &success(&order, 2));
            assert!(again.changed_nothing(), "the excess is owed once");
        }
    }
}

#[test]
fn on_a_closed_order_it_stays_closed_and_the_money_is_refunded_whole() {
    // Unsettled and asked about, or settled as closed and paid after all (b10, b13).
    for status in [AttemptStatus::Processing, AttemptStatus::Closed, AttemptStatus::Failed] {
        let scene = order().attempt(attempt().status(status)).closing().closed();
        for order in [scene.clone().build(), scene.settled().build()] {
            for by in BOTH {
                let run = told(&order, by, 1, &success(&order, 1));
                assert_eq!(run.order.status, OrderStatus::Closed, "I2: an order is never revived");
                assert_eq!(run.order.attempts[0].status, AttemptStatus::Succeeded);
                assert_eq!(standing(&run.order, 1), Some(Standing::Surplus));
                assert_eq!(refund_of(&run.order, 1), Some(&Refund::owed(euros(PAYABLE))));
                assert!(run.order.pending.contains(&REFUND_1) && !run.order.pending.contains(&ASK_1));
                assert_eq!(run.signals, [Signal::LatePayment(no(1))]);
                assert_eq!(run.order.paid_amount(), Amount::ZERO);
                let again = told(&run.order, Told::ByCallback, 1, &success(&order, 1));
                assert!(again.changed_nothing(), "one refund, however often it is told");
            }
        }
    }
}

#[test]
fn the_evidence_of_paid_is_whose_success_it_was_and_how_it_became_known() {
    for (by, fact) in [(Told::ByCallback, "notified success 1"), (Told::ByQuery, "queried success 1")] {
        let order = order().attempt(attempt()).closing().build();
        let paid = told(&order, by, 1, &success(&order, 1)).order;
        assert_eq!(paid.evidence.last().map(|last| (last.to, last.fact.as_str())), Some((OrderStatus::Paid, fact)));
    }
}

#[test]
fn refused_callbacks_are_counted_under_the_names_the_alarms_know() {
    for (refusal, name) in [
        (NotificationRefusal::UnknownAttempt, "unknown_order"),
        (NotificationRefusal::OtherMerchant, "merchant_mismatch"),
        (NotificationRefusal::OtherCurrency, "currency_mismatch"),
        (NotificationRefusal::OtherAmount, "amount_mismatch"),
        (NotificationRefusal::TransactionTaken, "transaction_taken"),
    ] {
        assert_eq!(refusal.reason(), name);
    }
}

#[test]
fn on_an_order_paid_by_the_same_transaction_it_changes_nothing() {
    let order = order().paid().build();
    let run = run(&order, &callback_of(&order, 1, success(&order, 1)), &world(), later());
    assert_eq!((run.outcome.clone(), run.changed_nothing()), (NotifiedOutcome::Accepted, true));
    assert_eq!(signal_without_commit(&order, &callback_of(&order, 1, success(&order, 1)), &run.outcome), None);
}

#[test]
fn on_an_order_paid_by_another_attempt_it_is_refunded_whole() {
    let order = paid_otherwise();
    for by in BOTH {
        let run = told(&order, by, 2, &success(&order, 2));
        assert_eq!(run.order.status, OrderStatus::Paid);
        assert_eq!(standing(&run.order, 2), Some(Standing::Surplus));
        assert_eq!(refund_of(&run.order, 2), Some(&Refund::owed(euros(PAYABLE))));
        assert_eq!(refund_of(&run.order, 1), None, "the money that paid it stays");
        assert_eq!(run.signals, [Signal::SurplusPayment(no(2))]);
    }
}

#[test]
fn another_transaction_of_the_same_attempt_changes_nothing_and_a_person_hears_of_it() {
    let scenes = [
        order().attempt(attempt().amount(4_000).succeeded(Standing::Counted)).build(),
        order().paid().build(),
        order()
            .attempt(attempt().succeeded(Standing::Surplus).refund(PAYABLE, RefundStatus::Pending))
            .closing()
            .closed()
            .build(),
    ];
    for order in scenes {
        let second = Success { transaction: transaction("another"), ..success(&order, 1) };
        let callback = callback_of(&order, 1, second);
        let run = run(&order, &callback, &world(), in_time());
        assert!(run.changed_nothing(), "{:?}", order.status);
        let signal = signal_without_commit(&order, &callback, &run.outcome);
        assert_eq!(signal, Some(Signal::SecondTransaction(no(1))));
        assert!(signal.is_some_and(|signal| signal.is_finding()));
    }
}

#[test]
fn neither_does_one_that_an_answer_names_for_an_attempt_that_has_its_money() {
    let order =
        order().attempt(attempt().amount(4_000).succeeded(Standing::Counted)).attempt(attempt()).closing().build();
    for (name, is_second) in [("another", true), ("its own", false)] {
        let told = match name {
            "another" => Success { transaction: transaction(name), ..success(&order, 1) },
            _ => success(&order, 1),
        };
        let both = [1, 2].map(|number| (no(number), Sequence::QueryCloseQuery)).to_vec();
        let mut known = Knowledge::default();
        let says = world().says(1, PaymentFact::Succeeded(told));
        known.learn(&order, says.answer(&Question::Payments(both), later()));
        let Decision::Commit(commit) = decide(&order, &scan(), &known, later()) else { panic!("{name}: it decides") };
        assert_eq!(commit.order.attempts[0].receipt, order.attempts[0].receipt, "{name}");
        assert_eq!(commit.signals.contains(&Signal::SecondTransaction(no(1))), is_second, "{name}");
    }
}

#[test]
fn a_callback_with_a_transaction_recorded_elsewhere_is_refused_and_changes_nothing() {
    let [open, closing] = open_orders(&attempt());
    for order in [open, closing, paid_otherwise(), order().attempt(attempt()).closing().closed().build()] {
        let number = u64::from(order.attempts.len() as u8);
        let taken = success(&order, number);
        let callback = callback_of(&order, number, taken.clone());
        let run = run(&order, &callback, &world().has_taken(taken.transaction), in_time());
        assert_eq!(run.outcome, NotifiedOutcome::Refused(NotificationRefusal::TransactionTaken), "{:?}", order.status);
        assert!(run.changed_nothing());
        let signal = signal_without_commit(&order, &callback, &run.outcome);
        assert_eq!(signal, Some(Signal::TransactionTaken(no(number))));
    }
}

#[test]
fn a_query_that_finds_a_transaction_recorded_elsewhere_makes_the_order_neither_paid_nor_closed() {
    let order = order().attempt(attempt()).closing().build();
    let taken = success(&order, 1);
    let run = told_in(&order, Told::ByQuery, 1, &taken, world().has_taken(taken.transaction.clone()));
    assert_eq!(run.order.status, OrderStatus::Closing);
    assert_eq!(run.order.attempts[0].status, AttemptStatus::Unknown);
    assert_eq!(run.order.attempts[0].receipt, None);
    assert!(run.order.closing.as_ref().is_some_and(|task| task.needs_attention));
    assert_eq!(run.signals, [Signal::TransactionTaken(no(1)), Signal::NeedsAttention]);
    assert_eq!(transactions(&run.rows), 0);
}

#[test]
fn a_query_on_a_terminal_order_that_finds_a_taken_transaction_keeps_the_ask_and_needs_attention() {
    let order = paid_otherwise();
    let taken = success(&order, 2);
    let run = told_in(&order, Told::ByQuery, 2, &taken, world().has_taken(taken.transaction.clone()));
    assert_eq!(run.order.attempts[1].status, AttemptStatus::Unknown);
    assert!(run.order.pending.contains(&Unit::Ask(no(2))));
    assert!(run.order.asking.as_ref().is_some_and(|task| task.needs_attention));
    assert_eq!(run.signals, [Signal::TransactionTaken(no(2)), Signal::NeedsAttention]);
}

#[test]
fn one_transaction_for_two_attempts_of_one_order_counts_once_and_the_other_needs_a_person() {
    let two = order().attempt(attempt().amount(4_000)).attempt(attempt().amount(4_000)).closing().build();
    let shared = transaction("shared");
    let of = |number| PaymentFact::Succeeded(Success { transaction: shared.clone(), ..success(&two, number) });
    // Both found in one adjudication: one row could not stand in one transaction twice.
    let found = run(&two, &scan(), &world().says(1, of(1)).says(2, of(2)), later());
    assert_eq!(found.order.attempts[0].status, AttemptStatus::Succeeded);
    assert_eq!(found.order.attempts[1].status, AttemptStatus::Unknown);
    assert_eq!((found.order.status, transactions(&found.rows)), (OrderStatus::Closing, 1));
    assert!(found.signals.contains(&Signal::TransactionTaken(no(2))));
    assert!(found.signals.contains(&Signal::NeedsAttention));
    // Told by a callback after the first was recorded.
    let first = run(&two, &callback(&two, 1, of(1)), &world(), later()).order;
    let second = run(&first, &callback(&first, 2, of(2)), &world(), later());
    assert_eq!(second.outcome, NotifiedOutcome::Refused(NotificationRefusal::TransactionTaken));
    assert!(second.changed_nothing());
}

/// Every way in which a callback about one of our numbers may not fit.
fn misfits(order: &Order) -> Vec<(&'static str, Success, NotificationRefusal)> {
    let ours = success(order, 1);
    let paid = |minor| Money { amount: amount(minor), ..ours.paid };
    vec![
        (
            "another merchant",
            Success { merchant: merchant("other"), ..ours.clone() },
            NotificationRefusal::OtherMerchant,
        ),
        (
            "another currency",
            Success { paid: Money { currency: currency("USD"), ..ours.paid }, ..ours.clone() },
            NotificationRefusal::OtherCurrency,
        ),
        ("one cent less", Success { paid: paid(PAYABLE - 1), ..ours.clone() }, NotificationRefusal::OtherAmount),
        ("one cent more", Success { paid: paid(PAYABLE + 1), ..ours.clone() }, NotificationRefusal::OtherAmount),
        (
            "another number",
            Success { out_trade_no: order.out_trade_no(no(2)).to_string(), ..ours },
            NotificationRefusal::UnknownAttempt,
        ),
    ]
}

#[test]
fn a_callback_that_does_not_fit_is_refused_and_the_channel_is_asked_instead() {
    let [open, closing] = open_orders(&attempt());
    for order in [open, closing, order().attempt(attempt().status(AttemptStatus::Closed)).closing().closed().build()] {
        for (what, misfit, refusal) in misfits(&order) {
            let callback = callback_of(&order, 1, misfit);
            let first = run(&order, &callback, &world(), in_time());
            assert_eq!(first.outcome, NotifiedOutcome::Refused(refusal), "b44: {what} on {:?}", order.status);
            assert!(first.order.pending.contains(&ASK_1), "{what} on {:?}", order.status);
            assert_eq!(first.order.attempts, order.attempts, "{what}: nothing else changes");
            assert_eq!(first.order.status, order.status);
            let again = run(&first.order, &callback, &world(), in_time());
            assert_eq!((again.outcome.clone(), again.changed_nothing()), (NotifiedOutcome::Refused(refusal), true));
        }
    }
}

#[test]
fn a_callback_that_does_not_fit_changes_nothing_where_the_money_is_recorded() {
    let order = order().paid().build();
    for (what, misfit, refusal) in misfits(&order) {
        let run = run(&order, &callback_of(&order, 1, misfit), &world(), in_time());
        assert_eq!(run.outcome, NotifiedOutcome::Refused(refusal), "{what}");
        assert!(run.changed_nothing(), "{what}");
    }
}

#[test]
fn a_callback_about_no_attempt_of_this_channel_is_refused_and_changes_nothing() {
    let order = order().attempt(attempt()).attempt(attempt()).build();
    let mut unknown_attempt = callback_of(&order, 1, success(&order, 1));
    unknown_attempt.notification.payment = order.out_trade_no(no(3));
    let mut other_channel = callback_of(&order, 1, success(&order, 1));
    other_channel.channel = channel("other");
    for callback in [unknown_attempt, other_channel] {
        let run = run(&order, &callback, &world(), in_time());
        assert_eq!(run.outcome, NotifiedOutcome::Refused(NotificationRefusal::UnknownAttempt));
        assert!(run.changed_nothing());
    }
}

#[test]
fn a_query_that_finds_another_amount_or_currency_refunds_what_was_really_paid_and_does_not_hinder_closed() {
    let order = order().attempt(attempt()).closing().build();
    let ours = success(&order, 1);
    for paid in [euros(PAYABLE - 1), euros(PAYABLE + 1), Money { currency: currency("USD"), ..ours.paid }] {
        let run = told(&order, Told::ByQuery, 1, &Success { paid, ..ours.clone() });
        assert_eq!(run.order.status, OrderStatus::Closed, "{paid}");
        assert_eq!(standing(&run.order, 1), Some(Standing::Mismatch));
        assert_eq!(refund_of(&run.order, 1), Some(&Refund::owed(paid)));
        assert_eq!(run.order.paid_amount(), Amount::ZERO, "it does not count");
        assert_eq!(run.signals, [Signal::AmountMismatch(no(1))]);
        assert_eq!(transactions(&run.rows), 1);
    }
}

#[test]
fn a_mismatch_found_on_an_open_or_a_terminal_order_is_refunded_and_changes_no_status() {
    let open = order().attempt(attempt()).build();
    for order in [open, order().attempt(attempt()).closing().closed().build()] {
        let run = told(&order, Told::ByQuery, 1, &Success { paid: euros(1), ..success(&order, 1) });
        assert_eq!(run.order.status, order.status);
        assert_eq!(refund_of(&run.order, 1), Some(&Refund::owed(euros(1))));
    }
}

#[test]
fn a_query_that_finds_another_merchants_or_anothers_number_is_unknown() {
    let order = order().attempt(attempt()).closing().build();
    let ours = success(&order, 1);
    for foreign in [
        Success { merchant: merchant("other"), ..ours.clone() },
        Success { out_trade_no: "somebody-else-1".to_owned(), ..ours },
    ] {
        let run = told(&order, Told::ByQuery, 1, &foreign);
        assert_eq!(run.order.status, OrderStatus::Closing);
        assert_eq!(run.order.attempts[0].status, AttemptStatus::Unknown);
        assert_eq!(run.order.attempts[0].receipt, None);
    }
}

#[test]
fn money_that_the_channel_has_given_back_never_pays_and_what_is_left_of_it_is_refunded_once() {
    for order in [
        order().attempt(attempt()).build(),
        order().attempt(attempt()).closing().build(),
        order().attempt(attempt()).closing().closed().build(),
    ] {
        for by in BOTH {
            for (refunded, left) in [(PAYABLE, None), (4_000, Some(euros(6_000)))] {
                let found = Success { refunded: amount(refunded), ..success(&order, 1) };
                let run = told(&order, by, 1, &found);
                assert_ne!(run.order.status, OrderStatus::Paid, "{by:?} on {:?}", order.status);
                assert_eq!(standing(&run.order, 1), Some(Standing::RefundedElsewhere));
                assert_eq!(run.order.attempts[0].status, AttemptStatus::Succeeded);
                assert_eq!(refund_of(&run.order, 1).map(|refund| refund.money), left);
                assert_eq!(run.order.pending.contains(&REFUND_1), left.is_some());
                assert_eq!(run.signals, [Signal::RefundedElsewhere(no(1))]);
                let again = told(&run.order, Told::ByCallback, 1, &found);
                assert!(again.changed_nothing());
            }
        }
    }
}

#[test]
fn our_own_refund_never_counts_as_foreign() {
    // The excess of a PAID order went back; the channel now states it as refunded.
    let order = order()
        .attempt(attempt().amount(4_000).succeeded(Standing::Counted))
        .attempt(attempt().succeeded(Standing::Counted).refund(4_000, RefundStatus::Succeeded))
        .paid()
        .build();
    let run = told(&order, Told::ByCallback, 2, &Success { refunded: amount(4_000), ..success(&order, 2) });
    assert!(run.changed_nothing(), "b42");
}

#[test]
fn partly_paid_at_expiry_or_cancel_means_closed_and_every_success_refunded() {
    let legs = order()
        .attempt(attempt().amount(3_000).succeeded(Standing::Counted))
        .attempt(attempt().amount(2_000).succeeded(Standing::Counted))
        .attempt(attempt().amount(5_000))
        .build();
    for (closer, now) in [(scan(), later()), (wake(), later()), (cancel(), in_time())] {
        let run = run(&legs, &closer, &world(), now);
        assert_eq!(run.outcome, CloseOutcome::Closed, "{:?}", closer.occasion);
        assert_eq!(refund_of(&run.order, 1), Some(&Refund::owed(euros(3_000))));
        assert_eq!(refund_of(&run.order, 2), Some(&Refund::owed(euros(2_000))));
        assert_eq!(refund_of(&run.order, 3), None);
        assert_eq!(run.order.attempts[2].status, AttemptStatus::Closed);
    }
}

#[test]
fn several_successes_of_one_adjudication_apply_in_attempt_order() {
    let order = order().attempt(attempt()).attempt(attempt()).attempt(attempt()).closing().build();
    let run =
        run(&order, &scan(), &world().paid(&order, 3).paid(&order, 1).paid(&order, 2).answers_backwards(), later());
    assert_eq!(run.outcome, CloseOutcome::Paid);
    let standings: Vec<_> = (1..=3).map(|number| standing(&run.order, number)).collect();
    assert_eq!(standings, [Some(Standing::Counted), Some(Standing::Surplus), Some(Standing::Surplus)]);
    assert_eq!(refund_of(&run.order, 2), Some(&Refund::owed(euros(PAYABLE))));
    assert_eq!(refund_of(&run.order, 3), Some(&Refund::owed(euros(PAYABLE))));
    assert_eq!(run.signals, [Signal::SurplusPayment(no(2)), Signal::SurplusPayment(no(3))]);
    assert_eq!(transactions(&run.rows), 3);
}

#[test]
fn legs_found_together_pay_and_the_last_is_refunded_by_its_excess() {
    let order = order().attempt(attempt().amount(6_000)).attempt(attempt().amount(7_000)).closing().build();
    let run = run(&order, &scan(), &world().paid(&order, 1).paid(&order, 2), later());
    assert_eq!(run.outcome, CloseOutcome::Paid);
    assert_eq!(refund_of(&run.order, 1), None);
    assert_eq!(refund_of(&run.order, 2), Some(&Refund::owed(euros(3_000))));
}

#[test]
fn a_callback_that_is_no_success_makes_an_unsettled_attempt_unknown_and_asked_once() {
    for status in [AttemptStatus::Initiated, AttemptStatus::Processing, AttemptStatus::Unknown] {
        for order in open_orders(&attempt().status(status)) {
            for fact in [PaymentFact::Failed, PaymentFact::NotPaidClosed, PaymentFact::Open, PaymentFact::NotFound] {
                let hint = callback(&order, 1, fact);
                let first = run(&order, &hint, &world(), in_time());
                assert_eq!(first.order.status, order.status);
                assert_eq!(first.order.attempts[0].status, AttemptStatus::Unknown);
                assert!(first.order.pending.contains(&ASK_1));
                assert!(run(&first.order, &hint, &world(), in_time()).changed_nothing());
                // b09: what it only hinted at does not stand in the way of the money.
                let paid = told(&first.order, Told::ByCallback, 1, &success(&order, 1));
                assert_eq!(paid.order.status, OrderStatus::Paid);
            }
        }
    }
}

#[test]
fn a_callback_that_is_no_success_changes_nothing_on_a_settled_attempt() {
    for status in [AttemptStatus::Failed, AttemptStatus::Closed] {
        let order = order().attempt(attempt().status(status)).attempt(attempt()).build();
        assert!(run(&order, &callback(&order, 1, PaymentFact::Failed), &world(), in_time()).changed_nothing());
    }
    let paid = paid_otherwise();
    let late = run(&paid, &callback(&paid, 2, PaymentFact::NotPaidClosed), &world(), later());
    assert!(late.changed_nothing(), "b06: it is asked about already");
}
