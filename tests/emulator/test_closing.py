"""Unpaid orders close at their deadline, whoever reminds of it, and whoever reminds twice."""

import time

import pytest
from deployment import SCAN_GRACE_SECONDS, WINDOWS
from shop import SOON_SECONDS, eventually, moment


@pytest.fixture(scope="module", autouse=True)
def scheduled(shop):
    """An order that is due in more than two minutes, so that a schedule reminds of it; the tests below run meanwhile."""
    sku = shop.stocked(5)
    order = shop.ordered(sku, expiry_rule="scheduled")
    eventually(lambda: order["order_id"] in shop.schedules(), "a schedule")
    return sku, order


def test_an_unpaid_order_is_closed_at_its_deadline_and_its_stock_comes_back(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    assert shop.stock(sku) == (4, 1, 0)
    closed = shop.closes(order)
    assert closed["close_reason"] == "expired"
    assert closed["closed_at"] >= order["expire_at"], "I7: never early"
    assert shop.stock(sku) == (5, 0, 0)


def test_a_payment_nobody_finished_is_closed_at_the_channel_before_the_order_is(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    payment = shop.paying(order)
    closed = shop.closes(order)
    assert closed["payments"][0]["status"] == "CLOSED"
    assert [call["call"] for call in shop.channel(payment)["calls"]] == ["place", "query", "close", "query"]
    assert shop.stock(sku) == (5, 0, 0)


def test_a_cancelled_order_is_closed_at_once_and_its_reminder_finds_nothing_to_do(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    assert shop.cancel(order)["close_reason"] == "cancelled_by_user"
    cancelled = shop.becomes(order, "CLOSED")
    assert shop.stock(sku) == (5, 0, 0)
    assert shop.closes(order)["version"] == cancelled["version"]


def test_every_message_may_come_three_times(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    wake = {"type": "wake", "order_id": order["order_id"], "expire_at": round(moment(order["expire_at"]) * 1000)}
    stock = {"type": "unit", "order_id": order["order_id"], "unit": "stock"}
    for _ in range(2):
        shop.send("close", wake)
    closed = shop.closes(order)
    for _ in range(2):
        shop.send("close", wake)
        shop.send("stock-release", stock)
    eventually(lambda: not any(map(sum, map(shop.queued, ("close", "stock-release")))), "every message handled")
    assert shop.order(order)["version"] == closed["version"]
    assert shop.stock(sku) == (5, 0, 0)


def test_the_scan_finds_an_order_whose_reminder_was_lost(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    eventually(lambda: shop.queued("close")[1], "a reminder on its way")
    shop.cloud.client("sqs").purge_queue(QueueUrl=shop.queue_url("close"))
    time.sleep(max(0, moment(order["expire_at"]) + 3 - time.time()))
    assert shop.order(order)["status"] == "PENDING_PAYMENT", "nobody reminded"
    # It runs every minute.
    closed = shop.closes(order, SCAN_GRACE_SECONDS + 60 + SOON_SECONDS)
    assert moment(closed["closed_at"]) >= moment(order["expire_at"]) + SCAN_GRACE_SECONDS
    assert [change["trigger"] for change in shop.case_file(order)["timeline"] if "trigger" in change] == ["scan"]
    assert shop.stock(sku) == (5, 0, 0)


def test_a_schedule_reminds_of_what_is_due_in_more_than_two_minutes(shop, scheduled):
    sku, order = scheduled
    closed = shop.closes(order)
    assert moment(closed["closed_at"]) < moment(order["expire_at"]) + SCAN_GRACE_SECONDS, "before any scan"
    assert WINDOWS["scheduled"] > 120
    assert order["order_id"] not in shop.schedules()
    assert shop.stock(sku) == (5, 0, 0)
