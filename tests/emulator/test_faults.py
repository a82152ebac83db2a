"""Faults on the wire between the functions and AWS. Every write of every function suffers each of them the first time it is sent;
what is sent again arrives."""

import itertools
import time

import pytest
import requests
from shop import eventually
from story import Story
from test_roles import FUNCTIONS, Role

WRITES = {
    "dynamodb": ["PutItem", "UpdateItem", "TransactWriteItems"],
    "sqs": ["SendMessage"],
    "scheduler": ["CreateSchedule", "UpdateSchedule", "DeleteSchedule"],
}
#: The writes that the story makes for certain.
OF_THE_STORY = {
    ("create-order", "TransactWriteItems"), ("start-payment", "UpdateItem"), ("payment-callback", "TransactWriteItems"),
    ("close-order", "UpdateItem"), ("outbox-fanout", "SendMessage"), ("outbox-fanout", "CreateSchedule"),
    ("outbox-fanout", "DeleteSchedule"), ("settle-resources", "TransactWriteItems"), ("refund-payment", "UpdateItem"),
}
#: The SDK numbers its attempts.
FIRST_ATTEMPT = {"amz-sdk-request": "attempt=1"}
#: It waits this long for an answer (`ATTEMPT_TIMEOUT`), then it sends the call again.
ATTEMPT_MS = 2000


def answer_lost(service, operation):
    """The write is applied and its answer never arrives."""
    return {"response": {"abort_bytes": 0}}


def throttled(service, operation):
    code, status = {
        "dynamodb": ("ProvisionedThroughputExceededException", 400),
        # microburst 0.10.0 writes the code as `AWS.SimpleQueueService.RequestThrottled`, by which no SDK knows it; the status does.
        "sqs": ("RequestThrottled", 503),
        "scheduler": ("ThrottlingException", 429),
    }[service]
    return {"error": {"code": code, "status": status}}


def failed(service, operation):
    return {"error": {"code": "InternalServerError", "status": 500}}


def slow(service, operation):
    return {"latency": {"min": 200, "max": 1500}}


def too_late(service, operation):
    """The call arrives after the SDK has given it up and sent it again: the same write twice, in either order."""
    return {"latency": {"min": ATTEMPT_MS + 200, "max": ATTEMPT_MS + 900}}


def in_conflict(service, operation):
    """With another transaction, which the SDK leaves to the function."""
    # The function makes it anew, which is a first attempt again: every other one passes.
    effect = conflict(operation)
    return effect and effect | {"sequence": {"fail": 1, "pass": 1}}


def conflict(operation):
    if operation == "UpdateItem":
        return {"error": {"code": "TransactionConflictException", "status": 400}}
    if operation == "TransactWriteItems":
        reasons = [{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}]
        fields = {"CancellationReasons": reasons}
        return {"error": {"code": "TransactionCanceledException", "status": 400, "fields": fields}}
    return None


class Wire:
    """The rules by which the wire misbehaves."""

    def __init__(self, shop):
        self.url = f"{shop.cloud.wire.url}/_microburst"
        self.keys = {function: Role(shop, function).key for function in FUNCTIONS}
        self.victims = {}

    def suffers(self, fault, functions=FUNCTIONS):
        rules, victims = [], []
        for function, (service, operations) in itertools.product(functions, WRITES.items()):
            for operation in operations:
                effect = fault(service, operation)
                if effect:
                    headers = FIRST_ATTEMPT | {"authorization": self.keys[function]}
                    rules.append({"service": service, "operation": operation, "headers": headers} | effect)
                    victims.append((function, operation))
        answer = requests.post(f"{self.url}/rules", json=rules)
        answer.raise_for_status()
        requests.delete(f"{self.url}/fired").raise_for_status()
        self.victims = dict(zip((rule["id"] for rule in answer.json()), victims, strict=True))

    def heals(self):
        requests.post(f"{self.url}/rules", json=[]).raise_for_status()

    def hit(self):
        """The writes that suffered: function and operation."""
        fired = requests.get(f"{self.url}/fired", params={"limit": 10000}).json()
        return {self.victims[event["rule_id"]] for event in fired}


@pytest.fixture
def wire(shop):
    wire = Wire(shop)
    yield wire
    wire.heals()


@pytest.mark.parametrize("fault", [answer_lost, throttled, failed, slow, too_late])
def test_whatever_happens_to_a_write_on_its_way_changes_nothing_in_the_end(shop, wire, holding, fault):
    wire.suffers(fault)
    story = Story.begin(shop, holding)
    story.go_on()
    story.ends_well()
    assert OF_THE_STORY - wire.hit() == set()


def test_writes_in_conflict_with_others_are_made_again(shop, wire, holding):
    wire.suffers(in_conflict)
    story = Story.begin(shop, holding)
    story.go_on()
    story.ends_well()
    writes = {victim for victim in OF_THE_STORY if victim[1] in ("UpdateItem", "TransactWriteItems")}
    assert writes - wire.hit() == set()


def test_a_message_that_meets_one_conflict_after_the_other_is_sent_anew(shop, wire, holding):
    held, request = holding
    order = shop.ok("POST", "/orders", request, status=(201,))
    payment = shop.paying(order)
    wire.suffers(lambda service, operation: conflict(operation), ["settle-resources", "refund-payment"])
    since = time.time()
    shop.cancel(order)
    shop.paid(payment)
    for queue in ("stock-release", "coupon-release", "points-release", "quota-release", "refund"):
        eventually(lambda: shop.queued(queue)[1], f"a delayed message of {queue}")
    # That of a refund may be the fan-out's, for the next look.
    eventually(lambda: shop.logged("refund-payment", '"Contention":1', since), "a refund that met a conflict")
    wire.heals()
    closed = shop.becomes(order, "CLOSED")
    assert held() == ((5, 0, 0), "AVAILABLE", (100, 0), (3, 0, 0))
    assert [refund["status"] for refund in closed["refunds"]] == ["SUCCEEDED"]
    assert len(shop.channel(payment)["refunds"]) == 1
