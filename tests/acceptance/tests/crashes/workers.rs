//! Cases s2, s3 and s8: several workers at once, and workers that die.

use std::sync::Arc;
use std::time::Duration;

use acceptance::Shop;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::scene::{
    LEASE_AND_MARGIN, Stop, assert_no_dead_letters, close_by_hand, pass_deadline_unnoticed, run_until, statuses,
    still_shop, stop_at, wake_event,
};

/// An order past its deadline that nobody has noticed, with one open payment; its id, document and payment number.
async fn overdue_order(shop: &Shop) -> (String, Value, String) {
    let id = shop.ordered().await;
    let payment = shop.paying(&id).await;
    pass_deadline_unnoticed(shop).await;
    let order = shop.order(&id).await;
    assert_eq!(order["status"], "PAYING");
    (id, order, payment)
}

/// The order is closed, everything was given back once, and it never went back.
async fn assert_closed_once(shop: &Shop, id: &str) {
    let order = shop.order(id).await;
    assert_eq!(order["status"], "CLOSED");
    assert_eq!(order["resources"][0]["status"], "RELEASED");
    assert_eq!((&order["pending"], &order["refunds"]), (&json!([]), &json!([])));
    assert_eq!(shop.stock("SKU").await, (5, 0, 0));
    assert_eq!(statuses(shop, id).await, ["PAYING", "CLOSING", "CLOSED"], "never back (I1)");
    assert!(shop.metric("OrderClosed") <= 1, "by one worker, if it lived to tell");
    assert_eq!(shop.metric("InvariantBreach"), 0);
    assert!(!shop.is_due(id).await, "I12");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s2_twenty_wake_ups_of_one_order_at_once_are_one_claim_and_one_close() {
    let shop = still_shop().open().await;
    let (id, order, payment) = overdue_order(&shop).await;
    let workers = (0..20).map(|_| {
        let (functions, event) = (Arc::clone(&shop.system.functions), wake_event(&order));
        tokio::spawn(async move {
            functions.close_order.handle(serde_json::from_value(event).expect("an event")).await.is_ok()
        })
    });
    let handled = join_all(workers).await;
    assert!(handled.iter().all(|worker| matches!(worker, Ok(true))), "none of them is wanted again: {handled:?}");
    shop.rest().await;
    assert_closed_once(&shop, &id).await;
    assert_eq!(shop.order(&id).await["closing"]["attempts"], 1);
    assert_eq!((shop.calls(&payment, "query").await, shop.calls(&payment, "close").await), (2, 1));
    assert_eq!(shop.metric("WakeDuplicate"), 19);
}

/// A close run of an order with one attempt writes three times: the claim, the conversation, the decision.
const CLAIM: usize = 1;
const CONVERSATION: usize = 2;
const DECISION: usize = 3;

/// Kills a worker at `stop` and tells the status it leaves behind; what comes then is the delayed message of its lease.
async fn killed_worker(shop: &Shop, stop: Stop) -> (String, String) {
    let (id, order, payment) = overdue_order(shop).await;
    {
        let stopped = stop_at(shop, stop);
        let mut worker = Box::pin(close_by_hand(shop, &order));
        run_until(&mut worker, &stopped).await;
    }
    shop.system.cloud.clear_call_rules();
    shop.rest().await;
    (id, payment)
}

#[tokio::test]
async fn s3_a_worker_that_dies_before_its_claim_leaves_the_order_to_the_wake_ups_next_delivery() {
    let shop = still_shop().open().await;
    let (id, payment) = killed_worker(&shop, Stop::Before(CLAIM)).await;
    assert_eq!((shop.status(&id).await.as_str(), shop.calls(&payment, "query").await), ("PAYING", 0));
    let order = shop.order(&id).await;
    close_by_hand(&shop, &order).await;
    shop.rest().await;
    assert_closed_once(&shop, &id).await;
}

#[tokio::test]
async fn s3_a_worker_that_dies_in_closing_is_followed_after_its_lease_by_one_that_asks_again() {
    for (stop, asked) in [
        (Stop::After(CLAIM), 0),
        (Stop::Before(CONVERSATION), 2),
        (Stop::After(CONVERSATION), 2),
        (Stop::Before(DECISION), 2),
    ] {
        let shop = still_shop().open().await;
        let (id, payment) = killed_worker(&shop, stop).await;
        assert_eq!(shop.status(&id).await, "CLOSING", "{stop:?}");
        assert_eq!(shop.calls(&payment, "query").await, asked, "{stop:?}");
        assert_eq!(shop.stock("SKU").await, (4, 1, 0), "I3: nothing is released by half a close ({stop:?})");

        // Nobody may take it from the lease: neither another wake-up nor a person.
        let order = shop.order(&id).await;
        close_by_hand(&shop, &order).await;
        assert_eq!(shop.check(&id).await.expect(200).body["status"], "CLOSING");
        assert_eq!(shop.calls(&payment, "query").await, asked, "the lease holds ({stop:?})");

        shop.advance(LEASE_AND_MARGIN).await;
        assert_closed_once(&shop, &id).await;
        assert_eq!(shop.calls(&payment, "query").await, asked + 2, "the channel is asked again ({stop:?})");
        let closing = &shop.order(&id).await["closing"];
        assert_eq!((&closing["attempts"], &closing["trigger"]), (&json!(2), &json!("retry")), "{stop:?}");
    }
}

#[tokio::test]
async fn s3_a_worker_that_dies_while_the_channel_closes_the_payment_is_followed_by_one_that_asks_again() {
    let shop = still_shop().with_channel_call(Duration::from_millis(30)).open().await;
    let (id, order, payment) = overdue_order(&shop).await;
    shop.channel(&payment, json!({"delay_ms": 600_000})).await;
    let closed_there = Notify::new();
    {
        let mut worker = Box::pin(close_by_hand(&shop, &order));
        let watch = async {
            while shop.calls(&payment, "close").await == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            closed_there.notify_one();
        };
        tokio::select! {
            () = &mut worker => panic!("the worker was done before it was killed"),
            () = watch => {}
        }
    }
    assert_eq!(shop.at_channel(&payment).await["state"], "CLOSED", "the channel has closed it");
    assert_eq!(shop.status(&id).await, "CLOSING");
    shop.channel(&payment, json!({"delay_ms": 0})).await;
    let queries = shop.calls(&payment, "query").await;
    shop.advance(LEASE_AND_MARGIN).await;
    assert_closed_once(&shop, &id).await;
    assert_eq!(shop.calls(&payment, "query").await, queries + 2);
}

#[tokio::test]
async fn s3_a_worker_that_dies_after_its_decision_has_closed_the_order() {
    let shop = still_shop().open().await;
    let (id, payment) = killed_worker(&shop, Stop::After(DECISION)).await;
    assert_closed_once(&shop, &id).await;
    let order = shop.order(&id).await;
    close_by_hand(&shop, &order).await;
    shop.advance(LEASE_AND_MARGIN).await;
    assert_closed_once(&shop, &id).await;
    assert_eq!(shop.calls(&payment, "query").await, 2, "a closed order is not asked about again");
}

#[tokio::test]
async fn s3_the_late_write_of_a_worker_that_slept_over_its_lease_loses() {
    // What the sleeper heard, what the channel says to its successor, and what is true in the end.
    for (heard, true_now, status, stock) in
        [("NOTPAY", "SUCCESS", "PAID", (4, 0, 1)), ("SUCCESS", "SUCCESS", "PAID", (4, 0, 1))]
    {
        let shop = still_shop().open().await;
        let (id, order, payment) = overdue_order(&shop).await;
        shop.channel(&payment, json!({"state": heard})).await;
        let stopped = stop_at(&shop, Stop::Before(DECISION));
        let mut sleeper = Box::pin(close_by_hand(&shop, &order));
        run_until(&mut sleeper, &stopped).await;
        shop.system.cloud.clear_call_rules();
        shop.channel(&payment, json!({"state": true_now})).await;
        shop.advance(LEASE_AND_MARGIN).await;
        let settled = shop.order(&id).await;
        assert_eq!(settled["status"], status);

        sleeper.await;
        shop.rest().await;
        let after = shop.order(&id).await;
        assert_eq!(after["version"], settled["version"], "the late write changed nothing");
        assert_eq!((&after["status"], &after["refunds"]), (&json!(status), &json!([])));
        assert_eq!(shop.stock("SKU").await, stock);
        assert_eq!(shop.metric("OrderPaid"), 1);
        assert_eq!(shop.metric("OrderClosed"), 0);
    }
}

#[tokio::test]
async fn s8_a_cancel_that_dies_half_way_is_finished_by_the_delayed_message_long_before_the_deadline() {
    for stop in [Stop::After(CLAIM), Stop::Before(CONVERSATION), Stop::Before(DECISION)] {
        let shop = still_shop().open().await;
        let id = shop.ordered().await;
        let payment = shop.paying(&id).await;
        {
            let stopped = stop_at(&shop, stop);
            let mut cancel = Box::pin(shop.cancel(&id));
            run_until(&mut cancel, &stopped).await;
        }
        shop.system.cloud.clear_call_rules();
        shop.rest().await;
        assert_eq!(shop.status(&id).await, "CLOSING", "{stop:?}");
        let _ = shop.pay(&id).await.expect_problem(409, "order_closing");
        assert_eq!(shop.cancel(&id).await.expect(202).body["status"], "CLOSING", "it is under way");

        shop.advance(LEASE_AND_MARGIN).await;
        assert_closed_once(&shop, &id).await;
        let order = shop.order(&id).await;
        assert_eq!(order["close_reason"], "cancelled_by_user");
        assert!(order["seconds_left"].as_u64() > Some(1_700), "long before its deadline: {}", order["seconds_left"]);
        assert!(shop.calls(&payment, "close").await > 0);
        assert_eq!(shop.cancel(&id).await.expect(200).body["status"], "CLOSED");
        assert_no_dead_letters(&shop);
    }
}
