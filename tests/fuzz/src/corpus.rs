//! The inputs of a target: those of its folder, and public examples of other channels' notifications where they lie beside the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a target's inputs.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Every input in the corpus of `target` with its file's name, in the order of the names.
#[must_use]
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    files(&folder(target))
}

/// What other channels sent others: `shared/vectors` beside the repository, empty where there is none.
#[must_use]
pub fn vectors() -> Vec<(String, Vec<u8>)> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"))
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, fs::read(entry.path()).ok()?)))
        .collect();
    files.sort();
    files
}
