"""Least privilege. The emulator checks every call against the role of the function that makes it, in the whole run: a permission
that is missing shows as a test that fails. What is allowed and never called shows here, so these tests are to run after the others
(pytest takes files by name; test_tokens.py needs no permission that the others do not)."""

import copy
import hashlib
import json
import re
import time
from contextlib import contextmanager
from fnmatch import fnmatchcase

import pytest
from deployment import STACK
from shop import eventually

FUNCTIONS = [
    "admin-api", "close-order", "create-order", "fallback-scan", "order-api", "outbox-fanout", "payment-callback",
    "refund-payment", "settle-resources", "start-payment",
]
#: What Lambda itself does in the function's name: logs, traces, polling for the event source mappings; and handing a role to the
#: Scheduler, which is checked with the schedule and is no call. (And the dead letters of the stream, see below.)
OF_THE_PLATFORM = re.compile(
    "logs:.*|xray:.*|iam:PassRole|sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes)"
    "|dynamodb:(DescribeStream|GetRecords|GetShardIterator|ListStreams)"
)


class Role:
    """The role of a function, with its one policy."""

    def __init__(self, shop, function):
        self.iam = shop.cloud.client("iam")
        config = shop.cloud.client("lambda").get_function_configuration(FunctionName=f"{STACK}-{function}")
        self.name = config["Role"].rsplit("/", 1)[-1]
        self.policy = {"RoleName": self.name, "PolicyName": function}
        # How the emulator makes the access key of a function.
        digest = hashlib.sha256(f"{config['FunctionArn']}:{config['Role']}".encode()).hexdigest()
        self.key = f"ASIA{digest[:16].upper()}"

    @property
    def document(self):
        return self.iam.get_role_policy(**self.policy)["PolicyDocument"]

    def allowed(self):
        """Each action with each resource."""
        for statement in self.document["Statement"]:
            for action in listed(statement["Action"]):
                for resource in listed(statement["Resource"]):
                    yield action, resource

    @contextmanager
    def changed(self, change):
        """Meanwhile, the policy as `change` makes it."""
        before = self.document
        document = copy.deepcopy(before)
        change(document["Statement"])
        assert document != before
        self.iam.put_role_policy(**self.policy, PolicyDocument=json.dumps(document))
        try:
            yield
        finally:
            self.iam.put_role_policy(**self.policy, PolicyDocument=json.dumps(before))


def listed(value):
    return value if isinstance(value, list) else [value]


def without(action, resource):
    """Takes an action on a resource out of a policy."""
    def change(statements):
        for statement in statements:
            if fnmatchcase(str(statement["Resource"]), resource):
                statement["Action"] = [kept for kept in listed(statement["Action"]) if kept != action]
    return change


def never_called(shop):
    """What roles allow and no call of the run made use of: function, action, resource."""
    calls = [json.loads(line) for line in shop.cloud.calls.read_text().splitlines()]
    for function in FUNCTIONS:
        role = Role(shop, function)
        made = [(action, arn) for key, action, arn in calls if key == role.key]
        for action, resource in role.allowed():
            used = any(called == action and fnmatchcase(arn, resource) for called, arn in made)
            if not (used or OF_THE_PLATFORM.fullmatch(action) or resource.endswith("-stream-dlq")):
                yield function, action, resource


def test_no_call_was_denied(shop):
    """Also none whose failure a function bears: a schedule that is not created is replaced by a message."""
    assert [line for function in FUNCTIONS for line in shop.logged(function, "AccessDenied", 0)] == []


def test_no_role_allows_what_its_function_never_calls(shop):
    assert [*map(" ".join, never_called(shop))] == []


def test_an_allowed_action_that_is_never_called_would_be_found(shop):
    role = Role(shop, "order-api")
    table = f"arn:aws:dynamodb:us-east-1:000000000000:table/{shop.outputs['OrdersTable']}"
    extra = {"Effect": "Allow", "Action": "dynamodb:DeleteItem", "Resource": table}
    with role.changed(lambda statements: statements.append(extra)):
        assert ("order-api", "dynamodb:DeleteItem", table) in never_called(shop)


@pytest.mark.parametrize("action", ["dynamodb:PutItem", "dynamodb:UpdateItem"])
def test_an_order_is_not_created_without_permission_for_each_item_of_its_transaction(shop, action):
    sku, since = shop.stocked(1), time.time()
    with Role(shop, "create-order").changed(without(action, "*:table/*-OrdersTable-*")):
        refused = shop.call("POST", "/orders", shop.order_request(sku), shop.backend)
    assert refused.status_code == 503, refused.text
    assert denied(shop, "create-order", action, since)
    assert shop.stock(sku) == (1, 0, 0)
    shop.ordered(sku)


def test_stock_stays_held_while_it_may_not_be_given_back_and_comes_back_afterwards(shop):
    sku, since = shop.stocked(1), time.time()
    order = shop.ordered(sku)
    with Role(shop, "settle-resources").changed(without("dynamodb:UpdateItem", "*:table/*-ResourcesTable-*")):
        shop.cancel(order)
        eventually(lambda: denied(shop, "settle-resources", "dynamodb:UpdateItem", since), "a denied call")
        assert shop.order(order)["status"] == "CLOSED"
        assert shop.stock(sku) == (0, 1, 0)
    shop.send("stock-release", {"type": "unit", "order_id": order["order_id"], "unit": "stock"})
    shop.becomes(order, "CLOSED")
    assert shop.stock(sku) == (1, 0, 0)


def denied(shop, function, action, since):
    lines = shop.logged(function, "AccessDenied", since)
    return [line for line in lines if action in line]
