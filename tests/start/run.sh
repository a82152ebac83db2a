#!/usr/bin/env bash
# Measures what a function weighs and how fast it starts, beside one that does nothing, and prints the table of docs/COST.md. Fails where
# a figure is not what it must be. Builds everything as it is deployed, for this machine; the build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/tools.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools "$target/cargo-lambda" tests/emulator/cargo-lambda.txt --no-deps
# One call for all, so that what they share is compiled once.
packages=$(cd functions && printf -- '--package %s ' *)
# shellcheck disable=SC2086 # A list of words.
PATH=$target/cargo-lambda/bin:$PATH cargo lambda build --quiet --locked --release --lambda-dir "$target/start" $packages --package bare
python3 tests/start/measure.py "$target/start"
