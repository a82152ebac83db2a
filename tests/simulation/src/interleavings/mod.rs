//! Every interleaving: small casts of the real handlers, and **all** orders of their AWS and channel calls, with deaths at every point,
//! and lost answers.
//!
//! ```text
//! actor = one call of one handler, with functions, identifiers and SDK clients of its own
//!   │ every AWS call, every channel call
//!   ▼
//! gate ──── holds each call until it is chosen ◄──── search: which call next, or who dies?
//!   │
//!   ▼
//! cloud and channel ──► every write is watched ──► at the end: callers call again, time passes, judgement
//! ```
//!
//! - [`Cast`] declares who is on stage and how it may end; the casts stand in [`casts`].
//! - [`Gate`] holds calls. Calls that an actor makes side by side are held one by one.
//! - `run` plays one schedule on a clock that stands still: it polls the actors by hand until all wait at the gate.
//! - [`explore`] searches: each run begins anew, follows choices already known to a new one, and goes on until it comes to a state
//!   that was reached before. The schedules are the paths through the states, and are counted as such.
//! - `stage` sets the scene: a local system whose drivers stand still until the end.
//!
//! # Why no schedule is left out
//!
//! A schedule is a sequence of choices: a call that waits at the gate is carried out and answered; or it is carried out and its answer
//! is lost, so that the SDK sends it again; or an actor dies before its next call, or after its last one before its caller has heard of
//! it. A death while a call is under way is one of these two: the call was
//! carried out, or it was not. Time passes as an actor of the cast, and by milliseconds before a call is sent again.
//!
//! Two schedules that come to the same state are gone on with once. A state is: every row of both tables, every image of every order
//! in the stream, every message sent and schedule asked for, what the channel holds of each payment, the time; and of each actor that
//! lives, everything it was answered and when. What an actor does next follows from that, because its clock, its identifiers and its
//! chance do. So the futures of two equal states are equal, and so are the endings that can follow.
//!
//! Three things are not part of a state, because nothing that acts or judges here can see them: the case file's conversations (`E#`)
//! and findings (`F#`), which are written for people; the questions the channel was asked, which change nothing there; the numbers of
//! messages. And the calls of a scan for shards of the index in which no order of the cast stands are not chosen but let through: no
//! other actor touches such a shard or the scan's place in it, so wherever they stand, the state is the same.
//!
//! The end is searched once for each last state of the stage: every caller that heard nothing, or was told to come again, does so; the
//! drivers start, so that stream and messages arrive; time leaps until nothing is left to do.

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
