//! Fuzzes one target, guided by coverage: builds `guided.rs` and everything below it with instrumentation, and runs it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use fuzz::{TARGETS, corpus, target};

/// The pass that counts edges and traces comparisons, in the stable compiler's back end.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (name, seconds) = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [name] => (*name, Ok(60)),
        [name, "--seconds", seconds] => (*name, seconds.parse::<u64>()),
        _ => return usage(),
    };
    let (Some(_), Ok(seconds)) = (target(name), seconds) else { return usage() };
    match fuzz(name, seconds) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{name} could not be fuzzed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo run -p fuzz -- TARGET [--seconds N], where TARGET is one of");
    TARGETS.iter().for_each(|(name, _)| eprintln!("  {name}"));
    ExitCode::FAILURE
}

/// Whether nothing was found.
fn fuzz(name: &str, seconds: u64) -> std::io::Result<bool> {
    let build =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from).join("guided");
    let learnt = build.join("corpus").join(name);
    std::fs::create_dir_all(&learnt)?;
    let seeds = corpus::folder(name);
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--package", "fuzz", "--features", "guided", "--bin", "guided", "--locked"]);
    // Named, so that what runs on this machine while it builds is not instrumented.
    command.args(["--target", "host-tuple"]).arg("--target-dir").arg(&build).arg("--");
    command.arg(&learnt).arg(&seeds).arg(format!("-artifact_prefix={}/", seeds.display()));
    command.args([format!("-max_total_time={seconds}"), "-max_len=8192".to_owned(), "-timeout=10".to_owned()]);
    command.arg("-print_final_stats=1").env("RUSTFLAGS", INSTRUMENTED).env("FUZZ_TARGET", name);
    Ok(command.status()?.success())
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
