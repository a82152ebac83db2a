"""What people of the shop see and do."""

from deployment import WINDOWS
from shop import eventually, moment


def act(shop, path, **fields):
    return shop.ok("POST", f"/admin/{path}", {"reason": "asked by phone"} | fields, shop.operator)


def test_more_time_moves_the_deadline_and_its_schedule(shop):
    order = shop.ordered(shop.stocked(1), expiry_rule="hour")
    scheduler, group = shop.cloud.client("scheduler"), shop.outputs["WakeScheduleGroup"]

    def wakes_at():
        if order["order_id"] in shop.schedules():
            return scheduler.get_schedule(GroupName=group, Name=order["order_id"])["ScheduleExpression"]

    before = eventually(wakes_at, "a schedule")
    extended = act(shop, f"orders/{order['order_id']}/extend", seconds=600)
    assert moment(extended["expire_at"]) == moment(order["created_at"]) + WINDOWS["hour"] + 600
    eventually(lambda: wakes_at() not in (before, None), "a schedule that was moved")


def test_what_waits_is_listed_and_what_a_person_did_stands_in_the_case_file(shop):
    order = shop.ordered(shop.stocked(1), expiry_rule="hour")
    listed = shop.ok("GET", "/admin/orders?status=PENDING_PAYMENT&limit=100", token=shop.operator)["orders"]
    assert order["order_id"] in [each["order_id"] for each in listed]
    assert shop.ok("GET", "/admin/overview", token=shop.operator)["orders"]["PENDING_PAYMENT"] > 0
    act(shop, f"orders/{order['order_id']}/extend", seconds=60)
    entries = [entry["detail"] for entry in shop.case_file(order)["timeline"] if entry["kind"] == "action"]
    assert [(entry["action"], entry["who"], entry["why"]) for entry in entries] == [("extend", "olga", "asked by phone")]


def test_a_counter_that_is_gone_becomes_a_finding_and_holds_up_nothing_else(shop):
    lost, kept = shop.stocked(5), shop.stocked(5)
    lines = [{"sku": sku, "quantity": 1, "unit_price": 500} for sku in (lost, kept)]
    order = shop.ordered(lost, lines=lines)
    table = shop.outputs["ResourcesTable"]
    shop.cloud.client("dynamodb").delete_item(TableName=table, Key={"pk": {"S": f"stock#{lost}/default/default"}})
    shop.cancel(order)
    aside = [f"anomaly:stock:{lost}/default/default"]
    eventually(lambda: shop.order(order)["pending"] == aside, lambda: shop.order(order))
    assert shop.stock(kept) == (5, 0, 0)
    findings = shop.ok("GET", "/admin/findings", token=shop.operator)["findings"]
    assert order["order_id"] in [finding["order_id"] for finding in findings]
    assert act(shop, f"orders/{order['order_id']}/resettle")["pending"] == aside
