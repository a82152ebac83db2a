#!/usr/bin/env bash
# Measures what a function weighs and how fast it starts, beside one that does nothing, and prints the table of docs/COST.md. Fails where
# a figure is not what it must be. Builds everything as it is deployed, for this machine; the build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/tools.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
sam_build "$target"
PATH=$target/cargo-lambda/bin:$PATH cargo lambda build --quiet --locked --release --lambda-dir "$target/start" --package bare
python3 tests/start/measure.py "$target/start/bare" "$target/functions"
