//! What is played: a scene, its actors, and how it may end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::gate::{ActorNo, Gate};

/// A future of this one thread.
pub type Acts<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Few actors around one order. Every order of their calls is tried, with crashes at every point.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// Its name on the command line.
    pub name: &'static str,
    /// How many of the actors may die in one schedule.
    pub crashes: u8,
    /// How many answers may be lost in one schedule: the call is carried out, its caller sees a broken connection.
    pub lost_answers: u8,
    /// Every way it may end; each must be the end of some schedule.
    pub ends: &'static [&'static str],
    /// Builds the scene anew: the same each time, up to the last bit.
    pub open: fn(Gate) -> Acts<'static, Play>,
}

/// A scene that is about to begin.
pub struct Play {
    /// Everybody on it.
    pub actors: Vec<Actor>,
    /// What they act on.
    pub stage: Box<dyn Stage>,
}

impl fmt::Debug for Play {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Play").field("actors", &self.actors).finish_non_exhaustive()
    }
}

/// Somebody who calls.
pub struct Actor {
    /// In words.
    pub name: String,
    /// Whether it can die. Time and customers cannot.
    pub mortal: bool,
    /// It begins only once this one has died: its message is delivered again.
    pub recovers: Option<ActorNo>,
    /// What it does. If it waits for time between two calls, that time passes before anybody else goes on.
    pub acts: Acts<'static, Heard>,
}

impl fmt::Debug for Actor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Actor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What the caller of an actor was answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heard {
    /// In words.
    pub answer: String,
    /// Whether the caller is content. If not, or if it heard nothing, it calls again.
    pub is_done: bool,
}

impl Heard {
    /// An answer that ends it.
    #[must_use]
    pub fn done(answer: impl Into<String>) -> Heard {
        Heard { answer: answer.into(), is_done: true }
    }
}

/// What the actors act on.
pub trait Stage {
    /// Everything on it that can make a difference to any actor or to the end.
    fn state(&self) -> u128;

    /// What was wrong so far: invariants that a write broke.
    fn breaches(&self) -> Vec<String>;

    /// Nobody acts any more. Faults are over, the callers of `again` call again, time passes; then it is judged.
    fn end(self: Box<Self>, again: Vec<ActorNo>) -> Acts<'static, Ending>;

    /// What happened, for whoever reads a schedule that went wrong.
    fn story(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// In words, one of [`Cast::ends`].
    pub outcome: String,
    /// What is wrong with it.
    pub wrong: Vec<String>,
    /// What happened, for whoever reads a schedule that went wrong.
    pub story: Vec<String>,
}
