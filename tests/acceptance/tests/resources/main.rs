//! What orders hold is given back once, sold once, and never half held: cases of real shops (CASES.md) at the HTTP surface.

mod capping;
mod coupons;
mod creating;
mod damaged;
mod idempotency;
mod releasing;
mod stocking;
