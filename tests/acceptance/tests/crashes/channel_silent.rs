//! Case s1: the channel says nothing at the deadline.

use std::time::Duration;

use acceptance::{Shop, WINDOW, at, millis_between};
use serde_json::{Value, json};

use crate::scene::{assert_no_dead_letters, still_shop};

/// When a result that is not known is asked for again, in seconds (DESIGN §5.4).
const RHYTHM: [u64; 7] = [10, 30, 60, 120, 300, 600, 900];
/// What a delayed message waits beyond the moment it is for.
const MARGIN: u64 = 2;
/// The longest a queue message waits.
const QUEUE_DELAY: u64 = 900;
const SCAN_PERIOD_MS: i64 = 3_600_000;

/// Queries of the channel that told nothing so far.
fn unanswered(shop: &Shop) -> u64 {
    shop.metric("ChannelUnknown") + shop.metric("ChannelTimeout")
}

/// The order is protected: CLOSING, with everything held, checked `times` times, and looked at again `wait_ms` after now.
async fn assert_protected(shop: &Shop, id: &str, times: u64, wait_ms: i64) -> Value {
    let order = shop.order(id).await;
    assert_eq!(order["status"], "CLOSING");
    assert_eq!(order["resources"][0]["status"], "RESERVED", "I3: nothing is released");
    assert_eq!(shop.stock("SKU").await, (4, 1, 0), "I3: nothing is released");
    assert_eq!(order["closing"]["attempts"], times);
    assert_eq!(unanswered(shop), 2 * times, "a check is query, close, query");
    assert!(order["closing"]["last_error"].as_str().is_some_and(|error| error.starts_with("attempt 1")), "{order:#}");
    assert_eq!(millis_between(shop.now(), at(&order["closing"], "next_check_at")), wait_ms, "check {times}");
    order
}

/// From the deadline of an order on whose channel stays silent, to the alarm.
async fn stays_protected_through_the_whole_rhythm(shop: &Shop, id: &str) {
    shop.pass_deadline().await;
    for (check, wait) in (1..).zip(RHYTHM) {
        let order = assert_protected(shop, id, check, i64::try_from(wait).expect("small") * 1_000).await;
        assert_eq!(order["closing"]["needs_attention"], false);
        assert_eq!(shop.metric("ClosingNeedsAttention"), 0);
        shop.advance(wait - 1).await;
        assert_eq!(unanswered(shop), 2 * check, "no check before its moment");
        shop.advance((wait + MARGIN).min(QUEUE_DELAY) - (wait - 1)).await;
    }
    let order = assert_protected(shop, id, 8, SCAN_PERIOD_MS).await;
    assert_eq!(order["closing"]["needs_attention"], true);
    assert_eq!(shop.metric("ClosingNeedsAttention"), 1);

    // The next check is the scan's: one a scan period later, as long as it takes.
    shop.advance(3_600).await;
    let _ = shop.scan().await;
    let order = assert_protected(shop, id, 9, SCAN_PERIOD_MS).await;
    assert_eq!(order["closing"]["trigger"], "scan");
    assert_eq!(shop.metric("ClosingNeedsAttention"), 2, "the alarm goes on");
    assert_eq!(shop.metric("InvariantBreach"), 0);
    assert_no_dead_letters(shop);
}

/// Once the channel speaks again, a person's check ends it at once.
async fn ends_by_a_check(shop: &Shop, id: &str) {
    let checked = shop.check(id).await.expect(200);
    assert_eq!(checked.body["status"], "CLOSED");
    assert_eq!(checked.body["closing"]["trigger"], "operator");
    shop.rest().await;
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
}

#[tokio::test]
async fn s1_a_channel_that_answers_errors_keeps_the_order_protected_until_a_person_checks_it() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    stays_protected_through_the_whole_rhythm(&shop, &id).await;
    assert_eq!((shop.calls(&payment, "query").await, shop.calls(&payment, "close").await), (18, 9));
    shop.channel(&payment, json!({"state": "NOTPAY"})).await;
    ends_by_a_check(&shop, &id).await;
}

#[tokio::test]
async fn s1_a_channel_that_cannot_be_reached_keeps_the_order_protected() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let _ = shop.paying(&id).await;
    shop.faults(json!({"channel_down": ["sim"]})).await;
    stays_protected_through_the_whole_rhythm(&shop, &id).await;
    shop.faults(json!({})).await;
    ends_by_a_check(&shop, &id).await;
}

#[tokio::test]
async fn s1_a_channel_that_is_too_slow_keeps_the_order_protected() {
    let shop = still_shop().with_channel_call(Duration::from_millis(40)).open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "USERPAYING", "close": "error", "delay_ms": 600_000})).await;
    stays_protected_through_the_whole_rhythm(&shop, &id).await;
    assert_eq!(shop.metric("ChannelTimeout"), 18);
    shop.channel(&payment, json!({"state": "NOTPAY", "close": "ok", "delay_ms": 0})).await;
    ends_by_a_check(&shop, &id).await;
}

#[tokio::test]
async fn s1_money_that_shows_when_the_channel_speaks_again_makes_the_order_paid() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    shop.pass_deadline().await;
    shop.channel(&payment, json!({"state": "SUCCESS"})).await;
    shop.advance(RHYTHM[0] + MARGIN).await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["refunds"]), (&json!("PAID"), &json!([])));
    assert_eq!(shop.stock("SKU").await, (4, 0, 1));
}

#[tokio::test]
async fn s1_a_check_works_at_any_time_of_the_rhythm_and_moves_the_next_one() {
    let shop = still_shop().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.channel(&payment, json!({"state": "ERROR"})).await;
    let _ = shop.check(&id).await.expect_problem(409, "not_due");
    shop.pass_deadline().await;
    for (check, wait_ms) in [(2, 30_000), (3, 60_000), (4, 120_000)] {
        assert_eq!(shop.check(&id).await.expect(200).body["status"], "CLOSING");
        assert_protected(&shop, &id, check, wait_ms).await;
        // Half the wait: the check a person brought forward is not waited for.
        shop.advance(u64::try_from(wait_ms).expect("positive") / 2_000).await;
    }
    // The delayed messages of the checks that were overtaken find another check on the order and are dropped.
    shop.advance(WINDOW).await;
    let checks = shop.order(&id).await["closing"]["attempts"].as_u64().unwrap_or_default();
    assert!((5..=8).contains(&checks), "one message per check, not one chain per person: {checks}");
    assert_eq!(unanswered(&shop), 2 * checks);
}
