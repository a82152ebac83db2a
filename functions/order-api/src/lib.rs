//! order-api
