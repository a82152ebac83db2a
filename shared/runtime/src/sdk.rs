//! How AWS is called: explicit time-outs, so that a silent service never eats a function's whole time.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};

/// Longest wait for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait for the answer of one attempt.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time of a call with all its retries.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

/// What every client of a function is built from: region and credentials of its environment, the time-outs above, and the
/// SDK's standard retries (three attempts).
pub async fn load() -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard())
        .load()
        .await
}
