//! A channel's notification as it arrives, why it is refused, and what is answered to it.

use crate::http::Headers;

/// A notification as it came over HTTP, before anything is believed.
#[derive(Clone, Copy, Debug)]
pub struct RawNotification<'a> {
    /// Every header field.
    pub headers: &'a Headers,
    /// The body, byte for byte: signatures cover bytes, not what they parse to (CHANNELS §0.7). The caller bounds its size.
    pub body: &'a [u8],
}

/// Why a notification is not believed. Nothing of it may have any effect but a counter by [`reason`](Self::reason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotificationRejection {
    /// A header that the signature needs is not there.
    #[error("a header of the signature is missing")]
    MissingHeader,
    /// Signed with a key we do not hold.
    #[error("signed with an unknown key")]
    UnknownKey,
    /// The signature does not fit the bytes.
    #[error("the signature does not match")]
    BadSignature,
    /// The channel probes whether we check signatures, by a wrong one on purpose (CHANNELS §2.1).
    #[error("the channel probed the signature check")]
    SignatureProbe,
    /// Signed longer ago than the channel's tolerance.
    #[error("signed too long ago")]
    StaleTimestamp,
    /// Signed further in the future than the channel's tolerance.
    #[error("signed in the future")]
    FutureTimestamp,
    /// Signed in a way we do not verify.
    #[error("the signature algorithm is not supported")]
    UnsupportedAlgorithm,
    /// The encrypted part does not decrypt.
    #[error("the content does not decrypt")]
    DecryptFailed,
    /// The signature is right, the content is not what the channel documents.
    #[error("the content is malformed")]
    Malformed,
    /// It is about a merchant that is not ours, and no success, which the domain would judge.
    #[error("it is about another merchant")]
    MerchantMismatch,
    /// It is about a number that cannot be one of ours.
    #[error("it is about an unknown order")]
    UnknownOrder,
}

impl NotificationRejection {
    /// A stable word for metrics and log lines.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            NotificationRejection::MissingHeader => "missing_header",
            NotificationRejection::UnknownKey => "unknown_key",
            NotificationRejection::BadSignature => "bad_signature",
            NotificationRejection::SignatureProbe => "signature_probe",
            NotificationRejection::StaleTimestamp => "stale_timestamp",
            NotificationRejection::FutureTimestamp => "future_timestamp",
            NotificationRejection::UnsupportedAlgorithm => "unsupported_algorithm",
            NotificationRejection::DecryptFailed => "decrypt_failed",
            NotificationRejection::Malformed => "malformed",
            NotificationRejection::MerchantMismatch => "merchant_mismatch",
            NotificationRejection::UnknownOrder => "unknown_order",
        }
    }

    /// How it is answered: 401 for signature and time, 400 for content (DESIGN §8).
    #[must_use]
    pub const fn status(self) -> RefusalStatus {
        match self {
            NotificationRejection::MissingHeader
            | NotificationRejection::UnknownKey
            | NotificationRejection::BadSignature
            | NotificationRejection::SignatureProbe
            | NotificationRejection::StaleTimestamp
            | NotificationRejection::FutureTimestamp
            | NotificationRejection::UnsupportedAlgorithm => RefusalStatus::Unauthorized,
            NotificationRejection::DecryptFailed
            | NotificationRejection::Malformed
            | NotificationRejection::MerchantMismatch
            | NotificationRejection::UnknownOrder => RefusalStatus::BadRequest,
        }
    }

    /// Whether no key that we hold signed it. The channel may have changed its own: the keys are to be read again.
    #[must_use]
    pub const fn fits_no_key(self) -> bool {
        matches!(self, NotificationRejection::BadSignature | NotificationRejection::UnknownKey)
    }

    /// Both, as [`AckOutcome::Rejected`] takes them.
    #[must_use]
    pub const fn refusal(self) -> Refusal {
        Refusal { status: self.status(), reason: self.reason() }
    }
}

/// The HTTP status of a refused notification (DESIGN §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalStatus {
    /// 400: malformed, mismatch, unknown order.
    BadRequest,
    /// 401: signature, time.
    Unauthorized,
}

impl RefusalStatus {
    /// The number.
    #[must_use]
    pub const fn as_u16(self) -> u16 {
        match self {
            RefusalStatus::BadRequest => 400,
            RefusalStatus::Unauthorized => 401,
        }
    }
}

/// A refusal, from a channel's check or from the domain's (for example another amount).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is answered with.
    pub status: RefusalStatus,
    /// A stable word; it is shown to the sender.
    pub reason: &'static str,
}

/// What became of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckOutcome {
    /// Its consequence is durable, also when that is "no change": the channel may stop sending.
    Accepted,
    /// Nothing durable happened: the channel shall send it again.
    Retry,
    /// It is not believed.
    Rejected(Refusal),
}
