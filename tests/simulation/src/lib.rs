//! The proof that nothing is lost when everything goes wrong, on the real handlers, the real SDK and the embedded cloud, in simulated
//! time: [`storm`] lets one seed decide what happens and when, over a whole shop; [`watch`] checks the invariants after every write;
//! [`interleavings`] tries every order of the calls of small casts, with deaths at every point; [`drills`] measures how the shop comes out
//! of large outages.

pub mod campaign;
pub mod drills;
pub mod interleavings;
mod panics;
mod random;
mod shop;
pub mod storm;
pub mod timeline;
pub mod watch;

/// The command that replays a run, up to its seed.
pub const REPLAY: &str = "cargo run --profile sim -p simulation --";

/// Where simulated time begins, in Unix seconds.
const BEGINS: i64 = 1_800_000_000;

/// The one clock of a run, at its beginning; it follows the paused clock of the runtime it is made in.
pub(crate) fn simulated_clock() -> local::clock::MovableClock {
    let begins = expiry_core::time::Timestamp::from_seconds(BEGINS).expect("a time within bounds");
    local::clock::MovableClock::following_tokio(begins)
}
