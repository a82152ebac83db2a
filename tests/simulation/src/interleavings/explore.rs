//! The search: depth first over all choices, each run from the beginning, and never twice from the same state.
//!
//! States and choices form a graph without cycles, because every choice is a call or a death more. Each edge of it is taken once; the
//! schedules are its paths, and are counted on it.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use super::cast::{Cast, Ending};
use super::gate::Gate;
use super::graph::{Edge, Graph};
use super::run::{Run, text_of};

/// What the search of a cast found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The most calls each actor makes.
    pub calls: Vec<(String, usize)>,
    /// Different states.
    pub states: usize,
    /// Runs from the beginning.
    pub runs: usize,
    /// Every way it ended, each with how many schedules end so; empty when the search did not come to its end.
    pub outcomes: BTreeMap<String, u128>,
    /// The first schedule that went wrong.
    pub violation: Option<Violation>,
    /// How long it took.
    pub took: Duration,
}

impl Found {
    /// How many schedules there are.
    #[must_use]
    pub fn schedules(&self) -> u128 {
        self.outcomes.values().sum()
    }
}

/// A schedule that went wrong.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The choices that lead there, by their numbers.
    pub schedule: Vec<usize>,
    /// The same in words.
    pub lines: Vec<String>,
    /// What happened meanwhile.
    pub story: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<String>,
}

/// Tries every schedule of `cast`, or stops at the first that goes wrong.
#[must_use]
pub fn explore(cast: &Cast) -> Found {
    let began = Instant::now();
    let mut search = Search { cast, graph: Graph::default(), endings: HashMap::new(), runs: 0, calls: Vec::new() };
    let violation = search.all();
    let outcomes = if violation.is_none() { search.graph.outcomes() } else { BTreeMap::new() };
    let violation = violation.or_else(|| missing(cast, &outcomes));
    let Search { graph, runs, calls, .. } = search;
    Found { calls, states: graph.len(), runs, outcomes, violation, took: began.elapsed() }
}

/// Plays one schedule, with first choices where it names none: how it went, whether or not anything is wrong with it.
#[must_use]
pub fn replay(cast: &Cast, schedule: &[usize]) -> Violation {
    let mut search = Search { cast, graph: Graph::default(), endings: HashMap::new(), runs: 0, calls: Vec::new() };
    match search.in_time(async |search| search.replay(schedule).await) {
        Ok((track, ending)) => {
            let mut told = track.violation(ending.story, ending.wrong);
            told.lines.push(format!("it ended in {:?}", ending.outcome));
            told
        }
        Err(violation) => violation,
    }
}

/// The end of a run; a panic in it is wrong like anything else.
async fn judged(run: Run) -> Ending {
    let ended = AssertUnwindSafe(run.end()).catch_unwind().await;
    ended.unwrap_or_else(|panic| Ending {
        wrong: vec![format!("afterwards something panicked: {}", text_of(&*panic))],
        ..Ending::default()
    })
}

/// A way to end that no schedule took: then the cast does not show what it says.
fn missing(cast: &Cast, outcomes: &BTreeMap<String, u128>) -> Option<Violation> {
    let never = cast.ends.iter().find(|end| !outcomes.contains_key(**end))?;
    let wrong = vec![format!("no schedule ends in {never:?}, only in {:?}", outcomes.keys())];
    Some(Violation { schedule: Vec::new(), lines: Vec::new(), story: Vec::new(), wrong })
}

struct Search<'a> {
    cast: &'a Cast,
    graph: Graph,
    /// How each last state ended: it says nothing of how it was reached.
    endings: HashMap<u128, Ending>,
    runs: usize,
    calls: Vec<(String, usize)>,
}

impl Search<'_> {
    fn all(&mut self) -> Option<Violation> {
        let mut open: Vec<Edge> = Vec::new();
        let mut from = None;
        loop {
            self.runs += 1;
            if let Err(violation) = self.in_time(async |search| search.run(from, &mut open).await) {
                return Some(violation);
            }
            from = Some(open.pop()?);
        }
    }

    /// A runtime of its own for each run: its time begins anew.
    fn in_time<T>(&mut self, work: impl AsyncFnOnce(&mut Self) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(work(self))
    }

    async fn open(&self) -> Result<Run, Violation> {
        let clock = crate::simulated_clock();
        fastrand::seed(0);
        let opened = AssertUnwindSafe(Run::open(self.cast, Gate::new(clock))).catch_unwind().await;
        let panicked = |panic| Track::default().violation(Vec::new(), vec![format!("before the scene: {panic}")]);
        match opened {
            Ok(opened) => opened.map_err(|panic| panicked(panic.to_string())),
            Err(panic) => Err(panicked(text_of(&*panic))),
        }
    }

    /// Takes one choice that was not taken yet, and from there first choices, until a state is reached that was reached before.
    async fn run(&mut self, from: Option<Edge>, open: &mut Vec<Edge>) -> Result<(), Violation> {
        let mut run = self.open().await?;
        let mut track = Track::default();
        let mut edge = None;
        if let Some((node, choice)) = from {
            for number in self.graph.path(node).into_iter().chain([choice]) {
                track.step(&mut run, number).await?;
            }
            edge = Some((node, choice));
        }
        loop {
            let (node, is_new) = self.graph.reach(run.state(), edge, &track.path, || run.choices().len());
            if !is_new {
                break;
            }
            let choices = self.graph.choices(node);
            if choices == 0 {
                self.note_calls(&run);
                let outcome = self.end(run, track).await?;
                self.graph.ends(node, outcome);
                return Ok(());
            }
            open.extend((1..choices).rev().map(|choice| (node, choice)));
            track.step(&mut run, 0).await?;
            edge = Some((node, 0));
        }
        self.note_calls(&run);
        Ok(())
    }

    async fn end(&mut self, run: Run, track: Track) -> Result<String, Violation> {
        let last = run.last_state();
        let mut ending = match self.endings.get(&last) {
            Some(known) => known.clone(),
            None => judged(run).await,
        };
        self.endings.insert(last, Ending { story: Vec::new(), ..ending.clone() });
        if ending.wrong.is_empty() && !self.cast.ends.contains(&ending.outcome.as_str()) {
            ending.wrong.push(format!("it ended in {:?}, not in one of {:?}", ending.outcome, self.cast.ends));
        }
        if ending.wrong.is_empty() { Ok(ending.outcome) } else { Err(track.violation(ending.story, ending.wrong)) }
    }

    async fn replay(&mut self, schedule: &[usize]) -> Result<(Track, Ending), Violation> {
        let mut run = self.open().await?;
        let mut track = Track::default();
        let mut numbers = schedule.iter().copied();
        while !run.choices().is_empty() {
            track.step(&mut run, numbers.next().unwrap_or(0)).await?;
        }
        Ok((track, judged(run).await))
    }

    fn note_calls(&mut self, run: &Run) {
        let calls = run.calls();
        match self.calls.is_empty() {
            true => self.calls = calls,
            false => {
                self.calls.iter_mut().zip(calls).for_each(|(most, made)| most.1 = most.1.max(made.1));
            }
        }
    }
}

/// The way so far.
#[derive(Default)]
struct Track {
    path: Vec<usize>,
    lines: Vec<String>,
}

impl Track {
    async fn step(&mut self, run: &mut Run, number: usize) -> Result<(), Violation> {
        let choices = run.choices();
        let Some(choice) = choices.get(number) else {
            return Err(
                self.violation(Vec::new(), vec![format!("there is no choice {number} among {}", choices.len())])
            );
        };
        self.path.push(number);
        self.lines.push(run.line(choice));
        let taken = run.take(choice).await;
        let mut wrong = run.breaches();
        wrong.extend(taken.err().map(|panic| panic.to_string()));
        if wrong.is_empty() { Ok(()) } else { Err(self.violation(run.story(), wrong)) }
    }

    fn violation(&self, story: Vec<String>, wrong: Vec<String>) -> Violation {
        let (schedule, lines) = (self.path.clone(), self.lines.clone());
        Violation { schedule, lines, story, wrong }
    }
}
