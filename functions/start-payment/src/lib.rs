//! start-payment
