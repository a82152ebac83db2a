//! `docs/SEMANTICS.md` promises nothing that no test proves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sentences of the document, each with the tests that are named under it.
fn promises(document: &str) -> Vec<(String, Vec<String>)> {
    let mut promises: Vec<(String, Vec<String>)> = Vec::new();
    for line in document.lines() {
        if let Some(sentence) = line.strip_prefix("- ") {
            promises.push((sentence.to_owned(), Vec::new()));
        } else if let (Some(names), Some((_, tests))) = (line.trim().strip_prefix('`'), promises.last_mut()) {
            tests.extend(names.split('`').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        }
    }
    promises
}

/// The names of all functions marked as tests in the repository's Rust files.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if entry.is_dir() && name != "target" && !name.starts_with('.') {
            tests(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&entry).expect("a source file");
            let mut is_test = false;
            for line in source.lines().map(str::trim) {
                if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
                    is_test = true;
                } else if let (true, Some((_, rest))) = (is_test, line.split_once("fn ")) {
                    found.extend(rest.split(['(', '<']).next().map(str::to_owned));
                    is_test = false;
                }
            }
        }
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let document = fs::read_to_string(repository().join("docs/SEMANTICS.md")).expect("docs/SEMANTICS.md");
    let promises = promises(&document);
    assert!(promises.len() > 30, "the document has lost its promises");
    let mut existing = BTreeSet::new();
    tests(&repository(), &mut existing);
    for (sentence, names) in promises {
        assert!(!names.is_empty(), "no test is named for: {sentence}");
        for name in names {
            assert!(existing.contains(&name), "there is no test {name}, named for: {sentence}");
        }
    }
}
