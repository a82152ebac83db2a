//! Capacity: many orders that expire in one minute, a channel of stated latency with time-outs and unknowns, and how long it takes.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fastrand::Rng;
use local::sim::Transit;

use super::floor::Floor;
use super::{PATIENCE, WINDOW};
use crate::random::rng;

/// Batches of each queue at work at once. `template.yaml` allows 50 for `close`, 10 for each release queue and 5 for `refund`.
const POLLERS: usize = 10;

/// The channel's latency, of a thousand calls: most milliseconds, and how many take at most that. The rest is never answered.
const LATENCY: [(u64, u32); 4] = [(150, 500), (600, 400), (2_500, 80), (6_000, 10)];

/// Plays `orders` orders that expire within one minute, each with a payment that nobody completed, and prints the figures.
#[must_use]
pub fn main(orders: usize) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(play(orders))
}

async fn play(orders: usize) -> ExitCode {
    let began = Instant::now();
    let floor = Floor::with_pollers(orders, POLLERS).await;
    let mut rng = rng(0, "channel");
    floor.shop.system.sim.on_call(move |_, _, _| latency(&mut rng));
    let opened = tokio::time::Instant::now();
    floor.orders(orders, true).await;
    let created_in = opened.elapsed();
    tokio::time::sleep_until(opened + WINDOW).await;
    let drained = floor.watches_queues(floor.waits_for_rest(PATIENCE)).await;
    println!(
        "{orders} orders with one unfinished payment each, created in {} s, expire in as long",
        created_in.as_secs()
    );
    println!("{POLLERS} batches of 10 messages at once per queue, calls of AWS take 2–9 ms");
    println!(
        "the channel: 50 % up to 150 ms, 40 % up to 0.6 s, 8 % up to 2.5 s, 1 % up to 6 s (the call's deadline is 3 s), 1 % no answer"
    );
    println!("expire→closed p50 / p99 / most: {}", floor.lateness());
    let drained_in = drained.map_or("not within its time".to_owned(), |took| format!("{} s", took.as_secs()));
    println!("everything closed and released after the first deadline: {drained_in}");
    println!("most messages waiting: {}, found by the scan: {}", floor.backlog(), floor.found_by_scan());
    println!("dead letters: {}, real time: {} s", floor.dead_letters(), began.elapsed().as_secs());
    let breaches = floor.breaches(orders, true);
    breaches.iter().for_each(|breach| println!("BREACH {breach}"));
    if breaches.is_empty() && drained.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn latency(rng: &mut Rng) -> Transit {
    let mut dice = rng.u32(0..1_000);
    let mut least = 20;
    for (most, share) in LATENCY {
        if dice < share {
            return Transit::ArrivesLate(Duration::from_millis(rng.u64(least..most)));
        }
        (dice, least) = (dice - share, most);
    }
    Transit::AnswerLost
}
