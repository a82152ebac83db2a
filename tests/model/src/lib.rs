//! The protocol as a model: every interleaving of two workers, a channel and the clock over one order, with every transition decided
//! by `expiry_core`. Nothing here says what may happen to an order; only what may happen *around* it.
//!
//! ```text
//! casts.rs     who is on the stage, and how much may happen     cast.rs   what can be said of that
//! world.rs     the state, and which steps can be taken
//! step.rs      taking one: read, write, crash, tick     calls.rs   asking     payer.rs   what happens without us
//! run.rs       a worker between two steps; its next step is `decide()` of what it has read and heard
//! channel.rs   the truth at the channel          rows.rs   the rows beside the order
//! money.rs     DESIGN §3, "fact meets | result", row by row
//! properties.rs  what always holds, and what sometimes happens
//! ```
//!
//! ```
//! let verdict = model::check(&model::casts::cast("nothing to pay").ok_or("there is no such cast")?);
//! assert!(verdict.broken.is_empty());
//! # Ok::<(), &str>(())
//! ```

mod calls;
pub mod cast;
pub mod casts;
pub mod channel;
pub mod image;
pub mod money;
mod payer;
pub mod properties;
pub mod rows;
pub mod run;
mod step;
pub mod story;
pub mod verdict;
pub mod world;

pub use verdict::{Verdict, check};
