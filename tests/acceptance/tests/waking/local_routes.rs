//! The routes that only a local system has.

use acceptance::{Shop, at, millis_between, shop};
use serde_json::{Value, json};

async fn open() -> Shop {
    shop().with_stock("SKU", 5).with_time_standing_still().open().await
}

#[tokio::test]
async fn the_clock_moves_by_whole_seconds_and_answers_the_new_time() {
    let shop = open().await;
    let before = shop.now();
    for seconds in [0, 1, 3_600] {
        let then = shop.now();
        let moved = shop.call("PUT", "/_local/clock", json!({"advance_seconds": seconds})).await.expect(200);
        assert_eq!(millis_between(then, at(&moved.body, "now")), seconds * 1_000);
        assert_eq!(at(&moved.body, "now"), shop.now());
    }
    let id = shop.ordered().await;
    assert_eq!(millis_between(before, at(&shop.order(&id).await, "created_at")), 3_601_000, "one clock for everything");
}

#[tokio::test]
async fn what_became_due_by_a_move_of_the_clock_is_delivered_with_no_further_call() {
    let shop = open().await;
    let id = shop.ordered().await;
    let _ = shop.call("PUT", "/_local/clock", json!({"advance_seconds": 1_799})).await.expect(200);
    let _ = shop.call("PUT", "/_local/clock", json!({"advance_seconds": 3})).await.expect(200);
    shop.until("the order is closed", |shop| shop.metric("OrderClosed") == 1).await;
    shop.rest().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.stock("SKU").await), ("CLOSED", (5, 0, 0)));
}

#[tokio::test]
async fn a_request_of_a_local_route_that_is_none_is_refused_with_a_problem_and_changes_nothing() {
    let shop = open().await;
    let before = shop.now();
    for (method, path, body) in [
        ("PUT", "/_local/clock", json!({"advance_seconds": -1})),
        ("PUT", "/_local/clock", json!({"advance_seconds": 1.5})),
        ("PUT", "/_local/clock", json!({"advance_seconds": "60"})),
        ("PUT", "/_local/clock", json!({"advance_seconds": 31_622_401})),
        ("PUT", "/_local/clock", json!({"advance_seconds": 1, "unit": "h"})),
        ("PUT", "/_local/clock", json!({})),
        ("PUT", "/_local/clock", json!([60])),
        ("PUT", "/_local/clock", Value::Null),
        ("PUT", "/_local/faults", json!({"drop_wake": true})),
        ("PUT", "/_local/faults", json!({"drop_wakes": "yes"})),
        ("PUT", "/_local/faults", json!({"fail_deliveries": {"close": -1}})),
        ("PUT", "/_local/faults", json!([])),
        ("PUT", "/_local/faults", Value::Null),
        ("POST", "/_local/deliver", json!({"queue": "no-such-queue", "body": {}})),
        ("POST", "/_local/deliver", json!({"queue": "close-dlq", "body": {}})),
        ("POST", "/_local/deliver", json!({"queue": "close"})),
        ("POST", "/_local/deliver", json!({"body": {}})),
        ("POST", "/_local/deliver", json!({"queue": "close", "body": {}, "delay": 1})),
        ("POST", "/_local/deliver", Value::Null),
    ] {
        let refused = shop.call(method, path, body.clone()).await;
        assert_eq!(
            (refused.status, refused.text("code")),
            (422, "invalid_request"),
            "{path} {body}: {:#}",
            refused.body
        );
        assert_eq!(refused.content_type, "application/problem+json");
    }
    for (method, path) in [("GET", "/_local/nothing"), ("GET", "/_local/"), ("POST", "/_local/queues/close")] {
        let _ = shop.call(method, path, Value::Null).await.expect_problem(404, "not_found");
    }
    let _ = shop.send("PUT", "/_local/clock", &[], "{").await.expect_problem(422, "invalid_request");
    assert_eq!((shop.now(), shop.queued("close")), (before, (0, 0, 0)));
}

#[tokio::test]
async fn the_queues_are_listed_with_their_dead_letter_queues() {
    let shop = open().await;
    let queues = shop.call("GET", "/_local/queues", Value::Null).await.expect(200).body;
    let names: Vec<&str> = queues.as_object().map(|all| all.keys().map(String::as_str).collect()).unwrap_or_default();
    let expected = ["close", "coupon-release", "points-release", "quota-release", "refund", "stock-release"];
    let expected: Vec<String> = expected.iter().flat_map(|name| [(*name).to_owned(), format!("{name}-dlq")]).collect();
    assert_eq!(names, expected);
    assert!(queues.as_object().is_some_and(|all| {
        all.values().all(|counts| *counts == json!({"visible": 0, "delayed": 0, "in_flight": 0}))
    }));
}

#[tokio::test]
async fn the_schedules_are_listed_with_the_moment_each_will_fire() {
    let shop = open().await;
    let id = shop.ordered().await;
    shop.rest().await;
    let schedules = shop.call("GET", "/_local/schedules", Value::Null).await.expect(200).body;
    let all = schedules.as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = all.iter().filter_map(|schedule| schedule["name"].as_str()).collect();
    assert_eq!(names, ["fallback-scan", &id]);
    assert_eq!(all[0]["expression"], "rate(60 minutes)");
    assert_eq!(millis_between(shop.now(), at(&all[0], "fires_at")), 3_600_000);
    let input: Value = all[1]["input"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let expire_at = at(&shop.order(&id).await, "expire_at");
    assert_eq!(input, json!({"type": "wake", "order_id": id, "expire_at": expire_at.as_millis(), "hop": 0}));
}

#[tokio::test]
async fn a_message_that_is_none_of_ours_ends_in_the_dead_letter_queue_and_hinders_nothing() {
    let shop = open().await;
    let id = shop.ordered().await;
    shop.rest().await;
    for body in
        [json!("no JSON"), json!({"type": "nothing"}), json!({"type": "wake", "order_id": "short", "expire_at": 1})]
    {
        let _ = shop.call("POST", "/_local/deliver", json!({"queue": "close", "body": body})).await.expect(202);
    }
    for receive in 1..=5 {
        shop.until("every message failed", |shop| shop.queued("close") == (0, 0, 3)).await;
        assert_eq!(shop.queued("close-dlq"), (0, 0, 0), "receive {receive}");
        shop.system.clock.advance(std::time::Duration::from_secs(61));
    }
    shop.until("they are given up", |shop| shop.queued("close-dlq") == (3, 0, 0)).await;
    shop.rest().await;
    shop.pass_deadline().await;
    assert_eq!((shop.status(&id).await.as_str(), shop.queued("close-dlq")), ("CLOSED", (3, 0, 0)));
}

#[tokio::test]
async fn a_message_about_an_order_that_does_not_exist_is_tried_again_and_not_dropped() {
    let shop = open().await;
    let wake = json!({"type": "wake", "order_id": "0".repeat(24), "expire_at": 1});
    let _ = shop.call("POST", "/_local/deliver", json!({"queue": "close", "body": wake})).await.expect(202);
    for _ in 0..4 {
        shop.until("it failed", |shop| shop.queued("close") == (0, 0, 1)).await;
        shop.system.clock.advance(std::time::Duration::from_secs(61));
    }
    shop.until("it failed", |shop| shop.queued("close") == (0, 0, 1)).await;
    assert_eq!(shop.queued("close-dlq"), (0, 0, 0));
}
