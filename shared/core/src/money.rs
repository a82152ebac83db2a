//! Money: whole minor units with their currency. There is no float anywhere.

use std::fmt;

use crate::limits;

/// An ISO 4217 currency. Amounts in it count its minor unit (cent, fen); a currency without one counts whole units.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// Reads a three-letter code in capitals. `None` for anything ISO 4217 does not list, and for its codes that are no money
    /// (metals, test codes: they have no minor unit).
    #[must_use]
    pub fn parse(code: &str) -> Option<Currency> {
        let currency = iso_currency::Currency::from_code(code)?;
        currency.exponent().map(|_| Currency(currency))
    }

    /// The three-letter code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// How many decimal digits the minor unit is away from the major one: 2 for EUR, 0 for JPY, 3 for KWD.
    #[must_use]
    pub fn exponent(self) -> u16 {
        self.0.exponent().unwrap_or(0)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())
    }
}

/// A number of minor units, 0 … [`limits::AMOUNT`]. What currency it is in is said by where it stands: an order has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u64);

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount(0);

    /// Wraps `minor` units; `None` above [`limits::AMOUNT`].
    #[must_use]
    pub const fn new(minor: u64) -> Option<Amount> {
        if minor <= limits::AMOUNT { Some(Amount(minor)) } else { None }
    }

    /// The minor units.
    #[must_use]
    pub const fn minor(self) -> u64 {
        self.0
    }

    /// Whether it is nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum; it saturates, and no sum of an order's bounded amounts comes near that.
    #[must_use]
    pub const fn plus(self, other: Amount) -> Amount {
        Amount(self.0.saturating_add(other.0))
    }

    /// What is left after `other` is taken away; never below zero.
    #[must_use]
    pub const fn less(self, other: Amount) -> Amount {
        Amount(self.0.saturating_sub(other.0))
    }

    /// `quantity` times this amount; `None` above [`limits::AMOUNT`].
    #[must_use]
    pub fn times(self, quantity: u64) -> Option<Amount> {
        self.0.checked_mul(quantity).and_then(Amount::new)
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::ZERO, Amount::plus)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// An amount and what it is an amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Money {
    /// How many minor units.
    pub amount: Amount,
    /// Of which currency.
    pub currency: Currency,
}

impl fmt::Display for Money {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.amount, self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_money_of_iso_4217_is_a_currency() {
        for good in ["CNY", "EUR", "JPY", "KWD"] {
            assert_eq!(Currency::parse(good).map(Currency::code), Some(good));
        }
        for bad in ["", "cny", "XXX", "XAU", "XTS", "EURO", "€", "ABC"] {
            assert_eq!(Currency::parse(bad), None, "{bad}");
        }
        assert_eq!(Currency::parse("JPY").map(Currency::exponent), Some(0));
    }

    #[test]
    fn amounts_are_bounded_and_never_wrap() {
        assert_eq!(Amount::new(limits::AMOUNT + 1), None);
        let most = Amount(limits::AMOUNT);
        assert_eq!(most.times(2), None);
        assert_eq!(most.times(u64::MAX), None);
        assert_eq!(Amount(1).less(Amount(2)), Amount::ZERO);
    }
}
