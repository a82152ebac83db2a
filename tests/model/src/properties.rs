//! What always holds, and what sometimes happens.

use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::CloseReason;
use expiry_core::money::Amount;
use expiry_core::order::OrderStatus;
use expiry_core::refund::RefundStatus;
use expiry_core::reservation::{CouponStatus, HoldStatus, ResourceKind};
use stateright::Property;

use crate::cast::Cast;
use crate::channel::{Given, Payment};
use crate::money::TABLE;
use crate::rows::{Counter, OF_OTHERS, ON_HAND};
use crate::run::Job;
use crate::world::World;

/// Every property of a cast. A condition of `stateright` is a plain function that captures nothing: hence a line for each, and the
/// constant parameters of the table.
#[must_use]
pub fn properties() -> Vec<Property<Cast>> {
    let mut properties = always();
    properties.extend(statuses());
    properties.extend(money());
    properties
}

/// DESIGN §2, and what follows from it for the world around the order.
fn always() -> Vec<Property<Cast>> {
    let always = Property::<Cast>::always;
    vec![
        always("I1: one final outcome, absorbing; nothing returns to PENDING_PAYMENT", |_, it| it.keeps("I1")),
        always("I2: no success is overwritten by a close; money that no PAID order needs is refunded", |_, it| {
            it.keeps("I2")
        }),
        always("I3: an unknown payment result releases nothing", |_, it| it.keeps("I3")),
        always("I4: CONFIRMED ⇒ PAID; nothing is released on a PAID order", |_, it| it.keeps("I4")),
        always("I5: every counter balances, and reserves what the order has RESERVED", |_, it| it.counters_balance()),
        always("I6: a reservation leaves RESERVED once", |_, it| it.keeps("I6")),
        always("I7: expire_at never decreases", |_, it| it.keeps("I7")),
        always("I7: the expiry path never closes before expire_at", |_, it| it.closes_in_time()),
        always("I8: a terminal order leaves the due index with everything settled", |_, it| it.leaves_nothing()),
        always("I9: a finished refund stays, and no more is refunded than came", |_, it| it.keeps("I9")),
        always("I9: one refund at the channel per transaction", |_, it| it.refunds_once()),
        always("I10: no credential leaves for an order that is not payable", |_, it| it.keeps("I10")),
        always("I11: every transition stores its evidence", |_, it| it.keeps("I11")),
        always("I12: what waits for something is in the due index, and nothing else", |_, it| it.keeps("I12")),
        always("I13: on a terminal order every attempt is settled, SUCCEEDED, or asked about", |_, it| it.keeps("I13")),
        always("no decision fails an assertion of its own", |_, it| it.keeps("assertion")),
        always("§3: an attempt settled without money cannot be paid any more", |_, it| it.settled_means_over()),
        always("§3: the channel holds what the order needs, and what is being refunded", |_, it| it.money_balances()),
        always("§3: our own refunds never count as foreign", |_, it| it.foreign_is_foreign()),
        always("§3: wherever a fact meets an order, the result is its row's", |_, it| {
            TABLE.iter().all(|row| !(row.meets)(it) || (row.follows)(it))
        }),
    ]
}

/// Every state of the four machines of DESIGN §3.
fn statuses() -> Vec<Property<Cast>> {
    let sometimes = Property::<Cast>::sometimes;
    vec![
        sometimes("order PENDING_PAYMENT", |_, it| it.order.status == OrderStatus::PendingPayment),
        sometimes("order PAYING", |_, it| it.order.status == OrderStatus::Paying),
        sometimes("order CLOSING", |_, it| it.order.status == OrderStatus::Closing),
        sometimes("order PAID", |_, it| it.order.status == OrderStatus::Paid),
        sometimes("order CLOSED", |_, it| it.order.status == OrderStatus::Closed),
        sometimes("attempt INITIATED", |_, it| it.has_attempt(AttemptStatus::Initiated)),
        sometimes("attempt PROCESSING", |_, it| it.has_attempt(AttemptStatus::Processing)),
        sometimes("attempt UNKNOWN", |_, it| it.has_attempt(AttemptStatus::Unknown)),
        sometimes("attempt FAILED", |_, it| it.has_attempt(AttemptStatus::Failed)),
        sometimes("attempt CLOSED", |_, it| it.has_attempt(AttemptStatus::Closed)),
        sometimes("attempt SUCCEEDED(counted)", |_, it| it.has_money(Standing::Counted)),
        sometimes("attempt SUCCEEDED(surplus)", |_, it| it.has_money(Standing::Surplus)),
        sometimes("attempt SUCCEEDED(mismatch)", |_, it| it.has_money(Standing::Mismatch)),
        sometimes("attempt SUCCEEDED(refunded)", |_, it| it.has_money(Standing::RefundedElsewhere)),
        sometimes("refund PENDING", |_, it| it.has_refund(RefundStatus::Pending)),
        sometimes("refund SUBMITTED", |_, it| it.has_refund(RefundStatus::Submitted)),
        sometimes("refund SUCCEEDED", |_, it| it.has_refund(RefundStatus::Succeeded)),
        sometimes("refund FAILED", |_, it| it.has_refund(RefundStatus::Failed)),
        sometimes("a second refund number, after the first is dead", |_, it| it.has_second_number()),
        sometimes("everything RESERVED", |_, it| it.holds_all(HoldStatus::Reserved)),
        sometimes("everything CONFIRMED", |_, it| it.holds_all(HoldStatus::Confirmed)),
        sometimes("everything RELEASED", |_, it| it.holds_all(HoldStatus::Released)),
        sometimes("coupon LOCKED", |_, it| it.has_coupon(CouponStatus::Locked)),
        sometimes("coupon USED", |_, it| it.has_coupon(CouponStatus::Used)),
        sometimes("coupon AVAILABLE", |_, it| it.has_coupon(CouponStatus::Available)),
        sometimes("coupon EXPIRED", |_, it| it.has_coupon(CouponStatus::Expired)),
        sometimes("coupon VOID", |_, it| it.has_coupon(CouponStatus::Void)),
        sometimes("a closer that loses by version starts again at step 1", |_, it| it.closes_again()),
        sometimes("all done: terminal, no work left, out of the due index", |_, it| {
            it.order.status.is_terminal() && it.order.pending.is_empty() && it.order.due_at.is_none()
        }),
    ]
}

/// Every row of the money rules.
fn money() -> Vec<Property<Cast>> {
    fn happens<const ROW: usize>(_: &Cast, world: &World) -> bool {
        (TABLE[ROW].meets)(world) && (TABLE[ROW].follows)(world)
    }
    fn sometimes<const ROW: usize>() -> Property<Cast> {
        Property::sometimes(TABLE[ROW].text, happens::<ROW>)
    }
    vec![
        sometimes::<0>(),
        sometimes::<1>(),
        sometimes::<2>(),
        sometimes::<3>(),
        sometimes::<4>(),
        sometimes::<5>(),
        sometimes::<6>(),
        sometimes::<7>(),
        sometimes::<8>(),
        sometimes::<9>(),
        sometimes::<10>(),
        sometimes::<11>(),
        sometimes::<12>(),
        sometimes::<13>(),
    ]
}

impl World {
    fn keeps(&self, invariant: &str) -> bool {
        self.breaches.iter().all(|breach| breach.invariant != invariant)
    }

    fn counters_balance(&self) -> bool {
        let holds = ResourceKind::ALL.into_iter().flat_map(|kind| self.order.counter_holds(kind));
        holds.into_iter().all(|(key, quantity, hold)| {
            let Counter { available, reserved, sold } = self.rows.counters.get(&key).copied().unwrap_or_default();
            let held = match hold {
                HoldStatus::Reserved => (Some(quantity.get()), 0),
                HoldStatus::Confirmed => (Some(0), quantity.get()),
                HoldStatus::Released => (Some(0), 0),
            };
            available + reserved + sold == ON_HAND && (reserved.checked_sub(OF_OTHERS), sold) == held
        })
    }

    fn closes_in_time(&self) -> bool {
        let by_expiry = self.order.close_reason == Some(CloseReason::Expired);
        let began = self.order.closing.as_ref().map(|task| task.started_at);
        !by_expiry || began.is_none_or(|began| self.order.expire_at.is_some_and(|expire_at| expire_at <= began))
    }

    fn leaves_nothing(&self) -> bool {
        let order = &self.order;
        let is_gone = order.status.is_terminal() && order.due_at.is_none();
        let mut holds = ResourceKind::ALL.into_iter().flat_map(|kind| order.counter_holds(kind));
        let holds_nothing =
            holds.all(|(_, _, hold)| hold != HoldStatus::Reserved) && !self.has_coupon(CouponStatus::Locked);
        let mut refunds = order.attempts.iter().filter_map(|attempt| attempt.refund.as_ref());
        !is_gone || (holds_nothing && refunds.all(|refund| refund.status == RefundStatus::Succeeded))
    }

    fn refunds_once(&self) -> bool {
        self.payments.iter().filter_map(Payment::paid).all(|paid| {
            let done = paid.refunds.values().filter(|given| matches!(given, Given::Done(_) | Given::Accepted(_)));
            done.count() <= 1 && paid.success.refunded.plus(paid.given_back()) <= paid.success.paid.amount
        })
    }

    /// I3 at the channel: what the order calls over is over there, too, unless the channel goes back on its word.
    fn settled_means_over(&self) -> bool {
        self.order.numbered_attempts().all(|(no, attempt)| {
            let over = match self.payment(no) {
                Payment::Unplaced | Payment::Closed => true,
                Payment::UnderWay => !self.may_land(no),
                Payment::NotPay => false,
                Payment::Paid(paid) => paid.against_its_word,
            };
            over || !matches!(attempt.status, AttemptStatus::Closed | AttemptStatus::Failed)
        })
    }

    /// Of the money that is recorded, what is there and not on its way back is what the order needs: the price of a PAID one,
    /// nothing of a CLOSED one. What somebody else has given back is another matter.
    fn money_balances(&self) -> bool {
        let mut kept = Amount::ZERO;
        for (no, attempt) in self.order.numbered_attempts().filter(|(_, attempt)| attempt.receipt.is_some()) {
            let Some(paid) = self.payment(no).paid() else { return false };
            if !paid.success.refunded.is_zero() {
                return true;
            }
            let owed = attempt.refund.as_ref().map_or(Amount::ZERO, |refund| refund.money.amount);
            kept = kept.plus(paid.held().less(owed.less(paid.given_back())));
        }
        kept == match self.order.status {
            OrderStatus::Paid => self.order.payable,
            OrderStatus::Closed => Amount::ZERO,
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => self.order.counted(),
        }
    }

    fn foreign_is_foreign(&self) -> bool {
        self.order.numbered_attempts().all(|(no, attempt)| {
            let standing = attempt.receipt.as_ref().map(|receipt| receipt.standing);
            let foreign = self.payment(no).paid().is_some_and(|paid| !paid.success.refunded.is_zero());
            foreign || standing != Some(Standing::RefundedElsewhere)
        })
    }

    fn closes_again(&self) -> bool {
        let owner = self.order.closing.as_ref().and_then(|task| task.turn.owner.as_ref());
        self.runs.iter().any(|run| run.lost && matches!(run.job, Job::Close(_)) && Some(&run.worker) == owner)
    }

    fn has_attempt(&self, status: AttemptStatus) -> bool {
        self.order.attempts.iter().any(|attempt| attempt.status == status)
    }

    fn has_money(&self, standing: Standing) -> bool {
        self.order.attempts.iter().filter_map(|it| it.receipt.as_ref()).any(|receipt| receipt.standing == standing)
    }

    fn has_refund(&self, status: RefundStatus) -> bool {
        self.order.attempts.iter().filter_map(|it| it.refund.as_ref()).any(|refund| refund.status == status)
    }

    fn has_second_number(&self) -> bool {
        self.order.attempts.iter().filter_map(|it| it.refund.as_ref()).any(|refund| refund.k > 1)
    }

    fn holds_all(&self, status: HoldStatus) -> bool {
        let kinds = [ResourceKind::Stock, ResourceKind::Points, ResourceKind::Quota];
        kinds.into_iter().all(|kind| self.order.counter_holds(kind).iter().any(|(_, _, hold)| *hold == status))
    }

    fn has_coupon(&self, status: CouponStatus) -> bool {
        self.order.coupon.as_ref().is_some_and(|coupon| coupon.status == status)
    }
}
