//! The proof that nothing is lost when everything goes wrong, on the real handlers, the real SDK and the embedded cloud, in simulated
//! time: [`storm`] lets one seed decide what happens and when, over a whole shop.

mod history;
mod random;
mod shop;
pub mod storm;

pub use self::storm::{Outcome, run};
