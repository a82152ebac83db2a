//! The configuration of the AWS SDK for this cloud.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use expiry_core::time::{Clock, Timestamp};

use crate::clock::MovableClock;

/// Clouds opened by this process so far.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// How long an SDK call waits before its first retry: short, because nothing embedded recovers by waiting.
const FIRST_RETRY: Duration = Duration::from_millis(20);

/// The SDK keeps one budget of retries per service and region for the whole process: clouds of one process must not spend each
/// other's, so each has a region of its own by name. Nothing embedded reads it; names and ARNs carry `region` as it is.
pub(super) fn config(region: &str, http_client: SharedHttpClient, clock: MovableClock) -> SdkConfig {
    let credentials = Credentials::new("local", "local", None, None, "embedded");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(format!("{region}-{}", OPENED.fetch_add(1, Ordering::Relaxed))))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url("http://embedded.local")
        .http_client(http_client)
        .time_source(SdkTime(clock))
        .retry_config(RetryConfig::standard().with_initial_backoff(FIRST_RETRY))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build()
}

/// The SDK signs with the movable clock, so that the `Date` of an answer never looks skewed to it.
#[derive(Debug)]
struct SdkTime(MovableClock);

impl TimeSource for SdkTime {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.0.now().since(Timestamp::EPOCH)
    }
}
