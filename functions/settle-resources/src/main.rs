//! Boots the settle-resources function.
fn main() {}
