"""Reads the conformance cases and compares results with them; tests/conformance/README.md describes the format."""

from __future__ import annotations

import datetime
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

import acelera as ac

FOLDER = Path(__file__).parent / "conformance"

ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us"),
    "decimal": pa.decimal128(18, 4),
}


@dataclass(frozen=True)
class Case:
    """One case of the corpus, under one reading of bag union."""

    file: str
    name: str
    data: dict[str, Any]
    bag_union: str

    @cached_property
    def table(self) -> pa.Table:
        return read_stream(self.data["stream"])

    @property
    def options(self) -> dict[str, Any]:
        return {key: self.data[key] for key in ("order_by", "ties", "event_type") if key in self.data}

    def __str__(self) -> str:
        return f"{self.file}: {self.name} ({self.bag_union})"


def read_yaml(path: Path) -> Any:
    """What a file of cases holds."""
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load_cases() -> list[Case]:
    """All cases of queries that show matches; those that do not name a reading stand for both."""
    return list(_cases(FOLDER))


def load_summaries() -> list[Case]:
    """All cases of queries that summarize matches."""
    return list(_cases(FOLDER / "summaries"))


@cache
def _cases(folder: Path) -> tuple[Case, ...]:
    cases = []
    for path in sorted(folder.glob("*.yaml")):
        for data in read_yaml(path):
            readings = [data["bag_union"]] if "bag_union" in data else ["once", "additive"]
            cases += [Case(path.stem, data["name"], data, reading) for reading in readings]
    return tuple(cases)


# --- streams ------------------------------------------------------------------------------------------------------


def read_stream(text: str) -> pa.Table:
    """A table from its lines."""
    lines = [_split(line) for line in text.strip().splitlines() if line.strip()]
    header, rows = lines[0], lines[1:]
    columns: dict[str, Any] = {}
    for index, column in enumerate(header):
        name, _, kind = column.partition(":")
        cells = [row[index] for row in rows]
        kind = kind or _guess(cells)
        columns[name] = pa.array([_cell(cell, kind) for cell in cells], ARROW[kind])
        struct, _, field = name.partition("/")
        if field:
            made, before = columns.pop(name), columns.get(struct)
            fields = {} if before is None else dict(zip(before.type.names, before.flatten(), strict=True))
            missing = pa.array([cell == "-" for cell in cells])
            columns[struct] = pa.StructArray.from_arrays([*fields.values(), made], [*fields, field], mask=missing)
    return pa.table(columns)


def _split(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    return list(lexer)


def _guess(cells: list[str]) -> str:
    known = [cell for cell in cells if cell not in ("NULL", "-")]
    for kind, pattern in (("int", r"-?\d+"), ("float", r"-?(\d+\.?\d*|\.\d+)(e-?\d+)?|NaN")):
        if known and all(re.fullmatch(pattern, cell) for cell in known):
            return kind
    return "string"


def _cell(cell: str, kind: str) -> Any:
    if cell in ("NULL", "-"):
        return None
    if kind == "timestamp":
        return timestamp(cell)
    if kind == "bool":
        return {"true": True, "false": False}[cell.lower()]
    return {"int": int, "float": float, "string": str, "decimal": Decimal}[kind](cell)


def timestamp(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text if "T" in text else f"2024-01-01T{text}")


# --- results ------------------------------------------------------------------------------------------------------


def expected(case: Case) -> Counter[str]:
    """What must come out, in a form that can be compared."""
    if "rows" in case.data:
        return Counter(_canonical(_plain(row)) for row in case.data["rows"])
    found = []
    for match in case.data["matches"]:
        bags = {
            name: Counter(_expected_event(case, match, event) for event in events)
            for name, events in match.items()
            if isinstance(events, list)
        }
        rest = {name: value for name, value in match.items() if not isinstance(value, list)}
        found.append(_canonical((rest, {name: sorted(bag.items()) for name, bag in bags.items() if bag})))
    return Counter(found)


def expected_rows(case: Case) -> list[str]:
    """The rows of a summary, in order; `from` and `to` stand for all windows that start between them."""
    rows = [each for row in case.data["rows"] for each in _in_windows(_plain(row), case.data)]
    return [_canonical(row) for row in sorted(rows, key=lambda row: row.get("window_start", 0))]


def actual_rows(result: pa.Table) -> list[str]:
    """The rows that came out, in the same form."""
    return [_canonical(row) for row in result.to_pylist()]


def _in_windows(row: dict[str, Any], data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "from" not in row:
        yield row
        return
    rest = {name: value for name, value in row.items() if name not in ("from", "to")}
    length, every = (datetime.timedelta(seconds=data[name]) for name in ("length", "every"))
    start = row["from"]
    while start <= row["to"]:
        yield {"window_start": start, "window_end": start + length, **rest}
        start += every


def actual(case: Case, result: pa.Table) -> Counter[str]:
    """What came out, in the same form."""
    rows = result.to_pylist()
    if "rows" in case.data:
        return Counter(_canonical(_plain(row)) for row in rows)
    keys = _keys(case)
    found = []
    for row in rows:
        rest = {name: row[name] for name in keys}
        place = _places(case, rest)
        bags = {}
        for name, value in row.items():
            if isinstance(value, list) and value:
                bags[name] = Counter(_event(_at(event, place), event) for event in value)
        for bound in ("start", "end"):
            rest[bound] = row[bound] if bound in row else place[row[f"{bound}_time"]]
        found.append(_canonical((rest, {name: sorted(bag.items()) for name, bag in bags.items()})))
    return Counter(found)


def _keys(case: Case) -> list[str]:
    return _keys_of(case.data["query"])


@cache
def _keys_of(query: str) -> list[str]:
    return [key.name for key in ac.query(query).ast.partition_by]


def _partition(case: Case, keys: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one key, in order."""
    rows = case.table.to_pylist()
    order = case.data.get("order_by", [])
    names = [order] if isinstance(order, str) else order
    rows = sorted(rows, key=lambda row: tuple(row[name] for name in names))
    return [row for row in rows if all(_same(row[name], value) for name, value in keys.items())]


def _same(one: Any, two: Any) -> bool:
    return one == two or (one != one and two != two)


def _places(case: Case, keys: dict[str, Any]) -> dict[Any, int]:
    """The position of each time within a partition, if the stream has time."""
    order = case.data.get("order_by")
    first = order if isinstance(order, str) else order[0] if order else None
    if first is None or not pa.types.is_timestamp(case.table.schema.field(first).type):
        return {}
    return {row[first]: position for position, row in enumerate(_partition(case, keys), 1)}


def _at(event: dict[str, Any], place: dict[Any, int]) -> int:
    return event["position"] if "position" in event else place[event["time"]]


def _event(position: int, event: dict[str, Any]) -> str:
    attributes = {n: v for n, v in event.items() if n not in ("position", "time") and v is not None}
    return _canonical((position, attributes))


def _expected_event(case: Case, match: dict[str, Any], event: Any) -> str:
    if isinstance(event, dict):
        return _event(event["at"], {name: value for name, value in event.items() if name != "at"})
    row = _partition(case, {name: match.get(name) for name in _keys(case)})[event - 1]
    first = case.data.get("order_by")
    first = first if isinstance(first, str) or first is None else first[0]
    if first is not None and isinstance(row[first], datetime.datetime):
        row = {name: value for name, value in row.items() if name != first}
    return _event(event, row)


def _plain(value: Any) -> Any:
    """Timestamps may be written as text."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str) and re.fullmatch(r"(\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d", value):
        return timestamp(value)
    return value


def _canonical(value: Any) -> str:
    """A text that is equal for equal values; a whole float equals the integer."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_canonical(inner) for inner in value) + "]"
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int | float | Decimal):
        return "NaN" if math.isnan(value) else f"{float(value):.12g}"
    return repr(value)
