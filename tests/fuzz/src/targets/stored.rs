//! Stored items, as the database gives them back: read or refused, never guessed at, and what was read is written back alike.

use expiry_adjudication::Context;
use expiry_core::decide::create::Creation;
use expiry_core::ids::{ActivityId, CouponId, OrderId};
use expiry_core::invariants::{breaches, transition_breaches};
use expiry_core::order::Order;
use expiry_core::outbox::{effects, overdue};
use expiry_core::reservation::CounterKey;
use expiry_runtime::backlog::Backlog;
use expiry_runtime::document::OrderDocument;
use expiry_store::{DueHit, ReadError};
use serde_json::Value;

use super::assert_tells_its_part;
use crate::shop::{Shop, in_shop, now};

/// One order's item, as JSON of DynamoDB.
pub(crate) fn order(bytes: &[u8]) {
    let Some(item) = item(bytes) else { return };
    in_shop(|shop| {
        shop.aws.holds(item);
        let Some(read) = load(shop) else { return };
        assert_all_of_it_can_be_told(&read);
        // Written as a new order it is an item again, and the same order when it is read.
        let creation = Creation { order: read.clone(), rows: Vec::new() };
        shop.wait(shop.context.store.create(&creation)).expect("it is stored");
        let [stored] = shop.aws.take_put().try_into().expect("one item");
        shop.aws.holds(stored);
        assert_eq!(load(shop), Some(read));
    });
}

fn item(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok().filter(Value::is_object)
}

/// The order that is found; every way to read it agrees.
fn load(shop: &Shop) -> Option<Order> {
    let store = &shop.context.store;
    let (many, _) = shop.wait(store.load_many(&[an_id()])).unwrap_or_default();
    match shop.wait(store.load(&an_id())) {
        Ok(found) => {
            let found = found.map(|loaded| loaded.order);
            assert_eq!(many.first().map(|loaded| &loaded.order), found.as_ref());
            found
        }
        Err(error) => {
            assert!(many.is_empty());
            assert_tells_its_part(&error);
            None
        }
    }
}

/// Whatever an order says, it can be shown, judged, counted and worked on.
fn assert_all_of_it_can_be_told(order: &Order) {
    let document = serde_json::to_value(OrderDocument::new(order, now())).expect("JSON");
    assert_eq!(document["order_id"], order.id.as_str());
    let _ = breaches(order);
    assert_eq!(transition_breaches(order, order).iter().filter(|breach| breach.invariant == "I7").count(), 0);
    let _ = (effects(None, order, now()), overdue(order, now()));
    assert_eq!(effects(Some(order), order, now()), Vec::new(), "nothing follows where nothing changed");
    Backlog::default().add(order, now());
}

fn an_id() -> OrderId {
    OrderId::from_bits([7; 15])
}

/// One row beside orders: counter, coupon, entry of a case file, finding, place of the scan, position in the index.
pub(crate) fn rows(bytes: &[u8]) {
    let Some(item) = item(bytes) else { return };
    in_shop(|shop| {
        shop.aws.holds(item);
        resources(shop, &shop.context);
        journal(shop, &shop.context);
        scan_state(shop, &shop.context);
        if let Some(page) = told(shop.wait(shop.context.store.due_page(0, now(), None, 10))) {
            let [DueHit { due_at, order }] = page.hits.try_into().expect("one hit");
            assert!(OrderId::parse(order.as_str()).is_ok() && due_at.as_millis() >= 0);
        }
    });
}

fn told<T>(read: Result<T, ReadError>) -> Option<T> {
    read.inspect_err(|error| assert_tells_its_part(error)).ok()
}

fn resources(shop: &Shop, context: &Context) {
    let activity = ActivityId::new("SALE").expect("an activity");
    if let Some(counter) = told(shop.wait(context.store.counter(&CounterKey::Quota(activity)))).flatten() {
        assert!(counter.on_hand() >= counter.sold, "no sum of counts wraps");
    }
    let id = CouponId::new("COUPON").expect("a coupon");
    let terms = told(shop.wait(context.store.coupon_terms(&id))).flatten();
    if let Some(coupon) = told(shop.wait(context.store.coupon(&id))).flatten() {
        assert_eq!(Some(coupon.terms), terms);
    }
}

/// What was read is written so that the same is read.
fn journal(shop: &Shop, context: &Context) {
    let entries = || told(shop.wait(context.store.timeline(&an_id(), None))).map(|page| page.entries);
    if let Some(entries_read) = entries() {
        shop.wait(context.store.record(&an_id(), &entries_read[0])).expect("it is stored");
        put_back(shop);
        assert_eq!(entries(), Some(entries_read));
    }
    let findings = || told(shop.wait(context.store.findings("2026-01-01")));
    if let Some(findings_read) = findings() {
        shop.wait(context.store.find(&findings_read[0])).expect("it is stored");
        put_back(shop);
        assert_eq!(findings(), Some(findings_read));
    }
}

fn scan_state(shop: &Shop, context: &Context) {
    let state = || told(shop.wait(context.store.scan_state(0)));
    if let Some(read) = state() {
        shop.wait(context.store.save_scan_state(0, &read)).expect("it is stored");
        put_back(shop);
        assert_eq!(state(), Some(read));
    }
}

fn put_back(shop: &Shop) {
    let [stored] = shop.aws.take_put().try_into().expect("one item");
    shop.aws.holds(stored);
}
