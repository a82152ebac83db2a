//! b30: how precisely wake-ups alone close orders, on a clock that moves in small steps.

use std::time::Duration;

use acceptance::{Shop, at, millis_between, order, shop};
use expiry_core::time::Timestamp;
use futures_util::future::join_all;
use serde_json::{Value, json};

/// How far the clock moves at once: what a real clock would add to every lateness.
const STEP: Duration = Duration::from_millis(250);
/// The bound of DESIGN §5.
const BOUND_MS: i64 = 2_000;

/// Ninety-nine rules whose windows begin at `from` seconds and lie `apart` seconds from one another.
fn rules(from: u64, apart: u64) -> String {
    let window = |n: u64| json!({"id": format!("w{n}"), "version": 1, "seconds": from + n * apart});
    let mut rules: Vec<Value> = (0..99).map(window).collect();
    rules.push(json!({"id": "default", "version": 1, "seconds": 1_800}));
    Value::from(rules).to_string()
}

/// Creates `count` orders, a moment apart, with windows of every rule in turn.
async fn create(shop: &Shop, count: u64, apart: Duration) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..count {
        let body = order().by(&format!("u{n}")).with("expiry_rule", format!("w{}", n * 37 % 99));
        ids.push(shop.order_of(&body).await);
        shop.system.clock.advance(apart);
    }
    shop.rest().await;
    ids
}

/// Moves the clock step by step past every deadline; at no step more happens than becomes due in it.
async fn pass(shop: &Shop, last: Timestamp) {
    while shop.now() <= last.plus(Duration::from_secs(3)) {
        shop.system.clock.advance(STEP);
        shop.rest().await;
    }
}

/// By how much each order was closed after its deadline, in milliseconds, least first.
async fn latenesses(shop: &Shop, ids: &[String]) -> Vec<i64> {
    let orders = join_all(ids.iter().map(|id| shop.order(id))).await;
    let mut late: Vec<i64> = orders
        .iter()
        .map(|order| {
            assert_eq!((&order["status"], &order["closing"]["trigger"]), (&json!("CLOSED"), &json!("wake")));
            millis_between(at(order, "expire_at"), at(order, "closed_at"))
        })
        .collect();
    late.sort_unstable();
    late
}

fn percentile(sorted: &[i64], percent: usize) -> i64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

async fn deadlines(shop: &Shop, ids: &[String]) -> Vec<Timestamp> {
    join_all(ids.iter().map(|id| shop.order(id))).await.iter().map(|order| at(order, "expire_at")).collect()
}

fn assert_within_the_bound(late: &[i64]) {
    let (least, p99, most) = (late[0], percentile(late, 99), late[late.len() - 1]);
    assert!(least >= 500, "I7: {least} ms");
    assert!(p99 <= BOUND_MS, "p99 {p99} ms, most {most} ms");
}

#[tokio::test]
async fn b30_five_hundred_orders_with_spread_deadlines_are_closed_by_wake_ups_alone_within_two_seconds_at_p99() {
    let rules = rules(150, 2);
    let shop = shop().with_stock("SKU", 500).with_env("EXPIRY_RULES", &rules).with_time_standing_still().open().await;
    let ids = create(&shop, 500, Duration::from_millis(83)).await;
    let deadlines = deadlines(&shop, &ids).await;

    let schedules = shop.schedules().await;
    assert_eq!(schedules.len(), 500);
    for (name, fires_at) in schedules {
        let place = ids.iter().position(|id| *id == name).expect("the schedule of one of them");
        let ahead = millis_between(fires_at, deadlines[place]);
        // Armed one minute ahead to the second; fired within the sixty seconds after that.
        assert!((0..=61_000).contains(&ahead), "{ahead} ms ahead");
    }

    let (first, last) = (deadlines.iter().min().copied(), deadlines.iter().max().copied());
    let before_the_first = first.expect("a deadline").minus(Duration::from_secs(62));
    shop.advance_by(before_the_first.since(shop.now())).await;
    pass(&shop, last.expect("a deadline")).await;

    assert_within_the_bound(&latenesses(&shop, &ids).await);
    assert_eq!((shop.metric("FoundByScan"), shop.metric("ScanLap"), shop.metric("WakeLate")), (0, 0, 0));
    assert_eq!((shop.metric("OrderClosed"), shop.stock("SKU").await), (500, (500, 0, 0)));
    assert_eq!(shop.schedules().await, []);
    assert_eq!(shop.queued("close"), (0, 0, 0));
}

#[tokio::test]
async fn b30_orders_with_windows_under_two_minutes_are_closed_within_two_seconds_without_any_schedule() {
    let rules = rules(1, 1);
    let shop = shop().with_stock("SKU", 200).with_env("EXPIRY_RULES", &rules).with_time_standing_still().open().await;
    let mut ids = Vec::new();
    for n in 0..200 {
        let body = order().by(&format!("u{n}")).with("expiry_rule", format!("w{}", n % 99));
        ids.push(shop.order_of(&body).await);
        shop.rest().await;
        assert_eq!(shop.schedules().await, []);
        shop.system.clock.advance(Duration::from_millis(83));
        shop.rest().await;
    }
    let deadlines = deadlines(&shop, &ids).await;
    pass(&shop, deadlines.into_iter().max().expect("a deadline")).await;
    assert_within_the_bound(&latenesses(&shop, &ids).await);
    // Told to the second when to come, none is early.
    assert_eq!((shop.metric("WakeEarly"), shop.metric("FoundByScan")), (0, 0));
    assert_eq!((shop.metric("OrderClosed"), shop.stock("SKU").await), (200, (200, 0, 0)));
}

#[tokio::test]
async fn b30_a_payment_is_possible_up_to_a_second_before_the_deadline_of_a_window_of_a_few_seconds() {
    let rules = rules(1, 1);
    let shop = shop().with_stock("SKU", 5).with_env("EXPIRY_RULES", &rules).with_time_standing_still().open().await;
    let id = shop.order_of(&order().with("expiry_rule", "w2")).await;
    shop.advance_by(Duration::from_millis(1_999)).await;
    let payment = shop.paying(&id).await;
    assert_eq!(shop.paid(&payment).await, 200);
    for _ in 0..20 {
        shop.advance_by(STEP).await;
    }
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("PAID", (4, 0, 1)));
}
