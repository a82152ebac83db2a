//! A cast: a small stage on which everything that may happen does, in every order.

use std::time::Duration;

use expiry_core::closing::CloseTrigger;
use expiry_core::decide::create::{Creation, InvalidOrder, NewLine, NewOrder, create};
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::ids::{ActivityId, Batch, ChannelId, CouponId, MerchantId, OrderId, RuleId, Sku, UserId, Warehouse};
use expiry_core::money::{Amount, Currency};
use expiry_core::reservation::{Quantity, StockKey};
use expiry_core::time::Timestamp;
use stateright::Property;

use crate::casts::WINDOW;

/// A stage. Within it nothing is chosen: the checker takes every choice.
#[derive(Clone, Debug)]
pub struct Cast {
    /// Its name.
    pub name: &'static str,
    /// What it is there for.
    pub about: &'static str,
    /// What the order costs.
    pub payable: u64,
    /// Whether it never expires.
    pub never: bool,
    /// Whether it holds a coupon, points and a flash-sale slot besides its stock; then the coupon comes in every condition.
    pub holds_everything: bool,
    /// Where the curtain rises.
    pub opening: Opening,
    /// The payments that payers start.
    pub legs: &'static [Leg],
    /// The occasions on which the order is closed.
    pub closes: &'static [CloseTrigger],
    /// What may go oddly outside.
    pub odd: &'static [Odd],
    /// The moments at which something happens, in seconds from the order's creation; it expires at [`WINDOW`].
    pub moments: &'static [u64],
    /// How much may happen.
    pub may: May,
    /// What is to be checked of it.
    pub properties: fn() -> Vec<Property<Cast>>,
    /// The one of them to check; all of them if there is none.
    pub only: Option<&'static str>,
}

/// Where the curtain rises. What came before happened without faults and with nobody else about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The order is created.
    Created,
    /// Its first payment is placed.
    Placed,
    /// A leg was paid, and the order was cancelled: it is CLOSED and owes a refund.
    OwesRefund,
    /// And that refund was submitted: the channel has accepted it, and nobody heard the answer.
    RefundStalls,
}

/// A payment, or a leg of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leg {
    /// Through which channel.
    pub channel: &'static str,
    /// How much; `None` is all that is unpaid.
    pub amount: Option<u64>,
}

/// How much may still happen: what makes the model finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct May {
    /// Payments are started.
    pub starts: u8,
    /// The channel tells what is true.
    pub told: u8,
    /// The order is closed.
    pub closes: u8,
    /// A person gives more time to pay.
    pub extends: u8,
    /// `ask:<n>` is worked off.
    pub asks: u8,
    /// `refund:<n>` is worked off, or a person has it tried again.
    pub refunds: u8,
    /// Units of settlement are worked off.
    pub settles: u8,
    /// A worker dies, a call or its answer is lost, the answer of a write is lost.
    pub faults: u8,
    /// One of the cast's [`Odd`] things happens.
    pub oddities: u8,
}

/// What may go oddly outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Odd {
    /// Another amount is paid.
    PaysOtherAmount,
    /// It is paid by a transaction that is recorded for another order.
    PaysByTaken,
    /// It is paid though the channel had called it closed.
    PaysAfterClose,
    /// Somebody else gives a part of the money back at the channel.
    GivesBackPart,
    /// Somebody else gives all of it back.
    GivesBackAll,
    /// The channel tells that it is not paid.
    TellsHint,
    /// It tells of another amount.
    TellsOtherAmount,
    /// It tells of another currency.
    TellsOtherCurrency,
    /// It tells of another merchant.
    TellsOtherMerchant,
    /// It tells of an attempt there is not.
    TellsOfUnknown,
    /// It tells of another transaction for the same attempt.
    TellsOtherTransaction,
    /// It tells of a transaction that is recorded for another order.
    TellsTaken,
    /// It refuses to create a payment.
    RefusesPlace,
    /// It refuses a refund.
    RefusesRefund,
    /// It ends a refund it had accepted without giving the money back.
    KillsRefund,
}

impl Cast {
    /// The moment `index`.
    #[must_use]
    pub fn moment(&self, index: usize) -> Option<Timestamp> {
        self.moments.get(index).map(|seconds| created().plus(Duration::from_secs(*seconds)))
    }

    /// The order as `create` makes it.
    ///
    /// # Errors
    /// None for any cast that is here.
    pub fn creation(&self) -> Result<Creation, InvalidOrder> {
        let rule = RuleDefinition {
            id: valid(RuleId::new("default")),
            version: 1,
            seconds: (!self.never).then_some(WINDOW as i64),
            never: Some(self.never),
        };
        let request = NewOrder {
            id: OrderId::from_bits([7; 15]),
            body_digest: [1; 16],
            user: valid(UserId::new("user")),
            currency: currency("EUR"),
            lines: vec![NewLine { stock: stock(), quantity: valid(Quantity::new(2).ok_or(2)), unit_price: amount(50) }],
            coupon: self.holds_everything.then(|| valid(CouponId::new("coupon"))),
            points: self.holds_everything.then(|| valid(Quantity::new(5).ok_or(5))),
            quotas: if self.holds_everything {
                vec![(valid(ActivityId::new("sale")), valid(Quantity::new(1).ok_or(1)))]
            } else {
                Vec::new()
            },
            payable: amount(self.payable),
            rule: rule.id.clone(),
            source: None,
        };
        create(request, &valid(ExpiryRules::new(vec![rule])), None, created())
    }
}

impl Leg {
    /// Through which channel.
    #[must_use]
    pub fn channel(self) -> ChannelId {
        valid(ChannelId::new(self.channel))
    }

    /// How much; `None` is all that is unpaid.
    #[must_use]
    pub fn amount(self) -> Option<Amount> {
        self.amount.map(amount)
    }
}

/// What is written in this file is valid.
pub(crate) fn valid<T, E: std::fmt::Debug>(written: Result<T, E>) -> T {
    written.expect("a valid constant")
}

pub(crate) fn created() -> Timestamp {
    valid(Timestamp::from_seconds(1_767_225_600).ok_or("a time"))
}

pub(crate) fn amount(minor: u64) -> Amount {
    valid(Amount::new(minor).ok_or(minor))
}

pub(crate) fn currency(code: &str) -> Currency {
    valid(Currency::parse(code).ok_or("a currency"))
}

pub(crate) fn merchant() -> MerchantId {
    valid(MerchantId::new("merchant"))
}

fn stock() -> StockKey {
    StockKey {
        sku: valid(Sku::new("sku")),
        warehouse: valid(Warehouse::new("default")),
        batch: valid(Batch::new("default")),
    }
}
