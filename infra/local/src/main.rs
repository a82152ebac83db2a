//! The local system: `cargo run` starts it (DESIGN §9).

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use expiry_runtime::logs::{self, chain};
use local::system::Parts;
use local::{Settings, System, server};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// What the command line asks for.
#[derive(Debug, Default)]
struct Arguments {
    data: Option<PathBuf>,
}

const USAGE: &str = "usage: local [--data DIR]";

fn arguments() -> Result<Arguments, AnyError> {
    let mut arguments = Arguments::default();
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--data" => arguments.data = Some(given.next().ok_or("--data needs a folder")?.into()),
            other => return Err(format!("{other} is not an argument; {USAGE}").into()),
        }
    }
    Ok(arguments)
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the local system does not start: {}", chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), AnyError> {
    let arguments = arguments()?;
    logs::start()?;
    let mut settings = Settings::from_lookup(&|name| std::env::var(name).ok())?;
    settings.data = arguments.data;
    let system = Arc::new(System::start(&settings, Parts::default()).await?);
    let listener = TcpListener::bind(settings.listen).await?;
    println!("order-expiry listens on http://{}", listener.local_addr()?);
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(server::serve(system, listener, stop).await?)
}
