//! The local system: `cargo run` starts it, `cargo run -- demo` plays the demo (DESIGN §9).

use std::ffi::OsString;
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use expiry_channels::sim::signature::SigningKey;
use expiry_runtime::logs::{self, FILTER_VARIABLE, chain};
use local::endpoint::{Endpoint, Target};
use local::server::Host;
use local::system::Parts;
use local::{AnyError, Settings, System, demo, outside, server};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "\
usage: cargo run                   an empty system on http://127.0.0.1:8787, in memory
       cargo run -- --data DIR     the same, its database kept in DIR
       cargo run -- --endpoint URL [--deliver-schedules]
                                   the same over the AWS services at URL; the flag is for a Scheduler that fires nothing
       cargo run -- demo           a shop plays every kind of order, prints one page and checks the invariants
       cargo run -- outside        only what stands outside a shop: the payment channel's simulator, an issuer of test tokens

The environment sets PORT, EXPIRY_RULES, LEASE_SECONDS, SCAN_GRACE_SECONDS, SCAN_PERIOD_SECONDS, MAX_OPEN_ORDERS_PER_USER,
CHANNEL_CALL_SECONDS, CHANNELS, SIM_CHANNEL_SECRET, RUST_LOG.";

/// The exit code of a command line that means nothing.
const BAD_USAGE: u8 = 2;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    /// Serve until a signal comes.
    Serve { data: Option<PathBuf> },
    /// Serve over an endpoint until a signal comes.
    ServeOver(Target),
    /// Play the demo.
    Demo,
    /// Serve channel and issuer until a signal comes.
    Outside,
    /// Say what can be asked for.
    Help,
}

fn task(arguments: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let arguments: Vec<OsString> = arguments.collect();
    let words: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap_or("\u{fffd}")).collect();
    match words.as_slice() {
        [] => Ok(Task::Serve { data: None }),
        ["-h" | "--help", ..] => Ok(Task::Help),
        ["demo"] => Ok(Task::Demo),
        ["outside"] => Ok(Task::Outside),
        ["--data"] | ["--data", ""] => Err("--data needs a folder".to_owned()),
        // The folder is taken as it was given, UTF-8 or not.
        ["--data", _] => Ok(Task::Serve { data: arguments.into_iter().nth(1).map(PathBuf::from) }),
        ["--endpoint"] | ["--endpoint", ""] => Err("--endpoint needs a URL".to_owned()),
        ["--endpoint", url] => Ok(Task::ServeOver(Target { url: (*url).to_owned(), deliver_schedules: false })),
        ["--endpoint", url, "--deliver-schedules"] => {
            Ok(Task::ServeOver(Target { url: (*url).to_owned(), deliver_schedules: true }))
        }
        ["demo" | "outside" | "--data" | "--endpoint", .., extra] => Err(format!("{extra:?} is one argument too many")),
        [unknown, ..] => Err(format!("{unknown:?} is not an argument")),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let (failed, done) = match task(std::env::args_os().skip(1)) {
        Ok(Task::Serve { data }) => ("the local system does not start", serve(data).await),
        Ok(Task::ServeOver(target)) => ("the local system does not start", serve_over(&target).await),
        Ok(Task::Demo) => ("the demo breaks off", play().await),
        Ok(Task::Outside) => ("channel and issuer do not start", stand_outside().await),
        Ok(Task::Help) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(mistake) => {
            eprintln!("{mistake}\n\n{USAGE}");
            return ExitCode::from(BAD_USAGE);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("{failed}: {}", chain(error.as_ref()));
        ExitCode::FAILURE
    })
}

async fn serve(data: Option<PathBuf>) -> Result<ExitCode, AnyError> {
    let (mut settings, listener, stop) = begin().await?;
    settings.data = data;
    answer(System::start(&settings, Parts::default()).await?, listener, stop).await
}

async fn serve_over(target: &Target) -> Result<ExitCode, AnyError> {
    let (settings, listener, stop) = begin().await?;
    answer(Endpoint::start(target, &settings, &environment).await?, listener, stop).await
}

async fn answer(host: impl Host, listener: TcpListener, stop: Stop) -> Result<ExitCode, AnyError> {
    println!("order-expiry listens on http://{}", listener.local_addr()?);
    server::serve(Arc::new(host), listener, stop).await?;
    Ok(ExitCode::SUCCESS)
}

async fn stand_outside() -> Result<ExitCode, AnyError> {
    let (settings, listener, stop) = begin().await?;
    let key = SigningKey::new(&settings.sim_secret).ok_or("SIM_CHANNEL_SECRET is empty")?;
    println!("channel and issuer listen on http://{}", listener.local_addr()?);
    outside::serve(key, listener, stop).await?;
    Ok(ExitCode::SUCCESS)
}

/// Resolves when a signal ends the process.
type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What every server needs first: logs, settings, its address, and the signals that end it.
async fn begin() -> Result<(Settings, TcpListener, Stop), AnyError> {
    logs::start()?;
    let settings = Settings::from_lookup(&environment)?;
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.map_err(|error| format!("{} cannot be listened on: {error}", settings.listen))?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok((settings, listener, Box::pin(stop)))
}

/// Text that is not UTF-8 is kept, changed, so that it is refused as a bad value and never taken for an absent one.
fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The page alone, unless `RUST_LOG` asks for more.
async fn play() -> Result<ExitCode, AnyError> {
    if std::env::var_os(FILTER_VARIABLE).is_some() {
        logs::start()?;
    }
    let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let all_well = demo::run(&mut stdout(), colour).await?;
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Result<Task, String> {
        task(words.iter().map(OsString::from))
    }

    #[test]
    fn a_command_line_asks_for_one_thing_or_is_refused() {
        assert_eq!(asked(&[]), Ok(Task::Serve { data: None }));
        assert_eq!(asked(&["--data", "x"]), Ok(Task::Serve { data: Some("x".into()) }));
        let over = |deliver_schedules| Ok(Task::ServeOver(Target { url: "http://x".to_owned(), deliver_schedules }));
        assert_eq!(asked(&["--endpoint", "http://x"]), over(false));
        assert_eq!(asked(&["--endpoint", "http://x", "--deliver-schedules"]), over(true));
        assert_eq!(asked(&["demo"]), Ok(Task::Demo));
        assert_eq!(asked(&["outside"]), Ok(Task::Outside));
        assert_eq!(asked(&["--help"]), Ok(Task::Help));
        for (words, refusal) in [
            (&["--data"][..], "--data needs a folder"),
            (&["--data", ""], "--data needs a folder"),
            (&["--data", "x", "y"], "\"y\" is one argument too many"),
            (&["--endpoint"], "--endpoint needs a URL"),
            (&["--endpoint", "http://x", "now"], "\"now\" is one argument too many"),
            (&["demo", "now"], "\"now\" is one argument too many"),
            (&["serve"], "\"serve\" is not an argument"),
            (&["-data", "x"], "\"-data\" is not an argument"),
        ] {
            assert_eq!(asked(words), Err(refusal.to_owned()), "{words:?}");
        }
    }
}
