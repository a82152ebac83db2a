//! The local system: one process that needs nothing but cargo (DESIGN §9).
//!
//! Two parts kept apart: a **cloud** ([`cloud`]: DynamoDB, its streams, SQS, Scheduler and Secrets Manager behind the real AWS SDK) and **drivers**
//! ([`drivers`]) that do what AWS does between its services, written over SDK clients and the real handlers of the functions.

pub mod clock;
pub mod cloud;
mod commands;
pub mod demo;
pub mod drivers;
pub mod endpoint;
pub mod figures;
pub mod functions;
mod news;
pub mod outside;
pub mod provision;
pub mod server;
pub mod settings;
pub mod sim;
pub mod system;
mod webhooks;

pub use settings::{Settings, SettingsError};
pub use system::{StartError, System};

/// Any failure, where its kind makes no difference to who meets it.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;
