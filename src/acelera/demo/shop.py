"""Half an hour in the database of a shop, made up: what Debezium tells of its customers, orders and payments.

The messages are stored beside this module, in `shop.jsonl`; `python -m acelera.demo.shop` writes them anew. Most orders
are paid and then shipped. Some payments fail, some orders are shipped and never paid, some are deleted. Customers move,
and two of those who do then fail to pay three times in a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acelera import cdc

START = int(datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc).timestamp()) * 1000
MINUTES = 30
ORDERS = 72
PATH = Path(__file__).with_name("shop.jsonl")
TABLES = {
    "customers": {"customer_id": int, "name": str, "address": str, "phone": str},
    "orders": {"order_id": int, "customer_id": int, "total": float, "status": str},
    "payments": {"payment_id": int, "order_id": int, "customer_id": int, "amount": float, "status": str},
}
"""The columns of each table; the first is its key."""
KEYS = {table: next(iter(columns)) for table, columns in TABLES.items()}

NAMES = (
    "Ada Ben Cleo Dan Eva Finn Gus Hana Ida Jon Kim Lea Max Nora Olaf Pia Quin Rosa Sam Tess Udo Vera Will Yuna".split()
)
STREETS = ("Bridge Street", "High Street", "Mill Lane", "Park Road", "Station Road")
THIEVES = {5: 6.0, 17: 19.5}
"""Customers who move and then fail to pay, and the minutes at which they move."""
MOVES = {2: 4.0, 8: 9.0, 11: 14.0, 14: 21.0, 21: 25.0}
"""Other customers who move."""

Row = dict[str, Any]


class Change(NamedTuple):
    """What becomes of a row: the columns that are set, none if it is deleted."""

    table: str
    key: int
    values: Row | None


class Transaction(NamedTuple):
    """Changes that are made together, so many seconds after the start."""

    at: float
    changes: tuple[Change, ...]


class Order(NamedTuple):
    """An order, and who has to pay how much for it."""

    number: int
    customer: int
    total: float


def messages(seed: int = 7) -> list[Row]:
    """The envelopes of all changes, in the order in which they were made.

    >>> first = messages()[0]
    >>> first["op"], first["source"]["table"], first["after"]["name"]
    ('r', 'customers', 'Ada')
    """
    rng = np.random.default_rng(seed)
    customers = {number: _customer(number, rng) for number in range(1, len(NAMES) + 1)}
    found = [_envelope("r", "customers", None, each, START, 1000 + number) for number, each in customers.items()]
    rows: dict[tuple[str, int], Row] = {("customers", number): row for number, row in customers.items()}
    for number, transaction in enumerate(sorted([*_moves(rng), *_thefts(rng), *_orders(rng)]), 1):
        found += _committed(transaction, 700 + number, rows, len(found))
    return found


def _customer(number: int, rng: np.random.Generator) -> Row:
    name = NAMES[number - 1]
    return {"customer_id": number, "name": name, "address": _address(rng), "phone": _phone(rng)}


def _address(rng: np.random.Generator) -> str:
    return f"{rng.integers(1, 99)} {STREETS[rng.integers(len(STREETS))]}"


def _phone(rng: np.random.Generator) -> str:
    return f"555-{rng.integers(1000, 9999)}"


# --- what happens -----------------------------------------------------------------------------------------------------


def _moves(rng: np.random.Generator) -> Iterator[Transaction]:
    """Changes of address, and now and then of a number that has nothing to do with it."""
    for customer, minute in {**THIEVES, **MOVES}.items():
        yield Transaction(minute * 60, (Change("customers", customer, {"address": _address(rng)}),))
    for customer in (3, 9, 14, 20):
        at = float(rng.uniform(0, MINUTES * 60))
        yield Transaction(at, (Change("customers", customer, {"phone": _phone(rng)}),))


def _thefts(rng: np.random.Generator) -> Iterator[Transaction]:
    """An order after a move, three payments that fail, and in one case goods that are sent all the same."""
    for order, (customer, minute) in enumerate(THIEVES.items(), 901):
        at = minute * 60 + 20
        made = Order(order, customer, _total(rng))
        yield _ordered(at, made)
        for attempt in range(1, 4):
            yield _paid(at + 25 * attempt, made, attempt, "failed")
        if order == 901:
            yield Transaction(at + 200, (Change("orders", order, {"status": "shipped"}),))


def _orders(rng: np.random.Generator) -> Iterator[Transaction]:
    """Orders of honest customers."""
    honest = [number for number in range(1, len(NAMES) + 1) if number not in THIEVES]
    for order in range(101, 101 + ORDERS):
        made = Order(order, honest[rng.integers(len(honest))], _total(rng))
        at = float(rng.uniform(0, (MINUTES - 5) * 60))
        yield _ordered(at, made)
        fate = rng.random()
        if fate < 0.06:
            yield Transaction(at + 40, (Change("orders", order, None),))
            continue
        for attempt in range(1, 1 + int(rng.choice([0, 1, 2], p=[0.75, 0.17, 0.08]))):
            at += float(rng.uniform(5, 30))
            yield _paid(at, made, attempt, "failed")
        if fate >= 0.12:
            at += float(rng.uniform(5, 60))
            yield _paid(at, made, 9, "ok")
        at += float(rng.uniform(30, 120))
        yield Transaction(at, (Change("orders", order, {"status": "shipped"}),))


def _total(rng: np.random.Generator) -> float:
    return round(float(rng.gamma(2, 40)) + 5, 2)


def _ordered(at: float, order: Order) -> Transaction:
    values = {"customer_id": order.customer, "total": order.total, "status": "new"}
    return Transaction(at, (Change("orders", order.number, values),))


def _paid(at: float, order: Order, attempt: int, status: str) -> Transaction:
    """A payment; the same transaction marks the order if it went well."""
    payment = {
        "order_id": order.number,
        "customer_id": order.customer,
        "amount": order.total,
        "status": status,
    }
    paid = (Change("orders", order.number, {"status": "paid"}),) if status == "ok" else ()
    return Transaction(at, (Change("payments", 10 * order.number + attempt, payment), *paid))


# --- how Debezium tells it --------------------------------------------------------------------------------------------


def _committed(transaction: Transaction, number: int, rows: dict[tuple[str, int], Row], told: int) -> Iterator[Row]:
    """The envelopes of a transaction; `rows` become what they are after it."""
    at = START + int(transaction.at * 1000)
    for place, (table, key, values) in enumerate(transaction.changes, 1):
        before = rows.pop((table, key), None)
        after = None if values is None else {**(before or {KEYS[table]: key}), **values}
        if after is not None:
            rows[table, key] = after
        op = "d" if after is None else "c" if before is None else "u"
        own = {"id": f"{number}:{2000 + told}", "total_order": place, "data_collection_order": 1}
        yield _envelope(op, table, before, after, at, 2000 + told + place - 1, own)


def _envelope(
    op: str, table: str, before: Row | None, after: Row | None, at: int, lsn: int, transaction: Row | None = None
) -> Row:
    source = {"connector": "postgresql", "name": "shop", "ts_ms": at, "db": "shop", "schema": "public", "table": table}
    return {
        "before": before,
        "after": after,
        "source": {**source, "lsn": lsn},
        "transaction": transaction,
        "op": op,
        "ts_ms": at + 30,
    }


def sources(messages: object = PATH) -> dict[str, cdc.Source]:
    """The changes of each table, without its first rows; from a file of messages, or from a frame of its lines.

    >>> sorted(sources())
    ['customers', 'orders', 'payments']
    """
    return {
        table: cdc.debezium(messages, table=table, schema=columns, snapshot="skip") for table, columns in TABLES.items()
    }


def lines(seed: int = 7) -> str:
    """The messages as JSON, one a line."""
    return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in messages(seed))


if __name__ == "__main__":
    PATH.write_text(lines(), encoding="utf-8")
