#!/usr/bin/env bash
# Attacks a running local system with requests made from openapi.yaml, and holds every answer against it.
#
# Installs what it needs (schemathesis, in a virtual environment of its own under target/), builds and starts the local system on a
# free port, sets up something to buy, runs all checks with a fixed seed, and stops the system again. Fails on any disagreement.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/tools.sh

target=${CARGO_TARGET_DIR:-target}
venv=$target/contract/venv
tools "$venv" tests/contract/requirements.txt

cargo build --quiet --package local
# PORT=0 takes a free port; the system prints which.
log=$target/contract/local.log
out=$target/contract/out.json
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

# The body of the answer; fails unless the answer is 2xx.
call() {
    curl --silent --show-error --fail-with-body -X "$1" -H "Authorization: Bearer local-admin" \
        -H "Content-Type: application/json" -d "${3:-}" "$url$2"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
# What the hooks' orders ask for, under names that no edit of a resource chances on; and what the contract's examples name.
for n in 1 2 3; do
    call PUT "/admin/stock/GOODS-$n/default/default" '{"on_hand":1000000000}' >"$out"
    call PUT "/admin/quotas/SALE-$n" '{"limit":1000000000}' >"$out"
done
call PUT /admin/points/buyer '{"balance":1000000000}' >"$out"
call PUT /admin/stock/SKU-1/default/default '{"on_hand":100}' >"$out"
call PUT /admin/points/user-1 '{"balance":100}' >"$out"
call PUT /admin/quotas/FLASH-1 '{"limit":100}' >"$out"
call PUT /admin/coupons/COUPON-1 \
    '{"user_id":"user-1","valid_until":"2099-01-01T00:00:00Z","refundable":true,"campaign_active":true}' >"$out"
# Money that came after the cancel, and that the channel does not give back.
order='{"user_id":"user-1","currency":"CNY","lines":[{"sku":"SKU-1","quantity":1,"unit_price":1000}],"payable_amount":1000}'
id=$(call POST /orders "$order" | field order_id)
payment=$(call POST "/orders/$id/payments" '{"channel":"sim"}' | field out_trade_no)
call POST "/orders/$id/cancel" '{"reason":"changed my mind"}' >"$out"
call PUT "/_sim/payments/$payment" '{"state":"SUCCESS","refund":"error"}' >"$out"
call POST "/_sim/payments/$payment/notify" >"$out"
export CONTRACT_REFUND=$payment-r1

# The bound on time is for a system that hangs; the number of examples makes a run end well before it. Nothing is written outside
# target/: no cache, no database of examples.
HYPOTHESIS_STORAGE_DIRECTORY=$target/contract/hypothesis timeout 300 "$venv/bin/st" --config-file tests/contract/schemathesis.toml \
    run openapi.yaml --url "$url" --header "Authorization: Bearer local-admin" "$@"
