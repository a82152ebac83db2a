"""One story of every kind of order, told while the wire misbehaves: whatever happened to a call on its way changes nothing in the
end."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from shop import fresh, moment

#: A backend asks again this often when it is told to.
TRIES = 10
#: Time for what the wire delays and the emulator then offers again.
END_SECONDS = 240


@dataclass
class Story:
    """Four orders of one article: nobody pays the first, all others are begun to be paid; the second never, the third in time, the
    fourth after it was closed."""

    shop: object
    sku: str
    orders: list
    payments: list
    held: object

    @classmethod
    def begin(cls, shop, holding):
        held, request = holding
        sku = request["lines"][0]["sku"]
        requests = [
            request | {"expiry_rule": "patient"}, *(shop.order_request(sku, expiry_rule="patient") for _ in range(2)),
            shop.order_request(sku, expiry_rule="hour"),
        ]
        with ThreadPoolExecutor() as side_by_side:
            orders = [*side_by_side.map(lambda each: patiently(shop, "/orders", each, fresh("key")), requests)]
            begun = side_by_side.map(
                lambda order: patiently(shop, f"/orders/{order['order_id']}/payments", {"channel": "sim"}), orders[1:]
            )
            payments = [payment["out_trade_no"] for payment in begun]
        return cls(shop, sku, orders, payments, held)

    def go_on(self):
        unpaid, begun, late, paid = self.orders
        self.pay(self.payments[2])
        self.shop.becomes(paid, "PAID", END_SECONDS)
        for order in (unpaid, begun, late):
            time.sleep(max(0, moment(order["expire_at"]) - time.time()))
            self.shop.becomes(order, "CLOSED", END_SECONDS)
        self.pay(self.payments[1])

    def pay(self, payment):
        """The payer pays; a channel tells until it is heard."""
        self.shop.channel(payment, {"state": "SUCCESS"})
        for _ in range(TRIES):
            if self.shop.notify(payment)["status"] == 200:
                return
            time.sleep(0.5)
        raise AssertionError(f"the callback of {payment} was never acknowledged")

    def ends_well(self):
        """Nothing is lost and nothing is there twice."""
        unpaid, begun, late, paid = self.orders
        shop = self.shop
        for order in (unpaid, begun, late):
            shop.becomes(order, "CLOSED", END_SECONDS)
        assert shop.becomes(paid, "PAID", END_SECONDS)["paid_amount"] == 1000
        assert self.held() == ((4, 0, 1), "AVAILABLE", (100, 0), (3, 0, 0))
        assert [refund["status"] for refund in shop.order(late)["refunds"]] == ["SUCCEEDED"]
        refunds = [[refund["amount"] for refund in shop.channel(payment)["refunds"]] for payment in self.payments]
        assert refunds == [[], [1000], []], "one refund, of what came too late"
        assert shop.order(paid)["refunds"] == []


def patiently(shop, path, body, key=None):
    """What a backend does: it sends the same again when it is told to try again."""
    headers = {"Idempotency-Key": key} if key else {}
    for _ in range(TRIES):
        answer = shop.call("POST", path, body, shop.backend, headers)
        if answer.status_code == 201:
            return answer.json()
        assert answer.status_code in (502, 503), f"{path}: {answer.status_code} {answer.text}"
        time.sleep(0.5)
    raise AssertionError(f"{path} never succeeded: {answer.text}")
