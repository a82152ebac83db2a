#!/usr/bin/env bash
# Attacks a running local system with requests made from openapi.yaml, and holds every answer against it.
#
# Installs what it needs (schemathesis, in a virtual environment of its own under target/), builds and starts the local system on a
# free port, sets up something to buy, runs all checks with a fixed seed, and stops the system again. Fails on any disagreement.
set -euo pipefail
cd "$(dirname "$0")/../.."

schemathesis=4.32.5
target=${CARGO_TARGET_DIR:-target}
venv=$target/contract/schemathesis-$schemathesis
if [[ ! -x $venv/bin/st ]]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$schemathesis"
fi

cargo build --quiet --package local
# PORT=0 takes a free port; the system prints which.
log=$target/contract/local.log
PORT=0 RUST_LOG=error "$target/debug/local" >"$log" 2>&1 &
system=$!
trap 'kill -TERM "$system" 2>/dev/null || true; wait "$system" || true' EXIT
for _ in $(seq 100); do
    url=$(sed -n 's/^order-expiry listens on //p' "$log")
    [[ -n $url ]] && break
    kill -0 "$system" || { cat "$log"; exit 1; }
    sleep 0.1
done
[[ -n $url ]] || { echo "the local system did not start within 10 s"; cat "$log"; exit 1; }

admin() { curl --silent --show-error --fail --output /dev/null -X PUT -H "Authorization: Bearer local-admin" -H "Content-Type: application/json" -d "$2" "$url/admin/$1"; }
admin stock/SKU-1/default/default '{"on_hand":1000000000}'
admin points/user-1 '{"balance":1000000000}'
admin quotas/FLASH-1 '{"limit":1000000000}'
admin coupons/COUPON-1 '{"user_id":"user-1","valid_until":"2099-01-01T00:00:00Z","refundable":true,"campaign_active":true}'

# The bound on time is a bound on a system that hangs; the number of examples makes a run end well before.
# Nothing is written outside target/: no hypothesis database, no cache.
SCHEMATHESIS_HOOKS=tests/contract/hooks.py timeout 300 "$venv/bin/st" --config-file tests/contract/schemathesis.toml \
    run openapi.yaml --url "$url" --header "Authorization: Bearer local-admin" "$@"
