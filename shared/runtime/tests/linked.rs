//! What the functions are linked with: one HTTP client and one TLS stack, each once. A second one is megabytes of every cold start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every stack but the one of the SDK (hyper, rustls, aws-lc-rs).
const OTHERS: [&str; 8] = ["ring", "openssl", "openssl-sys", "native-tls", "boring", "s2n-tls", "mbedtls", "reqwest"];
/// The stack itself.
const OURS: [&str; 5] = ["hyper", "http", "rustls", "aws-lc-rs", "aws-lc-sys"];

fn functions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../functions");
    let entries = std::fs::read_dir(folder).expect("the functions");
    entries.map(|entry| entry.expect("an entry").path().join("Cargo.toml")).collect()
}

/// Everything that a package is linked with: the versions of each name.
fn linked(manifest: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut linked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        if let [name, version, ..] = line.split(' ').collect::<Vec<_>>().as_slice() {
            linked.entry((*name).to_owned()).or_default().insert((*version).to_owned());
        }
    }
    linked
}

#[test]
fn a_function_is_linked_with_one_tls_stack() {
    let functions = functions();
    assert!(functions.len() >= 10, "the functions were found: {functions:?}");
    for function in functions {
        let linked = linked(&function);
        for name in OURS {
            let versions = linked.get(name).map_or(0, BTreeSet::len);
            assert_eq!(versions, 1, "{}: {name} {:?}", function.display(), linked.get(name));
        }
        assert_eq!(OTHERS.iter().find(|name| linked.contains_key(**name)), None, "{}", function.display());
    }
}
