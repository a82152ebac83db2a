//! What many states share: kept once, and told apart by a digest.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A value that many states hold. Most states differ in other things, so it is hashed once, when it is made.
#[derive(Debug)]
pub struct Image<T> {
    value: Arc<T>,
    digest: u64,
}

impl<T: Hash> Image<T> {
    /// Keeps `value`.
    #[must_use]
    pub fn new(value: T) -> Image<T> {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Image { value: Arc::new(value), digest: hasher.finish() }
    }
}

impl<T> Deref for Image<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Clone for Image<T> {
    fn clone(&self) -> Image<T> {
        Image { value: Arc::clone(&self.value), digest: self.digest }
    }
}

impl<T: PartialEq> PartialEq for Image<T> {
    fn eq(&self, other: &Image<T>) -> bool {
        self.digest == other.digest && (Arc::ptr_eq(&self.value, &other.value) || self.value == other.value)
    }
}

impl<T: Eq> Eq for Image<T> {}

impl<T> Hash for Image<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}
