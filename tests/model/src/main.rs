//! `cargo run -p model` checks every cast; `cargo run -p model -- explore "deadline"` shows one in the browser.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use model::casts::{CASTS, cast};
use model::properties::properties;
use stateright::{Expectation, Model};

const USAGE: &str = "usage: model [CAST | explore CAST]";
const EXPLORER: &str = "localhost:3000";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => check(&CASTS.iter().map(|cast| cast.name).collect::<Vec<_>>()),
        ["explore", name] => explore(name),
        [name] if cast(name).is_some() => check(&[name]),
        _ => {
            eprintln!("{USAGE}\ncasts:");
            CASTS.iter().for_each(|cast| eprintln!("  {:<16}{}", cast.name, cast.about));
            ExitCode::from(2)
        }
    }
}

/// Checks the casts of these names and says what came of it. Fails where something that should always hold does not, and, when every
/// cast was checked, where something that should sometimes happen never does.
fn check(names: &[&str]) -> ExitCode {
    // An assertion of the core that fails is told with its story, not here as well.
    std::panic::set_hook(Box::new(|panic| {
        if !panic.location().is_some_and(|at| at.file().contains("core/src")) {
            eprintln!("{panic}");
        }
    }));
    let mut missing: BTreeSet<&str> =
        properties().iter().filter(|it| it.expectation == Expectation::Sometimes).map(|it| it.name).collect();
    let mut stories = Vec::new();
    println!(
        "{:<16} {:>9} {:>6} {:>7} {:>7} {:>7} {:>7}",
        "cast", "states", "depth", "hold", "broken", "happen", "time"
    );
    for cast in names.iter().filter_map(|name| cast(name)) {
        let began = Instant::now();
        let verdict = model::check(&cast);
        println!(
            "{:<16} {:>9} {:>6} {:>7} {:>7} {:>7} {:>5} s",
            verdict.cast,
            verdict.states,
            verdict.depth,
            verdict.held.len(),
            verdict.broken.len(),
            verdict.found.len(),
            began.elapsed().as_secs()
        );
        missing.retain(|name| !verdict.found.contains(name));
        stories.extend(verdict.broken.into_iter().map(|(name, story)| (cast.name, name, story)));
    }
    for (cast, name, story) in &stories {
        println!("\nBROKEN in {cast:?}: {name}\n{story}");
    }
    let all = names.len() == CASTS.len();
    for name in missing.iter().filter(|_| all) {
        println!("NEVER HAPPENS: {name}");
    }
    if stories.is_empty() && (missing.is_empty() || !all) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn explore(name: &str) -> ExitCode {
    let Some(cast) = cast(name) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("http://{EXPLORER}");
    let _explorer = cast.checker().serve(EXPLORER);
    ExitCode::SUCCESS
}
