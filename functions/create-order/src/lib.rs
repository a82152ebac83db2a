//! create-order
