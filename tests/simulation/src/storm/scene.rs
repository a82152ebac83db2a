//! Everybody of one run, and what they share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use serde_json::Value;

use super::clocks::ApartClock;
use super::credentials::Credentials;
use super::fate::Weather;
use super::plan::Kind;
use crate::random::rng;
use crate::shop::Shop;
use crate::watch::Watch;

/// What kind of channel the shop has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Character {
    /// It keeps the facts of CHANNELS: what is closed there is never paid, what is paid stays paid. It may be slow, silent, or never
    /// send a callback.
    Honest,
    /// It says anything about anything, and pays after it said that it closed.
    Capricious,
}

/// What everybody in a run shares. Clones are the same run.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) seed: u64,
    pub(super) shop: Shop,
    pub(super) weather: Weather,
    pub(super) clock: Arc<ApartClock>,
    pub(super) character: Character,
    pub(super) watch: Watch,
    pub(super) credentials: Credentials,
    /// Held by whoever changes the channel's secret: one change after the other.
    pub(super) secret: Arc<tokio::sync::Mutex<()>>,
    /// What is really so of payments about which the channel says nothing or a lie.
    truth: Arc<Mutex<BTreeMap<String, String>>>,
    /// The transaction that a capricious channel names more than once.
    transaction: Arc<Mutex<Option<String>>>,
}

impl Scene {
    pub(super) fn new(seed: u64, shop: Shop, weather: Weather, clock: Arc<ApartClock>, watch: Watch) -> Scene {
        let character = if seed.is_multiple_of(2) { Character::Honest } else { Character::Capricious };
        weather.timeline.note(&format!("seed {seed}, the channel is {character:?}"));
        let credentials = Credentials::new(shop.system.clock.clone());
        let judge = credentials.clone();
        watch.also(move |before, after| judge.see(before, after));
        Scene {
            seed,
            shop,
            weather,
            clock,
            character,
            watch,
            credentials,
            secret: Arc::default(),
            truth: Arc::default(),
            transaction: Arc::default(),
        }
    }

    /// The chance of one part of the run.
    pub(super) fn rng(&self, part: &str) -> Rng {
        rng(self.seed, part)
    }

    /// Whether a disturbance happens in this run.
    pub(super) fn happens(&self, kind: Kind, number: u64) -> bool {
        self.weather.plan.happens(kind, number)
    }

    /// Somebody does something at the shop; answers status and body.
    pub(super) async fn does(&self, who: &str, method: &str, path: &str, key: &str, body: Value) -> (u16, Value) {
        self.weather.timeline.note(&format!("{who} {method} {path} {body}"));
        let (status, answer) = if path.starts_with("/admin") {
            self.shop.admin(method, path.trim_start_matches("/admin"), body).await
        } else {
            let headers = [("idempotency-key", key)];
            let headers = if key.is_empty() { &[][..] } else { &headers[..] };
            self.shop.call(method, path, headers, body).await
        };
        let code = answer["code"].as_str().or(answer["status"].as_str()).unwrap_or_default();
        self.weather.timeline.note(&format!("{who} is answered {status} {code}"));
        (status, answer)
    }

    /// The transaction that is named for this payment and every later one.
    pub(super) fn one_transaction_for_all(&self, number: &str) -> String {
        let mut transaction = self.transaction.lock().unwrap_or_else(PoisonError::into_inner);
        transaction.get_or_insert_with(|| format!("txn-{number}")).clone()
    }

    pub(super) fn truth(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
