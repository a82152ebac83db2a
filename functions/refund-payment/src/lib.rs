//! refund-payment
