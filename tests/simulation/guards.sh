#!/usr/bin/env bash
# The checks are checked: takes one guard after the other out of the simulation, and demands that its absence is found, by a seed or,
# where no seed finds it, by the interleavings. `tests/simulation/guards.sh [GUARD …]`; shared/core/src/guard.rs says what each is.
set -euo pipefail
cd "$(dirname "$0")/../.."

SEEDS=10000
cargo build --quiet --locked --profile sim -p simulation
simulation="${CARGO_TARGET_DIR:-target}/sim/simulation"
names="$("$simulation" guards)"
found="$(mktemp)"
trap 'rm -f "$found"' EXIT
missed=0

for guard in ${*:-$names}; do
    export WITHOUT_GUARD="$guard"
    by=""
    if ! "$simulation" --seeds "$SEEDS" --first >"$found" 2>&1; then
        by="$(sed -n 's/^seed \([0-9]*\).*/seed \1/p' "$found" | head -1)"
    elif ! "$simulation" interleavings >"$found" 2>&1; then
        by="$(sed -n 's/^VIOLATION in \(.*\)/\1/p' "$found" | head -1)"
    fi
    # A run that ends badly without having found anything is no proof.
    if [ -z "$by" ]; then
        printf '%-20s NOT FOUND: %s\n' "$guard" "$(tail -1 "$found")"
        missed=1
        continue
    fi
    printf '%-20s %-16s %s\n' "$guard" "$by" "$(grep -m1 '^  [^ ]' "$found" | cut -c3-220)"
done
exit "$missed"
