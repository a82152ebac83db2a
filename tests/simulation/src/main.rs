//! `cargo run -p simulation -- --seeds 1000`, and for a seed that fails `cargo run -p simulation -- --seed 17`.

use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: simulation [--from SEED] [--seeds COUNT] | --seed SEED";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    if let Some(seed) = number("--seed") {
        return replay(seed);
    }
    let (Some(count), from) = (number("--seeds"), number("--from").unwrap_or(0)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    many(from, count)
}

/// Runs one seed and prints its history.
fn replay(seed: u64) -> ExitCode {
    let outcome = simulation::run(seed);
    outcome.history.iter().for_each(|line| println!("{line}"));
    outcome.verdict.iter().for_each(|wrong| println!("WRONG {wrong}"));
    if outcome.verdict.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs many seeds, and says of each that fails how to replay it.
fn many(from: u64, count: u64) -> ExitCode {
    let began = Instant::now();
    let mut failed = 0;
    for seed in from..from + count {
        let outcome = simulation::run(seed);
        if !outcome.verdict.is_empty() {
            failed += 1;
            println!("seed {seed}: cargo run -p simulation -- --seed {seed}");
            outcome.verdict.iter().for_each(|wrong| println!("  {wrong}"));
        }
    }
    println!("{} passed, {failed} failed", count - failed);
    println!("{count} seeds in {} s", began.elapsed().as_secs());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
