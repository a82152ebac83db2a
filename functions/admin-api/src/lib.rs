//! admin-api
