//! Case s7: for every write of the system, whatever happens to it on its way changes nothing in the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use local::cloud::fate::{Call, CallFate, Failure, Service};
use serde_json::Value;

use crate::scene::{assert_no_dead_letters, is_database_write};
use crate::stories::{Story, Teller};

/// Stories told at once.
const AT_ONCE: usize = 4;
/// How often the SDK sends a call before it gives up.
const SDK_ATTEMPTS: u32 = 3;

/// What happens to one write.
#[derive(Clone, Copy, Debug)]
enum Mishap {
    /// It is applied and its answer is lost; the SDK sends it again.
    AnswerLost,
    /// It never arrives; the SDK sends it again.
    RequestLost,
    /// It is throttled; the SDK sends it again.
    Throttled,
    /// It meets another transaction; the SDK does not send it again.
    Conflict,
}

impl Mishap {
    /// What becomes of `call`; `None` where this cannot happen to it.
    fn fate(self, call: &Call<'_>) -> Option<CallFate> {
        let failure = |status, code| Some(CallFate::Fail(Failure::new(status, code)));
        match (self, call.service) {
            (Mishap::AnswerLost, _) => Some(CallFate::LoseAnswer),
            (Mishap::RequestLost, _) => Some(CallFate::LoseRequest),
            (Mishap::Throttled, Service::DynamoDb) => failure(400, "ProvisionedThroughputExceededException"),
            (Mishap::Throttled, _) => failure(429, "ThrottlingException"),
            (Mishap::Conflict, Service::DynamoDb) => match call.operation {
                "UpdateItem" => failure(400, "TransactionConflictException"),
                "TransactWriteItems" => {
                    let items = call.body["TransactItems"].as_array().map_or(0, Vec::len);
                    Some(CallFate::Fail(Failure::transaction_conflict(items, items - 1)))
                }
                // Nothing that is put alone is ever part of a transaction.
                _ => None,
            },
            (Mishap::Conflict, _) => None,
        }
    }
}

fn is_write(call: &Call<'_>) -> bool {
    match call.service {
        Service::DynamoDb => is_database_write(call),
        Service::Sqs => matches!(call.operation, "SendMessage" | "DeleteMessage"),
        Service::Scheduler => matches!(call.operation, "CreateSchedule" | "UpdateSchedule" | "DeleteSchedule"),
        Service::Streams | Service::Secrets => false,
    }
}

/// A write by what it does; the n-th of one kind is the same in every telling.
fn kind(call: &Call<'_>) -> String {
    let resource = if call.service == Service::Scheduler { "" } else { call.resource };
    format!("{:?} {} {resource}", call.service, call.operation)
}

/// How a story ends when nothing goes wrong, and how many writes of each kind it takes.
async fn told_undisturbed(story: Story) -> (Value, BTreeMap<String, usize>) {
    let teller = Teller::open(true).await;
    let writes: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let counts = Arc::clone(&writes);
    teller.shop.system.cloud.on_call(move |call| {
        if is_write(call) {
            *counts.lock().unwrap_or_else(PoisonError::into_inner).entry(kind(call)).or_default() += 1;
        }
        None
    });
    let end = teller.tell(story).await;
    let writes = writes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (end, writes)
}

/// Which write suffers: the `nth` of its kind, of one kind or of every kind.
#[derive(Clone, Debug)]
struct Victim {
    kind: Option<String>,
    nth: usize,
}

impl Victim {
    fn is_of(&self, kind: &str) -> bool {
        self.kind.as_deref().is_none_or(|wanted| wanted == kind)
    }
}

/// Tells `story` while `victim` suffers `mishap` in its first `attempts` attempts by the SDK. `None` when nothing happened: the mishap
/// is impossible there, or the write did not come. (Workers that lost to one another write anew; how often differs a little.)
async fn told_with(story: Story, mishap: Mishap, victim: &Victim, attempts: u32) -> Option<Value> {
    let teller = Teller::open(attempts == 1).await;
    let happened = Arc::new(AtomicBool::new(false));
    let (tell, victim) = (Arc::clone(&happened), victim.clone());
    // Of each kind: how many writes came, and how many attempts of the victim were hit.
    let mut came: BTreeMap<String, (usize, u32)> = BTreeMap::new();
    teller.shop.system.cloud.on_call(move |call| {
        if !is_write(call) || !victim.is_of(&kind(call)) {
            return None;
        }
        let (seen, hit) = came.entry(kind(call)).or_default();
        *seen += usize::from(call.attempt == 1);
        let is_victim = if call.attempt == 1 { *seen == victim.nth } else { *hit > 0 };
        if !is_victim || call.attempt != *hit + 1 || call.attempt > attempts {
            return None;
        }
        let fate = mishap.fate(call)?;
        *hit = call.attempt;
        tell.store(true, Ordering::SeqCst);
        Some(fate)
    });
    let end = teller.tell(story).await;
    assert_no_dead_letters(&teller.shop);
    happened.load(Ordering::SeqCst).then_some(end)
}

/// Every write of its own.
fn each(writes: &BTreeMap<String, usize>) -> Vec<Victim> {
    let victims =
        writes.iter().flat_map(|(kind, count)| (1..=*count).map(|nth| Victim { kind: Some(kind.clone()), nth }));
    victims.collect()
}

/// Every write, those of different kinds together: enough where nothing was applied that could be applied twice.
fn side_by_side(writes: &BTreeMap<String, usize>) -> Vec<Victim> {
    (1..=writes.values().copied().max().unwrap_or(0)).map(|nth| Victim { kind: None, nth }).collect()
}

/// Tells `story` once for every victim and calls `check` on each end.
async fn told_with_each(
    story: Story,
    mishap: Mishap,
    victims: Vec<Victim>,
    attempts: u32,
    check: impl Fn(&Value, &str),
) {
    let count = victims.len();
    let told = victims.into_iter().map(|victim| async move {
        let end = told_with(story, mishap, &victim, attempts).await;
        (format!("{story:?}: {mishap:?} at {victim:?}"), end)
    });
    let mut told = stream::iter(told).buffer_unordered(AT_ONCE);
    let mut happened = 0;
    while let Some((case, end)) = told.next().await {
        if let Some(end) = end {
            check(&end, &case);
            happened += 1;
        }
    }
    println!("{story:?}: {mishap:?}, {attempts}×: {happened} of {count}");
    assert!(happened * 3 >= count, "the test has lost its victims");
}

/// Every write of `story` suffers every mishap once, which the SDK or the store makes good: not even a version differs in the end.
async fn every_write_suffers_once(story: Story) {
    let (undisturbed, writes) = told_undisturbed(story).await;
    assert_eq!(undisturbed["breaches"], 0);
    let same = |end: &Value, case: &str| assert_eq!(end, &undisturbed, "{case}");
    told_with_each(story, Mishap::AnswerLost, each(&writes), 1, same).await;
    for mishap in [Mishap::RequestLost, Mishap::Throttled, Mishap::Conflict] {
        told_with_each(story, mishap, side_by_side(&writes), 1, same).await;
    }
}

/// Every write of `story` is applied without anybody ever hearing of it, which who made it repeats: what the order came to is the same.
async fn every_write_is_never_confirmed(story: Story) {
    let (undisturbed, writes) = told_undisturbed(story).await;
    let same = |end: &Value, case: &str| {
        assert_eq!(what_it_came_to(end), what_it_came_to(&undisturbed), "{case}");
    };
    told_with_each(story, Mishap::AnswerLost, each(&writes), SDK_ATTEMPTS, same).await;
}

/// An end without the times and counts that more tries move.
fn what_it_came_to(end: &Value) -> Value {
    let mut end = end.clone();
    // Who died before it could count counts nothing.
    end["counted"] = Value::Null;
    let order = &mut end["order"];
    for moved in ["version", "server_time", "seconds_left", "closing", "closed_at", "paid_at"] {
        order.as_object_mut().expect("a document").remove(moved);
    }
    for refund in order["refunds"].as_array_mut().into_iter().flatten() {
        refund.as_object_mut().expect("a refund").retain(|name, _| name != "tries" && name != "last_error");
    }
    end
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_paid_changes_its_end() {
    every_write_suffers_once(Story::Paid).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_paid_unnoticed_changes_its_end() {
    every_write_suffers_once(Story::PaidUnnoticed).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_abandoned_changes_its_end() {
    every_write_suffers_once(Story::Abandoned).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_given_more_time_changes_its_end() {
    every_write_suffers_once(Story::Extended).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_cancelled_changes_its_end() {
    every_write_suffers_once(Story::Cancelled).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_whose_channel_is_silent_at_first_changes_its_end() {
    every_write_suffers_once(Story::Undecided).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_paid_late_changes_its_end() {
    every_write_suffers_once(Story::PaidLate).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_is_paid_twice_changes_its_end() {
    every_write_suffers_once(Story::PaidTwice).await;
}

#[tokio::test]
async fn s7_nothing_that_befalls_a_write_once_of_an_order_that_the_scan_finds_changes_its_end() {
    every_write_suffers_once(Story::FoundByScan).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_is_paid_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::Paid).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_is_paid_unnoticed_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::PaidUnnoticed).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_is_abandoned_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::Abandoned).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_is_cancelled_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::Cancelled).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_whose_channel_is_silent_at_first_that_is_never_confirmed_does_not_change_what_it_comes_to()
 {
    every_write_is_never_confirmed(Story::Undecided).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_is_paid_late_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::PaidLate).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_is_paid_twice_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::PaidTwice).await;
}

#[tokio::test]
async fn s7_a_write_of_an_order_that_the_scan_finds_that_is_never_confirmed_does_not_change_what_it_comes_to() {
    every_write_is_never_confirmed(Story::FoundByScan).await;
}
