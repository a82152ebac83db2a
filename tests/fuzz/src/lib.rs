//! Every parser that meets outside bytes, as a function of bytes: whatever they are, it must keep what its target says.
//!
//! `cargo test -p fuzz` replays the corpus, `corpus/<target>/`, and a bounded, seeded run of mutations of it. To fuzz on, guided by
//! coverage:
//!
//! ```text
//! cargo run -p fuzz -- stored_order --seconds 60
//! ```
//!
//! It needs a C++ compiler and nothing else: the stable compiler instruments the code by flags of its back end, libFuzzer is a crate.
//! What it learns is kept under `target/`; an input that fails is put into the corpus, and fails every test from then on.
//!
//! No target reaches into a crate: where a parser is private, the function that owns it is called as Lambda calls it, over a
//! database that answers what the target wants it to (`aws.rs`).

mod aws;
pub mod corpus;
mod exchange;
pub mod mutate;
mod shop;
mod targets;

/// A target: it panics when a property does not hold for the bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder in `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("admin", targets::http::admin),
    ("callback", targets::channel::callback),
    ("channel_answer", targets::channel::answer),
    ("create_order", targets::http::create_order),
    ("database_date", targets::date::database_date),
    ("environment", targets::settings::environment),
    ("expiry_rules", targets::settings::expiry_rules),
    ("identifiers", targets::words::identifiers),
    ("order_routes", targets::http::order_routes),
    ("queue_message", targets::queue::message),
    ("stored_order", targets::stored::order),
    ("stored_rows", targets::stored::rows),
    ("stream_records", targets::stream::records),
    ("webhook", targets::http::webhook),
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}
