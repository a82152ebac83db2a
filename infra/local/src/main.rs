//! The local system: `cargo run` starts it, `cargo run -- demo` plays the demo (DESIGN §9).

use std::ffi::OsString;
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use expiry_channels::sim::signature::SigningKey;
use expiry_runtime::logs::{self, FILTER_VARIABLE, chain};
use local::system::Parts;
use local::{Settings, System, demo, outside, server};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
usage: cargo run                   an empty system on http://127.0.0.1:8787, in memory
       cargo run -- --data DIR     the same, its database kept in DIR
       cargo run -- demo           a shop plays every kind of order, prints one page and checks the invariants
       cargo run -- outside        only what stands outside a shop: the payment channel's simulator, an issuer of test tokens

The environment sets PORT, EXPIRY_RULES, LEASE_SECONDS, SCAN_GRACE_SECONDS, MAX_OPEN_ORDERS_PER_USER, CHANNELS, RUST_LOG.";

/// The exit code of a command line that means nothing.
const BAD_USAGE: u8 = 2;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    /// Serve until a signal comes.
    Serve { data: Option<PathBuf> },
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
        ["demo" | "outside" | "--data", .., extra] => Err(format!("{extra:?} is one argument too many")),
        [unknown, ..] => Err(format!("{unknown:?} is not an argument")),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let (failed, done) = match task(std::env::args_os().skip(1)) {
        Ok(Task::Serve { data }) => ("the local system does not start", serve(data).await),
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
    let system = Arc::new(System::start(&settings, Parts::default()).await?);
    println!("order-expiry listens on http://{}", listener.local_addr()?);
    server::serve(system, listener, stop).await?;
    Ok(ExitCode::SUCCESS)
}

async fn stand_outside() -> Result<ExitCode, AnyError> {
    let (settings, listener, stop) = begin().await?;
    let key = SigningKey::new(&settings.sim_secret).ok_or("SIM_CHANNEL_SECRET is empty")?;
    println!("channel and issuer listen on http://{}", listener.local_addr()?);
    outside::serve(key, listener, stop).await?;
    Ok(ExitCode::SUCCESS)
}

/// What every server needs first: logs, settings, its address, and the signals that end it.
async fn begin() -> Result<(Settings, TcpListener, impl Future<Output = ()> + Send + 'static), AnyError> {
    logs::start()?;
    // Text that is not UTF-8 is kept, changed, so that it is refused as a bad value and never taken for an absent one.
    let lookup = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let settings = Settings::from_lookup(&lookup)?;
    let listener = TcpListener::bind(settings.listen).await;
    let listener = listener.map_err(|error| format!("{} cannot be listened on: {error}", settings.listen))?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok((settings, listener, stop))
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
        assert_eq!(asked(&["demo"]), Ok(Task::Demo));
        assert_eq!(asked(&["outside"]), Ok(Task::Outside));
        assert_eq!(asked(&["--help"]), Ok(Task::Help));
        for (words, refusal) in [
            (&["--data"][..], "--data needs a folder"),
            (&["--data", ""], "--data needs a folder"),
            (&["--data", "x", "y"], "\"y\" is one argument too many"),
            (&["demo", "now"], "\"now\" is one argument too many"),
            (&["serve"], "\"serve\" is not an argument"),
            (&["-data", "x"], "\"-data\" is not an argument"),
        ] {
            assert_eq!(asked(words), Err(refusal.to_owned()), "{words:?}");
        }
    }
}
