#!/usr/bin/env bash
# Measures what a function weighs and how fast it starts, beside one that does nothing, and prints the table of docs/COST.md. Fails where
# a figure is not what it must be. Builds everything as it is deployed, for this machine; the build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$target/emulation/cargo-lambda
requirements=tests/emulator/cargo-lambda.txt
if ! cmp --quiet "$requirements" "$tools/installed.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$requirements"
    cp "$requirements" "$tools/installed.txt"
fi

packages=$(for function in functions/*; do printf -- '--package %s ' "$(basename "$function")"; done)
# shellcheck disable=SC2086 # A list of words.
PATH=$tools/bin:$PATH cargo lambda build --quiet --locked --release --lambda-dir "$target/start" $packages --package bare
python3 tests/start/measure.py "$target/start"
