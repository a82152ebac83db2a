//! What recurring schedules invoke: the fallback scan.

use std::time::Duration;

use expiry_runtime::logs::chain;
use fallback_scan::{ScanError, Scanned};

use crate::functions::Functions;

/// How long one run of the scan may take.
const SCAN_TIME: Duration = Duration::from_secs(900);

/// Runs the scan to its end.
///
/// # Errors
/// When the run stopped early.
pub async fn scan(functions: &Functions) -> Result<Scanned, ScanError> {
    let deadline = functions.context.clock.now().plus(SCAN_TIME);
    let scanned = functions.fallback_scan.handle(deadline).await;
    if let Err(error) = &scanned {
        tracing::error!(error = %chain(error), "the scan stopped early");
    }
    scanned
}
