//! Checking a cast.

use std::collections::BTreeMap;

use stateright::{Checker, Expectation, Model, Property};

use crate::cast::Cast;
use crate::story::Story;
use crate::world::{Step, World};

impl Model for Cast {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        World::beginnings(self)
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        world.steps(self, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        world.after(self, step)
    }

    /// For the explorer.
    fn format_step(&self, world: &World, step: Step) -> Option<String> {
        Some(format!("{}\n{}", world.tell(&step), world.after(self, step)?))
    }

    fn properties(&self) -> Vec<Property<Cast>> {
        let is_wanted = |property: &Property<Cast>| self.only.is_none_or(|only| property.name == only);
        (self.properties)().into_iter().filter(is_wanted).collect()
    }
}

/// What came of checking a cast: every state it has was looked at.
#[derive(Debug)]
pub struct Verdict {
    /// The cast.
    pub cast: &'static str,
    /// How many different states there are.
    pub states: usize,
    /// How many steps the longest shortest way to one has.
    pub depth: usize,
    /// The properties that always hold, by their names.
    pub held: Vec<&'static str>,
    /// What sometimes happens, by its name.
    pub found: Vec<&'static str>,
    /// The properties that should always hold and do not, each with the shortest way there.
    pub broken: BTreeMap<&'static str, Story>,
}

/// Checks `cast` exhaustively.
#[must_use]
pub fn check(cast: &Cast) -> Verdict {
    let checker = cast.clone().checker().spawn_bfs().join();
    let mut verdict = Verdict {
        cast: cast.name,
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        held: Vec::new(),
        found: Vec::new(),
        broken: BTreeMap::new(),
    };
    let discovered = checker.discoveries();
    for Property { expectation, name, .. } in cast.properties() {
        match (expectation, discovered.contains_key(name)) {
            (Expectation::Always | Expectation::Eventually, false) => verdict.held.push(name),
            (Expectation::Sometimes, true) => verdict.found.push(name),
            (Expectation::Sometimes, false) => {}
            (Expectation::Always | Expectation::Eventually, true) => {
                verdict.broken.insert(name, shortest(cast, name));
            }
        }
    }
    verdict
}

/// The shortest way to where `property` is decided. `stateright` keeps on looking while other properties are open, and replaces a
/// way by every later, longer one: so the property is checked once more, alone.
fn shortest(cast: &Cast, property: &'static str) -> Story {
    let alone = Cast { only: Some(property), ..cast.clone() };
    let path = alone.checker().spawn_bfs().join().discovery(property);
    Story::new(path.map_or_else(Vec::new, |path| path.into_vec()))
}
