//! The storm: what becomes of each call, message and schedule while it lasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use expiry_core::time::Timestamp;
use fastrand::Rng;
use local::cloud::fate::{Call, CallFate, Failure, Fate, Service};
use local::sim::Transit;
use serde_json::Value;

use super::plan::{Kind, Plan};
use super::scene::{Character, Scene};
use crate::timeline::Timeline;

/// Of a thousand calls, how many meet each fault.
const LOST_REQUESTS: u32 = 15;
const LOST_ANSWERS: u32 = 25;
const THROTTLES: u32 = 10;
const SERVER_ERRORS: u32 = 10;
const CONFLICTS: u32 = 30;
const STALLS: u32 = 4;
const STALE_READS: u32 = 250;
/// Where the channel takes create calls.
const PLACE: &str = "/sim/payments";

/// What is shared by everything that can go wrong in one run. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Weather {
    calm: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    pub(super) plan: Plan,
    pub(super) timeline: Timeline,
}

impl Weather {
    pub(super) fn new(plan: Plan, timeline: Timeline) -> Weather {
        Weather { calm: Arc::default(), calls: Arc::default(), plan, timeline }
    }

    /// From now on nothing goes wrong any more.
    pub(super) fn calm_down(&self) {
        self.timeline.note("the storm is over");
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    /// How many calls were made so far.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Whether the next disturbance of its kind happens: never in the calm.
    fn next(&self, kind: Kind, counted: &mut u64) -> bool {
        *counted += 1;
        !self.is_calm() && self.plan.happens(kind, *counted)
    }
}

/// The fate of AWS calls, messages and schedules.
#[derive(Debug)]
pub(super) struct Storm {
    rng: Rng,
    weather: Weather,
    calls: u64,
    messages: u64,
    copies: u64,
    schedules: u64,
}

impl Storm {
    pub(super) fn new(rng: Rng, weather: Weather) -> Storm {
        Storm { rng, weather, calls: 0, messages: 0, copies: 0, schedules: 0 }
    }

    /// What would go wrong with this call; `None` when nothing does.
    fn mishap(&mut self, call: &Call<'_>) -> Option<CallFate> {
        if call.operation == "PutSecretValue" {
            // Nobody of ours makes it: a person does, and looks whether it is done.
            return None;
        }
        let dice = self.rng.u32(0..1_000);
        let mut bound = 0;
        let mut falls = |share: u32| {
            bound += share;
            dice < bound
        };
        if falls(LOST_REQUESTS) {
            return Some(CallFate::LoseRequest);
        }
        if falls(LOST_ANSWERS) {
            return Some(CallFate::LoseAnswer);
        }
        if falls(THROTTLES) {
            return Some(CallFate::Fail(Failure::new(400, "ThrottlingException")));
        }
        if falls(SERVER_ERRORS) {
            return Some(CallFate::Fail(Failure::new(500, "InternalServerError")));
        }
        if falls(STALLS) {
            // Longer than a lease: the worker sleeps over it.
            return Some(CallFate::Delay(Duration::from_millis(self.rng.u64(5_000..45_000))));
        }
        if call.operation == "TransactWriteItems" && falls(CONFLICTS) {
            let items = call.body["TransactItems"].as_array().map_or(1, Vec::len).max(1);
            return Some(CallFate::Fail(Failure::transaction_conflict(items, self.rng.usize(0..items))));
        }
        if call.operation == "Query" && falls(STALE_READS) {
            return Some(CallFate::Stale(Duration::from_millis(self.rng.u64(10..5_000))));
        }
        None
    }
}

impl Fate for Storm {
    fn schedule_fires(&mut self, _: &str, due: Timestamp, window: Duration) -> Timestamp {
        let window = u64::try_from(window.as_millis()).unwrap_or(u64::MAX).max(1);
        let moment = due.plus(Duration::from_millis(self.rng.u64(0..window)));
        match self.rng.u8(0..100) {
            0..5 if self.weather.next(Kind::LateSchedule, &mut self.schedules) => {
                moment.plus(Duration::from_secs(7_200))
            }
            5..10 if self.weather.next(Kind::EarlySchedule, &mut self.schedules) => {
                moment.minus(Duration::from_secs(120))
            }
            _ => moment,
        }
    }

    fn message_due(&mut self, _: &str, due: Timestamp) -> Timestamp {
        let late = Duration::from_millis(self.rng.u64(0..20_000));
        let is_late = self.rng.u8(0..100) < 15 && self.weather.next(Kind::LateMessage, &mut self.messages);
        if is_late { due.plus(late) } else { due }
    }

    fn copies_of(&mut self, _: &str, _: &str) -> u32 {
        match self.rng.u8(0..100) {
            0..10 if self.weather.next(Kind::Copy, &mut self.copies) => 2,
            10..13 if self.weather.next(Kind::LostMessage, &mut self.copies) => 0,
            _ => 1,
        }
    }

    fn call(&mut self, call: &Call<'_>) -> CallFate {
        self.weather.calls.fetch_add(1, Ordering::SeqCst);
        // Interleavings come from small delays, also in the calm.
        let jitter = CallFate::Delay(Duration::from_micros(self.rng.u64(0..5_000)));
        let fate = match self.mishap(call) {
            Some(mishap) if self.weather.next(Kind::Call, &mut self.calls) => mishap,
            Some(_) | None => jitter,
        };
        // A poll that finds nothing is no event.
        if call.operation != "ReceiveMessage" && call.service != Service::Streams {
            self.weather.timeline.call(call, &fate);
        }
        fate
    }
}

/// What becomes of calls of the channel.
pub(super) fn transit(scene: &Scene) -> impl FnMut(&str, &str, &[u8]) -> Transit + Send + use<> {
    let (mut rng, weather) = (scene.rng("transit"), scene.weather.clone());
    let (watch, credentials) = (scene.watch.clone(), scene.credentials.clone());
    let channel = (scene.character == Character::Honest).then(|| scene.shop.system.sim.clone());
    let (mut calls, mut closes) = (0, 0);
    move |method, path, body| {
        weather.calls.fetch_add(1, Ordering::SeqCst);
        if path == PLACE {
            let number = serde_json::from_slice::<Value>(body).unwrap_or_default();
            let breach = credentials.placed(number["out_trade_no"].as_str().unwrap_or_default());
            breach.into_iter().for_each(|breach| watch.report(breach));
        }
        let closing = path.strip_suffix("/close").and_then(|path| path.rsplit('/').next());
        if let (Some(number), Some(channel)) = (closing, &channel)
            && rng.u8(0..100) < 10
            && weather.next(Kind::LastMoment, &mut closes)
            && channel.pay(number)
        {
            weather.timeline.note(&format!("the payer pays {number} at the last moment"));
        }
        let mishap = match rng.u32(0..100) {
            0..6 => Transit::Lost,
            6..12 => Transit::AnswerLost,
            // Longer than its caller waits: it arrives when nobody expects it any more.
            12..18 => Transit::ArrivesLate(Duration::from_millis(rng.u64(100..30_000))),
            // A payment that takes its time to begin: the order may be over when its credential comes.
            18..40 if path == PLACE => Transit::ArrivesLate(Duration::from_millis(rng.u64(500..2_900))),
            _ => Transit::Arrives,
        };
        let happens = mishap != Transit::Arrives && weather.next(Kind::ChannelCall, &mut calls);
        let transit = if happens { mishap } else { Transit::Arrives };
        weather.timeline.note(&format!("    {method} {} {transit:?}", path.split('?').next().unwrap_or(path)));
        transit
    }
}
