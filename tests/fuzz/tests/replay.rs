//! Every property of every target holds for the corpus, and for what a seeded run makes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fuzz::corpus::{inputs, vectors};
use fuzz::mutate::mutated;
use fuzz::{TARGETS, Target, corpus, target};

/// Mutations of each target's corpus.
const MUTATIONS: usize = 2_000;

#[track_caller]
fn holds(name: &str, target: Target, input: &[u8], what: &str) {
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    assert!(outcome.is_ok(), "{name} does not hold for {what}: {}", input.escape_ascii());
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    for (name, _) in TARGETS {
        assert!(!inputs(name).is_empty(), "{name}");
    }
    let folders = std::fs::read_dir(corpus::folder("")).expect("the corpus").flatten();
    for folder in folders {
        let name = folder.file_name();
        assert!(target(&name.to_string_lossy()).is_some(), "{name:?}");
    }
}

#[test]
fn every_input_of_the_corpus_keeps_every_property() {
    for (name, target) in TARGETS {
        for (file, input) in inputs(name) {
            holds(name, *target, &input, &file);
        }
    }
}

#[test]
fn every_mutation_of_the_corpus_keeps_every_property() {
    std::thread::scope(|scope| {
        for (name, target) in TARGETS {
            scope.spawn(move || {
                let corpus: Vec<Vec<u8>> = inputs(name).into_iter().map(|(_, input)| input).collect();
                let mut rng = fastrand::Rng::with_seed(1);
                for turn in 0..MUTATIONS {
                    holds(name, *target, &mutated(&corpus, &mut rng), &format!("mutation {turn}"));
                }
            });
        }
    });
}

#[test]
fn what_other_channels_send_is_nothing_of_ours() {
    for (file, input) in vectors() {
        for (name, target) in TARGETS {
            holds(name, *target, &input, &file);
        }
    }
}
