"""The local system over an emulator of its own, as `cargo run -- --endpoint` starts it."""

import json
import os
from pathlib import Path

import requests
from deployment import REGION, client
from processes import Process, free_port
from shop import eventually

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

    def schedules(self):
        scheduler = client("scheduler", self.processes[0])
        return [each["Name"] for each in scheduler.list_schedules(GroupName="order-expiry")["Schedules"]]
