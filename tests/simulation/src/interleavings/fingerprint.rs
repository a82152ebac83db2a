//! What a state is recognised by.

use std::hash::{DefaultHasher, Hash, Hasher};

/// 128 bits of everything added so far, in order: two states of one search are told apart but for a chance of 10⁻²⁸.
#[derive(Clone, Debug)]
pub struct Fingerprint([DefaultHasher; 2]);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        let (first, mut second) = (DefaultHasher::new(), DefaultHasher::new());
        second.write_u8(1);
        Fingerprint([first, second])
    }
}

impl Fingerprint {
    /// That of one thing.
    #[must_use]
    pub fn of(thing: &impl Hash) -> u128 {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(thing);
        fingerprint.value()
    }

    /// Adds something.
    pub fn add(&mut self, thing: &(impl Hash + ?Sized)) {
        self.0.iter_mut().for_each(|hasher| thing.hash(hasher));
    }

    /// Of what was added so far.
    #[must_use]
    pub fn value(&self) -> u128 {
        let [first, second] = self.0.each_ref().map(|hasher| u128::from(hasher.finish()));
        first << 64 | second
    }
}
