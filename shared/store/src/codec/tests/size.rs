//! The ordinary order stays within 1,024 bytes at every stage of its life: one byte more doubles its writes (DESIGN §6).
//!
//! Measured by the rules of the DynamoDB developer guide, "Item sizes and formats", where they leave a choice the larger way: an
//! attribute is its name and its value; a string its UTF-8 length; a number one byte and one per two significant digits, no zero
//! trimmed; a binary its length; true, false and null one byte; a list or map three bytes and one per element or pair besides what is
//! in it; a set what is in it.

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::attempt::AttemptStatus;
use expiry_core::closing::CloseReason;
use expiry_core::decide::close::{Close, Occasion};
use expiry_core::decide::create::{NewLine, NewOrder, create};
use expiry_core::decide::notified::Notified;
use expiry_core::decide::place_answered::PlaceAnswered;
use expiry_core::decide::refund::WorkRefund;
use expiry_core::decide::settle::Settle;
use expiry_core::decide::start_payment::StartPayment;
use expiry_core::decide::{Answer, Command, Decision, Knowledge, Question, Then, decide};
use expiry_core::evidence::Actor;
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::fact::{
    Asked, AttemptAnswers, Cause, CloseOutcome, Notification, PaymentFact, PlaceOutcome, Placed, RefundFact, Success,
};
use expiry_core::ids::{
    AttemptNo, Batch, ChannelId, CouponId, MerchantId, NotifyId, OrderId, RuleId, Sku, Source, TransactionId, UserId,
    Warehouse, WorkerId,
};
use expiry_core::initiator::Initiator;
use expiry_core::money::{Amount, Currency, Money};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::reservation::{CouponStatus, Quantity, ResourceKind, StockKey};
use expiry_core::row::CouponTerms;
use expiry_core::time::Timestamp;
use std::time::Duration;

use super::item_of;
use crate::codec::Item;

/// Most bytes of an item that is written for one unit.
const ONE_UNIT: usize = 1_024;

fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + size_of_value(value)).sum()
}

fn size_of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len().div_ceil(2) + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        AttributeValue::Ss(members) => members.iter().map(String::len).sum(),
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + size_of_value(value)).sum::<usize>(),
        AttributeValue::M(map) => {
            3 + map.iter().map(|(name, value)| 1 + name.len() + size_of_value(value)).sum::<usize>()
        }
        AttributeValue::Bs(_) | AttributeValue::Ns(_) | _ => panic!("the codec writes no {value:?}"),
    }
}

fn text<T, E: std::fmt::Debug>(text: &str, new: fn(String) -> Result<T, E>) -> T {
    new(text.to_owned()).expect("an identifier")
}

/// 24 characters, as long as an id of the ordinary order may be.
const LONG: &str = "abcdefghijklmnopqrstuvwx";

fn start() -> Timestamp {
    Timestamp::from_millis(1_767_225_600_123).expect("a time")
}

fn amount() -> Amount {
    Amount::new(129_900).expect("an amount")
}

/// Its life, stage by stage, with the item's size at each.
struct Life {
    order: Order,
    now: Timestamp,
    stages: Vec<(&'static str, usize)>,
    largest: Option<Item>,
}

impl Life {
    fn begin() -> Life {
        let rule = RuleDefinition { id: text("default", RuleId::new), version: 1, seconds: Some(1_800), never: None };
        let request = NewOrder {
            id: OrderId::from_bits([0xa5; 15]),
            body_digest: [9; 16],
            user: text(LONG, UserId::new),
            currency: Currency::parse("CNY").expect("a currency"),
            lines: vec![NewLine {
                stock: StockKey {
                    sku: text(LONG, Sku::new),
                    warehouse: text("default", Warehouse::new),
                    batch: text("default", Batch::new),
                },
                quantity: Quantity::new(2).expect("a quantity"),
                unit_price: amount(),
            }],
            coupon: Some(text(LONG, CouponId::new)),
            points: None,
            quotas: Vec::new(),
            payable: amount(),
            rule: text("default", RuleId::new),
            source: Some(text("miniprogram", Source::new)),
        };
        let rules = ExpiryRules::new(vec![rule]).expect("rules");
        let order = create(request, &rules, None, start()).expect("an order").order;
        let mut life = Life { order, now: start(), stages: Vec::new(), largest: None };
        life.measure("created");
        life
    }

    fn measure(&mut self, stage: &'static str) {
        let item = item_of(&self.order);
        if self.largest.as_ref().is_none_or(|largest| size(&item) > size(largest)) {
            self.largest = Some(item.clone());
        }
        self.stages.push((stage, size(&item)));
    }

    fn at(mut self, seconds: u64) -> Life {
        self.now = start().plus(Duration::from_millis(seconds * 1_000 + 567));
        self
    }

    /// Carries `command` out, measuring after every commit.
    fn then<C: Command>(mut self, stages: &[&'static str], command: &C, fact: PaymentFact) -> Life {
        let mut known = Knowledge::default();
        let mut stages = stages.iter();
        loop {
            match decide(&self.order, command, &known, self.now) {
                Decision::Done(_) => return self,
                Decision::Ask(question) => {
                    let answer = self.answer(&question, &fact);
                    known.learn(&self.order, answer);
                }
                Decision::Commit(commit) => {
                    self.order = commit.order;
                    self.measure(stages.next().expect("a stage for every commit"));
                    if let Then::Done(_) = commit.then {
                        assert_eq!(stages.next(), None, "a commit for every stage");
                        return self;
                    }
                }
            }
        }
    }

    fn answer(&self, question: &Question, fact: &PaymentFact) -> Answer {
        match question {
            Question::Payments(_) => Answer::Payments(vec![AttemptAnswers {
                attempt: AttemptNo::FIRST,
                asked: Asked::Closed(CloseOutcome::Accepted),
                fact: fact.clone(),
                sent_at: self.now,
            }]),
            Question::Coupon(_) => Answer::Coupon(Some(CouponTerms {
                valid_until: start().plus(Duration::from_secs(86_400)),
                refundable: true,
                campaign_active: true,
                status: CouponStatus::Locked,
                holder: Some(self.order.id.clone()),
            })),
            Question::RefundStatus(no) | Question::SubmitRefund(no) => Answer::Refund(*no, RefundFact::Refunded),
        }
    }

    fn paying(self) -> Life {
        let start_payment = StartPayment {
            channel: text("wechat", ChannelId::new),
            merchant: text("1900000109", MerchantId::new),
            min_expiry: Duration::from_secs(60),
            method: None,
            amount: None,
            initiator: Initiator::Customer,
            place_before: start().plus(Duration::from_millis(80_001)),
        };
        let placed = Placed { reference: None, expires_at: None, credential: () };
        let placed = PlaceAnswered { attempt: AttemptNo::FIRST, outcome: PlaceOutcome::Credential(placed) };
        self.at(60).then(&["payment begun"], &start_payment, PaymentFact::Open).then(
            &["credential stored"],
            &placed,
            PaymentFact::Open,
        )
    }

    fn close(self, stages: &[&'static str], occasion: Occasion, fact: PaymentFact) -> Life {
        let close = Close {
            occasion,
            worker: WorkerId::from_bits([3; 15]),
            lease: Duration::from_secs(30),
            scan_period: Duration::from_secs(3_600),
        };
        self.then(stages, &close, fact)
    }

    fn wake(self, stages: &[&'static str], fact: PaymentFact) -> Life {
        let expire_at = self.order.expire_at.expect("a deadline");
        self.close(stages, Occasion::Wake { expire_at }, fact)
    }

    fn settled(self) -> Life {
        let settle = |kind| Settle { unit: Unit::Settle(kind) };
        self.then(&["stock settled"], &settle(ResourceKind::Stock), PaymentFact::Open).then(
            &["coupon settled"],
            &settle(ResourceKind::Coupon),
            PaymentFact::Open,
        )
    }

    fn success(&self) -> Success {
        let number = self.order.out_trade_no(AttemptNo::FIRST).to_string();
        Success {
            merchant: text("1900000109", MerchantId::new),
            transaction: text(&format!("txn-{number}"), TransactionId::new),
            out_trade_no: number,
            paid: Money { amount: amount(), currency: self.order.currency },
            refunded: Amount::ZERO,
        }
    }

    fn callback(&self) -> Notified {
        Notified {
            channel: text("wechat", ChannelId::new),
            notification: Notification {
                notify_id: text("notification", NotifyId::new),
                payment: self.order.out_trade_no(AttemptNo::FIRST),
                fact: PaymentFact::Succeeded(self.success()),
            },
        }
    }

    /// Prints every stage, the largest attribute by attribute, and demands that each is written for one unit.
    fn fits_one_unit(&self, life: &str) {
        println!("{life}:");
        for (stage, size) in &self.stages {
            println!("{size:>6} bytes  {stage}");
        }
        let largest = self.largest.as_ref().expect("a stage");
        let mut attributes: Vec<_> =
            largest.iter().map(|(name, value)| (name.len() + size_of_value(value), name)).collect();
        attributes.sort();
        attributes.reverse();
        println!(
            "       {}",
            attributes.iter().map(|(size, name)| format!("{name} {size}")).collect::<Vec<_>>().join(", ")
        );
        for (stage, size) in &self.stages {
            assert!(*size <= ONE_UNIT, "{life}, {stage}: {size} bytes");
        }
    }
}

#[test]
fn unpaid_without_an_attempt() {
    let life = Life::begin().at(1_801).wake(&["CLOSED"], PaymentFact::Open).settled();
    assert_eq!(life.order.status, OrderStatus::Closed);
    life.fits_one_unit("unpaid, no attempt");
}

#[test]
fn unpaid_with_an_attempt() {
    let life = Life::begin().paying().at(1_801).wake(&["CLOSING", "CLOSED"], PaymentFact::NotPaidClosed).settled();
    assert_eq!(life.order.status, OrderStatus::Closed);
    life.fits_one_unit("unpaid, one attempt");
}

#[test]
fn paid_by_callback() {
    let life = Life::begin().paying().at(90);
    let callback = life.callback();
    let life = life.then(&["PAID"], &callback, PaymentFact::Open).settled();
    assert_eq!(life.order.status, OrderStatus::Paid);
    life.fits_one_unit("paid by callback");
}

#[test]
fn paid_found_by_the_closer() {
    let life = Life::begin().paying().at(1_801);
    let found = PaymentFact::Succeeded(life.success());
    let life = life.wake(&["CLOSING", "PAID"], found).settled();
    assert_eq!(life.order.status, OrderStatus::Paid);
    life.fits_one_unit("paid, found by the closer");
}

#[test]
fn paid_after_the_channel_was_silent_for_long() {
    let silent = || PaymentFact::Unknown(Cause::new("timeout"));
    let mut life = Life::begin().paying().at(1_801).wake(&["CLOSING", "undecided"], silent());
    assert_eq!(life.order.attempts[0].status, AttemptStatus::Unknown);
    for _ in 0..8 {
        let check_at = life.order.closing.as_ref().and_then(|task| task.turn.next_check_at).expect("a check");
        life.now = check_at;
        life = life.close(&["claimed", "undecided"], Occasion::Retry { check_at }, silent());
    }
    let found = PaymentFact::Succeeded(life.success());
    life.now = life.order.closing.as_ref().and_then(|task| task.turn.next_check_at).expect("a check");
    life = life.close(&["claimed", "PAID"], Occasion::Scan, found).settled();
    assert_eq!(life.order.status, OrderStatus::Paid);
    life.fits_one_unit("paid, found after nine silent looks");
}

#[test]
fn cancelled_by_the_customer_with_a_reason() {
    let cancel = Occasion::Cancel {
        actor: Actor::Customer,
        close_reason: CloseReason::CancelledByUser,
        reason: Cause::new("found it cheaper elsewhere"),
    };
    let life = Life::begin().paying().at(300).close(&["CLOSING", "CLOSED"], cancel, PaymentFact::NotPaidClosed);
    let life = life.settled();
    assert_eq!(life.order.status, OrderStatus::Closed);
    life.fits_one_unit("cancelled by the customer");
}

#[test]
fn closed_paid_late_and_refunded() {
    let life =
        Life::begin().paying().at(1_801).wake(&["CLOSING", "CLOSED"], PaymentFact::NotPaidClosed).settled().at(2_000);
    let (callback, found) = (life.callback(), PaymentFact::Succeeded(life.success()));
    let refund = WorkRefund {
        attempt: AttemptNo::FIRST,
        check_at: None,
        worker: WorkerId::from_bits([3; 15]),
        lease: Duration::from_secs(30),
        scan_period: Duration::from_secs(3_600),
    };
    let life = life.then(&["late money"], &callback, PaymentFact::Open);
    let life = life.then(&["SUBMITTED", "refunded"], &refund, found);
    assert!(life.order.pending.is_empty());
    life.fits_one_unit("closed, paid late, refunded");
}
