//! Running a command on an order: read, decide, ask, commit, and again until it is done (DESIGN §5, §6).
//!
//! The rules are in `expiry-core`, the writes in `expiry-store`, the calls in `expiry-channels`; this crate only joins them, so every
//! function that moves an order moves it in the same way.

mod channels;
mod context;
mod hearing;
mod problems;
mod questions;
mod run;

pub use channels::ChannelsError;
pub use context::{Context, Surroundings};
pub use hearing::{Conversation, Heard};
pub use questions::attempt_ref;
pub use run::{Ran, RunError};
