"""The ten programs of the contract, section 8, over small histories, with results worked out by hand."""

from __future__ import annotations

from typing import Any

from acelera.language.literals import parse_date
from acelera.language.types import INT, STRING
from acelera.trepl.history import Change
from acelera.trepl.resolved import Relation
from trepl.judging import ins, judge, moment, told, upd
from trepl.programs import TEN


def readings(sensor: str, *rows: tuple[int | str, float]) -> list[Change]:
    return [ins("reading", at, sensor=sensor, value=value) for at, value in rows]


def by_key(text: str, history: list[Change]) -> list[tuple[Any, ...]]:
    return [(*each.key, each.stage, *each.arguments) for each in judge(text, history)]


def test_1_running() -> None:
    history = readings("p", (1, 10), (2, 20)) + readings("q", (2, 5))
    assert by_key(TEN["running"], history) == [("p", 1, "p", 10.0, 1), ("q", 1, "q", 5.0, 1), ("p", 2, "p", 15.0, 2)]


def test_2_moving() -> None:
    history = readings("p", *((at, at) for at in range(1, 8)))
    assert told(TEN["moving"], history) == [(5, "p", 3.0), (6, "p", 4.0), (7, "p", 5.0)]


def test_3_window_in_time() -> None:
    history = readings(
        "p", *((60 * minute, value) for minute, value in [(0, 1), (60, 2), (120, 3), (180, 4), (300, 10)])
    )
    # at 180 minutes those from 60 on, at 300 those from 180 on; before that, nothing lies outside the two hours
    assert told(TEN["window in time"], history) == [(4, "p", 3.0), (5, "p", 7.0)]


def test_4_grouped_by_day() -> None:
    history = readings("p", ("2024-01-31 10:00", 10), ("2024-01-31 11:00", 20), ("2024-02-01", 5), ("2024-02-03", 7))
    assert told(TEN["grouped by day"], history) == [
        (3, "p", parse_date("2024-01-31"), 15.0, 20),
        (4, "p", parse_date("2024-02-01"), 5.0, 5),
    ]


def test_4_for_months() -> None:
    text = TEN["grouped by day"].replace("Y.Date = First(Y.Date)", "months(Y.Timestamp) = months(First(Y.Timestamp))")
    text = text.replace("Z.Date <> Y.Date", "months(Z.Timestamp) <> months(Y.Timestamp)").replace("Y.Date,", "Y.Month,")
    history = readings("p", ("2024-01-01", 10), ("2024-01-31", 20), ("2025-01-01", 5), ("2025-02-03", 7))
    assert told(text, history) == [(3, "p", 1, 15.0, 20), (4, "p", 1, 5.0, 5)]


def test_5_quantified() -> None:
    prices = [*range(1, 12), 3, *range(4, 8), 1]
    history = [upd("stock", at, id="A", price=(0, price)) for at, price in enumerate(prices, 1)]
    assert told(TEN["quantified"], history) == [(12, "A", 1, 11)]


def test_6_every_nth() -> None:
    history = [ins("orders", at, customer="C") for at in range(1, 206)]
    assert told(TEN["every n-th"], history) == [(100, "C", 100), (200, "C", 200)]


def test_7_first_n_after() -> None:
    def moved(at: int, old: str, new: str) -> Change:
        return upd("customer", at, customer_id=1, address=(old, new))

    def paid(at: int, amount: int) -> Change:
        return ins("payment", at, customer_id=1, amount=amount)

    history = [moved(1, "x", "y"), paid(2, 10), paid(3, 20), paid(4, 30), paid(5, 40)]
    assert told(TEN["first n after"], history) == [(2, 1, 10, 1), (3, 1, 20, 2), (4, 1, 30, 3)]
    history = [moved(1, "x", "y"), paid(2, 10), moved(3, "y", "y"), paid(4, 20)]
    assert told(TEN["first n after"], history) == [(2, 1, 10, 1)]


def test_8_absence() -> None:
    relations = {name: Relation({"order_id": INT}) for name in ("orders", "payment", "shipment")}

    def unpaid(*happened: str) -> list[tuple[str, int, int]]:
        rows = [(at, *each.split()) for at, those in enumerate(happened, 1) for each in those.split(", ")]
        history = [ins(name, at, order_id=int(number)) for at, name, number in rows]
        return [(each.rule, each.stage, *each.arguments) for each in judge(TEN["absence"], history, relations)]

    assert unpaid("orders 1", "shipment 1") == [("AtOnce", 2, 1)]
    assert unpaid("orders 1", "payment 2", "shipment 1") == [("Unpaid", 3, 1)]
    assert unpaid("orders 1", "payment 1", "shipment 1") == []
    assert unpaid("orders 1", "orders 2", "payment 1", "shipment 1, shipment 2") == [("Unpaid", 4, 2)]
    assert unpaid("orders 1", "orders 2", "orders 3", "shipment 1, shipment 2") == [("Unpaid", 4, 1), ("Unpaid", 4, 2)]


def test_9_one_transaction() -> None:
    def balance(transaction: str, at: int, account: str, old: int, new: int) -> Change:
        return upd("account", at, instant=(at, transaction), id=account, balance=(old, new))

    history = [
        balance("t1", 1, "A", 100, 90),
        balance("t1", 1, "B", 0, 10),
        balance("t2", 1, "A", 90, 80),
        balance("t2", 1, "C", 5, 14),
        balance("t3", 2, "C", 14, 0),
    ]
    rows = judge(TEN["one transaction"], history)
    assert [(each.stage, each.instant, each.arguments) for each in rows] == [(2, (1, "t2"), ("A", "C", moment(1)))]


def test_10_an_aggregate_of_ones_own_and_another_module() -> None:
    text = TEN["an aggregate of one's own by derived events"].replace("% 10", "% 2")
    values = [90, 90, 90, 90, 10, 90, 10, 10]
    history = readings("p", *enumerate(values, 1)) + readings(
        "q", *((at + 2, value) for at, value in enumerate(values, 1))
    )
    rows = judge(text, history)
    # hot and cold after each reading from the second on: 1/0 2/0 3/0 3/1 4/1 4/2 4/3; alarm while hot >= 3 and 2 * cold
    alarms = [(each.key, each.stage) for each in rows if each.rule == "Tell"]
    assert alarms == [((sensor,), stage) for stage in (4, 5, 6, 7) for sensor in ("p", "q")]
    # p at 4 to 7, q at 6 to 9: instants 4 5 6 7 8 9, of which 6 and 7 have both
    many = [(each.stage, each.instant, *each.arguments) for each in rows if each.module == "Ops"]
    assert many == [
        (2, moment(5), 2, "p"),
        (4, moment(7), 4, "p"),
        (4, moment(7), 4, "q"),
        (6, moment(9), 6, "q"),
    ]


def test_names_of_relations_are_known_without_rows() -> None:
    relations = {"reading": Relation({"sensor": STRING, "value": INT})}
    assert judge(TEN["running"], [], relations) == []
