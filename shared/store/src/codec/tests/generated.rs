//! Orders of every shape, whether a decision could ever make them or not: the codec does not judge.

use expiry_core::attempt::{Attempt, AttemptStatus, Receipt, Standing};
use expiry_core::closing::{AskTask, CloseReason, CloseTask, CloseTrigger, Turn};
use expiry_core::decide::create::{NewLine, NewOrder, create};
use expiry_core::evidence::{Actor, Evidence};
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition, RuleRef};
use expiry_core::fact::Cause;
use expiry_core::ids::{
    ActivityId, AttemptNo, Batch, ChannelId, ChannelReference, CouponId, MerchantId, Method, OrderId, RuleId, Sku,
    Source, TransactionId, UserId, Warehouse, WorkerId,
};
use expiry_core::initiator::{Agent, AgentText, Initiator};
use expiry_core::limits;
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::{Pending, Unit};
use expiry_core::refund::{Refund, RefundStatus};
use expiry_core::reservation::{
    CouponHold, CouponReason, CouponStatus, HoldStatus, Line, PointsHold, Quantity, QuotaHold, ResourceKind, StockKey,
};
use expiry_core::time::Timestamp;
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The smallest order: one line, nothing else.
pub(super) fn simple() -> Order {
    let rule = RuleDefinition { id: known("default", RuleId::new), version: 1, seconds: Some(1_800), never: None };
    let rules = ExpiryRules::new(vec![rule]).expect("rules");
    let request = NewOrder {
        id: OrderId::from_bits([7; 15]),
        body_digest: [9; 16],
        user: known("user", UserId::new),
        currency: Currency::parse("CNY").expect("a currency"),
        lines: vec![NewLine {
            stock: StockKey {
                sku: known("SKU", Sku::new),
                warehouse: known("default", Warehouse::new),
                batch: known("default", Batch::new),
            },
            quantity: Quantity::new(1).expect("a quantity"),
            unit_price: Amount::new(100).expect("an amount"),
        }],
        coupon: None,
        points: None,
        quotas: Vec::new(),
        payable: Amount::new(100).expect("an amount"),
        rule: known("default", RuleId::new),
        source: None,
    };
    let now = Timestamp::from_seconds(1_767_225_600).expect("a time");
    create(request, &rules, None, now).expect("an order").order
}

fn known<T, E: std::fmt::Debug>(text: &str, id: impl Fn(String) -> Result<T, E>) -> T {
    id(text.to_owned()).expect("an identifier")
}

/// An identifier of up to its bound, of any script.
fn id<T: std::fmt::Debug, E: std::fmt::Debug>(max: usize, new: fn(String) -> Result<T, E>) -> impl Strategy<Value = T> {
    let ascii = vec(select(b"aZ09-_.:+@!$%&*".map(char::from).to_vec()), 1..=max);
    let any_script = vec(select(vec!['a', 'é', '苹', '果']), 1..=max / 3);
    let text = prop_oneof![ascii, any_script].prop_map(String::from_iter);
    prop_oneof![4 => text, 1 => Just("default".to_owned())].prop_map(move |text| new(text).expect("an identifier"))
}

fn at() -> impl Strategy<Value = Timestamp> {
    prop_oneof![0..=253_402_300_799_999_i64, Just(0), Just(253_402_300_799_999)]
        .prop_map(|millis| Timestamp::from_millis(millis).expect("a time"))
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![0..=limits::AMOUNT, Just(0), Just(limits::AMOUNT)]
        .prop_map(|minor| Amount::new(minor).expect("an amount"))
}

fn currency() -> impl Strategy<Value = Currency> {
    select(vec!["CNY", "EUR", "JPY", "KWD"]).prop_map(|code| Currency::parse(code).expect("a currency"))
}

fn money() -> impl Strategy<Value = Money> {
    (amount(), currency()).prop_map(|(amount, currency)| Money { amount, currency })
}

fn quantity() -> impl Strategy<Value = Quantity> {
    (1..=limits::QUANTITY).prop_map(|units| Quantity::new(units).expect("a quantity"))
}

fn cause() -> impl Strategy<Value = Cause> {
    any::<String>().prop_map(Cause::new)
}

fn worker() -> impl Strategy<Value = WorkerId> {
    any::<[u8; 15]>().prop_map(WorkerId::from_bits)
}

fn turn() -> impl Strategy<Value = Turn> {
    (option::of(at()), option::of(worker())).prop_map(|(next_check_at, owner)| Turn { next_check_at, owner })
}

fn hold() -> impl Strategy<Value = HoldStatus> {
    select(HoldStatus::ALL.to_vec())
}

fn line() -> impl Strategy<Value = Line> {
    let stock = (
        id(limits::SKU_BYTES, Sku::new),
        id(limits::WAREHOUSE_BYTES, Warehouse::new),
        id(limits::BATCH_BYTES, Batch::new),
    );
    (stock, quantity(), amount(), hold()).prop_map(|((sku, warehouse, batch), quantity, unit_price, hold)| Line {
        stock: StockKey { sku, warehouse, batch },
        quantity,
        unit_price,
        hold,
    })
}

fn coupon() -> impl Strategy<Value = CouponHold> {
    let reason = option::of(select(CouponReason::ALL.to_vec()));
    (id(limits::COUPON_ID_BYTES, CouponId::new), select(CouponStatus::ALL.to_vec()), reason)
        .prop_map(|(id, status, reason)| CouponHold { id, status, reason })
}

fn quota() -> impl Strategy<Value = QuotaHold> {
    (id(limits::ACTIVITY_ID_BYTES, ActivityId::new), quantity(), hold())
        .prop_map(|(activity, quantity, hold)| QuotaHold { activity, quantity, hold })
}

fn initiator() -> impl Strategy<Value = Initiator> {
    let text = || "[a-z #é]{1,20}".prop_map(|text| AgentText::try_from(text).expect("an agent's text"));
    let agent = (text(), text(), option::of(text()))
        .prop_map(|(protocol, session, mandate)| Initiator::Agent(Agent { protocol, session, mandate }));
    prop_oneof![Just(Initiator::Customer), agent]
}

fn receipt() -> impl Strategy<Value = Receipt> {
    let transaction = id(limits::TRANSACTION_ID_BYTES, TransactionId::new);
    (transaction, money(), select(Standing::ALL.to_vec())).prop_map(|(transaction, paid, standing)| Receipt {
        transaction,
        paid,
        standing,
    })
}

fn refund() -> impl Strategy<Value = Refund> {
    let status = select(RefundStatus::ALL.to_vec());
    (money(), any::<u8>(), status, any::<u16>(), turn(), option::of(cause()), any::<bool>()).prop_map(
        |(money, k, status, tries, turn, last_error, sent)| {
            let owed = Refund::owed(money);
            Refund { k, status, tries, turn, last_error, sent, ..owed }
        },
    )
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let channel = (
        id(limits::CHANNEL_ID_BYTES, ChannelId::new),
        id(limits::MERCHANT_ID_BYTES, MerchantId::new),
        option::of(id(limits::METHOD_BYTES, Method::new)),
    );
    let state = (amount(), initiator(), select(AttemptStatus::ALL.to_vec()), any::<bool>());
    let times = (option::of(at()), at(), option::of(at()), option::of(at()));
    let reference = option::of(id(limits::CHANNEL_REFERENCE_BYTES, ChannelReference::new));
    let base = (channel, state, times, reference, option::of(refund()), option::of(receipt()));
    // Often enough the money is the attempt's own, and its amount is left out.
    (base, any::<bool>()).prop_map(|((channel, state, times, reference, refund, receipt), own)| {
        let (amount, initiator, status, replaced) = state;
        let whole = |receipt: Receipt| {
            let paid = Money { amount: if own { amount } else { receipt.paid.amount }, ..receipt.paid };
            Receipt { paid, ..receipt }
        };
        Attempt {
            channel: channel.0,
            merchant: channel.1,
            method: channel.2,
            amount,
            initiator,
            status,
            place_before: times.0,
            replaced,
            asked_expiry: times.1,
            channel_expiry: times.2,
            reference,
            first_not_found: times.3,
            receipt: receipt.map(whole),
            refund,
        }
    })
}

fn unit() -> impl Strategy<Value = Unit> {
    let no = || (1..=limits::ATTEMPTS as u64).prop_map(|no| AttemptNo::new(no).expect("a number"));
    let kind = || select(ResourceKind::ALL.to_vec());
    prop_oneof![
        kind().prop_map(Unit::Settle),
        Just(Unit::Cap),
        no().prop_map(Unit::Refund),
        no().prop_map(Unit::Ask),
        (kind(), "[a-z/:]{1,9}").prop_map(|(kind, key)| Unit::Anomaly(kind, key)),
        "[a-z:0-9]{1,9}".prop_map(|text| Unit::parse(&text)),
    ]
}

fn actor() -> impl Strategy<Value = Actor> {
    prop_oneof![Just(Actor::System), Just(Actor::Customer), "[a-z@é]{1,9}".prop_map(Actor::Named)]
}

fn status() -> impl Strategy<Value = OrderStatus> {
    select(OrderStatus::ALL.to_vec())
}

/// Status changes as they pile up: each made by a later version.
fn evidence() -> impl Strategy<Value = Vec<Evidence>> {
    let entry = (at(), status(), any::<String>(), actor(), any::<String>());
    vec(entry, 0..=limits::EVIDENCE).prop_map(|entries| {
        let numbered = (1_u64..).zip(entries);
        numbered
            .map(|(version, (at, to, trigger, actor, fact))| Evidence { version, at, to, trigger, actor, fact })
            .collect()
    })
}

fn close_task() -> impl Strategy<Value = CloseTask> {
    let base = (at(), select(CloseTrigger::ALL.to_vec()), any::<u16>(), turn(), any::<bool>(), option::of(cause()));
    base.prop_map(|(started_at, trigger, attempts, turn, needs_attention, last_error)| CloseTask {
        started_at,
        trigger,
        attempts,
        turn,
        needs_attention,
        last_error,
    })
}

fn ask_task() -> impl Strategy<Value = AskTask> {
    (any::<u16>(), turn(), any::<bool>(), option::of(cause())).prop_map(
        |(attempts, turn, needs_attention, last_error)| AskTask { attempts, turn, needs_attention, last_error },
    )
}

fn rule() -> impl Strategy<Value = RuleRef> {
    (id(limits::RULE_ID_BYTES, RuleId::new), any::<u32>()).prop_map(|(id, version)| RuleRef { id, version })
}

/// Any order.
pub(super) fn order() -> impl Strategy<Value = Order> {
    let head = (
        any::<[u8; 15]>().prop_map(OrderId::from_bits),
        any::<u64>(),
        status(),
        id(limits::USER_ID_BYTES, UserId::new),
        currency(),
        amount(),
        rule(),
        option::of(id(limits::SOURCE_BYTES, Source::new)),
        any::<[u8; 16]>(),
    );
    let held = (
        vec(line(), 1..4),
        option::of(coupon()),
        option::of((quantity(), hold()).prop_map(|(quantity, hold)| PointsHold { quantity, hold })),
        vec(quota(), 0..3),
        any::<bool>(),
    );
    let work = (vec(attempt(), 0..4), btree_set(unit(), 0..6).prop_map(Pending::from_iter), evidence());
    let tasks = (option::of(close_task()), option::of(ask_task()), option::of(select(CloseReason::ALL.to_vec())));
    let times = (at(), option::of(at()), option::of(at()), option::of(at()), option::of(at()));
    (head, held, work, tasks, times).prop_map(|(head, held, work, tasks, times)| Order {
        id: head.0,
        version: head.1,
        status: head.2,
        user: head.3,
        currency: head.4,
        payable: head.5,
        rule: head.6,
        source: head.7,
        body_digest: head.8,
        lines: held.0,
        coupon: held.1,
        points: held.2,
        quotas: held.3,
        counted_open: held.4,
        attempts: work.0,
        pending: work.1,
        evidence: work.2,
        closing: tasks.0,
        asking: tasks.1,
        close_reason: tasks.2,
        created_at: times.0,
        expire_at: times.1,
        due_at: times.2,
        closed_at: times.3,
        paid_at: times.4,
    })
}
