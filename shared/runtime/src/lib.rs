//! What every Lambda function needs around its use case: configuration, clock, identifiers, logs, metrics, HTTP, batches, queues.
//!
//! Nothing here knows an order's states. A function's `main.rs` calls [`boot::run`]; its `lib.rs` turns an event into a call of the
//! shared crates with what it finds here.

pub mod backlog;
pub mod batch;
pub mod boot;
pub mod clock;
pub mod config;
pub mod document;
pub mod http;
pub mod ids;
pub mod logs;
pub mod metrics;
pub mod problem;
pub mod queues;
pub mod schedules;
pub mod sdk;
pub mod secrets;
pub mod skew;

#[cfg(test)]
mod wire;
