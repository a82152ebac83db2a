//! How an endpoint is called.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};

use crate::drivers::queues::POLL_SECONDS;
use crate::settings::REGION;

/// How much longer than the service itself waits for a message its answer may take.
const GRACE: Duration = Duration::from_secs(10);

/// As a function of the cloud calls AWS, at `url`; credentials and region are the environment's, the region else the usual one.
pub(super) fn config(url: &str) -> SdkConfig {
    let environment = expiry_runtime::sdk::load();
    let region = environment.region().cloned().unwrap_or(Region::from_static(REGION));
    environment.into_builder().endpoint_url(url).region(region).build()
}

/// The same for drivers, which wait for messages longer than a function waits for anything.
pub(super) fn patient(sdk: &SdkConfig) -> SdkConfig {
    let attempt = Duration::from_secs(u64::from(POLL_SECONDS.unsigned_abs())) + GRACE;
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(attempt).build();
    sdk.to_builder().timeout_config(timeouts).build()
}
