//! The targets, by where their bytes come from.

pub(crate) mod channel;
pub(crate) mod date;
pub(crate) mod http;
pub(crate) mod queue;
pub(crate) mod settings;
pub(crate) mod stored;
pub(crate) mod stream;
pub(crate) mod words;

use std::error::Error;

/// The `Display` of an error of ours never repeats its source: logs print the chain.
fn assert_tells_its_part(error: &dyn Error) {
    let (told, below) = (error.to_string(), error.source().map(ToString::to_string).unwrap_or_default());
    assert!(below.is_empty() || !told.contains(&below), "{told:?} repeats {below:?}");
}

/// The first line of `bytes`, and everything after it.
fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}
