//! Boots the order-api function.
fn main() {}
