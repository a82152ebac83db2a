//! `cargo run --profile sim -p simulation -- --seeds 1000`, and for a seed that fails `… -- --seed 17 --shrink`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use expiry_core::guard;
use simulation::REPLAY;
use simulation::campaign::{self, ENOUGH, Seeds};
use simulation::storm::{self, shrink};
use simulation::timeline::Line;
use simulation::{drills, interleavings};

/// Half of a run is small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: simulation --seeds COUNT [--from SEED] [--first]
       simulation --seed SEED [--calls] [--shrink]
       simulation interleavings [CAST [--schedule 0,2,1]]
       simulation drills [--orders COUNT]
       simulation capacity [--orders COUNT]
       simulation guards
WITHOUT_GUARD takes one of the guards away.";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var("WITHOUT_GUARD")
        && let Err(why) = take_away(&name)
    {
        eprintln!("WITHOUT_GUARD is {name:?}: {why}");
        return ExitCode::from(2);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text =
        |name: &str| arguments.get(arguments.iter().position(|argument| argument == name)? + 1).map(String::as_str);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if let Some(seed) = number("--seed") {
        return if has("--shrink") { shrunk(seed, has("--calls")) } else { replay(seed, has("--calls")) };
    }
    if has("--share") {
        return share(&arguments[1..]);
    }
    let orders = |default: usize| number("--orders").and_then(|count| count.try_into().ok()).unwrap_or(default);
    match arguments.first().map(String::as_str) {
        Some("interleavings") => {
            let cast = arguments.get(1).filter(|argument| !argument.starts_with("--"));
            return interleavings::main(cast.map(String::as_str), text("--schedule"));
        }
        Some("drills") => return drills::main(orders(300)),
        Some("capacity") => return drills::capacity::main(orders(100_000)),
        Some("guards") => {
            guard::ALL.iter().for_each(|guard| println!("{}", guard.name()));
            return ExitCode::SUCCESS;
        }
        Some(_) | None => {}
    }
    let Some(count) = number("--seeds") else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let enough = if has("--first") { 1 } else { ENOUGH };
    let seeds = Seeds { from: number("--from").unwrap_or(0), count, step: 1, enough };
    let result = match campaign::on_every_core(seeds) {
        Ok(result) => result,
        Err(error) => {
            eprintln!("not every share of the seeds was run: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = match result.failed.keys().next() {
        Some(first) if !has("--first") => replay(*first, has("--calls")),
        Some(_) => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    };
    println!("{result}");
    code
}

/// Takes a guard out of this process, and so out of those it starts.
fn take_away(name: &str) -> Result<(), String> {
    let Some(guard) = guard::ALL.iter().find(|guard| guard.name() == name) else {
        let names: Vec<_> = guard::ALL.iter().map(|guard| guard.name()).collect();
        return Err(format!("it must be one of {}", names.join(", ")));
    };
    if guard.remove() { Ok(()) } else { Err("a release keeps its guards; --profile sim does not".to_owned()) }
}

/// Runs the share of the seeds that a process was started for, and says what it came to.
fn share(numbers: &[String]) -> ExitCode {
    let numbers: Vec<u64> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
    let [from, count, step, enough] = numbers[..] else { return ExitCode::from(2) };
    let as_size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let result = campaign::run(Seeds { from, count, step: as_size(step).max(1), enough: as_size(enough) });
    match serde_json::to_string(&result) {
        Ok(line) => println!("{line}"),
        Err(error) => eprintln!("{error}"),
    }
    ExitCode::SUCCESS
}

/// Runs one seed and tells its story.
fn replay(seed: u64, calls: bool) -> ExitCode {
    let outcome = storm::run(seed, &BTreeSet::new());
    tell(&outcome.timeline, calls);
    judge(&outcome.breaches)
}

/// Runs one seed with less and less, and tells the story of what is left.
fn shrunk(seed: u64, calls: bool) -> ExitCode {
    let Some(shrunk) = shrink::shrink(seed) else {
        println!("seed {seed} does not fail");
        return ExitCode::SUCCESS;
    };
    tell(&shrunk.outcome.timeline, calls);
    let needed: Vec<String> = shrunk.needed.iter().map(ToString::to_string).collect();
    println!("needs {} disturbances ({} runs): {}", needed.len(), shrunk.runs, needed.join(", "));
    println!("again: {REPLAY} --seed {seed} --shrink");
    judge(&shrunk.outcome.breaches)
}

fn tell(timeline: &[Line], calls: bool) {
    timeline.iter().filter(|line| calls || line.is_story).for_each(|line| println!("{}", line.text));
}

fn judge(breaches: &[String]) -> ExitCode {
    breaches.iter().for_each(|breach| println!("BREACH {breach}"));
    if breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
