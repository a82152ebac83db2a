//! The money rules of DESIGN §3, "fact meets | result", as a table: wherever the left side happens, the right side follows (always);
//! and every left side does happen (sometimes).

use expiry_core::attempt::{Attempt, AttemptStatus, Receipt, Standing};
use expiry_core::fact::Success;
use expiry_core::ids::AttemptNo;
use expiry_core::money::Amount;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::signal::Signal;

use crate::payer::taken;
use crate::world::{Met, World};

/// One row of the table.
pub struct Row {
    /// The row, as DESIGN §3 words it.
    pub text: &'static str,
    /// Whether its left side happened in the last step.
    pub meets: fn(&World) -> bool,
    /// Whether its right side came of it.
    pub follows: fn(&World) -> bool,
}

/// The table.
pub const TABLE: [Row; 14] = [
    Row {
        text: "trusted success, order PENDING_PAYMENT / PAYING / CLOSING | counts; the order is PAID as soon as counted \
               money ≥ payable amount",
        meets: |world| case(world).is_some_and(|case| case.is_new_trusted() && !case.before.status.is_terminal()),
        follows: |world| {
            let order = &world.order;
            let is_paid = order.status == OrderStatus::Paid;
            (order.counted() >= order.payable) == is_paid && stands(world, Standing::Counted)
        },
    },
    Row {
        text: "… order PENDING_PAYMENT / PAYING / CLOSING | a leg below it changes only attempt and `paid_amount`",
        meets: |world| {
            let told = |case: &Case<'_>| case.met.acknowledged.is_some() && case.is_new_trusted();
            case(world).is_some_and(|case| told(&case) && case.sum() < case.before.payable && is_open(case.before))
        },
        follows: |world| {
            case(world).is_some_and(|case| {
                let (was, is) = (case.before, &world.order);
                let mut asked = is.pending.clone();
                asked.extend(was.pending.contains(&Unit::Ask(case.no)).then_some(Unit::Ask(case.no)));
                was.status == is.status && is.paid_amount() == case.sum() && was.pending == asked
            })
        },
    },
    Row {
        text: "… order PENDING_PAYMENT / PAYING / CLOSING | the success that takes the sum over is refunded by the excess",
        meets: |world| {
            let over = |case: &Case<'_>| case.is_new_trusted() && case.sum() > case.before.payable;
            case(world).is_some_and(|case| over(&case) && is_open(case.before))
        },
        follows: |world| {
            let excess = |case: &Case<'_>| case.sum().less(case.before.payable);
            world.order.status == OrderStatus::Paid && case(world).is_some_and(|case| case.is_refunded(excess(&case)))
        },
    },
    Row {
        text: "… order PENDING_PAYMENT / PAYING / CLOSING | several successes in one adjudication apply in attempt order",
        meets: |world| several(world).is_some_and(|met| is_open(&met.before)),
        follows: |world| {
            let Some(met) = several(world) else { return false };
            let mut heard: Vec<_> = met.heard.iter().collect();
            heard.sort_by_key(|(no, _)| *no);
            let mut sum = met.before.counted();
            heard.into_iter().all(|(no, success)| {
                let needed = world.order.payable.less(sum);
                sum = sum.plus(success.paid.amount);
                refunded(&world.order, *no) == success.paid.amount.less(needed)
            })
        },
    },
    Row {
        text: "… order CLOSED | stays CLOSED; attempt SUCCEEDED; refunded whole",
        meets: |world| {
            case(world).is_some_and(|case| case.is_new_trusted() && case.before.status == OrderStatus::Closed)
        },
        follows: |world| world.order.status == OrderStatus::Closed && is_refunded_whole(world),
    },
    Row {
        text: "… order PAID, same transaction | no change",
        meets: |world| case(world).is_some_and(|case| case.is_known() && case.before.status == OrderStatus::Paid),
        follows: nothing_changed,
    },
    Row {
        text: "… order PAID, another transaction | refunded whole",
        meets: |world| case(world).is_some_and(|case| case.is_new_trusted() && case.before.status == OrderStatus::Paid),
        follows: |world| world.order.status == OrderStatus::Paid && is_refunded_whole(world),
    },
    Row {
        text: "same attempt, another transaction id | changes nothing; alarm, finding, a person",
        meets: |world| {
            let other = |case: &Case<'_>| case.fits() && case.recorded().is_some() && !case.is_known();
            case(world).is_some_and(|case| other(&case) && case.success.transaction != taken())
        },
        follows: |world| nothing_changed(world) && alarms(world, Signal::SecondTransaction),
    },
    Row {
        text: "transaction already recorded for another order or attempt | refused, alarm, finding",
        meets: |world| {
            case(world).is_some_and(|case| {
                case.fits() && case.is_taken() && case.recorded().is_none() && case.met.acknowledged.is_some()
            })
        },
        follows: |world| nothing_changed(world) && is_refused(world) && alarms(world, Signal::TransactionTaken),
    },
    Row {
        text: "transaction already recorded for another order or attempt | found by a query it is UNKNOWN: neither PAID \
               nor CLOSED, needs attention",
        meets: |world| {
            let queried = |case: &Case<'_>| case.met.acknowledged.is_none() && case.fits() && case.is_taken();
            case(world).is_some_and(|case| queried(&case) && case.before.status == OrderStatus::Closing)
        },
        follows: |world| {
            let task = world.order.closing.as_ref();
            world.order.status == OrderStatus::Closing
                && task.is_some_and(|task| task.needs_attention)
                && case(world).is_some_and(|case| case.is.is_some_and(|is| is.status == AttemptStatus::Unknown))
        },
    },
    Row {
        text: "callback with bad merchant, currency, amount, unknown order | refused (never 2xx), no change; a mismatch on \
               one of our numbers asks the channel (`ask:<n>`)",
        meets: |world| case(world).is_some_and(|case| !case.fits() && case.met.acknowledged.is_some()),
        follows: |world| {
            case(world).is_some_and(|case| {
                let asked = world.order.pending.contains(&Unit::Ask(case.no));
                let is_same = case.before.attempts == world.order.attempts && case.before.status == world.order.status;
                is_refused(world) && is_same && (asked || case.is.is_none_or(|is| is.receipt.is_some()))
            })
        },
    },
    Row {
        text: "query: success with another amount or currency | SUCCEEDED(mismatch): does not count, does not hinder \
               CLOSED, its actual amount refunded, alarm",
        meets: |world| {
            let queried = |case: &Case<'_>| case.met.acknowledged.is_none() && !case.fits() && !case.is_taken();
            case(world).is_some_and(|case| queried(&case) && case.recorded().is_none())
        },
        follows: |world| {
            let left = |case: &Case<'_>| case.success.paid.amount.less(case.success.refunded);
            stands(world, Standing::Mismatch)
                && alarms(world, Signal::AmountMismatch)
                && case(world).is_some_and(|case| case.is_refunded(left(&case)) && !case.became_paid(world))
        },
    },
    Row {
        text: "query: success already refunded, on an attempt not yet SUCCEEDED | SUCCEEDED(refunded): never PAID; what is \
               left of it is refunded once, alarm",
        meets: |world| {
            let refunded = |case: &Case<'_>| case.fits() && !case.is_taken() && !case.success.refunded.is_zero();
            case(world).is_some_and(|case| refunded(&case) && case.recorded().is_none())
        },
        follows: |world| {
            let left = |case: &Case<'_>| case.success.paid.amount.less(case.success.refunded);
            stands(world, Standing::RefundedElsewhere)
                && alarms(world, Signal::RefundedElsewhere)
                && case(world).is_some_and(|case| case.is_refunded(left(&case)) && !case.became_paid(world))
        },
    },
    Row {
        text: "partly paid at expiry or cancel | CLOSED and every succeeded transaction refunded",
        meets: |world| world.order.status == OrderStatus::Closed && !world.order.counted().is_zero(),
        follows: |world| {
            world.order.numbered_attempts().all(|(no, attempt)| {
                let foreign = world.payment(no).paid().is_some_and(|paid| !paid.success.refunded.is_zero());
                attempt.counted().is_none_or(|amount| foreign || refunded(&world.order, no) == amount)
            })
        },
    },
];

/// One success that met the order.
struct Case<'a> {
    met: &'a Met,
    no: AttemptNo,
    success: &'a Success,
    before: &'a Order,
    was: Option<&'a Attempt>,
    is: Option<&'a Attempt>,
}

fn case(world: &World) -> Option<Case<'_>> {
    let met = world.met.as_ref()?;
    let [(no, success)] = met.heard.as_slice() else { return None };
    let (was, is) = (met.before.attempt(*no), world.order.attempt(*no));
    Some(Case { met, no: *no, success, before: &met.before, was, is })
}

fn several(world: &World) -> Option<&Met> {
    world.met.as_ref().filter(|met| met.heard.len() > 1)
}

impl Case<'_> {
    /// Number, merchant, currency and amount are those stored on the attempt.
    fn fits(&self) -> bool {
        self.was.is_some_and(|attempt| {
            self.success.out_trade_no == self.before.out_trade_no(self.no).to_string()
                && self.success.merchant == attempt.merchant
                && self.success.paid.currency == self.before.currency
                && self.success.paid.amount == attempt.amount
        })
    }

    fn recorded(&self) -> Option<&Receipt> {
        self.was.and_then(|attempt| attempt.receipt.as_ref())
    }

    fn is_known(&self) -> bool {
        self.recorded().is_some_and(|receipt| receipt.transaction == self.success.transaction)
    }

    fn is_taken(&self) -> bool {
        self.success.transaction == taken()
    }

    fn is_new_trusted(&self) -> bool {
        self.fits() && !self.is_taken() && self.recorded().is_none() && self.success.refunded.is_zero()
    }

    /// Counted money with this success.
    fn sum(&self) -> Amount {
        self.before.counted().plus(self.success.paid.amount)
    }

    fn is_refunded(&self, amount: Amount) -> bool {
        self.is.and_then(|is| is.refund.as_ref()).map_or(Amount::ZERO, |refund| refund.money.amount) == amount
    }

    fn became_paid(&self, world: &World) -> bool {
        self.before.status != OrderStatus::Paid && world.order.status == OrderStatus::Paid
    }
}

fn is_open(order: &Order) -> bool {
    !order.status.is_terminal()
}

fn refunded(order: &Order, no: AttemptNo) -> Amount {
    let refund = order.attempt(no).and_then(|attempt| attempt.refund.as_ref());
    refund.map_or(Amount::ZERO, |refund| refund.money.amount)
}

fn is_refunded_whole(world: &World) -> bool {
    case(world).is_some_and(|case| {
        let succeeded = case.is.is_some_and(|is| is.status == AttemptStatus::Succeeded);
        succeeded && case.is_refunded(case.success.paid.amount)
    })
}

fn stands(world: &World, standing: Standing) -> bool {
    let receipt = case(world).and_then(|case| case.is).and_then(|is| is.receipt.as_ref());
    receipt.is_some_and(|receipt| receipt.standing == standing)
}

fn nothing_changed(world: &World) -> bool {
    world.met.as_ref().is_some_and(|met| met.before == world.order)
}

fn is_refused(world: &World) -> bool {
    world.met.as_ref().is_some_and(|met| met.acknowledged == Some(false))
}

fn alarms(world: &World, alarm: fn(AttemptNo) -> Signal) -> bool {
    case(world).is_some_and(|case| case.met.signals.contains(&alarm(case.no)))
}
