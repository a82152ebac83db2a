#!/usr/bin/env bash
# Deploys the real template with the real functions to an emulator of AWS, and plays the shop on it over HTTP.
#
# Installs what it needs under target/ (pinned), builds the functions with `sam build` and what stands outside the shop, starts
# everything on free ports, deploys with `sam deploy`, runs the tests, and stops everything again. Arguments go to pytest. Nothing
# leaves the machine but the installations.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/tools.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
run=$target/emulation
began=$SECONDS
took() { printf 'emulator: %s in %d s\n' "$1" $((SECONDS - began)); began=$SECONDS; }

tools "$run/python" tests/emulator/requirements.txt --no-deps
took "tools installed"

# Without the last optimisation, of all crates together: that takes minutes, and is for a deployment and for tests/start.
CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 sam_build "$target"
took "functions built"
cargo build --quiet --locked --package local
took "channel and issuer built"

# What the emulator unpacks and does not take away.
rm -rf "$run/tmp"
mkdir -p "$run/tmp"
export AWS_EC2_METADATA_DISABLED=true PYTHONDONTWRITEBYTECODE=1 NO_PROXY=127.0.0.1,localhost
export TARGET=$run TOOLS=$run/python/bin BUILD=$target/functions OUTSIDE=$target/debug/local
"$run/python/bin/pytest" -p no:cacheprovider --tb short --durations 0 --durations-min 1 tests/emulator "$@"
took "tests ran"
