//! Counting write units, exactly: the cost of a lifecycle is asserted, not estimated (DESIGN §6).

use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// The write units that a [`crate::Store`] consumed since it was made.
#[derive(Debug, Default)]
pub struct WriteMeter(AtomicU64);

impl WriteMeter {
    /// Write units so far.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, consumed: Option<&ConsumedCapacity>) {
        let units = consumed.and_then(ConsumedCapacity::capacity_units).unwrap_or_default();
        // Write units are whole; the wire has them as a decimal.
        self.0.fetch_add(units.round() as u64, Ordering::Relaxed);
    }
}
