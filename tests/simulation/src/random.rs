//! Chance and identifiers, from the seed alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use expiry_core::ids::IdSource;
use fastrand::Rng;

/// The chance of one part of a run, so that what one part draws changes nothing for another.
pub(crate) fn rng(seed: u64, part: &str) -> Rng {
    let mut hasher = DefaultHasher::new();
    (seed, part).hash(&mut hasher);
    Rng::with_seed(hasher.finish())
}

/// Identifiers that follow from the seed.
#[derive(Debug)]
pub(crate) struct SeededIds(Mutex<Rng>);

impl SeededIds {
    pub(crate) fn new(seed: u64) -> SeededIds {
        SeededIds(Mutex::new(rng(seed, "ids")))
    }
}

impl IdSource for SeededIds {
    fn unique(&self) -> [u8; 15] {
        let mut bits = [0; 15];
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut bits);
        bits
    }
}
