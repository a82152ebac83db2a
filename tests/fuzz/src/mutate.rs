//! Inputs from inputs: blind to their structure, the same for the same seed.

use fastrand::Rng;

/// What parsers stumble over, wherever it is put.
const ODD: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"1e9",
    b"01",
    b"9007199254740992",
    b"18446744073709551616",
    b"null",
    b"{}",
    b"[]",
    b"\"",
    b"\\u0000",
    b"\0",
    b"\n",
    b"#",
    "\u{202e}".as_bytes(),
    b"\xff",
];
/// Longest input made.
const LONGEST: usize = 8_192;

/// One of `corpus`, changed in one to four places.
#[must_use]
pub fn mutated(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut input = rng.choice(corpus).cloned().unwrap_or_default();
    for _ in 0..rng.usize(1..=4) {
        change(&mut input, corpus, rng);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.usize(0..=input.len());
    let end = (at + rng.usize(0..=16)).min(input.len());
    match rng.u8(0..8) {
        0 if at < input.len() => input[at] ^= 1 << rng.u8(0..8),
        1 if at < input.len() => input[at] = rng.u8(..),
        2 => drop(input.drain(at..end)),
        3 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        4 => {
            let odd = rng.choice(ODD).unwrap_or_default();
            input.splice(at..end, odd.iter().copied());
        }
        5 => {
            let odd = rng.choice(ODD).unwrap_or_default();
            input.splice(at..at, odd.iter().copied());
        }
        6 => input.truncate(at),
        _ => {
            let other = rng.choice(corpus).map(Vec::as_slice).unwrap_or_default();
            let from = rng.usize(0..=other.len());
            let to = (from + rng.usize(0..=64)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
    }
}
