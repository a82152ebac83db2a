//! Boots the close-order function.
fn main() {}
