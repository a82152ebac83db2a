"""What the schemas cannot say of valid requests, so that each of them must be accepted.

openapi.yaml states in words which fields of a body go with which others, and that some texts name things of the shop. A request that
is meant to be valid is made so here; one that is meant to be invalid is sent as it was made.
"""

import itertools
import os
from datetime import datetime, timedelta, timezone

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation

# Times are taken from 1970 to 9999.
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30))
OFFSETS = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
schemathesis.openapi.format(
    "date-time", st.builds(lambda at, offset: at.replace(tzinfo=offset).isoformat(), MOMENTS, OFFSETS)
)
schemathesis.openapi.format("date", MOMENTS.map(lambda at: at.date().isoformat()))

COUNT = itertools.count()
# Orders that were created; most requests that name an order name one of these.
ORDERS = []
# A refund that the channel does not carry out.
REFUND = os.environ["CONTRACT_REFUND"]


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw.get("operationId")
    turn = next(COUNT)
    if is_valid(case, ParameterLocation.PATH):
        if "{no}" in case.path and turn % 3:
            case.path_parameters["no"] = REFUND
        if "{channel}" in case.path and turn % 4:
            case.path_parameters["channel"] = "sim"
        if "orders/{id}" in case.path and ORDERS and turn % 4 and case.path_parameters["id"] not in ORDERS:
            case.path_parameters["id"] = ORDERS[-1 - turn % min(len(ORDERS), 5)]
    if is_valid(case, ParameterLocation.QUERY) and case.query:
        # A cursor is one that a page gave.
        case.query.pop("cursor", None)
    if operation == "createOrder" and is_valid(case, ParameterLocation.HEADER) and "Idempotency-Key" in (case.headers or {}):
        # The same key with another body is a mismatch.
        case.headers["Idempotency-Key"] = f"{case.headers['Idempotency-Key'][:200]}{turn}"
    if is_valid(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = whole(case.body)
        if operation == "createOrder":
            make_an_order(case.body, plain=turn % 4)
        if operation == "startPayment":
            case.body["channel"] = "sim"
            # A leg is at most what is unpaid.
            case.body.pop("amount", None)
        if operation == "extendOrder":
            # The window as a whole is bounded.
            case.body["seconds"] = min(case.body["seconds"], 3_600)


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code == 201 and case.path == "/orders":
        ORDERS.append(response.json()["order_id"])


def is_valid(case, location):
    """Whether this part of the request is meant to be valid."""
    part = case.meta.components.get(location) if case.meta else None
    return part is None or part.mode.is_positive


def whole(value):
    """The same with whole numbers written as such: to a schema 1.0 is an integer."""
    if isinstance(value, dict):
        return {name: whole(field) for name, field in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def make_an_order(body, plain):
    """Distinct lines, a payable amount that they cover, a rule that exists; a plain one asks for nothing that is not there."""
    if plain:
        body.pop("coupon_id", None)
        del body["lines"][3:]
        if body.get("points"):
            body["user_id"] = "buyer"
            body["points"] = min(body["points"], 100)
    total = 0
    for number, line in enumerate(body["lines"]):
        line["sku"] = f"GOODS-{number + 1}"
        line["warehouse"] = line["batch"] = "default"
        line["quantity"] = min(line["quantity"], 1_000)
        line["unit_price"] = min(line["unit_price"], 1_000)
        total += line["quantity"] * line["unit_price"]
    body["payable_amount"] = min(body["payable_amount"], total)
    if body.get("expiry_rule") is not None:
        body["expiry_rule"] = "default"
    for number, quota in enumerate(body.get("quotas") or []):
        # Equal activities are added up, to at most a quantity.
        quota["activity"] = f"SALE-{1 + number % 3}"
        quota["quantity"] = min(quota["quantity"], 1_000)
