//! Crashes, silence and lost answers: cases s1 to s8 of CASES.md, and what DESIGN §5 and §6 promise of clocks, contention and
//! restarts. Every test runs the real handlers on a clock that stands still unless it is moved.

mod channel_silent;
mod contention;
mod late_money;
mod lost_answers;
mod restart;
mod scene;
mod stories;
mod untrusted_clock;
mod workers;
