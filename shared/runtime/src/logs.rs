//! Logs: one JSON object per line on stderr, filtered by `RUST_LOG`.
//!
//! stdout stays free: in the cloud both reach the same log group, and [`metrics`](crate::metrics) writes there.

use std::error::Error;
use std::fmt::Write;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;

/// The variable that holds the filter: a level, or levels by target such as `info,hyper=warn`.
pub const FILTER_VARIABLE: &str = "RUST_LOG";
/// The filter without one.
pub const DEFAULT_FILTER: &str = "info";

/// Why logging did not start.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// `RUST_LOG` is not a filter.
    #[error("{FILTER_VARIABLE} is not a log filter")]
    Filter {
        /// What is wrong with it.
        #[source]
        source: ParseError,
    },
    /// Something else receives this process's logs already.
    #[error("logging has started before")]
    AlreadyStarted,
}

/// Starts logging for the whole process, filtered by `RUST_LOG` (default `info`).
///
/// # Errors
/// When `RUST_LOG` is not a filter or logging has started before.
pub fn start() -> Result<(), LogsError> {
    let filter = std::env::var_os(FILTER_VARIABLE);
    let filter = filter.as_ref().map_or(DEFAULT_FILTER.into(), |filter| filter.to_string_lossy());
    let filter: Targets = filter.parse().map_err(|source| LogsError::Filter { source })?;
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_writer(std::io::stderr)
        .with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(lines);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LogsError::AlreadyStarted)
}

/// `error` and all its sources, joined by `: `. The form in which every error is logged; no `Display` repeats its source.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // Writing to a String cannot fail.
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the order was not read")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("the answer has no body")]
    struct Inner;

    #[test]
    fn an_error_is_printed_with_its_sources_once_each() {
        assert_eq!(chain(&Outer(Inner)), "the order was not read: the answer has no body");
        assert_eq!(chain(&Inner), "the answer has no body");
    }
}
