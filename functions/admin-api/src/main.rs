//! Boots the admin-api function.
fn main() {}
