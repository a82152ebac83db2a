//! How AWS is called: explicit time-outs, so that a silent service never eats a function's whole time.

use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::SharedCredentialsProvider;

/// Longest wait for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait for the answer of one attempt.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time of a call with all its retries.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

/// What every client of a function is built from: region, credentials and `AWS_ENDPOINT_URL` of its environment, the time-outs above,
/// and the SDK's standard retries (three attempts).
///
/// The environment is all that Lambda gives. The SDK's own chain of profiles, web identities and instance metadata would be a good
/// part of every function, and its last link waits for a network that is not there.
#[must_use]
pub fn load() -> SdkConfig {
    of(&|name| std::env::var(name).ok())
}

fn of(variable: &dyn Fn(&str) -> Option<String>) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build();
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(variable("AWS_REGION").map(Region::new))
        .credentials_provider(SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new()))
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard());
    config.set_endpoint_url(variable("AWS_ENDPOINT_URL"));
    config.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_and_endpoint_are_those_of_the_environment() {
        let set = of(&|name| Some(format!("the {name}")));
        assert_eq!(set.region(), Some(&Region::new("the AWS_REGION")));
        assert_eq!(set.endpoint_url(), Some("the AWS_ENDPOINT_URL"));
        let unset = of(&|_| None);
        assert_eq!((unset.region(), unset.endpoint_url()), (None, None));
    }
}
