//! The local system.
fn main() {}
