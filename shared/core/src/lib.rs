//! The pure heart of order-expiry: what an order is, what may happen to it, and what follows (DESIGN §6).
//!
//! Data goes one way: an event becomes a [`decide::Command`], the command is decided on an [`order::Order`], the decision is a
//! [`decide::Commit`], and what was committed has [`outbox::Effect`]s. Nothing here knows AWS, a channel's bytes, a clock or a
//! source of randomness; time and facts are arguments.

pub mod attempt;
pub mod closing;
pub mod decide;
pub mod evidence;
pub mod expiry_rule;
pub mod fact;
pub mod guard;
pub mod ids;
pub mod initiator;
pub mod invariants;
pub mod limits;
pub mod message;
pub mod money;
pub mod order;
pub mod outbox;
pub mod pending;
pub mod refund;
pub mod reservation;
pub mod row;
pub mod signal;
pub mod time;
