//! Boots the payment-callback function.
fn main() {}
