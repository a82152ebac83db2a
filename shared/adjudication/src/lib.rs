//! expiry-adjudication
