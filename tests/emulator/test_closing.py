"""Unpaid orders close at their deadline, whoever reminds of it."""


def test_an_unpaid_order_is_closed_at_its_deadline_and_its_stock_comes_back(shop):
    sku = shop.stocked(5)
    order = shop.ordered(sku)
    assert shop.stock(sku) == (4, 1, 0)
    closed = shop.closes(order)
    assert closed["close_reason"] == "expired"
    assert closed["closed_at"] >= order["expire_at"], "I7: never early"
    assert shop.stock(sku) == (5, 0, 0)
