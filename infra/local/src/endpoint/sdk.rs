//! How an endpoint is called.

use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};

use crate::settings::REGION;

/// As a function of the cloud calls AWS, at `url`; credentials and region are the environment's, the region else the usual one.
pub(super) fn config(url: &str) -> SdkConfig {
    let environment = expiry_runtime::sdk::load();
    let region = environment.region().cloned().unwrap_or(Region::from_static(REGION));
    environment.into_builder().endpoint_url(url).region(region).build()
}

/// The same for drivers, which wait for messages longer than a function waits for anything.
pub(super) fn patient(sdk: &SdkConfig) -> SdkConfig {
    sdk.to_builder().timeout_config(TimeoutConfig::disabled()).build()
}
