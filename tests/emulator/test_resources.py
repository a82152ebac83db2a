"""All that an order can hold: held by one at a time, given back or used up."""

from shop import fresh


def create(shop, request):
    return shop.ok("POST", "/orders", request, status=(201,))


def test_all_that_an_order_holds_comes_back_when_it_closes(shop, holding):
    held, request = holding
    order = create(shop, request)
    assert held() == ((4, 1, 0), "LOCKED", (70, 30), (1, 2, 0))
    again = shop.call("POST", "/orders", request | {"quotas": []}, shop.backend)
    assert (again.status_code, again.json()["code"]) == (409, "coupon_unavailable")
    closed = shop.closes(order)
    assert held() == ((5, 0, 0), "AVAILABLE", (100, 0), (3, 0, 0))
    assert {hold["status"] for hold in closed["resources"]} == {"RELEASED", "AVAILABLE"}


def test_all_that_an_order_holds_is_used_up_when_it_is_paid(shop, holding):
    held, request = holding
    order = create(shop, request | {"expiry_rule": "hour"})
    shop.paid(shop.paying(order))
    paid = shop.becomes(order, "PAID")
    assert held() == ((4, 0, 1), "USED", (70, 0), (1, 0, 2))
    assert {hold["status"] for hold in paid["resources"]} == {"CONFIRMED", "USED"}


def test_an_order_of_nothing_to_pay_is_paid_at_once(shop, holding):
    held, request = holding
    create(shop, request | {"payable_amount": 0})
    assert held() == ((4, 0, 1), "USED", (70, 0), (1, 0, 2))


def test_what_is_held_by_others_is_refused_and_nothing_is_held_after_a_refusal(shop):
    sku = shop.stocked(1)
    first = shop.ordered(sku)
    second = shop.call("POST", "/orders", shop.order_request(sku), shop.backend)
    assert (second.status_code, second.json()["code"]) == (409, "insufficient_stock")
    assert shop.stock(sku) == (0, 1, 0)
    shop.cancel(first)
    shop.becomes(first, "CLOSED")
    assert shop.stock(sku) == (1, 0, 0)


def test_a_user_has_only_so_many_open_orders(shop):
    sku, user = shop.stocked(9), fresh("user")
    orders = [shop.ordered(sku, user_id=user) for _ in range(3)]
    fourth = shop.call("POST", "/orders", shop.order_request(sku, user_id=user), shop.backend)
    assert (fourth.status_code, fourth.json()["code"]) == (429, "too_many_open_orders")
    shop.cancel(orders[0])
    shop.becomes(orders[0], "CLOSED")
    shop.ordered(sku, user_id=user)
