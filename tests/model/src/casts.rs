//! The casts themselves. What each may do is chosen so that all of them together are looked at within a minute.

use expiry_core::closing::CloseTrigger;

use crate::cast::{Cast, Leg, May, Odd, Opening};

/// How long the order may be paid.
pub const WINDOW: u64 = 1_800;
/// What the order costs, where it costs something.
const PAYABLE: u64 = 100;

pub(crate) const WHOLE: Leg = Leg { channel: "sim", amount: None };
const ELSEWHERE: Leg = Leg { channel: "other", amount: None };
pub(crate) const PART: Leg = Leg { channel: "sim", amount: Some(60) };

const NOTHING: May =
    May { starts: 0, told: 0, closes: 0, extends: 0, asks: 0, refunds: 0, settles: 0, faults: 0, oddities: 0 };

/// One placed payment; nothing happens to it yet.
const STAGE: Cast = Cast {
    name: "",
    about: "",
    payable: PAYABLE,
    never: false,
    holds_everything: false,
    opening: Opening::Placed,
    legs: &[WHOLE],
    closes: &[CloseTrigger::Wake, CloseTrigger::Scan],
    odd: &[],
    // In time, due, past every lease and first retry.
    moments: &[60, WINDOW + 1, WINDOW + 60],
    may: NOTHING,
    properties: crate::properties::properties,
    only: None,
};

/// Every cast.
pub const CASTS: &[Cast] = &[
    Cast {
        name: "nothing to pay",
        about: "PAID at once, nothing left to do",
        payable: 0,
        holds_everything: true,
        opening: Opening::Created,
        may: May { closes: 1, settles: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "holdings",
        about: "callback against closer; then everything the order holds is settled, twice",
        holds_everything: true,
        may: May { told: 1, closes: 1, settles: 6, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "deadline",
        about: "a payment begun before the deadline against callback, closer and cancelling customer",
        opening: Opening::Created,
        closes: &[CloseTrigger::Wake, CloseTrigger::Cancel],
        odd: &[Odd::PaysAfterClose],
        moments: &[60, WINDOW - 1, WINDOW + 1],
        may: May { starts: 1, told: 1, closes: 2, oddities: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "faults",
        about: "closers that die, lose answers, lose writes, and are taken over",
        closes: &[CloseTrigger::Scan, CloseTrigger::Retry, CloseTrigger::Operator],
        moments: &[60, WINDOW + 1, WINDOW + 40],
        may: May { told: 1, closes: 3, faults: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "extended",
        about: "more time to pay, given while others pay and close",
        closes: &[CloseTrigger::Wake, CloseTrigger::Cancel],
        moments: &[60, WINDOW - 1, WINDOW + 1, WINDOW + 601],
        may: May { told: 1, closes: 2, extends: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "never expires",
        about: "an order without a deadline: its credential expires, and its attempt is asked about until it is settled",
        never: true,
        closes: &[CloseTrigger::Wake, CloseTrigger::Cancel],
        odd: &[Odd::TellsHint],
        moments: &[60, 7_300, 7_400],
        may: May { told: 1, closes: 1, asks: 2, oddities: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "never placed",
        about: "a create call that is lost, that lands late, that is refused: rule NF",
        opening: Opening::Created,
        closes: &[CloseTrigger::Scan],
        odd: &[Odd::RefusesPlace],
        moments: &[60, WINDOW + 1, WINDOW + 60, WINDOW + 700],
        may: May { starts: 1, told: 1, closes: 3, faults: 1, oddities: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "placed twice",
        about: "a payment that is resumed, and placed again while the first create call may still land",
        opening: Opening::Created,
        closes: &[CloseTrigger::Cancel],
        odd: &[Odd::RefusesPlace],
        moments: &[60, WINDOW - 1],
        may: May { starts: 2, closes: 1, asks: 1, faults: 1, oddities: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "two channels",
        about: "the payer changes the channel while the first payment is in doubt; both may be paid",
        opening: Opening::Created,
        legs: &[WHOLE, ELSEWHERE],
        moments: &[60, WINDOW + 1],
        may: May { starts: 2, told: 1, asks: 1, faults: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "legs",
        about: "paid in parts, wholly, too much, or not enough",
        opening: Opening::Created,
        legs: &[PART, WHOLE],
        closes: &[CloseTrigger::Wake],
        moments: &[60, WINDOW + 1],
        may: May { starts: 2, told: 1, closes: 1, faults: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "refunds",
        about: "a refund at a channel that stalls, refuses, kills its number, or has given the money back otherwise",
        opening: Opening::OwesRefund,
        odd: &[Odd::RefusesRefund, Odd::KillsRefund, Odd::GivesBackPart, Odd::GivesBackAll],
        moments: &[60, 160, 260],
        may: May { refunds: 4, faults: 1, oddities: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "dead number",
        about: "two workers hear that a refund number is dead, and one of them stalls",
        opening: Opening::RefundStalls,
        odd: &[Odd::KillsRefund],
        moments: &[60, 160, 260, 360, 660],
        may: May { refunds: 4, faults: 1, oddities: 1, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "odd money",
        about: "another amount, another's transaction, money already given back: found by asking",
        odd: &[Odd::PaysOtherAmount, Odd::PaysByTaken, Odd::GivesBackPart, Odd::GivesBackAll, Odd::TellsHint],
        may: May { told: 1, closes: 1, asks: 1, oddities: 2, ..NOTHING },
        ..STAGE
    },
    Cast {
        name: "odd callbacks",
        about: "told what is not so, in every status",
        odd: &[
            Odd::TellsHint,
            Odd::TellsOtherAmount,
            Odd::TellsOtherCurrency,
            Odd::TellsOtherMerchant,
            Odd::TellsOfUnknown,
            Odd::TellsOtherTransaction,
            Odd::TellsTaken,
        ],
        may: May { told: 1, closes: 1, asks: 1, oddities: 2, ..NOTHING },
        ..STAGE
    },
];

/// The cast of that name.
#[must_use]
pub fn cast(name: &str) -> Option<Cast> {
    CASTS.iter().find(|cast| cast.name == name).cloned()
}
