//! What a test tells the channel, and what it sends.

use super::*;

#[tokio::test]
async fn a_payment_nobody_started_is_unknown_until_it_is_set() {
    let scene = scene();
    assert_eq!(scene.query().await, PaymentFact::NotFound);
    assert_eq!(scene.close().await, CloseOutcome::NotFound);
    assert_eq!(scene.control("GET", &number().to_string(), Value::Null).await.0, 404);
    assert_eq!(scene.notified(json!({})).await.0, 404);
    scene.told(json!({"state": "SUCCESS", "amount": 1999, "currency": "EUR"})).await;
    assert!(matches!(scene.query().await, PaymentFact::Succeeded(_)));
}

#[tokio::test]
async fn a_setting_that_does_not_exist_is_refused_and_changes_nothing() {
    let scene = started().await;
    let before = scene.view().await;
    for bad in [
        json!({"state": "PAID"}),
        json!({"state": "SUCCESS", "colour": "red"}),
        json!({"amount": -1}),
        json!({"amount": 1.5}),
        json!({"amount": u64::MAX}),
        json!({"currency": "EURO"}),
        json!({"close": "never"}),
        json!({"refund": "maybe"}),
        json!({"transaction_id": "a b"}),
        json!({"delay_ms": 3_600_001}),
        json!([]),
        json!("SUCCESS"),
    ] {
        let (status, answer) = scene.control("PUT", &number().to_string(), bad.clone()).await;
        assert_eq!(status, 422, "{bad}");
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{bad}: {answer}");
    }
    assert_eq!(scene.view().await, before);
    assert_eq!(scene.control("PUT", "a%20b", json!({})).await.0, 422);
    assert_eq!(scene.control("DELETE", &number().to_string(), Value::Null).await.0, 405);
    assert_eq!(scene.control("GET", "a/b", Value::Null).await.0, 404);
}

#[tokio::test]
async fn the_newest_calls_are_kept() {
    let scene = started().await;
    for _ in 0..CALLS {
        scene.query().await;
    }
    assert_eq!(scene.calls().await, vec![("query".to_owned(), "NOTPAY".to_owned()); CALLS]);
}

#[tokio::test]
async fn a_notify_sends_the_signed_callback_and_answers_what_the_shop_answered() {
    let scene = started().await;
    scene.told(json!({"state": "SUCCESS"})).await;
    let answered = json!({"status": 200, "body": {"code": "SUCCESS"}, "notify_id": "sim-notify-1"});
    assert_eq!(scene.notified(json!({})).await, (200, answered));
    let PaymentFact::Succeeded(success) = scene.heard().expect("believed") else { panic!("not a success") };
    assert_eq!((success.paid, success.merchant.as_str()), (eur(1999), "sim-merchant"));
    let path = format!("/_sim/payments/{}/notify", number());
    let empty = scene.sim.handle("POST", &path, &Headers::default(), b"").await;
    assert_eq!(empty.status, 200);
    assert_eq!(scene.calls().await.len(), 1, "a callback is no call");
}

#[tokio::test]
async fn a_callback_can_be_forged_in_every_way() {
    let scene = started().await;
    scene.told(json!({"state": "SUCCESS"})).await;
    for (forgery, rejection) in [
        (json!({"secret": "another"}), NotificationRejection::BadSignature),
        (json!({"signature": "t=1767225600,v1=00"}), NotificationRejection::BadSignature),
        (json!({"signature": ""}), NotificationRejection::MissingHeader),
        (json!({"unsigned": true}), NotificationRejection::MissingHeader),
        (json!({"age_seconds": 301}), NotificationRejection::StaleTimestamp),
        (json!({"age_seconds": -301}), NotificationRejection::FutureTimestamp),
        (json!({"timestamp": 0}), NotificationRejection::StaleTimestamp),
        (json!({"amount": "1999"}), NotificationRejection::Malformed),
        (json!({"out_trade_no": "another"}), NotificationRejection::UnknownOrder),
    ] {
        let (status, answer) = scene.notified(forgery.clone()).await;
        assert_eq!((status, answer["status"].as_u64()), (200, Some(rejection.status().as_u16().into())), "{forgery}");
        assert_eq!(scene.heard(), Err(rejection), "{forgery}");
    }
    let (_, answer) = scene.notified(json!({"amount": 1998, "notify_id": "again", "merchant_id": "m"})).await;
    assert_eq!(answer["notify_id"], "again");
    assert!(matches!(scene.heard(), Ok(PaymentFact::Succeeded(success)) if success.paid == eur(1998)));
    scene.notified(json!({"state": "CLOSED"})).await;
    assert_eq!(scene.heard(), Ok(PaymentFact::NotPaidClosed));
    assert_eq!(scene.notified(json!({"colour": "red"})).await.0, 422);
    assert_eq!(scene.view().await["state"], "SUCCESS", "a callback changes nothing at the channel");
}

#[tokio::test]
async fn without_a_shop_a_notify_says_so() {
    let scene = started().await;
    *lock(&scene.sim.0.callbacks) = None;
    assert_eq!(scene.notified(json!({})).await.0, 503);
}
