"""Random histories of two relations: few values, many NULLs, several changes a stage, times around the ends of months."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from acelera.language.events import Moment
from acelera.language.literals import parse_timestamp
from acelera.language.types import BOOL, DATE, FLOAT, INT, STRING, from_arrow
from acelera.trepl.history import Change
from acelera.trepl.resolved import Relation

TIMESTAMP = from_arrow(pa.timestamp("ns", "UTC"))
RELATIONS = {
    "p": Relation({"k": STRING, "v": INT, "x": FLOAT}),
    "q": Relation({"k": STRING, "v": INT, "t": TIMESTAMP}),
    "r": Relation({"k": STRING, "b": BOOL, "m": from_arrow(pa.decimal128(6, 2)), "d": DATE}),
}
"""What random programs are about."""

HOUR = 3_600 * 10**9
_KINDS = ("insert", "insert", "update", "update", "delete")
_STEPS = (HOUR, 24 * HOUR, 12 * HOUR, 36 * HOUR, 24 * 31 * HOUR, 10**9)
"""How much later than the stage before a stage may be."""


def _moment(text: str) -> Moment:
    instant = parse_timestamp(text)
    assert instant is not None
    return Moment(instant.nanoseconds)


_BEGINNINGS = [
    _moment(text) for text in ("2024-01-30 20:00", "2023-12-31 10:00", "2023-02-27 23:59", "2024-03-30 22:00")
]
_VALUES: dict[str, list[Any]] = {
    "k": ["a", "a", "b", "a", "b", None],
    "v": [0, 1, 1, 2, 1, None],
    "x": [1.0, 0.5, 2.0, 1.0, None],
    "t": [*_BEGINNINGS, None],
    "b": [True, False, None],
    "m": [Decimal("1.50"), Decimal("2"), None],
    "d": [19753, 19782, None],
}


@cache
def _numbers(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


class _Dice:
    """Chooses by hypothesis, which can make what it chose smaller, or by a seed, where much is to be chosen."""

    def __init__(self, draw: st.DrawFn | None, random: Random | None = None) -> None:
        self._draw, self._random = draw, random

    def one_of(self, values: Any) -> Any:
        if self._random is not None:
            return self._random.choice(values)
        assert self._draw is not None
        return values[self._draw(_numbers(0, len(values) - 1))]

    def number(self, least: int, most: int) -> int:
        if self._random is not None:
            return self._random.randint(least, most)
        assert self._draw is not None
        return self._draw(_numbers(least, most))


@st.composite
def histories(draw: st.DrawFn, most: int = 12, crowd: int = 3, granularity: str | None = None) -> list[Change]:
    """Up to so many stages of up to so many changes; `granularity` says how instants and timestamps belong together."""
    dice = _Dice(draw)
    chosen = granularity or dice.one_of(["timestamp", "timestamp", "transaction", "disorder"])
    size = min(dice.one_of([3, 6, 9, 12]), most)
    return _history(dice, size, crowd, chosen)


@st.composite
def long_histories(draw: st.DrawFn, most: int = 200) -> list[Change]:
    """Many stages of one or two changes."""
    dice = _Dice(None, Random(draw(st.integers(0, 2**32))))
    return _history(dice, draw(st.integers(50, most)), 2, "timestamp")


def _history(dice: _Dice, size: int, crowd: int, granularity: str) -> list[Change]:
    found: list[Change] = []
    time = dice.one_of(_BEGINNINGS)
    for stage in range(size):
        events = dice.number(1, dice.one_of(range(1, crowd + 1)))
        for _ in range(events):
            shift = 0 if granularity == "timestamp" else dice.one_of([0, 0, HOUR])
            instant = time if granularity == "timestamp" else stage
            found.append(_change(dice, instant, Moment(time + shift)))
        step = dice.one_of(_STEPS)
        time = Moment(time - step) if granularity == "disorder" and dice.number(0, 3) == 3 else Moment(time + step)
    return found


def _change(dice: _Dice, instant: Any, timestamp: Moment) -> Change:
    relation, kind = dice.one_of("pqpqr"), dice.one_of(_KINDS)
    old = None if kind == "insert" or (kind == "update" and dice.number(0, 9) == 9) else _row(dice, relation)
    new = None if kind == "delete" else _row(dice, relation)
    return Change(relation, kind, old, new, instant, timestamp)


def _row(dice: _Dice, relation: str) -> dict[str, Any]:
    return {name: dice.one_of(_VALUES[name]) for name in RELATIONS[relation].attributes}


def in_order(history: list[Change]) -> bool:
    """Whether no change has an earlier timestamp than one of a stage before it."""
    latest: Moment | None = None
    for instant in sorted({each.instant for each in history}):
        times = [each.timestamp for each in history if each.instant == instant]
        if latest is not None and min(times) < latest:
            return False
        latest = max(times)
    return True
