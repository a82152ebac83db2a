//! The invariants of DESIGN §2, each judged on everything the demo saw: every order as it is stored, every write of it in the stream,
//! every counter, every payment at the channel.

use std::collections::{BTreeMap, BTreeSet};

use expiry_core::invariants::{breaches, transition_breaches};
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::refund::RefundStatus;
use expiry_core::reservation::{CouponStatus, HoldStatus, ResourceKind};
use expiry_core::time::Timestamp;

use super::cells::{closed_after, expired, refunds, seconds};
use super::evidence::{AtChannel, Evidence};

/// What became of one invariant.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Its number.
    pub(super) id: &'static str,
    /// What it says, in short.
    pub(super) says: &'static str,
    /// What it was judged on.
    pub(super) seen: String,
    /// What breaks it.
    pub(super) breaches: Vec<String>,
}

/// The invariants in short.
const INVARIANTS: [(&str, &str); 13] = [
    ("I1", "one final outcome, PAID or CLOSED, and no way back from it"),
    ("I2", "a success is never overwritten; money no PAID order needs goes back"),
    ("I3", "an unknown result releases nothing; released means CLOSED"),
    ("I4", "confirmed means PAID; nothing of a PAID order is released"),
    ("I5", "every counter balances: on hand = available + reserved + sold"),
    ("I6", "a reservation leaves RESERVED once, whatever is delivered twice"),
    ("I7", "nothing expires before its deadline; no deadline moves to an earlier time"),
    ("I8", "every order past its deadline ends, and all its effects are done"),
    ("I9", "one refund per transaction, as counted at the channel"),
    ("I10", "no credential for an order that is not payable"),
    ("I11", "every change of status stores its trigger, actor and ground"),
    ("I12", "open or with work left: in the due index; else not"),
    ("I13", "no attempt of a finished order is left unasked"),
];

/// Refusals that must have been tried for I10: in the last second, on CLOSING, on CLOSED, on PAID.
const NOT_PAYABLE: [&str; 4] = ["order_expired", "order_closing", "order_closed", "order_paid"];

/// What was found, by invariant: what was looked at, and what breaks it.
#[derive(Debug, Default)]
struct Findings {
    seen: BTreeMap<&'static str, String>,
    breaches: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Findings {
    fn seen(&mut self, id: &'static str, what: String) {
        self.seen.insert(id, what);
    }

    fn breach(&mut self, id: &'static str, what: String) {
        self.breaches.entry(id).or_default().insert(what);
    }
}

/// Judges every invariant.
pub(super) fn all(evidence: &Evidence) -> Vec<Verdict> {
    let mut findings = Findings::default();
    images_and_changes(evidence, &mut findings);
    outcomes(evidence, &mut findings);
    holds(evidence, &mut findings);
    counters(evidence, &mut findings);
    deadlines(evidence, &mut findings);
    nothing_left(evidence, &mut findings);
    at_the_channel(evidence, &mut findings);
    credentials(evidence, &mut findings);
    grounds(evidence, &mut findings);
    let mut verdict = |(id, says)| Verdict {
        id,
        says,
        seen: findings.seen.remove(id).unwrap_or_default(),
        breaches: findings.breaches.remove(id).unwrap_or_default().into_iter().collect(),
    };
    INVARIANTS.into_iter().map(&mut verdict).collect()
}

/// The core's own invariants, on every image and every change.
fn images_and_changes(evidence: &Evidence, findings: &mut Findings) {
    let images = evidence.changes.iter().map(|change| &change.after).chain(&evidence.orders);
    let of_images = images.flat_map(|order| breaches(order).into_iter().map(move |breach| (order, breach)));
    let of_changes = evidence.changes.iter().flat_map(|change| {
        let broken = change.before.as_ref().map(|before| transition_breaches(before, &change.after));
        broken.unwrap_or_default().into_iter().map(|breach| (&change.after, breach))
    });
    for (order, breach) in of_images.chain(of_changes) {
        findings.breach(breach.invariant, format!("{} v{}: {}", order.id, order.version, breach.what));
    }
    if evidence.breaches_counted > 0 {
        findings.breach("I8", format!("the stream's own check counted {} breaches", evidence.breaches_counted));
    }
}

/// I1, I2, I13.
fn outcomes(evidence: &Evidence, findings: &mut Findings) {
    let mut ends: BTreeMap<_, usize> = BTreeMap::new();
    for change in &evidence.changes {
        let was = change.before.as_ref().is_some_and(|before| before.status.is_terminal());
        if change.after.status.is_terminal() && !was {
            *ends.entry(&change.after.id).or_default() += 1;
        }
    }
    for (order, times) in ends.iter().filter(|(_, times)| **times > 1) {
        findings.breach("I1", format!("{order} ended {times} times"));
    }
    findings.seen(
        "I1",
        format!("{} orders, {} ends, {} writes", evidence.orders.len(), ends.len(), evidence.changes.len()),
    );
    let attempts = || evidence.orders.iter().flat_map(|order| &order.attempts);
    let received = attempts().filter(|attempt| attempt.receipt.is_some()).count();
    let refunded = attempts().filter(|attempt| attempt.refund.is_some()).count();
    findings.seen("I2", format!("{received} payments received, {refunded} given back"));
    let finished = evidence.orders.iter().filter(|order| order.status.is_terminal());
    findings.seen("I13", format!("{} attempts", finished.map(|order| order.attempts.len()).sum::<usize>()));
}

/// Every hold of an order with its name: `true` when it has left RESERVED.
fn holds_of(order: &Order) -> Vec<(String, bool)> {
    let counters = ResourceKind::ALL.into_iter().flat_map(|kind| order.counter_holds(kind));
    let mut holds: Vec<(String, bool)> =
        counters.map(|(key, _, hold)| (format!("{} {key}", key.kind().name()), hold != HoldStatus::Reserved)).collect();
    let coupon = order.coupon.as_ref();
    holds.extend(coupon.map(|coupon| (format!("coupon {}", coupon.id), coupon.status != CouponStatus::Locked)));
    holds
}

/// I3, I4, I6: the images say it all; here they are counted, and each departure is seen once.
fn holds(evidence: &Evidence, findings: &mut Findings) {
    let mut left: BTreeMap<(String, String), usize> = BTreeMap::new();
    for change in &evidence.changes {
        let before = change.before.as_ref().map(holds_of).unwrap_or_default();
        for (name, gone) in holds_of(&change.after) {
            if gone && !before.contains(&(name.clone(), true)) {
                *left.entry((change.after.id.to_string(), name)).or_default() += 1;
            }
        }
    }
    for ((order, name), times) in left.iter().filter(|(_, times)| **times > 1) {
        findings.breach("I6", format!("{name} of {order} left RESERVED {times} times"));
    }
    findings.seen("I6", format!("{} reservations left, each once", left.len()));
    let undecided = evidence.changes.iter().filter(|change| change.after.status == OrderStatus::Closing);
    findings.seen("I3", format!("{} writes of CLOSING orders", undecided.count()));
    let paid = evidence.changes.iter().filter(|change| change.after.status == OrderStatus::Paid);
    findings.seen("I4", format!("{} writes of PAID orders", paid.count()));
}

/// I5: the counters against what was put in and what all orders say they hold and bought; the coupons likewise.
fn counters(evidence: &Evidence, findings: &mut Findings) {
    for (key, counter, supplied) in &evidence.counters {
        let of_orders = |wanted: HoldStatus| -> u64 {
            let holds = evidence.orders.iter().flat_map(|order| order.counter_holds(key.kind()));
            holds.filter(|(held, _, hold)| held == key && *hold == wanted).map(|(_, units, _)| units.get()).sum()
        };
        let (reserved, sold) = (of_orders(HoldStatus::Reserved), of_orders(HoldStatus::Confirmed));
        let available = supplied.checked_sub(reserved + sold);
        if (Some(counter.available), counter.reserved, counter.sold) != (available, reserved, sold) {
            let orders = format!("the orders say {reserved} reserved and {sold} sold of {supplied}");
            findings.breach("I5", format!("{} {key} is {counter:?}; {orders}", key.kind().name()));
        }
    }
    for coupon in &evidence.coupons {
        let holder = coupon.terms.holder.as_ref().and_then(|id| evidence.order(id));
        let held = holder.and_then(|order| order.coupon.as_ref()).map(|hold| hold.status);
        let is_right = match coupon.terms.status {
            CouponStatus::Available => held.is_none(),
            CouponStatus::Locked | CouponStatus::Used => held == Some(coupon.terms.status),
            CouponStatus::Expired | CouponStatus::Void => held.is_none(),
        };
        if !is_right {
            findings.breach("I5", format!("a coupon is {:?}; its order says {held:?}", coupon.terms));
        }
    }
    findings.seen("I5", format!("{} counters, {} coupons", evidence.counters.len(), evidence.coupons.len()));
}

/// I7.
fn deadlines(evidence: &Evidence, findings: &mut Findings) {
    for order in &evidence.orders {
        if let Some((closed_at, expire_at)) = expired(order)
            && closed_at < expire_at
        {
            findings.breach("I7", format!("{} was closed at {closed_at}, due at {expire_at}", order.id));
        }
        if order.rule.version == 0 {
            findings.breach("I7", format!("{} does not tell its rule", order.id));
        }
    }
    let mut lags: Vec<_> = evidence.orders.iter().filter_map(closed_after).collect();
    lags.sort();
    let earliest = lags.first().copied().unwrap_or_default();
    findings.seen("I7", format!("{} expired, the earliest at T+{}", lags.len(), seconds(earliest)));
}

/// I8, I12.
fn nothing_left(evidence: &Evidence, findings: &mut Findings) {
    for order in &evidence.orders {
        if !order.status.is_terminal() {
            findings.breach("I8", format!("{} is still {}", order.id, order.status.name()));
        }
        if !order.pending.is_empty() {
            findings.breach("I8", format!("{} has work left: {:?}", order.id, order.pending));
        }
    }
    for (queue, left) in &evidence.messages {
        findings.breach("I8", format!("{left} messages are left in {queue}"));
    }
    for schedule in &evidence.armed {
        findings.breach("I8", format!("the wake-up {schedule} is still armed"));
    }
    for order in &evidence.due {
        findings.breach("I12", format!("{order} is still in the due index"));
    }
    let messages: usize = evidence.messages.values().sum();
    findings.seen("I8", format!("{messages} messages and {} wake-ups left", evidence.armed.len()));
    findings.seen("I12", format!("{} orders left in the index", evidence.due.len()));
}

/// I9: what the channel carried out against what the orders say.
fn at_the_channel(evidence: &Evidence, findings: &mut Findings) {
    let (mut transactions, mut carried_out) = (BTreeSet::new(), 0);
    for AtChannel { order, attempt, payment } in &evidence.payments {
        let attempt_of = evidence.order(order).and_then(|order| order.attempt(*attempt));
        let refund = attempt_of.and_then(|attempt| attempt.refund.as_ref());
        let done = refund.filter(|refund| refund.status == RefundStatus::Succeeded);
        let expected: Vec<u64> = done.map(|refund| refund.money.amount.minor()).into_iter().collect();
        let found = refunds(payment);
        carried_out += found.len();
        if found != expected {
            findings.breach("I9", format!("{order}-{attempt}: the channel refunded {found:?}, the order {expected:?}"));
        }
        let transaction = attempt_of.and_then(|attempt| attempt.receipt.as_ref()).map(|receipt| &receipt.transaction);
        if transaction.is_some_and(|transaction| !transactions.insert(transaction.to_string())) {
            findings.breach("I9", format!("the transaction of {order}-{attempt} was counted twice"));
        }
    }
    findings.seen("I9", format!("{carried_out} refunds of {} transactions", transactions.len()));
}

/// I10: what was tried was refused, and the channel created nothing from one second before a deadline on.
fn credentials(evidence: &Evidence, findings: &mut Findings) {
    for code in NOT_PAYABLE {
        if !evidence.refused.iter().any(|refused| refused.code == code) {
            findings.breach("I10", format!("{code} was never tried"));
        }
    }
    for refused in evidence.refused.iter().filter(|refused| !refused.left_no_trace) {
        findings.breach("I10", format!("a payment refused with {} left an attempt", refused.code));
    }
    let mut created = 0;
    for AtChannel { order, attempt, payment } in &evidence.payments {
        let last = evidence.order(order).and_then(|order| order.expire_at);
        let last = last.map(|expire_at| expire_at.minus(limits::LAST_CREDENTIAL_BEFORE_EXPIRY));
        let calls = payment["calls"].as_array().map_or(&[][..], Vec::as_slice);
        for call in calls.iter().filter(|call| call["call"] == "place") {
            created += 1;
            let at = Timestamp::parse_rfc3339(call["at"].as_str().unwrap_or_default());
            if at.is_none() || at > last.or(at) {
                findings.breach("I10", format!("{order}-{attempt} was created at {at:?}, at the latest at {last:?}"));
            }
        }
    }
    findings.seen("I10", format!("{created} handed out, {} refused", evidence.refused.len()));
}

/// I11: each change of status with its evidence, in the same write.
fn grounds(evidence: &Evidence, findings: &mut Findings) {
    let mut changed = 0;
    for change in &evidence.changes {
        let was = change.before.as_ref().map_or(OrderStatus::PendingPayment, |before| before.status);
        if change.after.status == was {
            continue;
        }
        changed += 1;
        let last = change.after.evidence.last();
        let is_told = last.is_some_and(|last| {
            last.version == change.after.version
                && last.to == change.after.status
                && !last.trigger.is_empty()
                && !last.fact.is_empty()
        });
        if !is_told {
            findings.breach("I11", format!("{} v{} does not tell why", change.after.id, change.after.version));
        }
    }
    findings.seen("I11", format!("{changed} changes of status"));
}
