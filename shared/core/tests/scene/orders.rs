//! Orders, built from what matters.

use expiry_core::attempt::{Attempt, AttemptStatus, Receipt, Standing};
use expiry_core::closing::{AskTask, CloseReason, CloseTask, CloseTrigger, Turn};
use expiry_core::decide::create::{NewLine, NewOrder, create};
use expiry_core::evidence::{Actor, Evidence};
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::ids::{ActivityId, Batch, CouponId, Method, OrderId, RuleId, Sku, TransactionId, UserId, Warehouse};
use expiry_core::initiator::Initiator;
use expiry_core::invariants::breaches;
use expiry_core::money::Money;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::refund::{Refund, RefundStatus};
use expiry_core::reservation::{
    CouponHold, CouponStatus, HoldStatus, PointsHold, Quantity, QuotaHold, ResourceKind, StockKey,
};
use expiry_core::time::Timestamp;

use super::*;

/// An order being built.
#[derive(Clone)]
pub(crate) struct OrderScene(Order);

pub(crate) fn quantity(units: u64) -> Quantity {
    Quantity::new(units).expect("a quantity")
}

pub(crate) fn stock(sku: &str) -> StockKey {
    StockKey {
        sku: Sku::new(sku).expect("a sku"),
        warehouse: Warehouse::new("default").expect("a warehouse"),
        batch: Batch::new("default").expect("a batch"),
    }
}

pub(crate) fn rules() -> ExpiryRules {
    let rule = |id: &str, seconds, never| RuleDefinition {
        id: RuleId::new(id).expect("a rule id"),
        version: 1,
        seconds,
        never,
    };
    let window = i64::try_from(WINDOW.as_secs()).expect("a window");
    ExpiryRules::new(vec![rule("default", Some(window), None), rule("forever", None, Some(true))]).expect("rules")
}

pub(crate) fn request(rule: &str) -> NewOrder {
    NewOrder {
        id: OrderId::from_bits([7; 15]),
        body_digest: [1; 16],
        user: UserId::new("user").expect("a user"),
        currency: currency("EUR"),
        lines: vec![NewLine { stock: stock("SKU"), quantity: quantity(2), unit_price: amount(PAYABLE / 2) }],
        coupon: None,
        points: None,
        quotas: Vec::new(),
        payable: amount(PAYABLE),
        rule: RuleId::new(rule).expect("a rule id"),
        source: None,
    }
}

/// An order of 100.00 EUR with one line, PENDING_PAYMENT.
pub(crate) fn order() -> OrderScene {
    OrderScene(create(request("default"), &rules(), None, created()).expect("an order").order)
}

/// The same under a rule by which it never expires.
pub(crate) fn never_expiring() -> OrderScene {
    OrderScene(create(request("forever"), &rules(), None, created()).expect("an order").order)
}

impl OrderScene {
    /// It also holds a coupon, points, a flash-sale slot, and its place among the user's open orders.
    pub(crate) fn holding_everything(mut self) -> Self {
        let hold = HoldStatus::Reserved;
        self.0.coupon = Some(CouponHold {
            id: CouponId::new("COUPON").expect("a coupon"),
            status: CouponStatus::Locked,
            reason: None,
        });
        self.0.points = Some(PointsHold { quantity: quantity(5), hold });
        let activity = ActivityId::new("SALE").expect("an activity");
        self.0.quotas = vec![QuotaHold { activity, quantity: quantity(1), hold }];
        self.0.counted_open = true;
        self
    }

    pub(crate) fn attempt(mut self, attempt: AttemptScene) -> Self {
        if self.0.status == OrderStatus::PendingPayment {
            self = self.moved(OrderStatus::Paying, "payment");
        }
        let no = AttemptNo::at_index(self.0.attempts.len()).expect("an attempt number");
        let mut attempt = attempt.0;
        if let Some(receipt) = &mut attempt.receipt
            && receipt.transaction.as_str() == OWN_TRANSACTION
        {
            receipt.transaction = own_transaction(&self.0, no);
        }
        if attempt.refund.as_ref().is_some_and(|refund| refund.status != RefundStatus::Succeeded) {
            self.0.pending.insert(Unit::Refund(no));
        }
        self.0.attempts.push(attempt);
        self
    }

    /// It is CLOSING, held by [`me`], who claimed it at [`due`].
    pub(crate) fn closing(self) -> Self {
        self.closing_with(Turn::leased(me(), due().plus(LEASE)))
    }

    pub(crate) fn closing_with(self, turn: Turn) -> Self {
        let mut scene = self.moved(OrderStatus::Closing, "wake");
        scene.0.close_reason = Some(CloseReason::Expired);
        scene.0.closing = Some(CloseTask {
            started_at: due(),
            trigger: CloseTrigger::Wake,
            attempts: 1,
            turn,
            needs_attention: false,
            last_error: None,
        });
        scene
    }

    /// How often the close was claimed so far.
    pub(crate) fn tried(mut self, times: u16) -> Self {
        if let Some(task) = &mut self.0.closing {
            task.attempts = times;
        }
        self
    }

    /// It is PAID, with its work before it; by attempt 1 if it has none.
    pub(crate) fn paid(mut self) -> Self {
        if self.0.attempts.is_empty() {
            self = self.attempt(attempt().succeeded(Standing::Counted));
        }
        self = self.moved(OrderStatus::Paid, "callback");
        self.0.paid_at = Some(in_time());
        self.ended()
    }

    /// It is CLOSED, with its work before it.
    pub(crate) fn closed(mut self) -> Self {
        self = self.moved(OrderStatus::Closed, "wake");
        self.0.closed_at = Some(due());
        self.0.close_reason = Some(CloseReason::Expired);
        let counted = |(no, attempt): (AttemptNo, &Attempt)| attempt.counted().map(|_| no);
        for no in self.0.numbered_attempts().filter_map(counted).collect::<Vec<_>>() {
            let attempt = &mut self.0.attempts[no.index()];
            if let (Some(receipt), None) = (&attempt.receipt, &attempt.refund) {
                attempt.refund = Some(Refund::owed(receipt.paid));
                self.0.pending.insert(Unit::Refund(no));
            }
        }
        self.ended()
    }

    fn ended(mut self) -> Self {
        if let Some(task) = &mut self.0.closing {
            task.turn = Turn::default();
        }
        for kind in ResourceKind::ALL {
            if self.0.holds(kind) {
                self.0.pending.insert(Unit::Settle(kind));
            }
        }
        if self.0.counted_open {
            self.0.pending.insert(Unit::Cap);
        }
        let unsettled: Vec<_> = self.0.unsettled_attempts().map(|(no, _)| Unit::Ask(no)).collect();
        self.0.pending.extend(unsettled);
        self
    }

    /// Everything it held is confirmed, or given back.
    pub(crate) fn settled(mut self) -> Self {
        let (hold, coupon) = match self.0.status {
            OrderStatus::Paid => (HoldStatus::Confirmed, CouponStatus::Used),
            OrderStatus::Closed => (HoldStatus::Released, CouponStatus::Available),
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => {
                panic!("only a terminal order is settled")
            }
        };
        self.0.pending.retain(|unit| !matches!(unit, Unit::Settle(_) | Unit::Cap));
        self.0.counted_open = false;
        self.every_hold(hold, coupon)
    }

    /// Whatever it holds stands so, fit or not.
    pub(crate) fn every_hold(mut self, hold: HoldStatus, coupon: CouponStatus) -> Self {
        self.0.lines.iter_mut().for_each(|line| line.hold = hold);
        self.0.points.iter_mut().for_each(|points| points.hold = hold);
        self.0.quotas.iter_mut().for_each(|quota| quota.hold = hold);
        self.0.coupon.iter_mut().for_each(|held| held.status = coupon);
        self
    }

    pub(crate) fn pending(mut self, unit: Unit) -> Self {
        self.0.pending.insert(unit);
        self
    }

    pub(crate) fn asking(mut self, attempts: u16, turn: Turn) -> Self {
        self.0.asking = Some(AskTask { attempts, turn, needs_attention: false, last_error: None });
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Order)) -> Self {
        change(&mut self.0);
        self
    }

    fn moved(mut self, to: OrderStatus, trigger: &str) -> Self {
        self.0.version += 1;
        self.0.status = to;
        self.0.evidence.push(Evidence {
            version: self.0.version,
            at: in_time(),
            to,
            trigger: trigger.to_owned(),
            actor: Actor::System,
            fact: "the scene says so".to_owned(),
        });
        self
    }

    /// The order, which breaks no invariant.
    pub(crate) fn build(self) -> Order {
        let order = self.build_damaged();
        assert_eq!(breaches(&order), Vec::new(), "a scene begins with an order that is whole");
        order
    }

    /// The order, whatever it breaks.
    pub(crate) fn build_damaged(mut self) -> Order {
        self.0.due_at = if stands_in_due_index(&self.0) { Some(self.0.due_at.unwrap_or_else(in_time)) } else { None };
        self.0
    }
}

/// I12, said once more, for the test's sake.
pub(crate) fn stands_in_due_index(order: &Order) -> bool {
    let unsettled = order.unsettled_attempts().next().is_some();
    match order.status {
        OrderStatus::Paid | OrderStatus::Closed => !order.pending.is_empty(),
        OrderStatus::Closing => true,
        OrderStatus::PendingPayment | OrderStatus::Paying => {
            order.expire_at.is_some() || unsettled || !order.pending.is_empty()
        }
    }
}

/// An attempt being built.
#[derive(Clone)]
pub(crate) struct AttemptScene(Attempt);

/// Stands for the transaction the channel gives an attempt by itself, until the attempt has its number.
const OWN_TRANSACTION: &str = "own";

/// The number of the money of attempt `no`, as `sim` gives it.
pub(crate) fn own_transaction(order: &Order, no: AttemptNo) -> TransactionId {
    transaction(&format!("txn-{}", order.out_trade_no(no)))
}

pub(crate) fn transaction(id: &str) -> TransactionId {
    TransactionId::new(id).expect("a transaction")
}

/// An attempt of the whole amount through `sim`, PROCESSING, its credential good until the deadline.
pub(crate) fn attempt() -> AttemptScene {
    AttemptScene(Attempt {
        channel: channel("sim"),
        merchant: merchant("sim-merchant"),
        method: None,
        amount: amount(PAYABLE),
        initiator: Initiator::Customer,
        status: AttemptStatus::Processing,
        place_before: None,
        replaced: false,
        asked_expiry: deadline(),
        channel_expiry: None,
        reference: None,
        first_not_found: None,
        receipt: None,
        refund: None,
    })
}

impl AttemptScene {
    pub(crate) fn amount(mut self, minor: u64) -> Self {
        self.0.amount = amount(minor);
        self
    }

    pub(crate) fn channel(mut self, name: &str) -> Self {
        self.0.channel = channel(name);
        self
    }

    pub(crate) fn method(mut self, name: &str) -> Self {
        self.0.method = Some(Method::new(name).expect("a method"));
        self
    }

    pub(crate) fn status(mut self, status: AttemptStatus) -> Self {
        self.0.status = status;
        self.0.place_before = (status == AttemptStatus::Initiated).then(|| in_time().plus(seconds(10)));
        self
    }

    /// It was placed more than once.
    pub(crate) fn replaced(mut self) -> Self {
        self.0.replaced = true;
        self
    }

    pub(crate) fn expires(mut self, asked: Timestamp, own: Option<Timestamp>) -> Self {
        self.0.asked_expiry = asked;
        self.0.channel_expiry = own;
        self
    }

    pub(crate) fn first_not_found(mut self, at: Timestamp) -> Self {
        self.0.first_not_found = Some(at);
        self
    }

    /// The channel took its money, all of it.
    pub(crate) fn succeeded(mut self, standing: Standing) -> Self {
        let paid = Money { amount: self.0.amount, currency: currency("EUR") };
        self.0.status = AttemptStatus::Succeeded;
        self.0.receipt = Some(Receipt { transaction: transaction(OWN_TRANSACTION), paid, standing });
        self
    }

    /// Of which `minor` are owed back.
    pub(crate) fn refund(mut self, minor: u64, status: RefundStatus) -> Self {
        let sent = status != RefundStatus::Pending;
        self.0.refund = Some(Refund { status, sent, ..Refund::owed(euros(minor)) });
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Attempt)) -> Self {
        change(&mut self.0);
        self
    }
}
