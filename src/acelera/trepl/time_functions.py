"""Functions of timestamps, on plain values: parts that are moved by what is computed, numbers of units, texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acelera.language.events import Moment, Value
from acelera.trepl.resolved import PARTS, UNIT_FUNCTIONS
from acelera.trepl.times import asctime, part_of, unit_number

Functions = Mapping[str, Callable[..., Value]]


def time_functions(zone: str) -> Functions:
    """The functions by name; `#Month(t, n)` is the month of t moved by n months, and so with all parts."""
    return {
        **{f"#{name}": _part(name, zone) for name in PARTS},
        **{name: _units(name, zone) for name in UNIT_FUNCTIONS},
        "asctime": lambda moment: None if moment is None else asctime(int(moment), zone),
        "#holds": lambda truth: truth is True,
    }


def _part(name: str, zone: str) -> Callable[[Value, Value], Value]:
    def moved(moment: Value, by: Value) -> Value:
        if moment is None or by is None:
            return None
        found = part_of(int(moment), name, int(by), zone)
        return Moment(found) if name == "Time" and found is not None else found

    return moved


def _units(name: str, zone: str) -> Callable[[Value], Value]:
    return lambda moment: None if moment is None else unit_number(int(moment), name, zone)
