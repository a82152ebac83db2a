//! The deadline is the server's, whatever a client says and wherever an order comes from.

use acceptance::{at, millis_between, order, shop};
use local::Settings;
use serde_json::json;

#[tokio::test]
async fn b28_whatever_time_and_zone_a_client_claims_the_deadline_is_the_servers_time_and_the_window() {
    let shop = shop().with_stock("SKU", 100).with_time_standing_still().open().await;
    for zone in -12_i32..=14 {
        let date = format!("Thu, 01 Jan 1970 {:02}:00:00 GMT", zone.rem_euclid(24));
        let offset = format!("{zone:+03}:00");
        let zoned = format!("2099-01-01T00:00:00{offset}");
        let headers = [
            ("content-type", "application/json"),
            ("date", date.as_str()),
            ("x-timezone", offset.as_str()),
            ("x-client-time", zoned.as_str()),
            ("if-unmodified-since", date.as_str()),
        ];
        let created = shop.send("POST", "/orders", &headers, order().0.to_string()).await.expect(201).body;
        assert_eq!(at(&created, "created_at"), shop.now(), "{offset}");
        assert_eq!(millis_between(shop.now(), at(&created, "expire_at")), 1_800_000, "{offset}");
        assert_eq!(created["seconds_left"], 1_800);
        assert!(created["expire_at"].as_str().is_some_and(|text| text.ends_with('Z')), "{created:#}");
    }
    // Nor may a body bring a time of its own.
    for field in ["created_at", "expire_at", "server_time", "timezone"] {
        let refused = shop.create(&order().with(field, "2099-01-01T00:00:00+14:00")).await;
        let _ = refused.expect_problem(422, "invalid_request");
    }
    shop.advance(1_799).await;
    assert_eq!(shop.metric("OrderClosed"), 0, "I7: none closes early");
    shop.advance(3).await;
    assert_eq!(shop.metric("OrderClosed"), 27);
    assert_eq!(shop.stock("SKU").await, (100, 0, 0));
}

#[tokio::test]
async fn b28_the_countdown_is_the_servers_rounded_up_and_never_below_zero() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    shop.faults(json!({"drop_wakes": true})).await;
    let mut left = Vec::new();
    for millis in [0, 1, 999, 1_798_500, 499, 1, 0, 60_000] {
        shop.advance_by(std::time::Duration::from_millis(millis)).await;
        left.push(shop.order(&id).await["seconds_left"].as_u64().unwrap_or(u64::MAX));
    }
    assert_eq!(left, [1_800, 1_800, 1_799, 1, 1, 0, 0, 0]);
}

/// Sources of every kind, known or not.
const SOURCES: [Option<&str>; 8] = [
    None,
    Some("web"),
    Some("app"),
    Some("pos"),
    Some("admin"),
    Some("agent"),
    Some("mini-programme:v7"),
    Some("直播间-未知来源"),
];

#[tokio::test]
async fn b31_an_order_of_every_source_also_an_unknown_one_is_closed_at_its_deadline() {
    for by_scan in [false, true] {
        let shop = shop().with_stock("SKU", 10).with_time_standing_still().open().await;
        let mut ids = Vec::new();
        for source in SOURCES {
            let body = source.map_or_else(order, |source| order().with("source", source));
            let created = shop.create(&body).await.expect(201).body;
            assert_eq!(created["source"].as_str(), source);
            assert_eq!(millis_between(shop.now(), at(&created, "expire_at")), 1_800_000);
            ids.push(created["order_id"].as_str().unwrap_or_default().to_owned());
        }
        shop.rest().await;
        assert_eq!((shop.schedules().await.len(), shop.due().await.len()), (SOURCES.len(), SOURCES.len()));
        shop.faults(json!({"drop_wakes": by_scan})).await;
        shop.pass_deadline().await;
        if by_scan {
            shop.advance(120).await;
            assert_eq!(shop.scan().await, 8);
        }
        for id in ids {
            let order = shop.order(&id).await;
            let trigger = if by_scan { "scan" } else { "wake" };
            assert_eq!((&order["status"], &order["closing"]["trigger"]), (&json!("CLOSED"), &json!(trigger)));
            assert_eq!(order["close_reason"], "expired");
        }
        assert_eq!(shop.stock("SKU").await, (10, 0, 0));
    }
}

#[tokio::test]
async fn b32_a_window_that_is_blank_zero_negative_or_missing_is_refused_at_the_start() {
    let refused = |rules: &str| {
        let settings = Settings::from_lookup(&|name| (name == "EXPIRY_RULES").then(|| rules.to_owned()));
        settings
            .map(drop)
            .map_err(|error| std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default())
    };
    for rules in [
        "",
        " ",
        "[]",
        "null",
        "0",
        "1800",
        r#"[{"id":"default","version":1}]"#,
        r#"[{"id":"default","version":1,"seconds":0}]"#,
        r#"[{"id":"default","version":1,"seconds":-1}]"#,
        r#"[{"id":"default","version":1,"seconds":null}]"#,
        r#"[{"id":"default","version":1,"seconds":""}]"#,
        r#"[{"id":"default","version":1,"seconds":31622401}]"#,
        r#"[{"id":"default","version":1,"never":false}]"#,
        r#"[{"id":"default","version":1,"seconds":60,"never":true}]"#,
        r#"[{"id":"default","version":1,"seconds":60},{"id":"x","version":1,"seconds":0}]"#,
        r#"[{"id":"other","version":1,"seconds":60}]"#,
        r#"[{"id":"","version":1,"seconds":60},{"id":"default","version":1,"seconds":60}]"#,
    ] {
        let message = refused(rules).expect_err(rules);
        assert!(message.contains("EXPIRY_RULES"), "{rules}: {message}");
    }
    assert_eq!(refused(r#"[{"id":"default","version":1,"seconds":1}]"#), Ok(()));
    assert_eq!(refused(r#"[{"id":"default","version":1,"never":true}]"#), Ok(()));
}

#[tokio::test]
async fn b38_an_abandoned_attempt_is_closed_at_the_channel_and_never_blocks_the_deadline() {
    let shop = shop().with_stock("SKU", 5).with_time_standing_still().open().await;
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    shop.pass_deadline().await;
    let order = shop.order(&id).await;
    assert_eq!((&order["status"], &order["close_reason"]), (&json!("CLOSED"), &json!("expired")));
    assert_eq!(order["payments"][0]["status"], "CLOSED");
    let payment = shop.at_channel(&payment).await;
    let calls: Vec<&str> =
        payment["calls"].as_array().into_iter().flatten().filter_map(|call| call["call"].as_str()).collect();
    assert_eq!((calls, &payment["state"]), (vec!["place", "query", "close", "query"], &json!("CLOSED")));
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    assert!(!shop.is_due(&id).await);
}
