"""The messages that ship: as they are made, and with the story that the documents tell of them."""

from __future__ import annotations

from typing import Any

from acelera import cdc
from acelera.demo.shop import PATH, THIEVES, lines


def changes(table: str) -> list[dict[str, Any]]:
    return list(cdc.debezium(PATH, table=table).normalized().sort_by("#time").to_pylist())


def test_the_file_holds_what_is_made() -> None:
    assert PATH.read_text(encoding="utf-8") == lines()
    assert PATH.stat().st_size < 200_000


def test_operations_and_transactions_are_told_apart() -> None:
    for table, columns in (
        ("customers", ["customer_id", "name", "address", "phone"]),
        ("orders", ["order_id", "customer_id", "total", "status"]),
        ("payments", ["payment_id", "order_id", "customer_id", "amount", "status"]),
    ):
        source = cdc.debezium(PATH, table=table, snapshot="skip")
        assert list(source.attributes) == columns
        assert source.normalized("operation").num_rows > 10


def test_some_orders_are_shipped_and_never_paid() -> None:
    paid = {each["new.order_id"] for each in changes("payments") if each["new.status"] == "ok"}
    shipped = {each["new.order_id"] for each in changes("orders") if each["new.status"] == "shipped"}
    assert 901 in shipped - paid and 2 <= len(shipped - paid) <= 8
    assert len(paid) > 50
    assert sum(each["#kind"] == 2 for each in changes("orders")) >= 2


def test_two_customers_move_and_fail_to_pay_three_times() -> None:
    moved = {
        each["new.customer_id"]: each["#time"]
        for each in changes("customers")
        if each["#kind"] == 1 and each["new.address"] != each["old.address"]
    }
    assert len(moved) > len(THIEVES)
    failed: dict[int, int] = {}
    found = set()
    for each in changes("payments"):
        customer = each["new.customer_id"]
        after = customer in moved and each["#time"] > moved[customer]
        failed[customer] = failed.get(customer, 0) + 1 if after and each["new.status"] == "failed" else 0
        found |= {customer} if failed[customer] == 3 else set()
    assert found == set(THIEVES)
