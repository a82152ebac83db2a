"""Money, whenever and however often it is heard of."""

import json

from shop import eventually, fresh


def test_an_order_paid_in_time_is_paid_and_its_stock_is_sold(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku, expiry_rule="hour")
    eventually(lambda: order["order_id"] in shop.schedules(), "a schedule")
    shop.paid(shop.paying(order))
    paid = shop.becomes(order, "PAID")
    assert (paid["paid_amount"], paid["refunds"]) == (1000, [])
    assert shop.stock(sku) == (4, 0, 1)
    eventually(lambda: order["order_id"] not in shop.schedules(), "no schedule")


def test_a_payment_whose_callback_was_lost_is_found_at_the_deadline(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    shop.channel(shop.paying(order), {"state": "SUCCESS"})
    paid = shop.becomes(order, "PAID", 10 + 20)
    assert paid["paid_amount"] == 1000
    assert shop.stock(sku) == (4, 0, 1)


def test_money_that_comes_after_the_close_is_given_back_once(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    payment = shop.paying(order)
    shop.closes(order)
    shop.paid(payment)
    closed = shop.becomes(order, "CLOSED")
    assert [(refund["amount"], refund["status"]) for refund in closed["refunds"]] == [(1000, "SUCCEEDED")]
    for _ in range(3):
        assert shop.notify(payment)["status"] == 200
        shop.send("refund", {"type": "unit", "order_id": order["order_id"], "unit": "refund:1"})
    eventually(lambda: not sum(shop.queued("refund")), "every message handled")
    assert [refund["amount"] for refund in shop.channel(payment)["refunds"]] == [1000], "I9"
    assert shop.stock(sku) == (5, 0, 0)


def test_a_refund_the_channel_takes_its_time_for_is_asked_about(shop):
    order = shop.ordered(shop.stocked(1))
    payment = shop.paying(order)
    shop.cancel(order)
    shop.channel(payment, {"state": "SUCCESS", "refund": "pending"})
    assert shop.notify(payment)["status"] == 200
    eventually(lambda: shop.channel(payment)["refunds"], "a refund at the channel")
    shop.channel(payment, {"refund": "ok"})
    closed = shop.becomes(order, "CLOSED", 60)
    assert [refund["status"] for refund in closed["refunds"]] == ["SUCCEEDED"]
    assert len(shop.channel(payment)["refunds"]) == 1


def test_a_second_way_to_pay_finds_the_first_already_paid(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku, expiry_rule="hour")
    shop.channel(shop.paying(order, method="card"), {"state": "SUCCESS"})
    refused = shop.call("POST", f"/orders/{order['order_id']}/payments", {"channel": "sim", "method": "qr"}, shop.backend)
    assert (refused.status_code, refused.json()["code"]) == (409, "order_paid")
    shop.becomes(order, "PAID")
    assert shop.stock(sku) == (4, 0, 1)


def test_a_form_reaches_the_function_byte_for_byte(shop):
    """API Gateway hands a form over in base64; the signature is over the bytes the channel sent."""
    order = shop.ordered(shop.stocked(1), expiry_rule="hour")
    payment = shop.paying(order)
    shop.channel(payment, {"state": "SUCCESS"})
    form = "application/x-www-form-urlencoded"
    pairs = f"out_trade_no={payment}&note=%C3%A4+%26&trade_status=TRADE_SUCCESS".encode()
    assert shop.webhook(pairs, form, signed=pairs + b" ").status_code == 401, "other bytes than the signed ones"
    assert shop.webhook(pairs, form).status_code == 400, "signed, and not what this channel says"
    callback = {
        "notify_id": fresh("notify"), "merchant_id": "sim-merchant", "out_trade_no": payment, "amount": 1000,
        "transaction_id": f"txn-{payment}", "currency": "CNY", "state": "SUCCESS",
    }
    assert shop.webhook(json.dumps(callback).encode(), form).status_code == 200
    shop.becomes(order, "PAID")
