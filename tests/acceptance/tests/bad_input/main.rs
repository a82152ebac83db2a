//! Bad input on every route: a clear problem document with a stable code, and nothing held, changed or started. And messages on the
//! queues that no function can read.

mod actions;
mod admin;
mod order_bodies;
mod order_headers;
mod payments;
mod poison;
mod refusal;
mod routes;
mod webhooks;
