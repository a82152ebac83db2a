"""Who may do what: the authorizer checks a token against the issuer's keys, the functions read its claims."""

import base64
import json
import time

import pytest


@pytest.fixture(scope="module")
def order(shop):
    return shop.ordered(shop.stocked(1), expiry_rule="hour", user_id="alice")


def altered(token, **claims):
    """The token with other claims and its old signature."""
    header, body, signature = token.split(".")
    says = json.loads(base64.urlsafe_b64decode(body + "==")) | claims
    body = base64.urlsafe_b64encode(json.dumps(says).encode()).decode().rstrip("=")
    return ".".join([header, body, signature])


def test_a_token_that_the_issuer_did_not_sign_for_this_shop_and_now_is_refused(shop, order):
    path = f"/orders/{order['order_id']}"
    for token in [
        None,
        "local-admin",
        altered(shop.backend, role="operator"),
        shop.token(exp=int(time.time()) - 1),
        shop.token(aud="another shop"),
        shop.token(iss="https://tokens.example.com/"),
    ]:
        assert shop.call("GET", path, token=token).status_code == 401, token
    assert shop.call("GET", path, token=shop.backend).status_code == 200


def test_a_users_token_sees_and_cancels_that_users_orders_alone(shop, order):
    path = f"/orders/{order['order_id']}"
    bob, alice = shop.token(user_id="bob"), shop.token(user_id="alice")
    assert shop.call("GET", path, token=bob).status_code == 404
    assert shop.call("POST", f"{path}/cancel", {"reason": "mine"}, bob).status_code == 404
    assert shop.call("POST", f"{path}/payments", {"channel": "sim"}, bob).status_code == 404
    assert shop.call("GET", path, token=alice).json()["user_id"] == "alice"


def test_the_admin_routes_are_for_people_with_a_role(shop, order):
    path = f"/admin/orders/{order['order_id']}"
    viewer = shop.token(sub="vera", role="viewer")
    extend = {"seconds": 60, "reason": "asked by phone"}
    assert shop.call("GET", path, token=shop.backend).status_code == 403
    assert shop.call("GET", path, token=viewer).status_code == 200
    assert shop.call("POST", f"{path}/extend", extend, viewer).status_code == 403
    assert shop.call("POST", f"{path}/extend", extend, shop.operator).status_code == 200
    actions = [entry["detail"] for entry in shop.case_file(order)["timeline"] if entry["kind"] == "action"]
    assert [(action["action"], action["who"]) for action in actions] == [("extend", "olga")]
