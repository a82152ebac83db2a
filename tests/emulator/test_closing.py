"""Unpaid orders close at their deadline, whoever reminds of it, and whoever reminds twice."""

from shop import eventually, moment


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
    calls = [call["call"] for call in shop.channel(payment)["calls"]]
    # A slow answer is asked for once more; the last word is a query after a close.
    assert (calls[:3], calls[-1]) == (["place", "query", "close"], "query")
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
    eventually(lambda: shop.is_handled("close", "stock-release"), "every message handled")
    assert shop.order(order)["version"] == closed["version"]
    assert shop.stock(sku) == (5, 0, 0)
