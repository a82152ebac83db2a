//! What a failed run is to whoever asked over HTTP.

use expiry_core::ids::OrderId;
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};

use crate::RunError;

impl RunError {
    /// The problem document of this failure; what is not the caller's fault is logged with its cause.
    #[must_use]
    pub fn problem(&self, order: &OrderId) -> Problem {
        match self {
            RunError::NotFound => Problem::new(Code::OrderNotFound),
            RunError::Contended => Problem::new(Code::TryAgain),
            RunError::Read(_) | RunError::Clock(_) | RunError::Unavailable(_) => {
                tracing::error!(order_id = %order, error = %chain(self), "the request was not carried out");
                Problem::new(Code::TryAgain)
            }
        }
    }
}
