//! The channel `sim` from the outside: its bytes, its callbacks, its calls.

mod any_bytes;
mod callbacks;
mod calls;
mod facts;
mod scene;
