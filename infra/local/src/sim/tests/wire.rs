//! What the shop sees of the channel.

use super::*;

#[tokio::test]
async fn a_started_payment_waits_and_shows_what_it_is_told_to_do() {
    let mut view = started().await.view().await;
    assert_eq!(view["calls"][0]["at"], "2026-01-01T00:00:00.000Z");
    view["calls"][0]["at"].take();
    let expected = json!({
        "out_trade_no": number().to_string(), "state": "NOTPAY", "merchant_id": "sim-merchant", "amount": 1999,
        "currency": "EUR", "transaction_id": format!("txn-{}", number()), "refunded_amount": 0, "close": "ok", "refund": "ok",
        "delay_ms": 0, "calls": [{"at": null, "call": "place", "answer": "credential"}], "refunds": [],
    });
    assert_eq!(view, expected);
}

#[tokio::test]
async fn a_repeated_place_answers_the_same_credential_and_other_terms_none() {
    let scene = scene();
    let first = scene.place().await;
    assert!(matches!(first, PlaceOutcome::Credential(_)), "{first:?}");
    scene.told(json!({"state": "USERPAYING", "amount": 5})).await;
    assert_eq!(scene.place().await, first, "whatever became of it");
    let other = PlaceRequest { amount: eur(1), method: Method::new("native").ok(), ..place() };
    let outcome = scene.client.place(&other, LONG).await.answer;
    assert!(matches!(outcome, PlaceOutcome::InDoubt(_)), "{outcome:?}");
    assert_eq!(scene.view().await["amount"], 5);
}

#[tokio::test]
async fn a_closed_payment_is_not_started_again() {
    let scene = started().await;
    scene.told(json!({"state": "CLOSED"})).await;
    let outcome = scene.place().await;
    assert!(matches!(outcome, PlaceOutcome::Refused(_)), "{outcome:?}");
    assert_eq!(scene.query().await, PaymentFact::NotPaidClosed);
}

#[tokio::test]
async fn a_query_says_the_state_it_is_told_and_any_may_follow_any() {
    let scene = started().await;
    for (state, fact) in [
        ("CLOSED", PaymentFact::NotPaidClosed),
        ("USERPAYING", PaymentFact::Processing),
        ("NOT_FOUND", PaymentFact::NotFound),
        ("FAILED", PaymentFact::Failed),
        ("NOTPAY", PaymentFact::Open),
    ] {
        scene.told(json!({"state": state})).await;
        assert_eq!(scene.query().await, fact, "{state}");
    }
    scene.told(json!({"state": "ERROR"})).await;
    assert!(is_unknown(&scene.query().await));
    scene
        .told(json!({"state": "SUCCESS", "amount": 7, "currency": "JPY", "merchant_id": "m", "transaction_id": "t"}))
        .await;
    let PaymentFact::Succeeded(success) = scene.query().await else { panic!("not paid") };
    assert_eq!((success.paid.to_string().as_str(), success.merchant.as_str()), ("7 JPY", "m"));
    assert_eq!((success.transaction.as_str(), success.out_trade_no), ("t", number().to_string()));
    let words: Vec<String> = scene.calls().await.into_iter().skip(1).map(|(_, answer)| answer).collect();
    assert_eq!(words, ["CLOSED", "USERPAYING", "404", "FAILED", "NOTPAY", "500", "SUCCESS"]);
}

#[tokio::test]
async fn a_close_does_what_it_is_told() {
    use CloseOutcome::{Accepted, AlreadyClosed, AlreadyPaid, NotFound};
    for (state, close, outcome, after) in [
        ("NOTPAY", "ok", Some(Accepted), "CLOSED"),
        ("USERPAYING", "ok", Some(Accepted), "CLOSED"),
        ("FAILED", "ok", Some(Accepted), "CLOSED"),
        ("CLOSED", "ok", Some(AlreadyClosed), "CLOSED"),
        ("NOTPAY", "already_closed", Some(AlreadyClosed), "CLOSED"),
        ("SUCCESS", "ok", Some(AlreadyPaid), "SUCCESS"),
        ("SUCCESS", "already_closed", Some(AlreadyPaid), "SUCCESS"),
        ("NOTPAY", "already_paid", Some(AlreadyPaid), "NOTPAY"),
        ("NOTPAY", "error", None, "NOTPAY"),
        ("SUCCESS", "error", None, "SUCCESS"),
        ("NOT_FOUND", "ok", Some(NotFound), "NOT_FOUND"),
        ("ERROR", "ok", None, "ERROR"),
    ] {
        let scene = started().await;
        scene.told(json!({"state": state, "close": close})).await;
        let answer = scene.close().await;
        match outcome {
            Some(outcome) => assert_eq!(answer, outcome, "{state}, {close}"),
            None => assert!(matches!(answer, CloseOutcome::Unknown(_)), "{state}, {close}: {answer:?}"),
        }
        assert_eq!(scene.view().await["state"], after, "{state}, {close}");
    }
}

#[tokio::test]
async fn a_channel_that_fails_starts_nothing_and_one_that_creates_late_answers_a_credential() {
    let scene = scene();
    scene.told(json!({"state": "ERROR"})).await;
    let outcome = scene.place().await;
    assert!(matches!(outcome, PlaceOutcome::InDoubt(_)), "{outcome:?}");
    assert_eq!(scene.view().await["amount"], Value::Null);
    scene.told(json!({"state": "NOT_FOUND"})).await;
    let outcome = scene.place().await;
    assert!(matches!(outcome, PlaceOutcome::Credential(_)), "{outcome:?}");
    assert_eq!(scene.query().await, PaymentFact::NotFound);
    assert_eq!(scene.view().await["amount"], 1999);
}

#[tokio::test]
async fn one_refund_number_is_one_refund() {
    let scene = started().await;
    assert!(matches!(scene.refund(1, 500).await, RefundFact::Rejected(_)), "refused unless paid");
    scene.told(json!({"state": "SUCCESS"})).await;
    for _ in 0..3 {
        assert_eq!(scene.refund(1, 500).await, RefundFact::Refunded);
    }
    assert!(matches!(scene.refund(1, 499).await, RefundFact::Rejected(_)), "another amount under the same number");
    assert!(matches!(scene.refund(2, 1500).await, RefundFact::Rejected(_)), "more than is left");
    assert_eq!(scene.refund(2, 1499).await, RefundFact::Refunded);
    let refund =
        |k, amount| json!({"refund_no": format!("{}-r{k}", number()), "amount": amount, "status": "SUCCEEDED"});
    assert_eq!(scene.view().await["refunds"], json!([refund(1, 500), refund(2, 1499)]));
    let PaymentFact::Succeeded(success) = scene.query().await else { panic!("not paid") };
    assert_eq!(success.refunded.minor(), 1999);
}

#[tokio::test]
async fn a_refund_goes_the_way_it_is_told_until_it_is_final() {
    let scene = started().await;
    scene.told(json!({"state": "SUCCESS", "refund": "error"})).await;
    assert!(matches!(scene.refund(1, 500).await, RefundFact::Unknown(_)));
    scene.told(json!({"refund": "pending"})).await;
    assert_eq!(scene.query_refund(1, 500).await, RefundFact::NotFound, "an error refunds nothing");
    assert_eq!(scene.refund(1, 500).await, RefundFact::Pending);
    assert_eq!(scene.query_refund(1, 500).await, RefundFact::Pending);
    assert!(matches!(scene.refund(2, 1500).await, RefundFact::Rejected(_)), "a pending one counts");
    scene.told(json!({"refund": "error"})).await;
    assert!(matches!(scene.query_refund(1, 500).await, RefundFact::Unknown(_)));
    scene.told(json!({"refund": "ok"})).await;
    assert_eq!(scene.query_refund(1, 500).await, RefundFact::Refunded);
    scene.told(json!({"refund": "pending"})).await;
    assert_eq!(scene.query_refund(1, 500).await, RefundFact::Refunded, "money that went back stays there");
    scene.told(json!({"refund": "failed"})).await;
    assert!(matches!(scene.refund(2, 1499).await, RefundFact::Closed(_)));
    scene.told(json!({"refund": "ok"})).await;
    assert!(matches!(scene.query_refund(2, 1499).await, RefundFact::Closed(_)), "a dead number stays dead");
    assert_eq!(scene.refund(3, 1499).await, RefundFact::Refunded);
}

#[tokio::test]
async fn what_the_channel_gave_back_by_itself_leaves_less_to_refund() {
    let scene = started().await;
    scene.told(json!({"state": "SUCCESS", "refunded_amount": 1000})).await;
    assert!(matches!(scene.refund(1, 1000).await, RefundFact::Rejected(_)));
    assert_eq!(scene.refund(2, 999).await, RefundFact::Refunded);
}

#[tokio::test(start_paused = true)]
async fn a_slow_channel_has_done_it_although_nobody_heard() {
    let scene = started().await;
    scene.told(json!({"delay_ms": 5000})).await;
    let answer = scene.client.close(&attempt(), Duration::from_secs(3)).await.answer;
    assert!(matches!(answer, CloseOutcome::Unknown(cause) if cause.as_str() == "timeout"));
    assert_eq!(scene.view().await["state"], "CLOSED");
    assert_eq!(scene.calls().await.last().expect("a call").1, "closed");
    assert_eq!(scene.query().await, PaymentFact::NotPaidClosed, "within ten seconds");
}

#[tokio::test]
async fn no_call_reaches_a_channel_that_is_down() {
    let scene = started().await;
    scene.sim.set_down(true);
    assert!(matches!(scene.query().await, PaymentFact::Unknown(cause) if cause.as_str() == "connection failed"));
    assert_eq!(scene.sim.handle("GET", "/sim/payments/x", &Headers::default(), b"").await.status, 503);
    assert_eq!(scene.calls().await.len(), 1);
    scene.sim.set_down(false);
    assert_eq!(scene.query().await, PaymentFact::Open);
}

#[tokio::test]
async fn a_call_that_is_not_signed_with_our_secret_is_no_call() {
    let scene = started().await;
    let stranger = Sim::new("http://sim.local", "another").expect("a channel");
    let client = ChannelClient::new(Arc::new(stranger), Arc::new(scene.sim.clone()), Arc::new(StandingClock), LONG);
    assert!(matches!(client.close(&attempt(), LONG).await.answer, CloseOutcome::Unknown(_)));
    let unsigned = scene.sim.handle("GET", &format!("/sim/payments/{}", number()), &Headers::default(), b"").await;
    assert_eq!(unsigned.status, 401);
    assert_eq!((scene.calls().await.len(), scene.query().await), (1, PaymentFact::Open));
}
