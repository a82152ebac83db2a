//! local

pub mod clock;
pub mod cloud;
pub mod sim;
