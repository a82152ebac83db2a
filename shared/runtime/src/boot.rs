//! How every function starts: logs, one thread, its own set-up, then events until Lambda stops it.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use crate::logs::{self, chain};

/// Any error that stops a start.
pub type StartError = Box<dyn Error + Send + Sync>;

/// The failure of one event, under a stable name that alarms and retries can tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    name: &'static str,
    message: String,
}

impl Failure {
    /// `error`, with its sources, under `name`, for example `StoreUnavailable`.
    #[must_use]
    pub fn new(name: &'static str, error: &dyn Error) -> Failure {
        Failure { name, message: chain(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.name, self.message)
    }
}

impl Error for Failure {}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Diagnostic {
        Diagnostic { error_type: failure.name.to_owned(), error_message: failure.message }
    }
}

/// Runs a function: `set_up` once, then its handler for every event. Returns when Lambda ends the process, or with the cause on
/// stderr when the start fails: a bad setting stops it before the first event.
///
/// ```no_run
/// use expiry_runtime::{boot, config::Config};
/// use lambda_runtime::LambdaEvent;
/// fn main() -> std::process::ExitCode {
///     boot::run(async {
///         let config = Config::from_env()?;
///         Ok(move |event: LambdaEvent<serde_json::Value>| {
///             let _lease = config.lease;
///             async move { Ok::<_, boot::Failure>(event.payload) }
///         })
///     })
/// }
/// ```
pub fn run<SetUp, Handler, Event, Answer, Output, E>(set_up: SetUp) -> ExitCode
where
    SetUp: Future<Output = Result<Handler, StartError>>,
    Handler: Fn(LambdaEvent<Event>) -> Answer,
    Event: for<'de> Deserialize<'de>,
    Answer: Future<Output = Result<Output, E>>,
    Output: Serialize,
    E: Into<Diagnostic> + fmt::Debug,
{
    match started(set_up) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not through the logger: it may be what failed, or filter this out.
            eprintln!("the function did not start: {}", chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn started<SetUp, Handler, Event, Answer, Output, E>(set_up: SetUp) -> Result<(), StartError>
where
    SetUp: Future<Output = Result<Handler, StartError>>,
    Handler: Fn(LambdaEvent<Event>) -> Answer,
    Event: for<'de> Deserialize<'de>,
    Answer: Future<Output = Result<Output, E>>,
    Output: Serialize,
    E: Into<Diagnostic> + fmt::Debug,
{
    logs::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let handler = set_up.await?;
        let in_span = |event: LambdaEvent<Event>| {
            let span = tracing::info_span!("event", request_id = %event.context.request_id);
            handler(event).instrument(span)
        };
        lambda_runtime::run(service_fn(in_span)).await
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_event_has_a_stable_name_and_its_whole_cause() {
        let cause = crate::logs::LogsError::AlreadyStarted;
        let diagnostic = Diagnostic::from(Failure::new("LogsUnavailable", &cause));
        assert_eq!(diagnostic.error_type, "LogsUnavailable");
        assert_eq!(diagnostic.error_message, "logging has started before");
    }
}
