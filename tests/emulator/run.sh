#!/usr/bin/env bash
# Deploys the real template with the real functions to an emulator of AWS, and plays the shop on it over HTTP.
#
# Installs what it needs under target/ (pinned), builds the functions and what stands outside the shop, starts everything on free
# ports, deploys with `sam deploy`, runs the tests, and stops everything again. Arguments go to pytest. Nothing leaves the machine
# but the installations.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
run=$target/emulation
began=$SECONDS
took() { printf 'emulator: %s in %d s\n' "$1" $((SECONDS - began)); began=$SECONDS; }

# Each set of tools in an environment of its own: they disagree about what they need.
tools() {
    if ! cmp --quiet "$2" "$1/installed.txt"; then
        rm -rf "$1"
        python3 -m venv "$1"
        "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$2"
        cp "$2" "$1/installed.txt"
    fi
}
tools "$run/python" tests/emulator/requirements.txt
tools "$run/cargo-lambda" tests/emulator/cargo-lambda.txt
# The same as tests/template/run.sh has.
tools target/template-tools tests/template/requirements.txt
took "tools installed"

# One call for all functions: what they share is compiled once.
packages=$(for function in functions/*; do printf -- '--package %s ' "$(basename "$function")"; done)
# shellcheck disable=SC2086 # A list of words.
PATH=$run/cargo-lambda/bin:$PATH cargo lambda build --quiet --locked --profile emulator --lambda-dir "$run/functions" $packages
took "functions built"
cargo build --quiet --locked --package local
took "channel and issuer built"

# What the emulator unpacks and does not take away.
rm -rf "$run/tmp"
mkdir -p "$run/tmp"
export AWS_EC2_METADATA_DISABLED=true PYTHONDONTWRITEBYTECODE=1 NO_PROXY=127.0.0.1,localhost
export TARGET=$run TOOLS=$run/python/bin FUNCTIONS=$run/functions SAM=$PWD/target/template-tools/bin/sam OUTSIDE=$target/debug/local
"$run/python/bin/pytest" -p no:cacheprovider --tb short --durations 0 --durations-min 1 tests/emulator "$@"
took "tests ran"
