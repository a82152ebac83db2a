//! Boots the outbox-fanout function.
fn main() {}
