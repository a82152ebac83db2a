//! Architecture invariant: the core is pure (DESIGN §6). No AWS, no runtime, no network, no randomness, no clock.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// What the core must never depend on, however far away.
const IMPURE: [&str; 9] = ["tokio", "hyper", "http", "rand", "fastrand", "getrandom", "reqwest", "chrono", "async-std"];

/// The names of everything `expiry-core` is linked with.
fn normal_dependencies() -> BTreeSet<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("text");
    // The first line is the core itself.
    tree.lines().skip(1).filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
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
