//! Every command on an order of every status and shape, in every world: which status may follow (DESIGN §3, I1), and that whatever is
//! decided twice is done once. What holds of every commit — version, invariants, evidence, due index — is checked by the scene.

mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::Turn;
use expiry_core::decide::ask::Ask;
use expiry_core::decide::close::Close;
use expiry_core::decide::extend::Extend;
use expiry_core::decide::notified::Notified;
use expiry_core::decide::place_answered::PlaceAnswered;
use expiry_core::decide::refund::WorkRefund;
use expiry_core::decide::retry_refund::RetryRefund;
use expiry_core::decide::settle::Settle;
use expiry_core::decide::start_payment::StartPayment;
use expiry_core::decide::{Command, Commit, Decision, Knowledge, Then};
use expiry_core::evidence::Actor;
use expiry_core::fact::{Cause, CloseOutcome, PaymentFact, PlaceOutcome, Placed, RefundFact, Success};
use expiry_core::money::Money;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::refund::RefundStatus;
use expiry_core::reservation::{CounterKey, ResourceKind};
use expiry_core::time::Timestamp;
use scene::*;

use OrderStatus::{Closed, Closing, Paid, Paying, PendingPayment};

/// Any command, its outcome as text.
#[derive(Clone, Debug)]
enum Any {
    Close(Close),
    Ask(Ask),
    Notified(Notified),
    Start(StartPayment),
    Placed(PlaceAnswered),
    Settle(Settle),
    Refund(WorkRefund),
    Retry(RetryRefund),
    Extend(Extend),
}

impl Command for Any {
    type Outcome = String;

    fn decide(&self, order: &Order, known: &Knowledge, now: Timestamp) -> Decision<String> {
        match self {
            Any::Close(command) => told(command.decide(order, known, now)),
            Any::Ask(command) => told(command.decide(order, known, now)),
            Any::Notified(command) => told(command.decide(order, known, now)),
            Any::Start(command) => told(command.decide(order, known, now)),
            Any::Placed(command) => told(command.decide(order, known, now)),
            Any::Settle(command) => told(command.decide(order, known, now)),
            Any::Refund(command) => told(command.decide(order, known, now)),
            Any::Retry(command) => told(command.decide(order, known, now)),
            Any::Extend(command) => told(command.decide(order, known, now)),
        }
    }
}

fn told<O: Debug>(decision: Decision<O>) -> Decision<String> {
    match decision {
        Decision::Ask(question) => Decision::Ask(question),
        Decision::Done(outcome) => Decision::Done(format!("{outcome:?}")),
        Decision::Commit(commit) => {
            let Commit { on_version, on_status, after_deadline, order, rows, signals, then } = *commit;
            let then = match then {
                Then::Done(outcome) => Then::Done(format!("{outcome:?}")),
                Then::Continue => Then::Continue,
            };
            Decision::Commit(Box::new(Commit { on_version, on_status, after_deadline, order, rows, signals, then }))
        }
    }
}

/// Every shape of an attempt that may stand on an order that is not PAID.
fn attempts() -> Vec<AttemptScene> {
    let unsettled_or_not = AttemptStatus::ALL.into_iter().filter(|status| *status != AttemptStatus::Succeeded);
    let mut shapes: Vec<AttemptScene> = unsettled_or_not.map(|status| attempt().status(status)).collect();
    shapes.push(attempt().status(AttemptStatus::Initiated).replaced());
    shapes.push(attempt().first_not_found(created()));
    shapes.push(attempt().amount(4_000));
    shapes.push(attempt().amount(4_000).succeeded(Standing::Counted));
    shapes.push(attempt().succeeded(Standing::RefundedElsewhere));
    for status in RefundStatus::ALL {
        shapes.push(attempt().succeeded(Standing::Mismatch).refund(PAYABLE, status));
    }
    shapes
}

/// Orders of every status and shape, each whole.
fn orders() -> Vec<Order> {
    let mut begun: Vec<OrderScene> = Vec::new();
    for base in [order().holding_everything(), never_expiring()] {
        for first in attempts() {
            begun.push(base.clone().attempt(first.clone()));
            begun.push(base.clone().attempt(first).attempt(attempt()));
        }
    }
    let mut orders = vec![order().build(), order().holding_everything().build(), never_expiring().build()];
    let closed = order().holding_everything().closed();
    let set_aside = closed.clone().with(|order| {
        order.pending = [ResourceKind::Stock, ResourceKind::Coupon]
            .map(|kind| {
                Unit::Anomaly(
                    kind,
                    if kind == ResourceKind::Stock { stock("SKU").to_string() } else { "COUPON".to_owned() },
                )
            })
            .into();
    });
    orders.extend([closed.clone().build(), closed.settled().build(), set_aside.build()]);
    let turns = [
        Turn::leased(me(), later().plus(LEASE)),
        Turn::leased(another(), later().plus(LEASE)),
        Turn::leased(another(), in_time()),
        Turn::at(later().plus(LEASE)),
        Turn::at(in_time()),
    ];
    for scene in begun {
        orders.push(scene.clone().build());
        let unsettled = scene.clone().build().unsettled_attempts().next().map(|(no, _)| no);
        orders.extend(unsettled.map(|no| scene.clone().pending(Unit::Ask(no)).build()));
        orders.extend(turns.iter().map(|turn| scene.clone().closing_with(turn.clone()).build()));
        let closed = scene.clone().closing_with(turns[0].clone()).closed();
        orders.extend([closed.clone().build(), closed.settled().build()]);
        // Paid by one attempt more, except where a leg would have to be given back.
        if scene.clone().build().counted().is_zero() {
            let paid = scene.attempt(attempt().succeeded(Standing::Counted)).paid();
            orders.extend([paid.clone().build(), paid.settled().build()]);
        }
    }
    orders
}

/// Every fact a channel may state of attempt `number`.
fn facts(order: &Order, number: u64) -> Vec<PaymentFact> {
    let ours = success(order, number);
    let paid = |change: &dyn Fn(&mut Success)| {
        let mut success = ours.clone();
        change(&mut success);
        PaymentFact::Succeeded(success)
    };
    vec![
        paid(&|_| {}),
        paid(&|success| success.paid = Money { amount: amount(1), ..success.paid }),
        paid(&|success| success.merchant = merchant("other")),
        paid(&|success| success.refunded = success.paid.amount),
        paid(&|success| success.refunded = amount(1)),
        PaymentFact::NotPaidClosed,
        PaymentFact::Failed,
        PaymentFact::Open,
        PaymentFact::Processing,
        PaymentFact::NotFound,
        unknown(),
    ]
}

/// Worlds in which the channels answer everything they may about the attempts of `order`.
fn worlds(order: &Order) -> Vec<World> {
    let numbers = 1..=order.attempts.len() as u64;
    let Some(count) = numbers.clone().last() else { return vec![world()] };
    let mut worlds = Vec::new();
    for index in 0..facts(order, 1).len() {
        let all =
            numbers.clone().fold(world(), |world, number| world.says(number, facts(order, number).swap_remove(index)));
        worlds.push(all.clone());
        worlds.push(all.clone().closes(CloseOutcome::Unknown(Cause::new("timeout"))));
        worlds.push(all.only_queried());
        // The newest attempt otherwise than the others.
        worlds.push(world().says(count, facts(order, count).swap_remove(index)));
    }
    let all_paid = numbers.fold(world(), |world, number| world.paid(order, number));
    worlds.push(all_paid.has_taken(own_transaction(order, no(1))));
    worlds
}

/// What was found: the status that followed, of every status, under the name of the command.
#[derive(Default)]
struct Found(BTreeMap<&'static str, BTreeMap<OrderStatus, BTreeSet<OrderStatus>>>);

impl Found {
    /// Carries `command` out twice, and records which status followed which.
    fn play(&mut self, name: &'static str, order: &Order, command: &Any, world: &World, now: Timestamp) {
        let first = run(order, command, world, now);
        let next = self.0.entry(name).or_default();
        for step in first.path.windows(2) {
            next.entry(step[0]).or_default().insert(step[1]);
        }
        // What the money found left to be asked about is other work than what was asked.
        if matches!(command, Any::Ask(_)) && first.order.status != order.status {
            return;
        }
        let second = run(&first.order, command, world, now);
        let (once, twice) = (comparable(command, &first.order), comparable(command, &second.order));
        assert!(
            once == twice,
            "I6: {name} twice at {now}, {command:?}\nbefore {order:?}\nonce {once:?}\ntwice {twice:?}"
        );
        assert!(second.rows.is_empty(), "{name} twice moves no row again: {:?}", second.rows);
    }
}

/// The order as far as a second run of `command` must leave it alone.
fn comparable(command: &Any, order: &Order) -> Order {
    let mut order = order.clone();
    order.version = 0;
    order.evidence.iter_mut().for_each(|entry| entry.version = 0);
    match command {
        // An operator's check is a new look each time: only its place in the rhythm moves.
        Any::Close(close) if close.occasion == check().occasion => order.closing = None,
        // A payment started again is the same attempt, placed again.
        Any::Start(_) => order.attempts.iter_mut().for_each(|attempt| {
            attempt.replaced = false;
            attempt.place_before = None;
        }),
        Any::Close(_)
        | Any::Ask(_)
        | Any::Notified(_)
        | Any::Placed(_)
        | Any::Settle(_)
        | Any::Refund(_)
        | Any::Retry(_)
        | Any::Extend(_) => {}
    }
    order
}

/// Which status may follow which by one commit; from a status that is not here nothing is written at all.
type Allowed<'a> = &'a [(OrderStatus, &'a [OrderStatus])];

/// On these nothing but the status's own details change.
const STAYS: Allowed<'static> = &[(Paying, &[Paying]), (Closing, &[Closing]), (Paid, &[Paid]), (Closed, &[Closed])];

/// Plays on every order, and demands that exactly the allowed status followed under every name.
fn exactly(play: impl Fn(&mut Found, &Order), allowed: &[(&'static str, Allowed<'_>)]) {
    let mut found = Found::default();
    orders().iter().for_each(|order| play(&mut found, order));
    let allowed: BTreeMap<_, BTreeMap<_, BTreeSet<_>>> = allowed
        .iter()
        .map(|(name, rows)| (*name, rows.iter().map(|(from, to)| (*from, to.iter().copied().collect())).collect()))
        .collect();
    assert_eq!(found.0, allowed);
}

#[test]
fn closing_leads_by_closing_to_closed_or_paid_and_directly_only_where_nobody_is_to_be_asked() {
    let closing: (_, &[_]) = (Closing, &[Closing, Paid, Closed]);
    exactly(
        closes,
        &[
            // CLOSING is always due; everything else waits for expire_at + 0.5 s (I7).
            ("expiry path, not due", &[closing]),
            ("expiry path, due", &[(PendingPayment, &[Closed]), (Paying, &[Closing]), closing]),
            ("retry", &[closing]),
            ("cancel", &[(PendingPayment, &[Closed]), (Paying, &[Closing]), closing]),
        ],
    );
}

#[test]
fn asking_leads_to_paid_from_an_open_order_and_nowhere_else() {
    exactly(asks, &[("ask", &[(Paying, &[Paying, Paid]), (Paid, &[Paid]), (Closed, &[Closed])])]);
}

#[test]
fn a_callback_leads_to_paid_and_nowhere_else() {
    let success: Allowed<'_> =
        &[(Paying, &[Paying, Paid]), (Closing, &[Closing, Paid]), (Paid, &[Paid]), (Closed, &[Closed])];
    exactly(
        callbacks,
        &[
            ("callback: success", success),
            ("callback: misfit", STAYS),
            ("callback: hint", &[(Paying, &[Paying]), (Closing, &[Closing])]),
        ],
    );
}

#[test]
fn a_payment_starts_on_open_orders_and_its_answer_changes_no_status() {
    exactly(
        payments,
        &[
            ("start payment", &[(PendingPayment, &[Paying]), (Paying, &[Paying, Paid])]),
            ("start payment, too late", &[]),
            ("placed", STAYS),
            ("place refused", STAYS),
            ("place in doubt", &[]),
        ],
    );
}

#[test]
fn settling_and_refunding_change_no_status() {
    exactly(settlements, &[("settle", &[(Paid, &[Paid]), (Closed, &[Closed])])]);
    exactly(refunds, &[("refund", STAYS), ("retry refund", STAYS)]);
}

#[test]
fn more_time_is_given_to_open_orders_before_their_deadline() {
    let open: Allowed<'_> = &[(PendingPayment, &[PendingPayment]), (Paying, &[Paying])];
    exactly(extensions, &[("extend", open), ("extend, passed", &[])]);
}

fn closes(found: &mut Found, order: &Order) {
    let worlds = worlds(order);
    let mut play = |name, command: Close, now| {
        // Which world it is matters little to whether it is due: one moment sees them all, the others some of each kind.
        let some = if now == later() { 1 } else { 3 };
        let worlds = worlds.iter().step_by(some);
        worlds.for_each(|world| found.play(name, order, &Any::Close(command.clone()), world, now));
    };
    for now in [in_time(), deadline().minus(millis(1)), deadline(), due().minus(millis(1)), due(), later()] {
        let name = if now < due() { "expiry path, not due" } else { "expiry path, due" };
        play(name, wake(), now);
        play(name, scan(), now);
        play(name, check(), now);
        play("cancel", cancel(), now);
    }
    let check_at = order.closing.as_ref().and_then(|task| task.turn.next_check_at).unwrap_or_else(later);
    for now in [check_at.minus(millis(1)), check_at, check_at.plus(seconds(3))] {
        play("retry", retry(check_at), now);
        play("retry", retry(check_at.plus(seconds(1))), now);
    }
}

fn asks(found: &mut Found, order: &Order) {
    for world in worlds(order) {
        for now in [in_time(), later(), deadline().plus(limits_of_rule_nf())] {
            found.play("ask", order, &Any::Ask(ask()), &world, now);
        }
    }
}

fn limits_of_rule_nf() -> std::time::Duration {
    expiry_core::limits::NOT_FOUND_GRACE + expiry_core::limits::NOT_FOUND_APART
}

fn callbacks(found: &mut Found, order: &Order) {
    for number in 1..=order.attempts.len() as u64 {
        for fact in facts(order, number) {
            let name = match &fact {
                PaymentFact::Succeeded(told) if told.paid == success(order, number).paid => {
                    if told.merchant == merchant("other") { "callback: misfit" } else { "callback: success" }
                }
                PaymentFact::Succeeded(_) => "callback: misfit",
                PaymentFact::NotPaidClosed
                | PaymentFact::Failed
                | PaymentFact::Open
                | PaymentFact::Processing
                | PaymentFact::NotFound
                | PaymentFact::Unknown(_) => "callback: hint",
            };
            let taken = world().has_taken(own_transaction(order, no(number)));
            for world in [world(), taken] {
                for now in [in_time(), later()] {
                    found.play(name, order, &Any::Notified(callback(order, number, fact.clone())), &world, now);
                }
            }
        }
    }
}

fn payments(found: &mut Found, order: &Order) {
    let other = StartPayment { channel: channel("other"), ..start() };
    let leg = StartPayment { amount: Some(amount(4_000)), ..start() };
    for world in worlds(order) {
        for command in [start(), other.clone(), leg.clone()] {
            found.play("start payment", order, &Any::Start(command.clone()), &world, in_time());
            if order.expire_at.is_some() {
                found.play(
                    "start payment, too late",
                    order,
                    &Any::Start(command),
                    &world,
                    deadline().minus(seconds(1)),
                );
            }
        }
    }
    for number in 1..=order.attempts.len().max(1) as u64 {
        let placed = Placed { reference: None, expires_at: Some(later()), credential: () };
        for (name, outcome) in [
            ("placed", PlaceOutcome::Credential(placed)),
            ("place refused", PlaceOutcome::Refused(Cause::new("no"))),
            ("place in doubt", PlaceOutcome::InDoubt(Cause::new("timeout"))),
        ] {
            let answered = Any::Placed(PlaceAnswered { attempt: no(number), outcome });
            for now in [in_time(), deadline().minus(seconds(1)), later()] {
                found.play(name, order, &answered, &world(), now);
            }
        }
    }
}

fn settlements(found: &mut Found, order: &Order) {
    let mut units: Vec<Unit> = ResourceKind::ALL.map(Unit::Settle).into();
    units.extend([Unit::Cap, Unit::Refund(no(1)), Unit::Ask(no(1))]);
    units.push(Unit::Anomaly(ResourceKind::Stock, stock("SKU").to_string()));
    units.push(Unit::Anomaly(ResourceKind::Coupon, "COUPON".to_owned()));
    let coupon = |change: fn(&mut expiry_core::row::CouponTerms)| world().coupon(order, change);
    let worlds = [
        coupon(|_| {}),
        coupon(|terms| terms.campaign_active = false),
        coupon(|terms| terms.refundable = false),
        coupon(|terms| terms.valid_until = created()),
        coupon(|terms| terms.holder = None),
        world(),
        coupon(|_| {}).misses(CounterKey::Stock(stock("SKU"))),
    ];
    for unit in units {
        for world in &worlds {
            found.play("settle", order, &Any::Settle(Settle { unit: unit.clone() }), world, later());
        }
    }
}

fn refunds(found: &mut Found, order: &Order) {
    let no_cause = || Cause::new("no");
    let retry = |number, k| Any::Retry(RetryRefund { attempt: no(number), k, actor: operator(), reason: no_cause() });
    for number in 1..=order.attempts.len() as u64 {
        found.play("retry refund", order, &retry(number, 1), &world(), later());
        found.play("retry refund", order, &retry(number, 2), &world(), later());
        for refund in [
            RefundFact::Refunded,
            RefundFact::Pending,
            RefundFact::Closed(no_cause()),
            RefundFact::NeedsManual(no_cause()),
            RefundFact::Rejected(no_cause()),
            RefundFact::NotFound,
            RefundFact::Unknown(no_cause()),
        ] {
            for fact in facts(order, number) {
                let world = world().refunds(refund.clone()).says(number, fact);
                found.play("refund", order, &Any::Refund(give_back(number)), &world, later());
            }
        }
    }
}

fn operator() -> Actor {
    Actor::Named("ops".to_owned())
}

fn extensions(found: &mut Found, order: &Order) {
    for to in
        [deadline().minus(seconds(1)), deadline(), deadline().plus(seconds(600)), deadline().plus(seconds(1 << 40))]
    {
        let extend = Extend { from: deadline(), to, actor: operator(), reason: Cause::new("a call") };
        for (name, now) in [
            ("extend", in_time()),
            ("extend", deadline().minus(millis(1))),
            ("extend, passed", deadline()),
            ("extend, passed", later()),
        ] {
            found.play(name, order, &Any::Extend(extend.clone()), &world(), now);
        }
    }
}
