//! outbox-fanout
