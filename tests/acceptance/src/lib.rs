//! Scenes for the acceptance tests: a shop on the local system, spoken to by its HTTP surface, with the real handlers, the real SDK
//! and the embedded cloud below.

mod answer;
mod behind;
mod order;
mod resources;
mod shop;

pub use answer::Answer;
pub use behind::{at, millis_between};
pub use order::{OrderBody, order};
pub use resources::resource;
pub use shop::{Shop, ShopBuilder, WINDOW, shop};
