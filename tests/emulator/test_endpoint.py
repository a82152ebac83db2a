"""`cargo run -- --endpoint`: the local system's handlers and drivers over the emulator instead of their own cloud, and the bridge for a
Scheduler that keeps schedules and fires none."""

import json
import os
from pathlib import Path

import boto3
import pytest
import requests
from deployment import REGION
from processes import Process, free_port
from shop import eventually, moment

#: `scheduled` is reminded of by a schedule: what is due within two minutes gets a message.
RULES = [{"id": "default", "version": 1, "seconds": 20}, {"id": "scheduled", "version": 1, "seconds": 135}]
ADMIN = {"Authorization": "Bearer local-admin"}
#: MiniStack itself, with a Scheduler that never comes to look.
WITHOUT_SCHEDULER = """
import sys
import ministack.services.scheduler as scheduler
from ministack.app import main
scheduler._SCHEDULE_TICK_INTERVAL = 10 ** 6
sys.argv = ["ministack"]
main()
"""


class Local:
    """The local system over an emulator of its own."""

    def __init__(self, folder, command, *arguments):
        tools, keys = Path(os.environ["TOOLS"]), {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        self.log = folder / "local.log"
        port, self.processes = free_port(), []
        try:
            self.start(
                [tools / command[0], *command[1:]], port, folder / "emulator.log", "/_ministack/health",
                GATEWAY_PORT=str(port), BIND_HOST="127.0.0.1", SFTP_PORT=str(free_port()), IOT_MTLS_PORT=str(free_port()),
                 MINISTACK_REGION=REGION, TMPDIR=str(folder), **keys,
            )
            own, endpoint = free_port(), self.processes[0].url
            self.start(
                [os.environ["OUTSIDE"], "--endpoint", endpoint, *arguments], own, self.log, "/_local/queues",
                PORT=str(own), AWS_REGION=REGION, EXPIRY_RULES=json.dumps(RULES), SCAN_GRACE_SECONDS="0",
                SCAN_PERIOD_SECONDS="86400", RUST_LOG="info", **keys,
            )
        except BaseException:
            self.stop()
            raise
        self.url = self.processes[1].url
        self.call("PUT", "/admin/stock/SKU/default/default", {"on_hand": 9})

    def start(self, command, port, log, probe, **variables):
        self.processes.append(Process(command, port, log, probe, **variables))

    def stop(self):
        for process in reversed(self.processes):
            process.stop()

    def call(self, method, path, body=None):
        answer = requests.request(method, self.url + path, json=body, headers=ADMIN, timeout=35)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def ordered(self, rule="default"):
        order = {
            "user_id": "ann", "currency": "CNY", "payable_amount": 1000, "expiry_rule": rule,
            "lines": [{"sku": "SKU", "quantity": 1, "unit_price": 1000}],
        }
        return self.call("POST", "/orders", order)

    def becomes(self, order, status):
        def look():
            seen = self.call("GET", f"/orders/{order['order_id']}")
            return seen if seen["status"] == status and not seen["pending"] else None
        return eventually(look, f"{status} at rest")

    def stock(self):
        seen = self.call("GET", "/admin/stock/SKU/default/default")
        return seen["available"], seen["reserved"], seen["sold"]


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


def test_where_schedules_never_fire_the_bridge_delivers_them(tmp_path):
    local = Local(tmp_path, ["python", "-c", WITHOUT_SCHEDULER], "--deliver-schedules")
    try:
        order = local.ordered("scheduled")
        scheduler = boto3.client(
            "scheduler", endpoint_url=local.processes[0].url, region_name=REGION, aws_access_key_id="test",
            aws_secret_access_key="test",
        )

        def scheduled():
            return [each["Name"] for each in scheduler.list_schedules(GroupName="order-expiry")["Schedules"]]

        eventually(lambda: scheduled() == [order["order_id"]], "a schedule")
        closed = local.becomes(order, "CLOSED")
        assert scheduled() == []
        # A minute early by the schedule, and then by the message that waits out the rest.
        assert closed["closing"]["trigger"] == "wake"
        assert moment(closed["closed_at"]) >= moment(closed["expire_at"])
    finally:
        local.stop()
