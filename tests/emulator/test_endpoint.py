"""`cargo run -- --endpoint`: the local system's handlers and drivers over the emulator instead of their own cloud."""

import pytest
import requests
from local import Local
from shop import eventually


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    local = Local(tmp_path_factory.mktemp("endpoint"), ["ministack"])
    yield local
    local.stop()


def test_over_an_endpoint_orders_close_are_paid_and_are_refunded_late(local):
    unpaid, paid = local.ordered(), local.ordered("scheduled")
    payments = [local.call("POST", f"/orders/{order['order_id']}/payments", {"channel": "sim"})["out_trade_no"]
                for order in (unpaid, paid)]

    def pays(payment):
        local.call("PUT", f"/_sim/payments/{payment}", {"state": "SUCCESS"})
        assert local.call("POST", f"/_sim/payments/{payment}/notify", {})["status"] == 200

    pays(payments[1])
    local.becomes(paid, "PAID")
    closed = local.becomes(unpaid, "CLOSED")
    assert closed["closed_at"] >= closed["expire_at"]
    pays(payments[0])
    eventually(lambda: [each["status"] for each in local.becomes(unpaid, "CLOSED")["refunds"]] == ["SUCCEEDED"], "a refund")
    assert local.stock() == (8, 0, 1)
    assert all(sum(counts.values()) == 0 for name, counts in local.call("GET", "/_local/queues").items() if "dlq" in name)


def test_over_an_endpoint_a_scan_runs_when_it_is_asked_for(local):
    assert local.call("POST", "/_local/scan") == {"found": 0, "sent": 0, "complete": True}


def test_over_an_endpoint_no_clock_is_moved_and_no_fault_is_injected(local):
    for path in ("/_local/clock", "/_local/faults"):
        refused = requests.put(local.url + path, json={})
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
