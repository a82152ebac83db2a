//! Boots the start-payment function.
fn main() {}
