//! Why a person does something, in their words.

use expiry_core::limits;

use crate::problem::Problem;

/// Checks the `reason` of an action: it is there, bounded, and one line.
///
/// # Errors
/// `invalid_request` otherwise.
pub fn checked_reason(reason: &str) -> Result<(), Problem> {
    let fits = !reason.trim().is_empty() && reason.len() <= limits::REASON_BYTES;
    if fits && !reason.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!("has 1 to {} bytes without control characters", limits::REASON_BYTES);
    Err(Problem::invalid("#/reason", detail))
}
