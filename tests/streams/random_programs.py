"""Random programs of some statements, random streams for them, and what to compare of what they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

Kept = bool | Sequence[str]
"""Whether KEEP may be drawn, or which."""

TYPES = ("A", "B", "C")
SECOND = 1_000_000


@dataclass(frozen=True)
class Case:
    """A program and what comes in; with times, rows may have the same one."""

    text: str
    table: pa.Table
    timed: bool

    @property
    def options(self) -> dict[str, Any]:
        return {"order_by": "ts"} if self.timed else {}


@dataclass(frozen=True)
class Made:
    """A stream that a statement makes: its columns, and whether it has the key."""

    name: str
    numbers: tuple[str, ...]
    lists: tuple[str, ...]
    keyed: bool


BASE = [Made(name, ("v",), (), True) for name in TYPES]


@st.composite
def programs(draw: st.DrawFn, timed: bool, keyed: bool | None = None, keep: Kept = True, late: bool = False) -> str:
    """A program of two to four statements, of which later ones mostly use earlier ones."""
    made: list[Made] = []
    texts = []
    for number in range(draw(st.integers(2, 4))):
        text, stream = draw(statements(f"S{number}", made, timed, keyed, keep, late))
        texts.append(text)
        made.append(stream)
    return "\n".join(texts)


@st.composite
def statements(
    draw: st.DrawFn, name: str, made: Sequence[Made], timed: bool, keyed: bool | None, keep: Kept, late: bool
) -> tuple[str, Made]:
    """A statement, and what it makes."""
    split = draw(st.booleans()) if keyed is None else keyed
    usable = [each for each in made if each.keyed or not split]
    alone = [each for each in usable if draw(st.integers(0, 7)) == 0][:1]
    sources = alone or [*BASE, *usable, *usable]
    parts, variables = [], []
    for number in range(draw(st.integers(1, 3))):
        source, x = draw(st.sampled_from(sources)), f"x{number}"
        many = draw(st.integers(0, 5)) == 0
        kind = "ANY" if draw(st.integers(0, 11)) == 0 else source.name
        held = source if kind != "ANY" else Made("ANY", ("v",), (), True) if not alone else source
        sign = draw(st.sampled_from(["+", ":+"])) if many else ""
        parts.append(f"({kind}{sign} AS {x})")
        variables.append((x, held, many))
    formula = parts[0]
    for part in parts[1:]:
        formula = f"{formula} {draw(st.sampled_from([';', ';', ';', ':', 'ALL']))} {part}"
        formula = f"({formula})" if "ALL" in formula else formula
    if draw(st.integers(0, 5)) == 0:
        formula = f"({formula}) UNLESS {draw(st.sampled_from(sources)).name}"
    if late and timed and draw(st.integers(0, 3)) == 0:
        formula = f"({formula}) UNLESS {draw(st.sampled_from(sources)).name} FOR {draw(st.integers(1, 4))} SECONDS"
    formula += draw(filters(variables))
    clauses = draw(windows(timed, any(many for _, _, many in variables) or len(parts) > 2))
    if keep and draw(st.integers(0, 3)) == 0:
        clauses += " " + draw(st.sampled_from(KEPT if keep is True else keep))
    items, stream = draw(selected(name, variables, timed, split))
    source = f" FROM {alone[0].name}" if alone else ""
    key = " PARTITION BY k" if split else ""
    return f"STREAM {name} AS SELECT {', '.join(items)}{source} MATCH {formula}{key}{clauses};", stream


KEPT = [f"KEEP {which} {scope}" for which in ("LONGEST", "SHORTEST") for scope in ("PER START", "PER END", "APART")]
KEPT += ["KEEP ALL APART", "KEEP ANY 1 PER START", "KEEP ANY 2 PER END"]
AT_ONCE = [
    each for each in KEPT if each not in ("KEEP LONGEST PER START", "KEEP ANY 1 PER START", "KEEP LONGEST APART")
]
"""What is known as soon as a match ends; the others wait for what comes, as long as their windows are open."""


@st.composite
def filters(draw: st.DrawFn, variables: Sequence[tuple[str, Made, bool]]) -> str:
    if draw(st.booleans()):
        return ""
    x, made, _ = draw(st.sampled_from(variables))
    left = draw(st.sampled_from(made.numbers))
    if draw(st.booleans()):
        return f" FILTER {x}[{left} > {draw(st.integers(-1, 1))}]"
    y, other, _ = draw(st.sampled_from(variables))
    return f" FILTER {x}.{left} {draw(st.sampled_from(['<', '<=', '=']))} {y}.{draw(st.sampled_from(other.numbers))}"


@st.composite
def windows(draw: st.DrawFn, timed: bool, costly: bool) -> str:
    """A window, which is short where matches are many without one."""
    if costly:
        return f" WITHIN {draw(st.integers(2, 4))} EVENTS"
    if draw(st.integers(0, 3)) == 0:
        return ""
    return f" WITHIN {draw(st.integers(1, 3))} SECONDS" if timed and draw(st.booleans()) else " WITHIN 5 EVENTS"


@st.composite
def selected(
    draw: st.DrawFn, name: str, variables: Sequence[tuple[str, Made, bool]], timed: bool, split: bool
) -> tuple[list[str], Made]:
    """The items of SELECT, and the stream that they make."""
    items, numbers, lists = ["k"] if split else [], [], []
    for column in ("v", "w"):
        x, made, many = draw(st.sampled_from(variables))
        value = draw(st.sampled_from(made.numbers))
        if column == "w" and draw(st.booleans()):
            items.append(f"{x}.{value} AS list" if many else f"count({x}) AS n")
            (lists if many else numbers).append("list" if many else "n")
        else:
            items.append(f"max({x}.{value}) AS {column}" if many else f"{x}.{value} AS {column}")
            numbers.append(column)
    if draw(st.integers(0, 3)) == 0:
        items.append("start_time" if timed else "start")
    return items, Made(name, tuple(numbers), tuple(lists), split)


@st.composite
def tables(draw: st.DrawFn, timed: bool, size: int = 10) -> pa.Table:
    """What comes in: the column `v` has some NULLs, and times repeat."""
    number = draw(st.integers(0, size))
    rows = [
        (draw(st.sampled_from(TYPES)), draw(st.sampled_from("pq")), draw(st.sampled_from([None, -1, 0, 1, 2])))
        for _ in range(number)
    ]
    kinds, keys, values = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {
        "type": pa.array(kinds, pa.string()),
        "k": pa.array(keys, pa.string()),
        "v": pa.array(values, pa.int64()),
    }
    if timed:
        steps = [draw(st.sampled_from([0, 0, 1, 1, 2])) for _ in rows]
        times = [SECOND * sum(steps[: place + 1]) for place in range(number)]
        columns["ts"] = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table(columns)


@st.composite
def cases(draw: st.DrawFn, **asked: Any) -> Case:
    timed = draw(st.booleans())
    return Case(draw(programs(timed, **asked)), draw(tables(timed)), timed)


def rows_of(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    """The rows of each stream, in order."""
    return {name: [repr(row) for row in table.to_pylist()] for name, table in tables.items()}


def counted(tables: dict[str, pa.Table]) -> dict[str, Counter[str]]:
    """The rows of each stream, in no order."""
    return {name: Counter(rows) for name, rows in rows_of(tables).items()}
