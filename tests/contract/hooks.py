"""What the schemas cannot say of valid requests, so that each of them must be accepted.

openapi.yaml states in words which fields of a body go with which others, and that some texts name things of the shop. A request that
is meant to be valid is made so here; one that is meant to be invalid is sent as it was made.
"""

import itertools
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

KEYS = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw.get("operationId")
    if is_valid(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        if operation == "createOrder":
            make_an_order(case.body)
        if operation == "startPayment":
            case.body["channel"] = "sim"
            # A leg is at most what is unpaid.
            case.body.pop("amount", None)
    if is_valid(case, ParameterLocation.QUERY) and case.query:
        # A cursor is one that a page gave.
        case.query.pop("cursor", None)
    if operation == "createOrder" and is_valid(case, ParameterLocation.HEADER) and "Idempotency-Key" in (case.headers or {}):
        # The same key with another body is a mismatch.
        case.headers["Idempotency-Key"] = f"{case.headers['Idempotency-Key'][:200]}{next(KEYS)}"


def is_valid(case, location):
    """Whether this part of the request is meant to be valid."""
    part = case.meta.components.get(location) if case.meta else None
    return part is None or part.mode.is_positive


def make_an_order(body):
    """Distinct lines of what is in stock, a payable amount that they cover, a rule that exists."""
    total = 0
    for number, line in enumerate(body["lines"]):
        line["sku"] = "SKU-1" if number == 0 else f"SKU-{number + 1}"
        line["warehouse"] = line["batch"] = "default"
        line["unit_price"] = min(line["unit_price"], 1_000)
        total += line["quantity"] * line["unit_price"]
    body["payable_amount"] = min(body["payable_amount"], total)
    if body.get("expiry_rule") is not None:
        body["expiry_rule"] = "default"
    for number, quota in enumerate(body.get("quotas") or []):
        quota["activity"] = f"FLASH-{number + 1}"
