//! close-order
