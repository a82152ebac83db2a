//! The command, and the table it prints.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::cast::Cast;
use super::casts::ALL;
use super::explore::{Found, Violation, explore, replay};

/// Casts that are searched at the same time.
const THREADS: usize = 2;

/// `interleavings [CAST] [--schedule 0,2,1]`: tries every schedule of one cast or of all, or plays one schedule.
#[must_use]
pub fn main(cast: Option<&str>, schedule: Option<&str>) -> ExitCode {
    let casts: Vec<Cast> = ALL.iter().filter(|known| cast.is_none_or(|name| name == known.name)).copied().collect();
    if casts.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|known| known.name).collect();
        eprintln!("there is no such cast; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    let violations: usize = match schedule {
        Some(schedule) => casts.iter().map(|cast| play(cast, schedule)).sum(),
        None => search(&casts),
    };
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn play(cast: &Cast, schedule: &str) -> usize {
    let schedule: Vec<usize> = schedule.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let told = replay(cast, &schedule);
    tell(&told);
    usize::from(!told.wrong.is_empty())
}

/// Searches all, and prints each as soon as those before it are printed; how many went wrong.
fn search(casts: &[Cast]) -> usize {
    println!("{:<24} {:>28} {:>9} {:>7} {:>6}  ends (schedules)", "cast", "schedules", "states", "runs", "s");
    let (next, (sender, found)) = (AtomicUsize::new(0), mpsc::channel());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some((number, cast)) = casts.iter().enumerate().nth(next.fetch_add(1, Ordering::SeqCst)) {
                    // Nobody listens any more only when the search is over.
                    let _ = sender.send((number, explore(cast)));
                }
            });
        }
        drop(sender);
        let mut early: Vec<Option<Found>> = vec![None; casts.len()];
        let mut printed = 0;
        let mut wrong = 0;
        for (number, one) in found {
            early[number] = Some(one);
            while let Some(one) = early.get_mut(printed).and_then(Option::take) {
                row(&casts[printed], &one);
                wrong += usize::from(one.violation.is_some());
                printed += 1;
            }
        }
        wrong
    })
}

fn row(cast: &Cast, found: &Found) {
    let (schedules, seconds) = (found.schedules(), found.took.as_secs_f32());
    let ends: Vec<String> = found.outcomes.iter().map(|(end, count)| format!("{end} ({count})")).collect();
    println!(
        "{:<24} {schedules:>28} {:>9} {:>7} {seconds:>6.1}  {}",
        cast.name,
        found.states,
        found.runs,
        ends.join("; ")
    );
    let calls: Vec<String> = found.calls.iter().map(|(actor, calls)| format!("{actor} {calls}")).collect();
    let (calls, deaths, losses) = (calls.join(", "), cast.crashes, cast.lost_answers);
    println!("{:<24} calls: {calls}; at most {deaths} deaths, {losses} lost answers", "");
    if let Some(violation) = &found.violation {
        println!("VIOLATION in {}", cast.name);
        tell(violation);
        let schedule: Vec<String> = violation.schedule.iter().map(usize::to_string).collect();
        let (name, schedule) = (cast.name, schedule.join(","));
        println!("replay: cargo run --profile sim -p simulation -- interleavings {name} --schedule {schedule}");
    }
}

fn tell(violation: &Violation) {
    violation.lines.iter().enumerate().for_each(|(number, line)| println!("  {number:>3} {line}"));
    violation.story.iter().for_each(|line| println!("      {line}"));
    violation.wrong.iter().for_each(|wrong| println!("  WRONG {wrong}"));
}
