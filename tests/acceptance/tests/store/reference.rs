//! A step on the model: what it changes, and what every call of the store is to answer.

use std::collections::BTreeMap;

use expiry_core::decide::create::{Creation, create};
use expiry_core::decide::{Commit, Knowledge};
use expiry_core::order::Order;
use expiry_core::reservation::{CounterKey, CouponStatus};
use expiry_core::row::CouponTerms;
use expiry_core::time::Timestamp;
use expiry_store::{Counter, Coupon, CouponEdit, DuePosition};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::orders;
use crate::scene::{beginning, counters, order_id, rules, seconds, user};
use crate::step::{Act, Mishap, Seen, Step, step};
use crate::tables::{Tables, Written};

/// How often one move decides again on what a row refused.
const TRIES: usize = 4;
/// How many there are of everything at first.
const ON_HAND: u64 = 5;

/// The model after a step.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) tables: Tables,
    pub(crate) now: Timestamp,
    /// What anybody may have read of the order of each slot, oldest first.
    pub(crate) seen: BTreeMap<u8, Vec<Order>>,
    /// The calls of the last step, with their answers.
    pub(crate) calls: Vec<Call>,
}

/// A call of the store, and what it is to answer.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Create(Box<Creation>, Answer<Written>),
    /// On what was seen of the order of a slot.
    Commit {
        slot: u8,
        seen: usize,
        commit: Box<Commit<()>>,
        answer: Answer<Written>,
    },
    EditCounter {
        key: CounterKey,
        on_hand: u64,
        answer: Answer<Result<Counter, Counter>>,
    },
    EditCoupon(CouponEdit, Answer<Coupon>),
    /// No call: the row is changed behind the store's back to this.
    DamageCounter(CounterKey, Counter),
    DamageCoupon,
    Leaf {
        after: Option<DuePosition>,
        most: u16,
        hits: Vec<DuePosition>,
    },
}

/// What a write answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer<T> {
    Told(T),
    Contended,
    Unavailable,
}

impl<T> Answer<T> {
    /// The answer to a write that `mishap` befell, which would have told this.
    fn under(mishap: Mishap, told: T) -> Answer<T> {
        match mishap {
            Mishap::Nothing | Mishap::AnswerLost | Mishap::RequestLost | Mishap::Conflicts => Answer::Told(told),
            Mishap::NeverAnswered | Mishap::NeverArrives => Answer::Unavailable,
            Mishap::ConflictsForEver => Answer::Contended,
        }
    }
}

impl ReferenceStateMachine for Reference {
    type State = Reference;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Reference> {
        let mut tables = Tables::default();
        for key in counters() {
            tables.counters.insert(key, Counter { available: ON_HAND, ..Counter::default() });
        }
        let terms = CouponTerms {
            valid_until: beginning().plus(seconds(1_000_000)),
            refundable: true,
            campaign_active: true,
            status: CouponStatus::Available,
            holder: None,
        };
        tables.coupon = Some(Coupon { user: user(true), terms });
        Just(Reference { tables, now: beginning(), seen: BTreeMap::new(), calls: Vec::new() }).boxed()
    }

    fn transitions(model: &Reference) -> BoxedStrategy<Step> {
        let newest = model.seen.iter().filter_map(|(slot, seen)| Some((*slot, seen.last()?.clone())));
        step(&newest.collect::<Vec<_>>())
    }

    fn apply(mut model: Reference, step: &Step) -> Reference {
        model.calls = Vec::new();
        match step {
            Step::Create(wish, mishap) => {
                let creation = create(wish.request(), &rules(), wish.most_open(), model.now).expect("an order");
                let answer = model.write(*mishap, |tables| tables.create(&creation));
                model.calls.push(Call::Create(Box::new(creation), answer));
                model.see(wish.slot);
            }
            Step::Move { slot, act, seen, mishap } => {
                model.act(*slot, act, *seen, *mishap);
                model.see(*slot);
            }
            Step::EditCounter { counter, on_hand, mishap } => {
                model.edit_counter(&counters()[*counter], *on_hand, *mishap)
            }
            Step::EditCoupon { ann, valid, refundable, active, mishap } => {
                let from_now = if *valid { 1_000_000 } else { 1 };
                let valid_until = model.now.plus(seconds(from_now));
                let (refundable, campaign_active) = (*refundable, *active);
                let edit = CouponEdit { user: user(*ann), valid_until, refundable, campaign_active };
                model.edit_coupon(edit, *mishap);
            }
            Step::DamageCounter(counter) => model.damage_counter(&counters()[*counter]),
            Step::DamageCoupon => model.damage_coupon(),
            Step::Leaf { from, most } => {
                let due = model.tables.due();
                let after = from.index(due.len() + 1).checked_sub(1).map(|at| due[at].clone());
                let hits = due.into_iter().filter(|hit| after.as_ref().is_none_or(|after| hit > after));
                let hits = hits.take(usize::from(*most)).collect();
                model.calls.push(Call::Leaf { after, most: *most, hits });
            }
            Step::Wait(by) => model.now = model.now.plus(seconds(*by)),
        }
        model
    }
}

impl Reference {
    fn write<T>(&mut self, mishap: Mishap, change: impl FnOnce(&mut Tables) -> T) -> Answer<T> {
        let mut after = self.tables.clone();
        let told = change(&mut after);
        if mishap.arrives() {
            self.tables = after;
        }
        Answer::under(mishap, told)
    }

    /// Somebody reads the order of `slot`.
    fn see(&mut self, slot: u8) {
        if let Some(order) = self.tables.orders.get(&order_id(slot)) {
            let seen = self.seen.entry(slot).or_default();
            if seen.last() != Some(order) {
                seen.push(order.clone());
            }
        }
    }

    /// Decides and commits, and decides again on what a row refused.
    fn act(&mut self, slot: u8, act: &Act, seen: Seen, mut mishap: Mishap) {
        let Some(all) = self.seen.get(&slot) else { return };
        let seen = match seen {
            Seen::Now => all.len() - 1,
            Seen::Before(index) => index.index(all.len()),
        };
        let order = all[seen].clone();
        let mut known = Knowledge::default();
        for _ in 0..TRIES {
            let terms = self.tables.coupon.as_ref().map(|coupon| &coupon.terms);
            let Some(commit) = orders::commit(&order, act, terms, &mut known, self.now) else { return };
            let answer = self.write(mishap, |tables| tables.commit(&commit));
            let refused = match &answer {
                Answer::Told(Written::Refused(refusal)) => Some(refusal.clone()),
                Answer::Told(Written::Stored(_) | Written::Lost(_)) | Answer::Contended | Answer::Unavailable => None,
            };
            let on_version = commit.on_version;
            self.calls.push(Call::Commit { slot, seen, commit: Box::new(commit), answer });
            let Some(refusal) = refused else { return };
            known.refuse(on_version, refusal);
            mishap = Mishap::Nothing;
        }
    }

    fn edit_counter(&mut self, key: &CounterKey, on_hand: u64, mishap: Mishap) {
        let before = self.tables.counters.get(key).copied().unwrap_or_default();
        let answer = match on_hand.checked_sub(before.reserved + before.sold) {
            None => Answer::Told(Err(before)),
            Some(available) => self.write(mishap, |tables| {
                let after = Counter { available, ..before };
                tables.counters.insert(key.clone(), after);
                Ok(after)
            }),
        };
        self.calls.push(Call::EditCounter { key: key.clone(), on_hand, answer });
    }

    /// Status and holder are left alone; a new coupon is AVAILABLE.
    fn edit_coupon(&mut self, edit: CouponEdit, mishap: Mishap) {
        let CouponEdit { user, valid_until, refundable, campaign_active } = edit.clone();
        let answer = self.write(mishap, |tables| {
            let held = tables.coupon.as_ref().map(|coupon| (coupon.terms.status, coupon.terms.holder.clone()));
            let (status, holder) = held.unwrap_or((CouponStatus::Available, None));
            let coupon =
                Coupon { user, terms: CouponTerms { valid_until, refundable, campaign_active, status, holder } };
            tables.coupon.insert(coupon).clone()
        });
        self.calls.push(Call::EditCoupon(edit, answer));
    }

    fn damage_counter(&mut self, key: &CounterKey) {
        if let Some(counter) = self.tables.counters.get_mut(key) {
            *counter = Counter { available: counter.available + counter.reserved, reserved: 0, sold: counter.sold };
            self.calls.push(Call::DamageCounter(key.clone(), *counter));
        }
    }

    fn damage_coupon(&mut self) {
        if let Some(coupon) = &mut self.tables.coupon {
            coupon.terms.status = CouponStatus::Available;
            coupon.terms.holder = None;
            self.calls.push(Call::DamageCoupon);
        }
    }
}
