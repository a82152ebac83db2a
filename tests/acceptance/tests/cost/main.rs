//! What an order costs at the database, exactly (DESIGN §6): write units as DynamoDB itself counts them, and the size of the stored
//! item, of which one byte above 1,024 would double its writes.

mod calls;
mod naive;

use std::collections::HashMap;
use std::time::Duration;

use acceptance::{OrderBody, Shop, order, shop};
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::time::Timestamp;
use local::clock::MovableClock;
use serde_json::{Value, json};

/// Above this many bytes every write of the item costs twice.
const WRITE_UNIT_BYTES: usize = 1_024;

/// Reads off the write units of one step after the other.
struct Bill<'a> {
    shop: &'a Shop,
    read: u64,
    steps: Vec<(&'static str, u64)>,
}

impl Bill<'_> {
    fn of(shop: &Shop) -> Bill<'_> {
        Bill { shop, read: shop.system.functions.context.store.meter().units(), steps: Vec::new() }
    }

    /// Books what was written since the last step.
    fn step(&mut self, name: &'static str) {
        let units = self.shop.system.functions.context.store.meter().units();
        self.steps.push((name, units - self.read));
        self.read = units;
    }

    /// Prints the bill and checks it, step by step.
    #[track_caller]
    fn assert_is(&self, life: &str, steps: &[(&str, u64)], total: u64) {
        println!("{life}");
        for (name, units) in &self.steps {
            println!("  {name:<24} {units:>3}");
        }
        let sum: u64 = self.steps.iter().map(|(_, units)| units).sum();
        println!("  {:<24} {sum:>3}", "total");
        assert_eq!(self.steps, steps, "{life}");
        assert_eq!(sum, total, "{life}");
    }
}

async fn open_shop() -> Shop {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    shop.put_coupon("COUPON", "u1", &shop.in_seconds(86_400)).await;
    shop
}

fn with_coupon() -> OrderBody {
    order().with("coupon_id", "COUPON")
}

/// Closes an order past its deadline in two steps: what the closer writes, and the settlement, which is held back in between.
async fn expire(shop: &Shop, bill: &mut Bill<'_>, close: &'static str, settle: &'static str) {
    shop.faults(json!({"hold_queues": ["stock-release", "coupon-release"]})).await;
    shop.pass_deadline().await;
    bill.step(close);
    shop.faults(json!({})).await;
    shop.rest().await;
    bill.step(settle);
}

#[tokio::test]
async fn an_unpaid_order_that_nobody_tried_to_pay_costs_eleven_units_and_with_a_coupon_seventeen() {
    for (body, create, settle, total) in [(order(), 5, 5, 11), (with_coupon(), 7, 9, 17)] {
        let shop = open_shop().await;
        let mut bill = Bill::of(&shop);
        let id = shop.order_of(&body).await;
        bill.step("create");
        expire(&shop, &mut bill, "close", "release and settle").await;
        assert_eq!(shop.status(&id).await, "CLOSED");
        bill.assert_is(
            "unpaid, no attempt",
            &[("create", create), ("close", 1), ("release and settle", settle)],
            total,
        );
    }
}

#[tokio::test]
async fn an_unpaid_order_with_one_attempt_costs_fourteen_units_and_with_a_coupon_twenty() {
    for (body, create, settle, total) in [(order(), 5, 5, 14), (with_coupon(), 7, 9, 20)] {
        let shop = open_shop().await;
        let mut bill = Bill::of(&shop);
        let id = shop.order_of(&body).await;
        bill.step("create");
        let _ = shop.paying(&id).await;
        bill.step("start payment (1 + 1)");
        expire(&shop, &mut bill, "claim and close (1 + 1)", "release and settle").await;
        assert_eq!(shop.status(&id).await, "CLOSED");
        bill.assert_is(
            "unpaid, one attempt",
            &[
                ("create", create),
                ("start payment (1 + 1)", 2),
                ("claim and close (1 + 1)", 2),
                ("release and settle", settle),
            ],
            total,
        );
    }
}

#[tokio::test]
async fn an_order_paid_by_callback_costs_sixteen_units_and_with_a_coupon_twenty_two() {
    for (body, create, settle, total) in [(order(), 5, 5, 16), (with_coupon(), 7, 9, 22)] {
        let shop = open_shop().await;
        let mut bill = Bill::of(&shop);
        let id = shop.order_of(&body).await;
        bill.step("create");
        let payment = shop.paying(&id).await;
        bill.step("start payment (1 + 1)");
        shop.faults(json!({"hold_queues": ["stock-release", "coupon-release"]})).await;
        assert_eq!(shop.paid(&payment).await, 200);
        shop.rest().await;
        bill.step("callback");
        shop.faults(json!({})).await;
        shop.rest().await;
        bill.step("confirm and settle");
        assert_eq!(shop.status(&id).await, "PAID");
        bill.assert_is(
            "paid by callback",
            &[("create", create), ("start payment (1 + 1)", 2), ("callback", 4), ("confirm and settle", settle)],
            total,
        );
    }
}

#[tokio::test]
async fn an_order_found_paid_by_the_closer_costs_seventeen_units_and_with_a_coupon_twenty_three() {
    for (body, create, settle, total) in [(order(), 5, 5, 17), (with_coupon(), 7, 9, 23)] {
        let shop = open_shop().await;
        let mut bill = Bill::of(&shop);
        let id = shop.order_of(&body).await;
        bill.step("create");
        let payment = shop.paying(&id).await;
        bill.step("start payment (1 + 1)");
        shop.channel(&payment, json!({"state": "SUCCESS"})).await;
        expire(&shop, &mut bill, "claim and pay (1 + 4)", "confirm and settle").await;
        assert_eq!(shop.status(&id).await, "PAID");
        bill.assert_is(
            "paid, found by the closer",
            &[
                ("create", create),
                ("start payment (1 + 1)", 2),
                ("claim and pay (1 + 4)", 5),
                ("confirm and settle", settle),
            ],
            total,
        );
    }
}

#[tokio::test]
async fn a_start_of_a_payment_writes_once_before_the_channel_hears_of_it_and_once_after() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let mut bill = Bill::of(&shop);
    shop.faults(json!({"channel_down": ["sim"]})).await;
    let _ = shop.pay(&id).await.expect_problem(502, "channel_unavailable");
    bill.step("before, unanswered");
    shop.faults(json!({})).await;
    let _ = shop.paying(&id).await;
    bill.step("before and after");
    bill.assert_is("start payment", &[("before, unanswered", 1), ("before and after", 2)], 3);
}

#[tokio::test]
async fn the_ordinary_order_stays_within_one_write_unit_at_every_stage_of_every_life() {
    let mut sizes = Vec::new();
    for life in [Life::Paid, Life::PaidAfterSilence, Life::ClosedAfterSilence, Life::Cancelled, Life::PaidLate] {
        sizes.extend(life.sizes().await);
    }
    println!("stored bytes of the ordinary order: 1 line, 1 coupon, 1 attempt, ids of 24 characters");
    for (stage, bytes) in &sizes {
        println!("  {stage:<44} {bytes:>5}");
    }
    let above: Vec<_> = sizes.iter().filter(|(_, bytes)| *bytes > WRITE_UNIT_BYTES).collect();
    assert!(above.is_empty(), "above one write unit: {above:?}");
}

/// The lives of an ordinary order.
#[derive(Clone, Copy, Debug)]
enum Life {
    Paid,
    PaidAfterSilence,
    ClosedAfterSilence,
    Cancelled,
    PaidLate,
}

const USER: &str = "user-0123456789012345678";
const SKU: &str = "sku-01234567890123456789";
const COUPON: &str = "coupon-01234567890123456";

impl Life {
    /// The stored bytes after each of its stages.
    async fn sizes(self) -> Vec<(String, usize)> {
        // A time of which every digit counts: round numbers are stored in fewer bytes.
        let clock = MovableClock::paused(Timestamp::EPOCH.plus(Duration::from_millis(1_799_999_987_653)));
        let shop = shop().with_stock(SKU, 5).on(clock).open().await;
        shop.put_coupon(COUPON, USER, &shop.in_seconds(86_400)).await;
        let id =
            shop.order_of(&order().of(SKU, 1).by(USER).with("coupon_id", COUPON).with("payable_amount", 900)).await;
        assert!([USER.len(), SKU.len(), COUPON.len(), id.len()].iter().all(|length| *length == 24));
        let mut sizes = Vec::new();
        let mut stage = async |name: &str| {
            shop.rest().await;
            sizes.push((format!("{self:?}: {name}"), item_bytes(&shop.item(&id).await)));
        };
        stage("created").await;
        let payment = shop.paying(&id).await;
        stage("paying").await;
        match self {
            Life::Paid => {
                let _ = shop.notify(&payment, json!({"state": "USERPAYING"})).await;
                stage("hinted at").await;
                shop.paid(&payment).await;
                stage("paid and settled").await;
            }
            Life::PaidAfterSilence => {
                shop.channel(&payment, json!({"state": "ERROR"})).await;
                shop.pass_deadline().await;
                for wait in [12, 32, 62, 122, 302, 602, 900] {
                    shop.advance(wait).await;
                }
                stage("CLOSING, needs attention").await;
                shop.channel(&payment, json!({"state": "SUCCESS"})).await;
                let _ = shop.check(&id).await.expect(200);
                stage("found paid by an operator's check").await;
            }
            Life::ClosedAfterSilence => {
                shop.channel(&payment, json!({"state": "NOT_FOUND"})).await;
                shop.pass_deadline().await;
                stage("CLOSING, not found").await;
                shop.channel(&payment, json!({"state": "CLOSED"})).await;
                shop.advance(12).await;
                stage("closed and released").await;
            }
            Life::Cancelled => {
                let _ = shop.cancel(&id).await.expect(200);
                stage("cancelled and released").await;
            }
            Life::PaidLate => {
                shop.pass_deadline().await;
                shop.channel(&payment, json!({"refund": "error"})).await;
                shop.paid(&payment).await;
                stage("refund tried").await;
                shop.channel(&payment, json!({"refund": "ok"})).await;
                shop.advance(12).await;
                stage("refunded").await;
            }
        }
        sizes
    }
}

/// The bytes of an item by DynamoDB's rules: names and values, 3 for every list and map, 1 for each of their members.
fn item_bytes(item: &HashMap<String, AttributeValue>) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number_bytes(number),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + value_bytes(value)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.len() + item_bytes(map),
        other @ (AttributeValue::Ns(_) | AttributeValue::Bs(_) | _) => panic!("an order stores no {other:?}"),
    }
}

/// One byte for every two significant digits, and one.
fn number_bytes(number: &str) -> usize {
    assert!(number.bytes().all(|digit| digit.is_ascii_digit()), "an order stores whole numbers alone: {number}");
    let significant = number.trim_start_matches('0').trim_end_matches('0').len();
    significant.div_ceil(2) + 1
}

#[test]
fn the_size_of_an_item_is_counted_as_dynamodb_does() {
    let item = HashMap::from([
        ("pk".to_owned(), AttributeValue::S("O#é".to_owned())),
        ("n".to_owned(), AttributeValue::N("1800".to_owned())),
        ("l".to_owned(), AttributeValue::L(vec![AttributeValue::Bool(true)])),
        ("m".to_owned(), AttributeValue::M(HashMap::from([("k".to_owned(), AttributeValue::Null(true))]))),
    ]);
    assert_eq!(item_bytes(&item), (2 + 4) + (1 + 2) + (1 + 3 + 1 + 1) + (1 + 3 + 1 + 1 + 1));
}

#[tokio::test]
async fn conversations_and_actions_are_kept_apart_and_not_on_the_order() {
    let shop = open_shop().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    shop.pass_deadline().await;
    let before = item_bytes(&shop.item(&id).await);
    let conversations = shop.timeline(&id, "conversation").await.len();
    for _ in 0..3 {
        let _ = shop.check(&id).await.expect(200);
    }
    assert_eq!(shop.timeline(&id, "conversation").await.len(), conversations + 3);
    assert_eq!(shop.timeline(&id, "action").await.len(), 3);
    let grown = item_bytes(&shop.item(&id).await).abs_diff(before);
    assert!(grown <= 2, "the order does not grow with what is said about it: {grown} bytes");
    assert_eq!(shop.order(&id).await["payments"][0]["status"], Value::from("UNKNOWN"));
}
