"""Starts each function against a Runtime API and an AWS that answer at once, and prints what it weighs and how long it takes.

A start ends with the first completed call: the function has made one and read its answer, which shows in the next one it makes. That
first call is the signed one of its set-up; where there is none (the bare function) it is the request for an event. What
a handler then does with its first event is its work and no longer its start; it is printed, and held to nothing.

The fastest of many starts, the functions in turn: whatever else the machine does can only make one slower.
"""

import gzip
import json
import os
import re
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STARTS = 30
#: What a start may take, as a multiple of one that does nothing; what a function may weigh, gzipped; the memory it may ever use.
RATIO, MEGABYTES, MEBIBYTES = 1.5, 2.5, 20

ARN = "arn:aws:sqs:us-east-1:000000000000:"
NOBODY = "0" * 24
QUEUES = ["CLOSE", "STOCK_RELEASE", "COUPON_RELEASE", "POINTS_RELEASE", "QUOTA_RELEASE", "REFUND"]


def http(method, path, parameters=None, body=None, claims=None):
    return {
        "version": "2.0", "routeKey": f"{method} {path}", "rawPath": path, "rawQueryString": "",
        "headers": {"content-type": "application/json"}, "pathParameters": parameters or {}, "isBase64Encoded": False,
        "body": json.dumps(body) if body is not None else None,
        "requestContext": {
            "accountId": "0", "apiId": "a", "domainName": "d", "stage": "$default", "requestId": "r", "timeEpoch": 0,
            "routeKey": f"{method} {path}",
            "authorizer": {"jwt": {"claims": {"sub": "backend", "role": "operator", **(claims or {})}, "scopes": None}},
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": ""},
        },
    }


def message(queue, body):
    return {"Records": [{
        "messageId": "m", "receiptHandle": "r", "body": json.dumps(body), "md5OfBody": "", "messageAttributes": {},
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "0"},
        "eventSource": "aws:sqs", "eventSourceARN": ARN + queue, "awsRegion": "us-east-1",
    }]}


#: An event of each function about an order that nobody made.
EVENTS = {
    "bare": {},
    "admin-api": http("GET", f"/admin/orders/{NOBODY}"),
    "close-order": message("close", {"type": "wake", "order_id": NOBODY, "expire_at": 0, "hop": 0}),
    "create-order": http("POST", "/orders", body={
        "user_id": "u", "currency": "CNY", "lines": [{"sku": "S", "quantity": 1, "unit_price": 1}], "payable_amount": 1,
    }),
    "fallback-scan": {},
    "order-api": http("GET", f"/orders/{NOBODY}", {"id": NOBODY}),
    "outbox-fanout": {"Records": []},
    "payment-callback": http("POST", "/webhooks/sim", {"channel": "sim"}, {}),
    "refund-payment": message("refund", {"type": "unit", "order_id": NOBODY, "unit": "refund:1"}),
    "settle-resources": message("stock-release", {"type": "unit", "order_id": NOBODY, "unit": "stock"}),
    "start-payment": http("POST", f"/orders/{NOBODY}/payments", {"id": NOBODY}, {"channel": "sim"}),
}


class Server(BaseHTTPRequestHandler):
    """The Runtime API below /2018-06-01, and an AWS that knows nothing everywhere else."""

    protocol_version = "HTTP/1.1"

    # Head and body of an answer leave together: the second of two small packets waits for the first to be acknowledged.
    wbufsize = -1

    def answer(self, status, body, **headers):
        self.send_response_only(status)
        for name, value in {"Date": formatdate(usegmt=True), "Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.first_was_answered = True
        self.wfile.flush()

    def called(self):
        """One more call has arrived; what arrives after the first was answered shows that one completed."""
        if self.server.first_was_answered and self.server.completed is None:
            self.server.completed = time.perf_counter()

    def do_GET(self):
        self.called()
        if self.server.was_asked:
            # There is no second event: the function is ended while it waits.
            threading.Event().wait(60)
            return
        self.server.was_asked = True
        self.answer(
            200, json.dumps(self.server.event).encode(),
            Lambda_Runtime_Aws_Request_Id="request",
            Lambda_Runtime_Deadline_Ms=str(int(time.time() * 1000) + 30_000),
            Lambda_Runtime_Invoked_Function_Arn="arn:aws:lambda:us-east-1:000000000000:function:f",
        )

    def do_POST(self):
        self.called()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/2018-06-01/"):
            self.server.answers.append((self.path.rsplit("/", 1)[-1], time.perf_counter(), body))
            self.server.answered.set()
            self.answer(202, b"{}")
        else:
            self.server.calls += 1
            is_secret = self.headers.get("X-Amz-Target", "").endswith(".GetSecretValue")
            self.answer(200, b'{"SecretString": "sim"}' if is_secret else b"{}")

    def log_message(self, *_):
        pass


class World(ThreadingHTTPServer):
    """What one start of a function meets."""

    daemon_threads = True

    def __init__(self, event):
        super().__init__(("127.0.0.1", 0), Server)
        self.event, self.answered, self.calls, self.was_asked, self.answers = event, threading.Event(), 0, False, []
        self.first_was_answered, self.completed = False, None
        threading.Thread(target=self.serve_forever, args=[0.05], daemon=True).start()

    def handle_error(self, *_):
        """A function that is ended leaves its connections."""


def environment(port):
    url = f"http://127.0.0.1:{port}"
    return {
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port}", "AWS_LAMBDA_FUNCTION_NAME": "f", "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_LOG_GROUP_NAME": "g", "AWS_LAMBDA_LOG_STREAM_NAME": "s",
        "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": url,
        "AWS_EC2_METADATA_DISABLED": "true", "RUST_LOG": "error",
        # Lambda has its certificates in one file; a folder of hundreds takes longer than all the rest of a start.
        "SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"), "SSL_CERT_DIR": "/none",
        "ORDERS_TABLE": "orders", "RESOURCES_TABLE": "resources", "CHANNELS": "sim", "SIM_CHANNEL_URL": url,
        "SIM_CHANNEL_SECRET_ID": "sim", "SCHEDULE_GROUP": "wake", "SCHEDULE_ROLE_ARN": "arn:aws:iam::000000000000:role/wake",
        "CLOSE_QUEUE_ARN": ARN + "close", **{f"{queue}_QUEUE_URL": f"{url}/0/{queue.lower()}" for queue in QUEUES},
    }


def start(bootstrap, event):
    """Milliseconds to the first completed call and to the answer of the first event, the most memory in MiB, page faults, calls of AWS."""
    world = World(event)
    began = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        child = os.posix_spawn(
            bootstrap, [bootstrap], environment(world.server_port),
            file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), stream) for stream in (1, 2)],
        )
    answered = world.answered.wait(20)
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child}/status").read_text())
    os.kill(child, 9)
    usage = os.wait4(child, 0)[2]
    world.shutdown()
    world.server_close()
    if not answered:
        sys.exit(f"{bootstrap} answered nothing")
    kind, at, body = world.answers[0]
    # A message about nobody's order fails after it was looked for.
    if kind != "response" and b"there is no such order" not in body:
        sys.exit(f"{bootstrap} failed: {body.decode()}")
    return (world.completed - began) * 1000, (at - began) * 1000, int(peak[1]) / 1024, usage.ru_minflt, world.calls


def main():
    bare, functions = map(Path, sys.argv[1:])
    # `sam build` names a folder as the template names the function.
    places = {name: functions / name.title().replace("-", "") / "bootstrap" for name in EVENTS} | {"bare": bare / "bootstrap"}
    measured = {name: [] for name in EVENTS}
    for _ in range(STARTS):
        for name, event in EVENTS.items():
            measured[name].append(start(str(places[name]), event))

    print("| function | gzipped MB | start to first completed call, ms | ratio | to first answer, ms | peak MiB | page faults | calls of AWS |")
    print("|---|---|---|---|---|---|---|---|")
    of_bare, missed = min(row[0] for row in measured["bare"]), []
    for name, rows in measured.items():
        took, answered = min(row[0] for row in rows), min(row[1] for row in rows)
        memory, faults, calls = max(row[2] for row in rows), min(row[3] for row in rows), rows[0][4]
        weight = len(gzip.compress(places[name].read_bytes(), 9)) / 1e6
        print(f"| {name} | {weight:.2f} | {took:.1f} | {took / of_bare:.2f} | {answered:.1f} | {memory:.1f} | {faults} | {calls} |")
        if took / of_bare > RATIO or weight > MEGABYTES or memory > MEBIBYTES:
            missed.append(name)
    if missed:
        sys.exit(f"more than {MEGABYTES} MB, {RATIO} times a bare start or {MEBIBYTES} MiB: {', '.join(missed)}")


main()
