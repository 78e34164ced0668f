"""The rules that ship with the messages of a shop find what a look at all rows finds."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import acelera as ac
from acelera.demo.shop import THIEVES, sources


def changes(table: str) -> list[dict[str, Any]]:
    return list(sources()[table].normalized().sort_by("#time").to_pylist())


def test_rules_of_the_shop() -> None:
    text = files("acelera.demo").joinpath("shop.trepl").read_text(encoding="utf-8")
    for method in ("engine", "semantics"):
        made = ac.trepl(text).run(sources(), method=method)
        assert set(made["Stolen"]["customer_id"].to_pylist()) == set(THIEVES)
        assert sorted(made["unpaid"]["order_id"].to_pylist()) == sorted(unpaid())
        assert made["Alert"].num_rows == made["unpaid"].num_rows


def unpaid() -> set[int]:
    """Orders that were shipped before any payment of theirs went well."""
    paid = {each["new.order_id"]: each["#time"] for each in changes("payments") if each["new.status"] == "ok"}
    shipped = {each["new.order_id"]: each["#time"] for each in changes("orders") if each["new.status"] == "shipped"}
    return {order for order, at in shipped.items() if order not in paid or paid[order] > at}
