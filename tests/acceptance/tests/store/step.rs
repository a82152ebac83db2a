//! What may happen.

use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::reservation::ResourceKind;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Orders there may be.
pub(crate) const SLOTS: u8 = 12;

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An order is created.
    Create(Wish, Mishap),
    /// Something happens to an order, decided on what was read of it at some time.
    Move { slot: u8, act: Act, seen: Seen, mishap: Mishap },
    /// A person sets how many there are.
    EditCounter { counter: usize, on_hand: u64, mishap: Mishap },
    /// A person sets the terms of the coupon.
    EditCoupon { ann: bool, valid: bool, refundable: bool, active: bool, mishap: Mishap },
    /// Somebody takes away behind everybody's back what orders hold of a counter.
    DamageCounter(usize),
    /// Somebody does so with the coupon.
    DamageCoupon,
    /// Somebody leafs through what is due.
    Leaf { from: Index, most: u16 },
    /// Time passes.
    Wait(u64),
}

/// An order that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) slot: u8,
    pub(crate) ann: bool,
    pub(crate) quantity: u64,
    pub(crate) two_lines: bool,
    pub(crate) coupon: bool,
    pub(crate) points: bool,
    pub(crate) quota: bool,
    pub(crate) free: bool,
    pub(crate) never: bool,
    pub(crate) capped: bool,
}

/// What happens to an order.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A payment is begun.
    Pay,
    /// The channel answers its place.
    Placed { refused: bool },
    /// The channel tells of money for the newest attempt; `shared` is a transaction that every order is told of.
    Told { shared: bool },
    /// Somebody closes it, the channel saying this of every attempt.
    Close { cancel: bool, channel: Channel },
    /// What is to be asked is asked.
    Ask(Channel),
    /// What it holds of a kind is settled.
    Settle(ResourceKind),
    /// It is counted out of its user's open orders.
    Uncount,
    /// Something that was set aside is tried again.
    Resettle,
    /// Its refund is worked on.
    Refund,
    /// It is given more time.
    Extend(u64),
}

/// What a channel says when it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Channel {
    Closed,
    Paid,
    Silent,
}

/// Of when the order is on which a step decides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// As it is.
    Now,
    /// As it was at some version.
    Before(Index),
}

/// What happens to a write on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    Nothing,
    /// It is applied, its answer is lost, and it is sent again.
    AnswerLost,
    /// It is lost and sent again.
    RequestLost,
    /// It meets other transactions twice.
    Conflicts,
    /// It is applied and nobody ever hears of it.
    NeverAnswered,
    /// It never arrives.
    NeverArrives,
    /// It meets other transactions until it is given up.
    ConflictsForEver,
}

impl Mishap {
    /// Whether the write arrives at the tables in the end.
    pub(crate) fn arrives(self) -> bool {
        match self {
            Mishap::Nothing | Mishap::AnswerLost | Mishap::RequestLost | Mishap::Conflicts | Mishap::NeverAnswered => {
                true
            }
            Mishap::NeverArrives | Mishap::ConflictsForEver => false,
        }
    }
}

fn mishap() -> impl Strategy<Value = Mishap> {
    let all = [
        Mishap::AnswerLost,
        Mishap::RequestLost,
        Mishap::Conflicts,
        Mishap::NeverAnswered,
        Mishap::NeverArrives,
        Mishap::ConflictsForEver,
    ];
    prop_oneof![2 => Just(Mishap::Nothing), 1 => select(all.to_vec())]
}

fn wish() -> impl Strategy<Value = Wish> {
    let holds = (1..3_u64, any::<[bool; 3]>());
    let rarely = || proptest::bool::weighted(0.2);
    (0..SLOTS, any::<bool>(), holds, rarely(), rarely(), rarely(), any::<bool>()).prop_map(
        |(slot, ann, (quantity, [two_lines, points, quota]), coupon, free, never, capped)| Wish {
            slot,
            ann,
            quantity,
            two_lines,
            coupon,
            points,
            quota,
            free,
            never,
            capped,
        },
    )
}

fn channel() -> impl Strategy<Value = Channel> {
    select(vec![Channel::Closed, Channel::Closed, Channel::Paid, Channel::Silent])
}

/// What may well come to something on `order`.
fn act(order: &Order) -> BoxedStrategy<Act> {
    let told = || any::<bool>().prop_map(|shared| Act::Told { shared });
    let close = || (any::<bool>(), channel()).prop_map(|(cancel, channel)| Act::Close { cancel, channel });
    match order.status {
        OrderStatus::PendingPayment => prop_oneof![
            3 => Just(Act::Pay),
            2 => close(),
            1 => (1..100_000_u64).prop_map(Act::Extend),
        ]
        .boxed(),
        OrderStatus::Paying | OrderStatus::Closing => prop_oneof![
            2 => any::<bool>().prop_map(|refused| Act::Placed { refused }),
            3 => told(),
            4 => close(),
            1 => channel().prop_map(Act::Ask),
        ]
        .boxed(),
        OrderStatus::Paid | OrderStatus::Closed => {
            let work = order.pending.iter().map(|unit| match unit {
                Unit::Settle(kind) => Act::Settle(*kind),
                Unit::Cap => Act::Uncount,
                Unit::Refund(_) => Act::Refund,
                Unit::Ask(_) => Act::Ask(Channel::Closed),
                Unit::Anomaly(..) | Unit::Foreign(_) => Act::Resettle,
            });
            let late = [Act::Told { shared: true }, Act::Close { cancel: true, channel: Channel::Paid }];
            select(work.chain(late).collect::<Vec<_>>()).boxed()
        }
    }
}

fn is_busy(order: &Order) -> bool {
    !order.status.is_terminal() || !order.pending.is_empty()
}

/// Any step, where these orders are.
pub(crate) fn step(orders: &[(u8, Order)]) -> BoxedStrategy<Step> {
    let seen = prop_oneof![5 => Just(Seen::Now), 1 => any::<Index>().prop_map(Seen::Before)];
    let counter = || 0..5_usize;
    let others = prop_oneof![
        4 => (wish(), mishap()).prop_map(|(wish, mishap)| Step::Create(wish, mishap)),
        1 => (counter(), 0..12_u64, mishap()).prop_map(|(counter, on_hand, mishap)| Step::EditCounter {
            counter,
            on_hand,
            mishap,
        }),
        1 => (any::<[bool; 4]>(), mishap()).prop_map(|([ann, valid, refundable, active], mishap)| Step::EditCoupon {
            ann,
            valid,
            refundable,
            active,
            mishap,
        }),
        1 => prop_oneof![counter().prop_map(Step::DamageCounter), Just(Step::DamageCoupon)],
        1 => (any::<Index>(), 1..4_u16).prop_map(|(from, most)| Step::Leaf { from, most }),
        1 => select(vec![1, 40, 2_000]).prop_map(Step::Wait),
    ];
    if orders.is_empty() {
        return others.boxed();
    }
    // Those with something left to do, as long as there are any.
    let (busy, rest): (Vec<_>, Vec<_>) = orders.iter().cloned().partition(|(_, order)| is_busy(order));
    let moves =
        select(if busy.is_empty() { rest } else { busy }).prop_flat_map(|(slot, order)| (Just(slot), act(&order)));
    let moves = (moves, seen, mishap());
    let moves = moves.prop_map(|((slot, act), seen, mishap)| Step::Move { slot, act, seen, mishap });
    prop_oneof![1 => others, 3 => moves].boxed()
}
