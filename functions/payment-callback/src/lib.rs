//! payment-callback
