//! The fuzzer's side of [`fuzz`]: hands every input of libFuzzer to the target named by `FUZZ_TARGET`. Run by `cargo run -p fuzz`.

#![no_main]

use std::sync::LazyLock;

use fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    fuzz::target(&name).expect("FUZZ_TARGET names a target")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
