"""Random streams of base events for random programs, and what comes out of engines as events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from acelera.xchangeeq.terms import Event, Term, Value, events_of
from xchangeeq.strategies import SCHEMAS

TICK = 500_000
"""Half a second: so that all durations of random programs are whole."""

_STRINGS = st.sampled_from(["r", "s", None])
_INTS = st.sampled_from([0, 1, 2, None])
_ITEMS = st.fixed_dictionaries({"sku": _STRINGS, "n": _INTS})
_DATA = {
    "a": st.fixed_dictionaries({"k": _STRINGS, "v": _INTS, "x": st.sampled_from([0.5, 1.0, 2.0, None])}),
    "b": st.fixed_dictionaries(
        {"k": _STRINGS, "v": _INTS, "nest": st.none() | st.fixed_dictionaries({"p": _INTS, "q": _STRINGS})}
    ),
    "c": st.fixed_dictionaries(
        {
            "k": _STRINGS,
            "item": st.none() | st.lists(st.none() | _ITEMS, max_size=3),
            "tag": st.none() | st.lists(_STRINGS, max_size=3),
        }
    ),
}


@st.composite
def streams(draw: st.DrawFn, most: int = 12, last: int = 20, points: bool = False) -> dict[str, pa.Table]:
    """A table for each label; times are #begin and #end."""
    rows: dict[str, list[dict[str, object]]] = {label: [] for label in SCHEMAS}
    for _ in range(draw(st.integers(min(4, most), most))):
        label = draw(st.sampled_from("aabbc"))
        begin = draw(st.integers(0, last))
        length = 0 if points else draw(st.sampled_from([0, 0, 0, 1, 2, 5]))
        rows[label].append({**draw(_DATA[label]), "#begin": begin, "#end": begin + length})
    return {label: pa.Table.from_pylist(rows[label], timed(SCHEMAS[label])) for label in SCHEMAS}


def timed(schema: pa.Schema) -> pa.Schema:
    return pa.schema([*schema, pa.field("#begin", pa.int64()), pa.field("#end", pa.int64())])


def events_in(tables: Mapping[str, pa.Table]) -> set[Event]:
    return {event for label, table in tables.items() for event in events_of(table, label, begin="#begin", end="#end")}


def rounded(events: Iterable[Event]) -> list[str]:
    """Events as texts, with floats of twelve digits: sums depend on the order in which they are made."""
    return sorted(f"{_rounded(event.term)} [{event.begin}, {event.end}]" for event in events)


def _rounded(value: Value) -> str:
    if isinstance(value, Term):
        columns: dict[str, list[str]] = {}
        for child in value.children:
            columns.setdefault(child.label if isinstance(child, Term) else "", []).append(_rounded(child))
        return f"{value.label}{sorted(columns.items())}"
    if isinstance(value, bool | str | int):
        return repr(value)
    if not isinstance(value, float | Decimal):
        return repr(value)
    number = float(value)
    whole = number.is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else f"{number:.12g}"
