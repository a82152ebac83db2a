//! fallback-scan
