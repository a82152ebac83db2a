//! One schedule: the actors are polled by hand, one call at a time.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use local::cloud::fate::CallFate;
use tokio::sync::Notify;

use super::cast::{Actor, Cast, Ending, Heard, Play, Stage};
use super::fingerprint::Fingerprint;
use super::gate::{ActorNo, Gate, ParkedCall};

/// What can happen next.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// This call is carried out and answered, and its actor goes on to its next.
    Call(ParkedCall),
    /// This call is carried out, and its answer is lost.
    Loss(ParkedCall),
    /// This actor dies before its next call; after its last one: before its caller has heard of it.
    Death(ActorNo),
    /// Nobody dies after the last call of all.
    End,
}

/// A schedule under way.
pub(super) struct Run {
    gate: Gate,
    actors: Vec<Playing>,
    stage: Box<dyn Stage>,
    crashes_left: u8,
    lost_answers_left: u8,
    /// Whose last call was carried out just now: only now its answer can still be lost.
    just_done: Option<ActorNo>,
    woken: Arc<Notify>,
}

struct Playing {
    actor: Actor,
    stands: Stands,
    flag: Arc<Flag>,
}

/// How far an actor is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stands {
    /// It waits for another's death.
    Aside,
    Acting,
    Dead,
    Done(Heard),
}

/// Whether an actor wants to be polled.
struct Flag {
    is_up: AtomicBool,
    woken: Arc<Notify>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.is_up.store(true, Ordering::SeqCst);
        self.woken.notify_one();
    }
}

/// An actor that panicked: an assertion of the product did not hold.
#[derive(Debug)]
pub(super) struct Panicked(String);

impl fmt::Display for Panicked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Run {
    /// Opens the scene and lets everybody come to their first call.
    pub(super) async fn open(cast: &Cast, gate: Gate) -> Result<Run, Panicked> {
        let Play { actors, stage } = (cast.open)(gate.clone()).await;
        let woken = Arc::new(Notify::new());
        let playing = |actor: Actor| {
            let stands = if actor.recovers.is_some() { Stands::Aside } else { Stands::Acting };
            let flag = Flag { is_up: AtomicBool::new(true), woken: Arc::clone(&woken) };
            Playing { actor, stands, flag: Arc::new(flag) }
        };
        let actors = actors.into_iter().map(playing).collect();
        let mut run = Run {
            gate,
            actors,
            stage,
            crashes_left: cast.crashes,
            lost_answers_left: cast.lost_answers,
            just_done: None,
            woken,
        };
        run.go_on().await?;
        Ok(run)
    }

    /// What can happen next, in a fixed order; nothing when the schedule is over.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let calls = self.gate.parked();
        let can_die = |no: &ActorNo| {
            let Playing { actor, stands, .. } = &self.actors[*no];
            self.crashes_left > 0 && actor.mortal && (*stands == Stands::Acting || self.just_done == Some(*no))
        };
        let deaths: Vec<Choice> = (0..self.actors.len()).filter(can_die).map(Choice::Death).collect();
        // The answer of the very last call is lost, or it is not.
        let end = (calls.is_empty() && !deaths.is_empty()).then_some(Choice::End);
        let can_be_lost = |call: &&ParkedCall| self.lost_answers_left > 0 && call.is_remote;
        let losses: Vec<Choice> = calls.iter().filter(can_be_lost).cloned().map(Choice::Loss).collect();
        calls.into_iter().map(Choice::Call).chain(end).chain(losses).chain(deaths).collect()
    }

    /// Lets `choice` happen, and everybody come to their next call.
    pub(super) async fn take(&mut self, choice: &Choice) -> Result<(), Panicked> {
        self.just_done = None;
        match choice {
            Choice::Call(call) => self.carry_out(call, CallFate::Pass).await?,
            Choice::Loss(call) => {
                self.lost_answers_left -= 1;
                self.carry_out(call, CallFate::LoseAnswer).await?;
            }
            Choice::Death(no) => {
                self.crashes_left -= 1;
                let Playing { actor, stands, .. } = &mut self.actors[*no];
                *stands = Stands::Dead;
                actor.acts = Box::pin(std::future::pending());
                self.gate.forget(*no);
                let is_awaited = |playing: &Playing| playing.actor.recovers == Some(*no);
                for playing in self.actors.iter_mut().filter(|playing| is_awaited(playing)) {
                    playing.stands = Stands::Acting;
                }
                self.go_on().await?;
            }
            Choice::End => {}
        }
        Ok(())
    }

    async fn carry_out(&mut self, call: &ParkedCall, fate: CallFate) -> Result<(), Panicked> {
        self.gate.release(call, fate);
        self.go_on().await?;
        if matches!(self.actors[call.actor].stands, Stands::Done(_)) {
            self.just_done = Some(call.actor);
        }
        Ok(())
    }

    /// What a choice is, in words.
    pub(super) fn line(&self, choice: &Choice) -> String {
        match choice {
            Choice::Call(call) => format!("{}: {}", self.actors[call.actor].actor.name, call.line),
            Choice::Loss(call) => format!("{}: {} (the answer is lost)", self.actors[call.actor].actor.name, call.line),
            Choice::Death(no) => format!("{} dies", self.actors[*no].actor.name),
            Choice::End => "everybody is heard".to_owned(),
        }
    }

    /// All that can make a difference from here on. What an actor does next follows from its code and from what it has heard and
    /// when, for its clock, its identifiers and its chance follow from those: so two schedules that come to the same state have the
    /// same futures. Of the dead and the done nothing can come any more.
    pub(super) fn state(&self) -> u128 {
        let mut state = Fingerprint::default();
        state.add(&(self.stage.state(), self.crashes_left, self.lost_answers_left));
        state.add(&self.just_done.filter(|_| self.crashes_left > 0));
        for (no, playing) in self.actors.iter().enumerate() {
            state.add(&playing.stands);
            if playing.stands == Stands::Acting {
                state.add(&self.gate.history_of(no));
            }
        }
        state.value()
    }

    /// What was wrong so far.
    pub(super) fn breaches(&self) -> Vec<String> {
        self.stage.breaches()
    }

    /// What happened so far.
    pub(super) fn story(&self) -> Vec<String> {
        self.stage.story()
    }

    /// Who acts, and how many calls each has made.
    pub(super) fn calls(&self) -> Vec<(String, usize)> {
        let of = |(no, playing): (ActorNo, &Playing)| (playing.actor.name.clone(), self.gate.calls_of(no));
        self.actors.iter().enumerate().map(of).collect()
    }

    /// What the end follows from: the stage, and whose callers call again.
    pub(super) fn last_state(&self) -> u128 {
        Fingerprint::of(&(self.stage.state(), self.again()))
    }

    /// The end of it.
    pub(super) async fn end(self) -> Ending {
        let again = self.again();
        self.stage.end(again).await
    }

    fn again(&self) -> Vec<ActorNo> {
        let wants = |no: &ActorNo| match &self.actors[*no].stands {
            Stands::Dead => true,
            Stands::Done(heard) => !heard.is_done,
            Stands::Aside | Stands::Acting => false,
        };
        (0..self.actors.len()).filter(wants).collect()
    }

    /// Polls everybody who wants it until all who live wait at the gate. Whoever waits for time, such as the SDK before it sends a
    /// call again, is waited for: the others stand still meanwhile.
    async fn go_on(&mut self) -> Result<(), Panicked> {
        loop {
            let mut has_moved = false;
            for no in 0..self.actors.len() {
                has_moved |= self.poll(no)?;
            }
            // A call yields once before it is carried out: whoever yielded is woken by now.
            tokio::task::yield_now().await;
            if has_moved || self.actors.iter().any(Playing::wants_a_poll) {
                continue;
            }
            let parked = self.gate.parked();
            let waits_for_time = |(no, playing): (ActorNo, &Playing)| {
                playing.stands == Stands::Acting && parked.iter().all(|call| call.actor != no)
            };
            if !self.actors.iter().enumerate().any(waits_for_time) {
                return Ok(());
            }
            self.woken.notified().await;
        }
    }

    /// Polls an actor if it wants it; whether it did.
    fn poll(&mut self, no: ActorNo) -> Result<bool, Panicked> {
        let playing = &mut self.actors[no];
        if !playing.wants_a_poll() {
            return Ok(false);
        }
        playing.flag.is_up.store(false, Ordering::SeqCst);
        // Chance is the same each time, so that it tells no two states apart.
        fastrand::seed(0);
        let waker = Waker::from(Arc::clone(&playing.flag));
        let acts = playing.actor.acts.as_mut();
        let polled = catch_unwind(AssertUnwindSafe(|| acts.poll(&mut Context::from_waker(&waker))));
        match polled {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(heard)) => playing.stands = Stands::Done(heard),
            Err(panic) => return Err(Panicked(format!("{} panicked: {}", playing.actor.name, text_of(&*panic)))),
        }
        Ok(true)
    }
}

impl Playing {
    fn wants_a_poll(&self) -> bool {
        self.stands == Stands::Acting && self.flag.is_up.load(Ordering::SeqCst)
    }
}

/// What a panic says.
pub(super) fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".to_owned())
}
