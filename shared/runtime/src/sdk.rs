//! How AWS is called: explicit time-outs, so that a silent service never eats a function's whole time.

use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::SharedCredentialsProvider;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{
    HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};

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
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build();
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(variable("AWS_REGION").map(Region::new))
        .credentials_provider(SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new()))
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard())
        .http_client(http_client());
    config.set_endpoint_url(variable("AWS_ENDPOINT_URL"));
    config.build()
}

/// The SDK's own HTTP client, made once: all clients of a process share its connections, its TLS settings and the certificates it trusts.
/// Left alone, the SDK goes through all the system's certificates twice for every client, the first time only to find out whether it can.
///
/// [`CONNECT_TIMEOUT`] is set here and nowhere else: the time-outs of a client do not reach a connector that is shared.
fn http_client() -> SharedHttpClient {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).build();
    let tls = Provider::Rustls(CryptoMode::AwsLc);
    let connector =
        SharedHttpConnector::new(Connector::builder().connector_settings(settings).tls_provider(tls).build());
    http_client_fn(move |_, _| connector.clone())
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
