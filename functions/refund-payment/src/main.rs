//! Boots the refund-payment function.
fn main() {}
