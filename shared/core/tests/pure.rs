//! Architecture invariant: the core is pure (DESIGN §6). No AWS, no runtime, no network, no randomness, no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What the core must never depend on, however far away.
const IMPURE: [&str; 9] = ["tokio", "hyper", "http", "rand", "fastrand", "getrandom", "reqwest", "chrono", "async-std"];

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

/// The names of everything `expiry-core` is linked with.
fn normal_dependencies() -> BTreeSet<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let nodes: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let is_normal =
                |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let dependencies = list(&node["deps"]);
            let normal = dependencies.iter().filter(is_normal).map(|dependency| text(&dependency["pkg"]));
            (text(&node["id"]), normal.collect())
        })
        .collect();
    let core = names.iter().find(|(_, name)| *name == "expiry-core").expect("the core").0;
    let mut reached = BTreeSet::new();
    let mut open = nodes[core].clone();
    while let Some(id) = open.pop() {
        if reached.insert(id.clone()) {
            open.extend(nodes[&id].iter().cloned());
        }
    }
    reached.iter().map(|id| names[id].clone()).collect()
}

#[test]
fn the_core_depends_on_nothing_that_acts() {
    let dependencies = normal_dependencies();
    assert!(dependencies.contains("serde"), "the list was read: {dependencies:?}");
    let acts =
        |name: &&String| name.starts_with("aws") || name.starts_with("expiry") || IMPURE.contains(&name.as_str());
    assert_eq!(dependencies.iter().find(acts), None, "{dependencies:?}");
}

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).expect("a source")));
        }
    }
}

#[test]
fn the_core_reads_no_clock_and_does_no_io() {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 20, "the sources were read");
    for (path, source) in found {
        for word in [
            "SystemTime",
            "Instant::",
            "now_utc",
            "std::fs",
            "std::net",
            "std::env",
            "std::thread",
            "async ",
            "println!",
        ] {
            assert!(!source.contains(word), "{path} says {word}");
        }
    }
}
