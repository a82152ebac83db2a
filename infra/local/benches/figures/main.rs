//! The figures of `docs/COST.md`, measured in one run: `cargo bench`.
//!
//! Every time is a ratio to something measured beside it, because this machine is not yours. Write units are exact.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on says where")]

mod lifecycle;
mod scan;
mod scene;
mod stock;
mod units;

fn main() {
    // `cargo test --benches` only asks whether it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("# order-expiry, figures of one run\n");
        lifecycle::measure().await;
        scan::measure().await;
        stock::measure().await;
        units::measure().await;
    });
}
