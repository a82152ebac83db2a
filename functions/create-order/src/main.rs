//! Boots the create-order function.
fn main() {}
