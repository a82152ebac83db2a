//! What is wrong with one write of one order.

use std::time::Duration;

use expiry_core::attempt::Attempt;
use expiry_core::closing::{CloseReason, Turn};
use expiry_core::invariants;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::time::Timestamp;

use super::CLOCK_TOLERANCE;

/// How long a write that was decided in time may be on its way: longer than any call of a storm stalls.
const ON_ITS_WAY: Duration = Duration::from_secs(60);

/// What the write from `before` to `after` breaks, at the true time `now`.
pub(super) fn breaches(before: Option<&Order>, after: &Order, now: Timestamp) -> Vec<String> {
    let mut found: Vec<String> = invariants::breaches(after).iter().map(ToString::to_string).collect();
    if let Some(before) = before {
        found.extend(invariants::transition_breaches(before, after).iter().map(ToString::to_string));
        found.extend(step_breaches(before, after, now));
    } else if after.version != 1 {
        found.push(format!("it begins with version {}", after.version));
    }
    found.into_iter().map(|breach| format!("{}: {breach}", after.id)).collect()
}

/// What only somebody can see who knows every write and the true time.
fn step_breaches(before: &Order, after: &Order, now: Timestamp) -> Vec<String> {
    let mut found = Vec::new();
    if after.version != before.version + 1 {
        let versions = format!("version {} was written over {}", after.version, before.version);
        found.push(format!("{versions}: somebody's write is lost"));
    }
    let latest = now.plus(CLOCK_TOLERANCE);
    let is_open = |order: &Order| matches!(order.status, OrderStatus::PendingPayment | OrderStatus::Paying);
    let begins_to_close = is_open(before) && matches!(after.status, OrderStatus::Closing | OrderStatus::Closed);
    if begins_to_close && after.close_reason == Some(CloseReason::Expired) {
        if before.expire_at.is_none_or(|expire_at| expire_at > latest) {
            found.push(format!("I7: it expires at {now}, before {:?}", before.expire_at));
        }
        if before.expire_at != after.expire_at {
            found.push("I7: the write that closes it moves its deadline".to_owned());
        }
    }
    let is_extended = before.expire_at != after.expire_at;
    if is_extended && before.expire_at.is_none_or(|was| was.plus(ON_ITS_WAY) < now) {
        found.push(format!("I7: a deadline that has passed was moved: {:?}", before.expire_at));
    }
    found.extend(lease_breaches(before, after, now));
    let decided_anew = after.evidence.last().is_some_and(|last| last.version == after.version);
    if before.status != after.status && !decided_anew {
        found.push(format!("I11: it became {} without evidence", after.status.name()));
    }
    if let (Some(was), Some(is)) = (before.due_at, after.due_at)
        && is > was
        && !before.pending.is_empty()
        && !is_extended
    {
        found.push(format!("I12: work that was due at {was} is postponed to {is}"));
    }
    found
}

/// DESIGN §5.1: nobody takes over what another worker holds a live lease on.
fn lease_breaches(before: &Order, after: &Order, now: Timestamp) -> Vec<String> {
    let close = |order: &Order| order.closing.as_ref().map(|task| task.turn.clone());
    let ask = |order: &Order| order.asking.as_ref().map(|task| task.turn.clone());
    let mut turns = vec![("close", close(before), close(after)), ("ask", ask(before), ask(after))];
    for (no, attempt) in before.numbered_attempts() {
        let refund = |attempt: &Attempt| attempt.refund.as_ref().map(|refund| refund.turn.clone());
        turns.push(("refund", refund(attempt), after.attempt(no).and_then(refund)));
    }
    let live = now.plus(CLOCK_TOLERANCE);
    let taken_over = |was: &Turn, is: &Turn| {
        let is_live = was.owner.is_some() && was.next_check_at.is_some_and(|until| until > live);
        is_live && is.owner.is_some() && is.owner != was.owner
    };
    let breach = |(what, was, is): (&str, Option<Turn>, Option<Turn>)| {
        let (was, is) = (was?, is?);
        taken_over(&was, &is).then(|| format!("a live lease of its {what} was taken over: {was:?} by {is:?}"))
    };
    turns.into_iter().filter_map(breach).collect()
}
