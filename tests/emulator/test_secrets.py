"""A channel's secret changes while the shop is open, and nothing is deployed."""

from deployment import SECRET
from shop import eventually


def test_a_secret_that_changes_on_both_sides_is_followed(shop):
    paid, left = (shop.ordered(shop.stocked(1), expiry_rule="patient") for _ in range(2))
    payment = shop.paying(paid)
    shop.paying(left)
    secrets = shop.cloud.client("secretsmanager")
    secrets.put_secret_value(SecretId="sim", SecretString="the next secret")
    shop.session.put(f"{shop.outside}/_sim/secret", json={"secret": "the next secret"}).raise_for_status()
    # Refused until the function has read the secret again, which it does at most twice a minute; a channel sends it again.
    shop.channel(payment, {"state": "SUCCESS"})
    eventually(lambda: shop.notify(payment)["status"] == 200, "a callback with the next secret believed", 60)
    shop.becomes(paid, "PAID")
    shop.closes(left)
    # And the one before is still believed.
    late = shop.notify(payment, {"secret": SECRET})
    assert late["status"] == 200
