//! What an order holds: reserved when it is created, confirmed or given back once, and set aside when a row is not what the order says.

mod scene;

use expiry_core::decide::create::{Creation, InvalidOrder, NewLine, NewOrder, create};
use expiry_core::decide::settle::{Settle, SettleOutcome};
use expiry_core::decide::{Decision, Knowledge, decide};
use expiry_core::ids::{ActivityId, CouponId, RuleId};
use expiry_core::invariants::breaches;
use expiry_core::limits;
use expiry_core::money::Amount;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::reservation::{CounterKey, CouponReason, CouponStatus, HoldStatus, ResourceKind};
use expiry_core::row::{CounterChange, CouponChange, CouponTerms, OpenOrdersChange, Refusal, Row};
use expiry_core::signal::Signal;
use scene::*;

const STOCK: Unit = Unit::Settle(ResourceKind::Stock);
const COUPON: Unit = Unit::Settle(ResourceKind::Coupon);

fn settle(order: &Order, unit: Unit, world: &World) -> Run<SettleOutcome> {
    run(order, &Settle { unit }, world, later())
}

mod creating {
    use super::*;

    fn created_from(change: impl FnOnce(&mut NewOrder)) -> Result<Creation, InvalidOrder> {
        let mut request = request("default");
        change(&mut request);
        create(request, &rules(), Some(3), created())
    }

    fn line(sku: &str, units: u64, price: u64) -> NewLine {
        NewLine { stock: stock(sku), quantity: quantity(units), unit_price: amount(price) }
    }

    #[test]
    fn it_reserves_everything_it_holds_in_the_transaction_that_creates_it() {
        let sale = ActivityId::new("SALE").expect("an activity");
        let creation = created_from(|request| {
            request.coupon = CouponId::new("COUPON").ok();
            request.points = Some(quantity(5));
            // Equal keys are merged: a row may stand in a transaction only once.
            request.quotas = vec![(sale.clone(), quantity(1)), (sale.clone(), quantity(2))];
        });
        let Creation { order, rows } = creation.expect("an order");
        let counter = |key, units| Row::Counter { key, change: CounterChange::Reserve(quantity(units)) };
        assert_eq!(rows.len(), 5);
        for row in [
            counter(CounterKey::Stock(stock("SKU")), 2),
            counter(CounterKey::Points(order.user.clone()), 5),
            counter(CounterKey::Quota(sale), 3),
            Row::OpenOrders { user: order.user.clone(), change: OpenOrdersChange::Count { most: 3 } },
        ] {
            assert!(rows.contains(&row), "{row:?}");
        }
        assert!(rows.iter().any(|row| matches!(row, Row::Coupon { change: CouponChange::Lock { .. }, .. })));
        assert_eq!((order.version, order.status), (1, OrderStatus::PendingPayment));
        assert_eq!((order.expire_at, order.due_at), (Some(deadline()), Some(deadline())), "b28: the server's time");
        assert_eq!(breaches(&order), Vec::new());
    }

    #[test]
    fn with_nothing_to_pay_it_is_paid_and_its_resources_are_confirmed_at_once() {
        let creation = created_from(|request| {
            request.payable = Amount::ZERO;
            request.coupon = CouponId::new("COUPON").ok();
        });
        let Creation { order, rows } = creation.expect("an order");
        assert_eq!((order.status, order.lines[0].hold), (OrderStatus::Paid, HoldStatus::Confirmed), "b40");
        assert!(order.pending.is_empty() && order.due_at.is_none() && !order.counted_open);
        assert!(rows.iter().any(|row| matches!(row, Row::Counter { change: CounterChange::Sell(_), .. })));
        assert!(rows.iter().any(|row| matches!(row, Row::Coupon { change: CouponChange::UseAtOnce { .. }, .. })));
        assert_eq!(breaches(&order), Vec::new(), "I11: with its evidence");
    }

    #[test]
    fn as_many_slots_as_allowed_are_held() {
        let sales = (0..limits::QUOTAS).map(|n| ActivityId::new(format!("sale-{n}")).expect("an activity"));
        let created = created_from(|request| request.quotas = sales.map(|sale| (sale, quantity(1))).collect());
        assert_eq!(created.expect("an order").order.quotas.len(), limits::QUOTAS);
    }

    #[test]
    fn what_is_no_order_is_refused_by_its_field() {
        let refused = |change: &dyn Fn(&mut NewOrder)| created_from(|request| change(request)).expect_err("refused");
        let sale = |number: usize| ActivityId::new(format!("SALE{number}")).expect("an activity");
        for (field, invalid) in [
            ("lines", refused(&|request| request.lines.clear())),
            (
                "lines",
                refused(&|request| request.lines = (0..=limits::LINES).map(|n| line(&n.to_string(), 1, 1)).collect()),
            ),
            ("lines", refused(&|request| request.lines = vec![line("A", 1, PAYABLE), line("A", 1, PAYABLE)])),
            ("lines", refused(&|request| request.lines = vec![line("A", limits::QUANTITY, limits::AMOUNT)])),
            ("lines", refused(&|request| request.lines = ["A", "B"].map(|sku| line(sku, 1, limits::AMOUNT)).into())),
            (
                "quotas",
                refused(&|request| request.quotas = (0..=limits::QUOTAS).map(|n| (sale(n), quantity(1))).collect()),
            ),
            ("quotas", refused(&|request| request.quotas = vec![(sale(1), quantity(limits::QUANTITY)); 2])),
            ("payable_amount", refused(&|request| request.payable = amount(PAYABLE + 1))),
            ("expiry_rule", refused(&|request| request.rule = RuleId::new("other").expect("a rule"))),
        ] {
            assert_eq!(invalid.field(), field, "{invalid}");
        }
        let most = created_from(|request| {
            request.lines = (0..limits::LINES).map(|n| line(&n.to_string(), 1, PAYABLE)).collect()
        });
        assert!(most.is_ok(), "{} lines are an order", limits::LINES);
    }

    #[test]
    fn without_a_cap_nobody_is_counted() {
        let Creation { order, rows } = create(request("default"), &rules(), None, created()).expect("an order");
        assert!(!order.counted_open);
        assert!(!rows.iter().any(|row| matches!(row, Row::OpenOrders { .. })));
    }
}

mod settling {
    use super::*;

    #[test]
    fn the_orders_status_says_which_way_it_goes() {
        for (order, hold, change) in [
            (order().paid().build(), HoldStatus::Confirmed, CounterChange::Confirm(quantity(2))),
            (order().closed().build(), HoldStatus::Released, CounterChange::Release(quantity(2))),
        ] {
            let run = settle(&order, STOCK, &world());
            assert_eq!((run.outcome, run.order.lines[0].hold), (SettleOutcome::Settled, hold));
            assert_eq!(run.rows, [Row::Counter { key: CounterKey::Stock(stock("SKU")), change }]);
            assert!(!run.order.pending.contains(&STOCK), "removed in the transaction that makes it final");
            let again = settle(&run.order, STOCK, &world());
            assert_eq!((again.outcome, again.changed_nothing()), (SettleOutcome::NothingToDo, true), "I6, b18");
        }
    }

    #[test]
    fn nothing_is_settled_on_an_order_that_is_not_terminal() {
        for order in [order().build(), order().attempt(attempt()).build(), order().attempt(attempt()).closing().build()]
        {
            let mut order = order;
            order.pending.insert(STOCK);
            let run = settle(&order, STOCK, &world());
            assert_eq!((run.outcome, run.changed_nothing()), (SettleOutcome::NotTerminal, true), "I3, I4");
        }
    }

    #[test]
    fn the_order_leaves_the_due_index_with_its_last_unit() {
        let mut order = order().holding_everything().closed().build();
        let world = world().coupon(&order, |_| {});
        let units: Vec<Unit> = order.pending.iter().cloned().collect();
        assert_eq!(units.len(), 5);
        for unit in units {
            assert!(order.due_at.is_some(), "before {unit}");
            order = settle(&order, unit, &world).order;
        }
        assert_eq!((order.due_at, order.pending.len(), order.counted_open), (None, 0, false));
        assert_eq!(breaches(&order), Vec::new());
    }

    fn two_lines() -> OrderScene {
        let second = expiry_core::reservation::Line {
            stock: stock("OTHER"),
            quantity: quantity(1),
            unit_price: amount(1),
            hold: HoldStatus::Reserved,
        };
        order().with(|order| order.lines.push(second)).closed()
    }

    #[test]
    fn an_entry_whose_counter_does_not_hold_it_is_set_aside_and_the_rest_is_settled() {
        let missing = CounterKey::Stock(stock("SKU"));
        let run = settle(&two_lines().build(), STOCK, &world().misses(missing.clone()));
        let aside = Unit::Anomaly(ResourceKind::Stock, missing.to_string());
        assert!(run.order.pending.contains(&aside) && !run.order.pending.contains(&STOCK));
        assert_eq!(
            run.order.lines.iter().map(|line| line.hold).collect::<Vec<_>>(),
            [HoldStatus::Reserved, HoldStatus::Released]
        );
        assert_eq!(run.rows.len(), 1);
        assert!(matches!(run.signals[..], [Signal::ReservationAnomaly(_)]));
        // A person may have it tried again: in vain, then with success.
        let in_vain = settle(&run.order, aside.clone(), &world().misses(missing));
        assert_eq!((in_vain.outcome, in_vain.changed_nothing()), (SettleOutcome::StillAside, true));
        let done = settle(&run.order, aside, &world());
        assert_eq!((done.outcome, done.order.lines[0].hold), (SettleOutcome::Settled, HoldStatus::Released));
        assert_eq!((done.rows.len(), done.order.due_at), (1, None));
    }

    #[test]
    fn an_entry_that_left_reserved_before_moves_no_counter() {
        let scene = two_lines().with(|order| order.lines[0].hold = HoldStatus::Released);
        let run = settle(&scene.build(), STOCK, &world());
        assert_eq!(run.rows.len(), 1, "b22: no negative counter");
        assert!(matches!(run.signals[..], [Signal::ReservationAnomaly(_)]), "alarm");
        assert_eq!(run.order.due_at, None, "the close completes");
    }

    #[test]
    fn a_coupon_comes_back_as_its_terms_say_judged_at_the_moment_of_closing() {
        let closed = order().holding_everything().closed().build();
        let at = closed.closed_at.expect("closed");
        type Terms = fn(&mut CouponTerms);
        let stopped: Terms = |terms| (terms.campaign_active, terms.refundable) = (false, false);
        let kept: Terms = |terms| terms.refundable = false;
        for (change, status, reason) in [
            ((|_| {}) as Terms, CouponStatus::Available, None),
            (stopped, CouponStatus::Void, Some(CouponReason::CampaignStopped)),
            (kept, CouponStatus::Void, Some(CouponReason::NotRefundable)),
        ] {
            let run = settle(&closed, COUPON, &world().coupon(&closed, change));
            let coupon = run.order.coupon.expect("a coupon");
            assert_eq!((coupon.status, coupon.reason), (status, reason), "b26");
            assert!(
                matches!(run.rows[..], [Row::Coupon { change: CouponChange::GiveBack { to, .. }, .. }] if to == status)
            );
        }
        // Settled long after: what counts is when the order was closed.
        for (valid_until, status) in [(at, CouponStatus::Expired), (at.plus(millis(1)), CouponStatus::Available)] {
            let run = settle(&closed, COUPON, &world().coupon(&closed, |terms| terms.valid_until = valid_until));
            assert_eq!(run.order.coupon.map(|coupon| coupon.status), Some(status));
        }
    }

    #[test]
    fn a_coupon_that_the_order_does_not_hold_is_set_aside() {
        let closed = order().holding_everything().closed().build();
        type Terms = fn(&mut CouponTerms);
        let lost: [Terms; 2] = [|terms| terms.holder = None, |terms| terms.status = CouponStatus::Available];
        let mut worlds: Vec<World> = lost.map(|change| world().coupon(&closed, change)).into();
        worlds.push(world());
        for world in worlds {
            let run = settle(&closed, COUPON, &world);
            let aside = Unit::Anomaly(ResourceKind::Coupon, "COUPON".to_owned());
            assert!(run.order.pending.contains(&aside) && run.rows.is_empty());
            assert_eq!(run.order.coupon.as_ref().map(|coupon| coupon.status), Some(CouponStatus::Locked));
        }
    }

    #[test]
    fn terms_are_read_anew_when_the_write_did_not_find_them_as_read_and_kept_whatever_else_it_refused() {
        let closed = order().holding_everything().closed().build();
        let asks_again = |refusal: Refusal| {
            let mut known = Knowledge::default();
            let settle = Settle { unit: COUPON };
            let Decision::Ask(question) = decide(&closed, &settle, &known, later()) else { panic!("it asks") };
            known.learn(&closed, world().coupon(&closed, |_| {}).answer(&question, later()));
            known.refuse(closed.version, refusal);
            matches!(decide(&closed, &settle, &known, later()), Decision::Ask(_))
        };
        assert!(asks_again(Refusal::Coupon));
        assert!(!asks_again(Refusal::OpenOrders));
    }

    #[test]
    fn the_users_count_goes_down_and_where_it_cannot_a_person_hears_of_it() {
        let closed = order().holding_everything().closed().build();
        let settled = |refusal: Option<Refusal>| {
            let mut known = Knowledge::default();
            refusal.into_iter().for_each(|refusal| known.refuse(closed.version, refusal));
            let Decision::Commit(commit) = decide(&closed, &Settle { unit: Unit::Cap }, &known, later()) else {
                panic!("it commits")
            };
            assert!(!commit.order.counted_open && !commit.order.pending.contains(&Unit::Cap));
            (commit.rows.len(), commit.signals.len())
        };
        assert_eq!(settled(None), (1, 0));
        assert_eq!(settled(Some(Refusal::Coupon)), (1, 0));
        assert_eq!(settled(Some(Refusal::OpenOrders)), (0, 1));
    }

    #[test]
    fn a_paid_orders_coupon_is_used() {
        let paid = order().holding_everything().paid().build();
        let run = settle(&paid, COUPON, &world().coupon(&paid, |terms| terms.campaign_active = false));
        assert_eq!(run.order.coupon.map(|coupon| coupon.status), Some(CouponStatus::Used));
    }
}
