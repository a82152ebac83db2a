"""One deployment for all tests, on an emulator of their own."""

import os
import time
from pathlib import Path

import pytest
from deployment import Cloud, deploy
from local import WITHOUT_SCHEDULER, Local
from shop import Shop, eventually, fresh

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cloud():
    target = Path(os.environ["TARGET"])
    cloud = Cloud.start(ROOT, target, Path(os.environ["TOOLS"]))
    try:
        yield cloud
        cloud.keep_logs()
    finally:
        cloud.stop()


@pytest.fixture(scope="session")
def shop(cloud):
    target = Path(os.environ["TARGET"])
    began = time.monotonic()
    outputs = deploy(cloud, Path(os.environ["BUILD"]), target, os.environ["SAM"])
    cloud.warm()
    print(f"\ndeployed in {time.monotonic() - began:.0f} s")
    return Shop(cloud, outputs)


@pytest.fixture(scope="session", autouse=True)
def scheduled(shop):
    """An order that is due in more than two minutes, so that a schedule reminds of it: made first, looked at by test_reminders.py."""
    return shop.ordered(shop.stocked(5), expiry_rule="scheduled")


@pytest.fixture(scope="session", autouse=True)
def bridged(tmp_path_factory):
    """Such an order of a local system over an emulator that keeps schedules and fires none: test_reminders.py looks at it, too."""
    local = Local(tmp_path_factory.mktemp("bridged"), ["python", "-c", WITHOUT_SCHEDULER], "--deliver-schedules")
    try:
        order = local.ordered("scheduled")
        eventually(lambda: local.schedules() == [order["order_id"]], "a schedule")
        yield local, order
    finally:
        local.stop()


@pytest.fixture
def holding(shop):
    """An article, and a request for it with a coupon, points and a place in a sale."""
    sku, user, coupon, activity = shop.stocked(5), fresh("user"), fresh("COUPON"), fresh("SALE")
    terms = {"user_id": user, "valid_until": "2099-01-01T00:00:00Z", "refundable": True, "campaign_active": True}
    shop.resource("coupons", coupon, terms)
    shop.resource("points", user, {"balance": 100})
    shop.resource("quotas", activity, {"limit": 3})

    def held():
        points = shop.resource("points", user)
        sale = shop.counter("quotas", activity, "limit")
        return shop.stock(sku), shop.resource("coupons", coupon)["status"], (points["balance"], points["reserved"]), sale

    quotas = [{"activity": activity, "quantity": 2}]
    return held, shop.order_request(sku, user_id=user, coupon_id=coupon, points=30, quotas=quotas)
