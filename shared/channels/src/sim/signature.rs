//! The signature of the channel `sim`: `Sim-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256>` (DESIGN §9, the scheme of CHANNELS §4.1).
//!
//! One secret signs three kinds of messages. Their signed bytes can never be mistaken for one another:
//! - callback: `t "." body`
//! - request: `t "\n" METHOD "\n" path-and-query "\n" body`
//! - answer: `t "\n" status "\n" body`

use std::fmt;
use std::time::Duration;

use aws_lc_rs::hmac;
use expiry_core::time::Timestamp;

use crate::http::HttpMethod;

/// The header that carries the signature of every kind.
pub const SIGNATURE_HEADER: &str = "Sim-Signature";
/// How far the signed time may be from now, in both directions (DESIGN §9).
pub const TOLERANCE: Duration = Duration::from_secs(300);
/// Most `v1` parts that are looked at: each costs one pass over the body, and anyone may send a header.
pub const SIGNATURES: usize = 8;

/// The bytes a signature covers, besides its time.
#[derive(Clone, Copy, Debug)]
pub enum Signed<'a> {
    /// A callback of the channel to the shop.
    Callback {
        /// The raw body.
        body: &'a [u8],
    },
    /// A request of the shop to the channel.
    Request {
        /// Its method.
        method: HttpMethod,
        /// Its path from `/sim/` on, with the query, exactly as sent.
        path: &'a str,
        /// The raw body.
        body: &'a [u8],
    },
    /// The channel's answer to a request.
    Answer {
        /// Its HTTP status.
        status: u16,
        /// The raw body.
        body: &'a [u8],
    },
}

impl Signed<'_> {
    /// Passes the signed bytes on, part by part.
    fn bytes(&self, time: &str, mut feed: impl FnMut(&[u8])) {
        feed(time.as_bytes());
        match self {
            Signed::Callback { body } => {
                feed(b".");
                feed(body);
            }
            Signed::Request { method, path, body } => {
                for part in [b"\n", method.as_str().as_bytes(), b"\n", path.as_bytes(), b"\n", body] {
                    feed(part);
                }
            }
            Signed::Answer { status, body } => {
                for part in [b"\n", status.to_string().as_bytes(), b"\n", body] {
                    feed(part);
                }
            }
        }
    }
}

/// Why a signature does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No header, or one without exactly one `t` and at least one `v1`.
    #[error("the signature header is missing or incomplete")]
    Missing,
    /// No `v1` part fits.
    #[error("the signature does not match")]
    Mismatch,
    /// It fits and is older than [`TOLERANCE`].
    #[error("signed too long ago")]
    Stale,
    /// It fits and is further ahead than [`TOLERANCE`].
    #[error("signed in the future")]
    Future,
}

/// A secret that is shared with the channel `sim`. Never shown, not even by `Debug`.
#[derive(Clone)]
pub struct SigningKey(hmac::Key);

impl SigningKey {
    /// The key of `secret`; `None` when it is empty.
    #[must_use]
    pub fn new(secret: &str) -> Option<SigningKey> {
        (!secret.is_empty()).then(|| SigningKey(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())))
    }

    /// The value of [`SIGNATURE_HEADER`] for `signed` at `at`; whole seconds.
    #[must_use]
    pub fn sign(&self, signed: &Signed<'_>, at: Timestamp) -> String {
        self.sign_at_seconds(signed, at.as_seconds())
    }

    /// As [`sign`](Self::sign), at any second, also one no clock can show: for forgeries in tests.
    #[must_use]
    pub fn sign_at_seconds(&self, signed: &Signed<'_>, seconds: i64) -> String {
        let time = seconds.to_string();
        let mut context = hmac::Context::with_key(&self.0);
        signed.bytes(&time, |part| context.update(part));
        format!("t={time},v1={}", hex(context.sign().as_ref()))
    }

    /// Whether `header` signs `signed` near `now`. Any `v1` part may fit: a channel sends several while its secret changes.
    ///
    /// # Errors
    /// [`SignatureError`]; time is judged only after the signature, so that anyone's bytes count as a mismatch.
    pub fn verify(&self, header: Option<&str>, signed: &Signed<'_>, now: Timestamp) -> Result<(), SignatureError> {
        let (time, tags) = header.and_then(read_header).ok_or(SignatureError::Missing)?;
        let mut message = Vec::new();
        signed.bytes(time, |part| message.extend_from_slice(part));
        // Each comparison takes the same time wherever the tags differ.
        if !tags.iter().any(|tag| hmac::verify(&self.0, &message, tag).is_ok()) {
            return Err(SignatureError::Mismatch);
        }
        // The sender's seconds are signed: what no clock can show is as far away as it gets.
        let signed_at = time.parse().ok().and_then(Timestamp::from_seconds).ok_or(SignatureError::Future)?;
        if now.since(signed_at) > TOLERANCE {
            Err(SignatureError::Stale)
        } else if signed_at.since(now) > TOLERANCE {
            Err(SignatureError::Future)
        } else {
            Ok(())
        }
    }
}

/// What we sign with, and what the channel is believed by: while the secret changes, the one before it as well.
#[derive(Clone, Debug)]
pub struct KeyRing {
    /// Signs, and is believed.
    pub current: SigningKey,
    /// Is believed; `None` when the secret was never changed.
    pub previous: Option<SigningKey>,
}

impl KeyRing {
    /// As [`SigningKey::verify`], by either key.
    ///
    /// # Errors
    /// Those of the current key, unless only the one before it fits.
    pub fn verify(&self, header: Option<&str>, signed: &Signed<'_>, now: Timestamp) -> Result<(), SignatureError> {
        let verified = self.current.verify(header, signed, now);
        match (&verified, &self.previous) {
            (Err(SignatureError::Mismatch), Some(previous)) => previous.verify(header, signed, now),
            _ => verified,
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SigningKey(..)")
    }
}

/// The text of `t` and the `v1` tags that are hexadecimal; parts with other names are left aside, as newer schemes may add them.
fn read_header(header: &str) -> Option<(&str, Vec<Vec<u8>>)> {
    let mut time = None;
    let mut tags = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=')? {
            ("t", text) if time.is_none() && is_seconds(text) => time = Some(text),
            ("t", _) => return None,
            ("v1", text) if tags.len() < SIGNATURES => tags.push(unhex(text).unwrap_or_default()),
            (_, _) => {}
        }
    }
    (!tags.is_empty()).then_some((time?, tags))
}

fn is_seconds(text: &str) -> bool {
    !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()).collect()
}
