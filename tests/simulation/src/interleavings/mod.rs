//! Every interleaving: small casts of real handlers, and *all* orders of their AWS and channel calls, with deaths at every point.

mod cast;
pub mod casts;
mod explore;
mod fingerprint;
mod gate;
mod graph;
mod report;
mod run;
mod stage;
mod wire;

pub use self::cast::{Actor, Acts, Cast, Ending, Heard, Play, Stage};
pub use self::explore::{Found, Violation, explore, replay};
pub use self::fingerprint::Fingerprint;
pub use self::gate::{ActorNo, Gate, ParkedCall};
pub use self::report::main;
