//! What can go wrong with the database, per operation. `Display` never repeats a source; logs print the chain.

use std::error::Error as StdError;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use expiry_core::reservation::CounterKey;
use expiry_core::row::Refusal;

use crate::Loaded;
use crate::codec::DecodeError;

/// The database did not answer, or not with what was asked for; the SDK has retried already.
#[derive(Debug, thiserror::Error)]
#[error("the database could not {action}")]
pub struct Unavailable {
    /// What was to be done.
    pub action: &'static str,
    #[source]
    source: Box<dyn StdError + Send + Sync>,
}

impl Unavailable {
    pub(crate) fn new(action: &'static str, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Unavailable {
        Unavailable { action, source: source.into() }
    }
}

/// Why an order or a row could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The database did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// What is stored is not what this program writes; nothing is decided on it.
    #[error("the stored item cannot be read")]
    Unreadable(#[from] DecodeError),
}

/// Why a decision was not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The order is not what it was decided on any more: decide again on what it is now. `None`: it has to be read first.
    #[error("the order has changed since it was read")]
    Lost(Option<Box<Loaded>>),
    /// The order was as expected, and a row beside it was not: decide again knowing that.
    #[error("a row that changes with the order is not as expected")]
    Refused(Refusal),
    /// Others wrote to the same rows for as long as this could wait. Nothing was written.
    #[error("the rows stayed contended")]
    Contended,
    /// The database did not answer: it is not known whether the write was applied.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// What is stored cannot be read.
    #[error("the stored item cannot be read")]
    Unreadable(#[from] DecodeError),
}

/// Why an order was not created. Nothing is held after any of these but [`CreateError::Unavailable`], of which it is not known.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is not enough of these.
    #[error("there is not enough of what was ordered")]
    Insufficient(Vec<CounterKey>),
    /// The coupon is not the user's, not valid, or taken.
    #[error("the coupon cannot be used")]
    Coupon,
    /// The user has as many open orders as one may have.
    #[error("the user has too many open orders")]
    TooManyOpen,
    /// Others wrote to the same rows for as long as this could wait.
    #[error("the rows stayed contended")]
    Contended,
    /// The database did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// An order of this id exists and cannot be read.
    #[error("the stored item cannot be read")]
    Unreadable(#[from] DecodeError),
}

/// Whether a single write met a transaction on the same item: contention, not a decision (DESIGN §6).
pub(crate) fn is_conflict<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> bool {
    error.as_service_error().and_then(ProvideErrorMetadata::code) == Some("TransactionConflictException")
}
