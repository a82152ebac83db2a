//! Older and newer programs at the same item: what one does not know survives its writes, also nested (DESIGN §6).

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue::{self, B, L, M, N, S, Ss};
use expiry_core::attempt::{AttemptStatus, Standing};
use expiry_core::closing::CloseTrigger;
use expiry_core::evidence::{Actor, Evidence};
use expiry_core::invariants::breaches;
use expiry_core::money::Amount;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::reservation::{CouponStatus, HoldStatus, ResourceKind};
use expiry_core::time::Timestamp;
use proptest::prelude::*;

use super::{TOKEN, generated, item_of};
use crate::codec::{DecodeError, Item, decode, encode, overlay};

/// What a newer program might have put into every map of an item.
fn of_the_future() -> AttributeValue {
    M([("n".to_owned(), L(vec![N("1".to_owned()), AttributeValue::Null(true)]))].into())
}

const FUTURE: &str = "zz";

/// Puts it into `value`, at every depth.
fn sprinkled(value: &AttributeValue) -> AttributeValue {
    if let M(map) = value {
        M(sprinkled_map(map))
    } else if let L(values) = value {
        L(values.iter().map(sprinkled).collect())
    } else {
        value.clone()
    }
}

fn sprinkled_map(map: &Item) -> Item {
    let mut map: Item = map.iter().map(|(name, value)| (name.clone(), sprinkled(value))).collect();
    map.insert(FUTURE.to_owned(), of_the_future());
    map
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_known_survives_a_write_at_every_depth(order in generated::order()) {
        let old = sprinkled_map(&item_of(&order));
        let read = decode(&old);
        prop_assert_eq!(read.as_ref(), Ok(&order), "and does not disturb the reading");
        prop_assert_eq!(overlay(&old, item_of(&order)), old);
    }

    #[test]
    fn a_member_of_pending_that_is_not_known_survives_a_write(order in generated::order(), name in "[a-z]{3,9}-[0-9]") {
        let mut old = item_of(&order);
        let mut members: Vec<String> = order.pending.iter().map(ToString::to_string).collect();
        members.push(name.clone());
        old.insert("w".to_owned(), Ss(members));
        let read = decode(&old).expect("an order");
        prop_assert!(read.pending.contains(&Unit::Foreign(name.clone())));
        let written = overlay(&old, item_of(&read));
        let kept = written.get("w").and_then(|value| value.as_ss().ok());
        prop_assert!(kept.is_some_and(|members| members.contains(&name)));
    }
}

#[test]
fn a_pending_member_that_is_not_known_counts_as_work() {
    let mut order = generated::simple();
    order.status = OrderStatus::Closed;
    order.evidence.push(evidence(1, OrderStatus::Closed));
    order.due_at = None;
    assert_eq!(breaches(&order), Vec::new());
    let mut item = item_of(&order);
    item.insert("w".to_owned(), Ss(vec!["new-work".to_owned()]));
    let read = decode(&item).expect("an order");
    assert!(breaches(&read).iter().any(|breach| breach.invariant == "I12"), "it belongs in the due index");
}

fn evidence(version: u64, to: OrderStatus) -> Evidence {
    let (at, trigger, fact) = (Timestamp::EPOCH, "scan".to_owned(), "deadline".to_owned());
    Evidence { version, at, to, trigger, actor: Actor::System, fact }
}

fn first_map<'a>(item: &'a Item, list: &str) -> &'a Item {
    let list = item.get(list).and_then(|value| value.as_l().ok()).expect("a list");
    list[0].as_m().expect("a map")
}

#[test]
fn evidence_is_matched_by_its_version_when_the_oldest_is_dropped() {
    let mut order = generated::simple();
    order.evidence = (1..=5).map(|version| evidence(version, OrderStatus::Paying)).collect();
    let mut old = item_of(&order);
    let mark = |entry: &AttributeValue| {
        let mut map = entry.as_m().expect("a map").clone();
        map.insert(FUTURE.to_owned(), map["v"].clone());
        M(map)
    };
    let marked = old["e"].as_l().expect("a list").iter().map(mark).collect();
    old.insert("e".to_owned(), L(marked));
    order.evidence.remove(0);
    order.evidence.push(evidence(6, OrderStatus::Paid));
    let written = overlay(&old, encode(&order, &TOKEN));
    let entries = written["e"].as_l().expect("a list");
    let of = |entry: &AttributeValue| {
        let map = entry.as_m().expect("a map");
        (map["v"].as_n().expect("a number").clone(), map.get(FUTURE).map(|mark| mark.as_n().expect("a number").clone()))
    };
    let marks: Vec<_> = entries.iter().map(of).collect();
    let number = |n: u8| n.to_string();
    let kept = (2..=5).map(|n| (number(n), Some(number(n))));
    assert_eq!(marks, kept.chain([(number(6), None)]).collect::<Vec<_>>());
}

#[test]
fn what_is_known_and_gone_is_gone_with_all_that_was_in_it() {
    let mut order = generated::simple();
    order.asking = Some(expiry_core::closing::AskTask::default());
    let old = sprinkled_map(&item_of(&order));
    order.asking = None;
    let written = overlay(&old, item_of(&order));
    assert!(!written.contains_key("ak"));
    assert!(written.contains_key(FUTURE));
    assert!(first_map(&written, "l").contains_key(FUTURE));
}

#[test]
fn a_status_that_is_not_known_is_an_error_so_the_order_is_not_writable() {
    let mut item = item_of(&generated::simple());
    item.insert("s".to_owned(), S("Z".to_owned()));
    assert_eq!(decode(&item), Err(DecodeError::Unknown { attribute: "s".to_owned(), value: "Z".to_owned() }));
}

#[test]
fn so_is_a_nested_status_and_the_error_says_where_it_stands() {
    let mut item = item_of(&generated::simple());
    let mut line = first_map(&item, "l").clone();
    line.insert("h".to_owned(), S("Z".to_owned()));
    item.insert("l".to_owned(), L(vec![M(line)]));
    assert_eq!(decode(&item), Err(DecodeError::Unknown { attribute: "l[0].h".to_owned(), value: "Z".to_owned() }));
}

fn item(attributes: &[(&str, AttributeValue)]) -> Item {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn text(value: &str) -> AttributeValue {
    S(value.to_owned())
}

fn number(value: &str) -> AttributeValue {
    N(value.to_owned())
}

/// An order as the first version stored it, with the fewest attributes an order has. Never to be changed: such items exist.
fn oldest_order() -> Item {
    item(&[
        ("pk", text("O#0w3ge1r70w3ge1r70w3ge1r7")),
        ("sk", text("O")),
        ("v", number("1")),
        ("s", text("N")),
        ("u", text("user")),
        ("c", text("CNY")),
        ("p", number("100")),
        ("ca", number("1767225600000")),
        ("r", text("default")),
        ("rv", number("1")),
        ("bd", B(Blob::new([9; 16]))),
        ("l", L(vec![M(item(&[("k", text("SKU")), ("q", number("1")), ("p", number("100"))]))])),
    ])
}

/// An order as the first version stored it, with an attempt, money, a refund, tasks and evidence. Never to be changed either.
fn oldest_full_order() -> Item {
    let mut full = oldest_order();
    full.extend(item(&[
        ("s", text("C")),
        ("v", number("9")),
        ("op", B(Blob::new(TOKEN))),
        ("xa", number("1767227400000")),
        ("ds", number("3")),
        ("da", number("1767227400000")),
        ("co", M(item(&[("i", text("COUPON")), ("s", text("E")), ("r", text("E"))]))),
        ("po", M(item(&[("q", number("5")), ("h", text("L"))]))),
        ("q", L(vec![M(item(&[("a", text("SALE")), ("q", number("1")), ("h", text("L"))]))])),
        ("oc", AttributeValue::Bool(true)),
        ("w", Ss(vec!["stock".to_owned(), "refund:1".to_owned()])),
        ("cr", text("E")),
        ("cx", number("1767227400500")),
        (
            "a",
            L(vec![M(item(&[
                ("c", text("sim")),
                ("m", text("sim-merchant")),
                ("a", number("100")),
                ("s", text("S")),
                ("x", number("1767227400000")),
                ("k", M(item(&[("t", text("txn-1")), ("s", text("S"))]))),
                ("f", M(item(&[("a", number("100")), ("s", text("P"))]))),
            ]))]),
        ),
        ("cl", M(item(&[("s", number("1767227400500")), ("t", text("W")), ("n", number("1"))]))),
        (
            "e",
            L(vec![M(item(&[
                ("v", number("9")),
                ("a", number("1767227400500")),
                ("s", text("C")),
                ("t", text("wake")),
                ("f", text("deadline")),
            ]))]),
        ),
    ]));
    full
}

#[test]
fn the_oldest_item_is_read_by_todays_program() {
    let order = decode(&oldest_order()).expect("an order");
    assert_eq!((order.version, order.status, order.payable), (1, OrderStatus::PendingPayment, amount(100)));
    assert_eq!((order.expire_at, order.due_at, order.counted_open), (None, None, false));
    assert_eq!(order.lines[0].stock.to_string(), "SKU/default/default");
    assert_eq!(order.lines[0].hold, HoldStatus::Reserved);
    assert!(order.attempts.is_empty() && order.pending.is_empty() && order.evidence.is_empty());
}

fn amount(minor: u64) -> Amount {
    Amount::new(minor).expect("an amount")
}

#[test]
fn the_oldest_full_item_is_read_by_todays_program() {
    let order: Order = decode(&oldest_full_order()).expect("an order");
    assert_eq!(order.status, OrderStatus::Closed);
    let coupon = order.coupon.as_ref().expect("a coupon");
    assert_eq!(coupon.status, CouponStatus::Expired);
    assert_eq!(order.points.expect("points").hold, HoldStatus::Released);
    assert!(order.pending.contains(&Unit::Settle(ResourceKind::Stock)));
    let attempt = &order.attempts[0];
    assert_eq!(attempt.status, AttemptStatus::Succeeded);
    let receipt = attempt.receipt.as_ref().expect("money");
    assert_eq!(
        (receipt.standing, receipt.paid.amount, receipt.paid.currency.code()),
        (Standing::Surplus, amount(100), "CNY")
    );
    assert_eq!(attempt.refund.as_ref().map(|refund| (refund.k, refund.money.amount)), Some((1, amount(100))));
    assert_eq!(order.closing.as_ref().map(|task| (task.trigger, task.attempts)), Some((CloseTrigger::Wake, 1)));
    assert_eq!(order.evidence[0].actor, Actor::System);
}

#[test]
fn an_item_without_an_attribute_that_every_order_has_is_an_error() {
    for missing in ["pk", "v", "s", "u", "c", "p", "ca", "r", "rv", "bd"] {
        let mut item = oldest_order();
        item.remove(missing);
        assert_eq!(decode(&item), Err(DecodeError::Missing(missing.to_owned())));
    }
}
