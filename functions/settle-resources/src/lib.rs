//! settle-resources
