"""The deployed shop as its backend, its operators and its payers see it: all over HTTP."""

import hashlib
import hmac
import itertools
import json
import time
from datetime import datetime

import requests
from deployment import AUDIENCE, SECRET, STACK

#: How long anything may take that is due now. Mostly a second or two; a message that failed once is visible again after 180 s.
SOON_SECONDS = 200

_numbers = itertools.count(1)


def fresh(word):
    """A name that no other test uses."""
    return f"{word}-{next(_numbers)}"


def eventually(look, what, seconds=SOON_SECONDS):
    """What `look` answers, once it answers something true."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < end, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.2)


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Shop:
    def __init__(self, cloud, outputs):
        self.cloud = cloud
        self.outputs = outputs
        self.outside = cloud.outside.url
        api = outputs["ApiUrl"].split("//")[1].split(".")[0]
        # The emulator's way to an API without a name of its own in DNS.
        self.url = f"{cloud.emulator.url}/_aws/execute-api/{api}/$default"
        self.session = requests.Session()
        self.backend = self.token()
        self.operator = self.token(sub="olga", role="operator")
        self.session.put(f"{self.outside}/_shop", json={"url": self.url}).raise_for_status()

    def token(self, **claims):
        """A token of the issuer for this shop, unless the claims say otherwise."""
        claims = {"sub": "backend", "aud": AUDIENCE} | claims
        answer = self.session.post(f"{self.outside}/_tokens", json=claims)
        answer.raise_for_status()
        return answer.json()["token"]

    # -- Requests

    def call(self, method, path, body=None, token=None, headers=()):
        headers = dict(headers)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.session.request(method, self.url + path, json=body, headers=headers, timeout=35)

    def ok(self, method, path, body=None, token=None, status=(200, 201)):
        answer = self.call(method, path, body, token or self.backend)
        assert answer.status_code in status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def order_request(self, sku, **fields):
        order = {
            "user_id": fresh("user"), "currency": "CNY", "payable_amount": 1000,
            "lines": [{"sku": sku, "quantity": 1, "unit_price": 1000}],
        }
        return order | fields

    def ordered(self, sku, **fields):
        """A created order's document."""
        return self.ok("POST", "/orders", self.order_request(sku, **fields), status=(201,))

    def order(self, order):
        return self.ok("GET", f"/orders/{order['order_id']}")

    def case_file(self, order):
        return self.ok("GET", f"/admin/orders/{order['order_id']}", token=self.operator)

    def paying(self, order, **fields):
        """The number of a payment begun with the simulated channel."""
        path = f"/orders/{order['order_id']}/payments"
        return self.ok("POST", path, {"channel": "sim"} | fields, status=(201,))["out_trade_no"]

    def cancel(self, order):
        return self.ok("POST", f"/orders/{order['order_id']}/cancel", {"reason": "changed my mind"}, status=(200, 202))

    # -- Resources

    def resource(self, kind, key, body=None):
        return self.ok("GET" if body is None else "PUT", f"/admin/{kind}/{key}", body, self.operator)

    def stocked(self, on_hand=5):
        """A new article with stock."""
        sku = fresh("SKU")
        self.resource("stock", f"{sku}/default/default", {"on_hand": on_hand})
        return sku

    def stock(self, sku):
        """Available, reserved, sold; they balance, or it fails (I5)."""
        return self.counter("stock", f"{sku}/default/default", "on_hand")

    def counter(self, kind, key, whole):
        seen = self.resource(kind, key)
        counts = (seen["available"], seen["reserved"], seen["sold"])
        assert seen[whole] == sum(counts), f"I5: {seen}"
        return counts

    # -- The channel

    def channel(self, payment, fields=None):
        url = f"{self.outside}/_sim/payments/{payment}"
        answer = self.session.get(url) if fields is None else self.session.put(url, json=fields)
        assert answer.ok, answer.text
        return answer.json()

    def notify(self, payment, fields=None):
        """The channel sends its signed callback; what the shop answered."""
        answer = self.session.post(f"{self.outside}/_sim/payments/{payment}/notify", json=fields or {}, timeout=35)
        assert answer.ok, answer.text
        return answer.json()

    def paid(self, payment):
        """The payer pays and the channel says so."""
        self.channel(payment, {"state": "SUCCESS"})
        assert self.notify(payment)["status"] == 200

    def webhook(self, body, content_type, signed=None):
        """A callback with the channel's signature over `signed`, or else over what is sent."""
        at = str(int(time.time()))
        mac = hmac.new(SECRET.encode(), f"{at}.".encode() + (body if signed is None else signed), hashlib.sha256)
        headers = {"Content-Type": content_type, "Sim-Signature": f"t={at},v1={mac.hexdigest()}"}
        return self.session.post(f"{self.url}/webhooks/sim", data=body, headers=headers, timeout=35)

    # -- Waiting

    def becomes(self, order, status, seconds=SOON_SECONDS):
        """The order's document, once it has this status and nothing is left to do about it."""
        def look():
            seen = self.order(order)
            return seen if seen["status"] == status and not seen["pending"] else None
        return eventually(look, lambda: f"{status} at rest: {json.dumps(self.case_file(order), indent=1)}", seconds)

    def closes(self, order, seconds=SOON_SECONDS):
        """The order's document, once it is past its deadline, CLOSED and at rest."""
        time.sleep(max(0, moment(order["expire_at"]) - time.time()))
        return self.becomes(order, "CLOSED", seconds)

    # -- Behind the shop

    def queue_url(self, name):
        return f"{self.cloud.emulator.url}/000000000000/{STACK}-{name}"

    def send(self, queue, message):
        self.cloud.client("sqs").send_message(QueueUrl=self.queue_url(queue), MessageBody=json.dumps(message))

    def is_handled(self, *queues):
        """Whether nothing in these queues can be received or is at work."""
        return not any(visible + in_flight for visible, _, in_flight in map(self.queued, queues))

    def queued(self, queue):
        """How many messages a queue has: visible, delayed, in flight."""
        names = [f"ApproximateNumberOfMessages{part}" for part in ("", "Delayed", "NotVisible")]
        sqs = self.cloud.client("sqs")
        seen = sqs.get_queue_attributes(QueueUrl=self.queue_url(queue), AttributeNames=names)["Attributes"]
        return tuple(int(seen[name]) for name in names)

    def schedules(self):
        listed = self.cloud.client("scheduler").list_schedules(GroupName=self.outputs["WakeScheduleGroup"])
        return {schedule["Name"] for schedule in listed["Schedules"]}

    def logged(self, function, words, since):
        """The lines of a function's log with these words, since a moment."""
        pages = self.cloud.client("logs").get_paginator("filter_log_events")
        found = pages.paginate(logGroupName=f"/aws/lambda/{STACK}-{function}", startTime=int(since * 1000))
        return [event["message"] for page in found for event in page["events"] if words in event["message"]]
