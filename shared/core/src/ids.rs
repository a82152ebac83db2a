//! Identifiers: each valid by construction, each bounded, none interchangeable with another.

use std::fmt;

use crate::limits;

/// Why a text is not an identifier. `Display` is a sentence fit for a problem document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Nothing was given.
    #[error("must not be empty")]
    Empty,
    /// Longer than the identifier's bound, in bytes of UTF-8.
    #[error("must be at most {max} bytes long")]
    TooLong {
        /// The bound.
        max: usize,
    },
    /// A character outside the identifier's alphabet, for example a space, a control character, `/` or `#`.
    #[error("contains the character {0:?}, which an identifier must not")]
    Character(char),
    /// Not of the form the identifier has.
    #[error("is not of the form {0}")]
    Form(&'static str),
}

/// What a shop may use in its own identifiers: letters and digits of any script and ASCII punctuation, but neither `/` nor `#`,
/// which separate the parts of our keys.
fn is_identifier_character(character: char) -> bool {
    (character.is_alphanumeric() || character.is_ascii_graphic()) && !matches!(character, '/' | '#')
}

fn check(text: &str, max: usize) -> Result<(), InvalidId> {
    if text.is_empty() {
        return Err(InvalidId::Empty);
    }
    if text.len() > max {
        return Err(InvalidId::TooLong { max });
    }
    match text.chars().find(|character| !is_identifier_character(*character)) {
        Some(character) => Err(InvalidId::Character(character)),
        None => Ok(()),
    }
}

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident, $max:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and wraps it.
            ///
            /// # Errors
            /// When it is empty, too long, or has a character no identifier may have.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                check(&text, $max)?;
                Ok(Self(text))
            }

            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    )*};
}

identifiers! {
    /// A customer of the shop.
    UserId, limits::USER_ID_BYTES;
    /// A stock keeping unit.
    Sku, limits::SKU_BYTES;
    /// A warehouse; `default` when the shop has one.
    Warehouse, limits::WAREHOUSE_BYTES;
    /// A production batch; `default` when the shop does not tell them apart.
    Batch, limits::BATCH_BYTES;
    /// One coupon, usable once.
    CouponId, limits::COUPON_ID_BYTES;
    /// A flash sale or other activity with a quota.
    ActivityId, limits::ACTIVITY_ID_BYTES;
    /// An expiry rule.
    RuleId, limits::RULE_ID_BYTES;
    /// Where an order came from; any value is accepted and treated alike (case b31).
    Source, limits::SOURCE_BYTES;
    /// A payment channel, for example `sim`.
    ChannelId, limits::CHANNEL_ID_BYTES;
    /// A payment method within a channel, for example `native`.
    Method, limits::METHOD_BYTES;
    /// Our merchant number at a channel.
    MerchantId, limits::MERCHANT_ID_BYTES;
    /// The channel's canonical number of a payment (WeChat `transaction_id`, Alipay `trade_no`, Stripe PaymentIntent id).
    TransactionId, limits::TRANSACTION_ID_BYTES;
    /// The channel's number of one notification, unchanged over its re-sends.
    NotifyId, limits::NOTIFY_ID_BYTES;
    /// What the channel needs to be asked about an attempt when our own number is not enough (Stripe object ids).
    ChannelReference, limits::CHANNEL_REFERENCE_BYTES;
    /// One run of one function on one order: the owner of a lease.
    WorkerId, limits::WORKER_ID_BYTES;
    /// The name under which a person acts on the admin routes.
    OperatorId, limits::OPERATOR_ID_BYTES;
}

/// Bits for new identifiers come from here, and from nowhere else, so that a simulation can choose them.
pub trait IdSource: fmt::Debug + Send + Sync {
    /// 120 bits that no other call returns.
    fn unique(&self) -> [u8; 15];
}

/// Crockford's base 32, lower case: no letter is mistaken for a digit, and no `-`, so that an [`OutTradeNo`] splits at its last one.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn base32(bits: &[u8]) -> String {
    let mut text = String::with_capacity(bits.len() * 8 / 5 + 1);
    let (mut buffer, mut held) = (0_u32, 0_u32);
    for byte in bits {
        buffer = (buffer << 8) | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            let digit = (buffer >> held) & 31;
            text.push(char::from(ALPHABET[digit as usize]));
        }
    }
    text
}

/// An order: 24 characters that carry 120 bits. Also the name of its schedule and the head of every [`OutTradeNo`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OrderId(String);

impl OrderId {
    /// The order id that stands for `bits`: unique bits for a new order, or a digest of (user, Idempotency-Key).
    #[must_use]
    pub fn from_bits(bits: [u8; 15]) -> OrderId {
        OrderId(base32(&bits))
    }

    /// Reads an order id.
    ///
    /// # Errors
    /// When the text is not 24 characters of our alphabet.
    pub fn parse(text: &str) -> Result<OrderId, InvalidId> {
        if text.len() == limits::ORDER_ID_BYTES && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(OrderId(text.to_owned()))
        } else {
            Err(InvalidId::Form("24 characters of 0-9 and a-z without i, l, o, u"))
        }
    }

    /// The order id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for OrderId {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<OrderId, InvalidId> {
        OrderId::parse(&text)
    }
}

impl From<OrderId> for String {
    fn from(id: OrderId) -> String {
        id.0
    }
}

impl WorkerId {
    /// A worker named by `bits`.
    #[must_use]
    pub fn from_bits(bits: [u8; 15]) -> WorkerId {
        WorkerId(base32(&bits[..10]))
    }
}

/// The number of an attempt within its order: 1 … [`limits::ATTEMPTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptNo(u8);

impl AttemptNo {
    /// The first attempt.
    pub const FIRST: AttemptNo = AttemptNo(1);

    /// Wraps `number`; `None` out of range.
    #[must_use]
    pub fn new(number: u64) -> Option<AttemptNo> {
        u8::try_from(number).ok().filter(|n| (1..=limits::ATTEMPTS).contains(&usize::from(*n))).map(AttemptNo)
    }

    /// The number of the attempt at `index` of the order's list.
    #[must_use]
    pub fn at_index(index: usize) -> Option<AttemptNo> {
        AttemptNo::new(index as u64 + 1)
    }

    /// Its place in the order's list.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for AttemptNo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Our number of an attempt at its channel: `<order id>-<attempt>`, at most 32 of `[0-9A-Za-z_-]` (WeChat §2.6), so that a
/// callback finds its order without an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutTradeNo {
    order: OrderId,
    attempt: AttemptNo,
}

impl OutTradeNo {
    /// The number of `attempt` of `order`.
    #[must_use]
    pub fn new(order: OrderId, attempt: AttemptNo) -> OutTradeNo {
        OutTradeNo { order, attempt }
    }

    /// Reads a number that came back from a channel.
    ///
    /// # Errors
    /// When it cannot be one of ours.
    pub fn parse(text: &str) -> Result<OutTradeNo, InvalidId> {
        const FORM: InvalidId = InvalidId::Form("<order id>-<attempt number>");
        let (order, attempt) = text.rsplit_once('-').ok_or(FORM)?;
        let attempt_no = attempt.parse().ok().and_then(AttemptNo::new).ok_or(FORM)?;
        // `01` and `+1` would be other names of the same attempt.
        if attempt_no.to_string() != attempt {
            return Err(FORM);
        }
        Ok(OutTradeNo { order: OrderId::parse(order)?, attempt: attempt_no })
    }

    /// The order it belongs to.
    #[must_use]
    pub fn order(&self) -> &OrderId {
        &self.order
    }

    /// The attempt it numbers.
    #[must_use]
    pub fn attempt(&self) -> AttemptNo {
        self.attempt
    }
}

impl fmt::Display for OutTradeNo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.order, self.attempt)
    }
}

/// Our number of a refund at its channel: `<out_trade_no>-r<k>`. `k` goes up only after the channel states the former number dead (I9).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefundNo {
    payment: OutTradeNo,
    k: u8,
}

impl RefundNo {
    /// The `k`-th refund number of `payment`; the first is 1.
    #[must_use]
    pub fn new(payment: OutTradeNo, k: u8) -> RefundNo {
        RefundNo { payment, k }
    }

    /// Reads a refund number.
    ///
    /// # Errors
    /// When it cannot be one of ours.
    pub fn parse(text: &str) -> Result<RefundNo, InvalidId> {
        const FORM: InvalidId = InvalidId::Form("<out_trade_no>-r<k>");
        let (payment, k) = text.rsplit_once("-r").ok_or(FORM)?;
        let number: u8 = k.parse().map_err(|_| FORM)?;
        if number == 0 || number.to_string() != k {
            return Err(FORM);
        }
        Ok(RefundNo { payment: OutTradeNo::parse(payment)?, k: number })
    }

    /// The payment it gives back.
    #[must_use]
    pub fn payment(&self) -> &OutTradeNo {
        &self.payment
    }

    /// Which number of that payment it is, from 1.
    #[must_use]
    pub fn k(&self) -> u8 {
        self.k
    }
}

impl fmt::Display for RefundNo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-r{}", self.payment, self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_refuse_what_would_break_a_key_a_log_line_or_a_bound() {
        for bad in ["", "a b", "a\nb", "a\u{0}b", "a/b", "a#b", "\u{202e}abc", "\u{200b}"] {
            assert!(Sku::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Sku::new("x".repeat(65)), Err(InvalidId::TooLong { max: 64 }));
        for good in ["SKU-1", "苹果", "user@example.com", "a:b+c"] {
            assert_eq!(Sku::new(good).as_ref().map(Sku::as_str), Ok(good));
        }
    }

    #[test]
    fn an_order_id_carries_all_its_bits() {
        assert_eq!(OrderId::from_bits([0xff; 15]).as_str(), "z".repeat(24));
        assert_eq!(OrderId::from_bits([0; 15]).as_str(), "0".repeat(24));
        let id = OrderId::from_bits(*b"abcdefghijklmno");
        assert_eq!(OrderId::parse(id.as_str()), Ok(id));
    }

    #[test]
    fn the_channel_gives_back_our_numbers_and_nothing_else_passes_for_one() {
        let order = OrderId::from_bits([7; 15]);
        let number = OutTradeNo::new(order.clone(), AttemptNo::FIRST);
        assert!(number.to_string().len() <= 32);
        assert_eq!(OutTradeNo::parse(&number.to_string()), Ok(number.clone()));
        let refund = RefundNo::new(number, 2);
        assert_eq!(RefundNo::parse(&refund.to_string()), Ok(refund));
        for bad in [
            format!("{order}"),
            format!("{order}-0"),
            format!("{order}-01"),
            format!("{order}-21"),
            "x-1".into(),
            "-".into(),
        ] {
            assert!(OutTradeNo::parse(&bad).is_err(), "{bad}");
        }
        assert!(RefundNo::parse(&format!("{order}-1-r0")).is_err());
    }
}
