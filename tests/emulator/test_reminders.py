"""Who reminds of an order: its schedule, the bridge, messages in the place of one, and without any of them the scan."""

import json
import time
from contextlib import contextmanager

from deployment import SCAN_GRACE_SECONDS, STACK, WINDOWS
from shop import eventually, moment


def triggers(shop, order):
    return [change["trigger"] for change in shop.case_file(order)["timeline"] if "trigger" in change]


def test_a_schedule_reminds_of_what_is_due_in_more_than_two_minutes(shop, scheduled):
    assert WINDOWS["scheduled"] > 120
    closed = shop.closes(scheduled)
    assert triggers(shop, scheduled) == ["wake"]
    assert moment(closed["closed_at"]) < moment(scheduled["expire_at"]) + SCAN_GRACE_SECONDS
    assert scheduled["order_id"] not in shop.schedules()


def test_where_schedules_never_fire_the_bridge_of_an_endpoint_delivers_them(bridged):
    local, order = bridged
    closed = local.becomes(order, "CLOSED")
    assert local.schedules() == []
    # A minute early by the schedule, and then by the message that waits out the rest.
    assert closed["closing"]["trigger"] == "wake"
    assert moment(closed["closed_at"]) >= moment(closed["expire_at"])


def test_a_message_in_the_place_of_a_schedule_tries_to_make_one(shop):
    order = shop.ordered(shop.stocked(1), expiry_rule="hour")
    eventually(lambda: order["order_id"] in shop.schedules(), "a schedule")
    name = {"GroupName": shop.outputs["WakeScheduleGroup"], "Name": order["order_id"]}
    shop.cloud.client("scheduler").delete_schedule(**name)
    stand_in = {
        "type": "wake", "order_id": order["order_id"], "expire_at": round(moment(order["expire_at"]) * 1000), "hop": 1
    }
    shop.send("close", stand_in)
    eventually(lambda: order["order_id"] in shop.schedules(), "a schedule again")
    # One that is there already is moved.
    shop.send("close", stand_in)
    eventually(lambda: shop.is_handled("close"), "the message handled")
    assert order["order_id"] in shop.schedules()


def test_without_the_stream_nobody_is_reminded_and_the_scan_closes_releases_and_refunds(shop, holding):
    held, request = holding
    with stream_stopped(shop):
        order = shop.ok("POST", "/orders", request, status=(201,))
        payment = shop.paying(order)
        time.sleep(max(0, moment(order["expire_at"]) + 3 - time.time()))
        assert shop.order(order)["status"] == "PAYING", "nobody reminded"
        # The scan runs every minute, and leaves an order to its reminder for a while.
        eventually(lambda: shop.order(order)["status"] == "CLOSED", "closed by the scan")
        assert triggers(shop, order)[-1] == "scan"
        shop.paid(payment)
        scan(shop)
        closed = shop.becomes(order, "CLOSED")
    assert held() == ((5, 0, 0), "AVAILABLE", (100, 0), (3, 0, 0))
    assert [refund["status"] for refund in closed["refunds"]] == ["SUCCEEDED"]
    # The stream goes on where it stopped; what it sends now is done already.
    eventually(lambda: shop.is_handled("close", "stock-release", "refund"), "all handled")
    assert held() == ((5, 0, 0), "AVAILABLE", (100, 0), (3, 0, 0))
    assert len(shop.channel(payment)["refunds"]) == 1


def scan(shop):
    answer = shop.cloud.client("lambda").invoke(FunctionName=f"{STACK}-fallback-scan", Payload=b"{}")
    scanned = json.load(answer["Payload"])
    # The scheduled one may have come first.
    assert scanned["complete"], scanned


@contextmanager
def stream_stopped(shop):
    mappings = shop.cloud.client("lambda")
    mapping = mappings.list_event_source_mappings(FunctionName=f"{STACK}-outbox-fanout")["EventSourceMappings"][0]["UUID"]
    mappings.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        yield
    finally:
        mappings.update_event_source_mapping(UUID=mapping, Enabled=True)
