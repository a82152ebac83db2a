//! Boots the fallback-scan function.
fn main() {}
