"""Reads the conformance cases of XChangeEQ and runs them; conformance/README.md describes the format."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

import acelera as ac
from acelera.xchangeeq.ast import UNITS
from acelera.xchangeeq.checker import Checked, check
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, events_of
from cases import ARROW, read_yaml
from xchangeeq.building import ev

FOLDER = Path(__file__).parent / "conformance"
BEGIN, END = "from_time", "to_time"
"""The columns of time, named so that no case has a child of that name."""

_AGGREGATE = re.compile(r"\b(count|sum|avg|min|max)\s*\(")


@dataclass(frozen=True)
class Case:
    """One case of the corpus, under one reading of aggregates."""

    file: str
    name: str
    data: Mapping[str, Any]
    aggregates: str

    def __str__(self) -> str:
        return f"{self.file}: {self.name}" + (" (set)" if self.aggregates == "set" else "")

    @property
    def program(self) -> str:
        return str(self.data["program"])

    @property
    def error(self) -> str | None:
        """A piece of the message, if an error is expected."""
        return self.data.get("error")

    @property
    def has_clock(self) -> bool:
        """Whether times are timestamps, not integers."""
        return any(isinstance(time, datetime.datetime) for row in self.rows for time in (row.begin, row.end))

    @property
    def time_unit(self) -> str | None:
        """What an integer counts; timestamps need no unit."""
        return None if self.has_clock else self.data.get("time_unit", "s")

    @cached_property
    def rows(self) -> list[Row]:
        return [Row.read(written) for written in self.data["events"]]

    @property
    def has_points_only(self) -> bool:
        """Whether no event is written with two times."""
        return all(row.is_point for row in self.rows)

    @property
    def times(self) -> dict[str, str]:
        """Which columns hold the times, as keywords."""
        return {"time": BEGIN} if self.has_points_only else {"begin": BEGIN, "end": END}

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """A table for each label: those of the events, and those of which only the schema is given."""
        labels = dict.fromkeys([*(row.label for row in self.rows), *self.data.get("schemas", {})])
        return {label: self._table(label) for label in labels}

    def _table(self, label: str) -> pa.Table:
        rows = [row for row in self.rows if row.label == label]
        names = list(dict.fromkeys(name for row in rows for name in row.data))
        given = {name: arrow_type(kind) for name, kind in self.data.get("schemas", {}).get(label, {}).items()}
        columns = {name: pa.array([row.data.get(name) for row in rows], kind) for name, kind in given.items()}
        for name in names:
            columns.setdefault(name, pa.array([row.data.get(name) for row in rows]))
        kind = pa.timestamp("us") if self.has_clock else pa.int64()
        columns[BEGIN] = pa.array([row.begin for row in rows], kind)
        if not self.has_points_only:
            columns[END] = pa.array([row.end for row in rows], kind)
        return pa.table(columns)

    @property
    def expected(self) -> set[Event]:
        """What the program derives."""
        written = self.data["expected"]
        rows = [Row.read(each) for each in (written[self.aggregates] if isinstance(written, dict) else written)]
        return {ev(row.label, instant(row.begin), instant(row.end), **row.data) for row in rows}


@dataclass(frozen=True)
class Row:
    """An event as it is written: `[label, time, data]` or `[label, begin, end, data]`."""

    label: str
    begin: Any
    end: Any
    data: Mapping[str, Any]
    is_point: bool

    @classmethod
    def read(cls, written: list[Any]) -> Row:
        label, *times = written
        data = times.pop() if isinstance(times[-1], dict) else {}
        return cls(label, times[0], times[-1], data, len(times) == 1)


def instant(time: Any) -> int:
    """A time as it is inside: integers as they are, timestamps in microseconds."""
    if isinstance(time, datetime.datetime):
        return (time - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    return int(time)


def arrow_type(kind: Any) -> pa.DataType:
    """A type as cases write it: a word, `[kind]` for an array, `{name: kind}` for a struct."""
    if isinstance(kind, list):
        return pa.list_(arrow_type(kind[0]))
    if isinstance(kind, dict):
        return pa.struct({name: arrow_type(inner) for name, inner in kind.items()})
    return ARROW[kind]


@cache
def load_cases() -> tuple[Case, ...]:
    """All cases, under each reading for which they say something."""
    return tuple(
        Case(path.stem, data["name"], data, reading)
        for path in sorted(FOLDER.glob("*.yaml"))
        for data in read_yaml(path)
        for reading in _readings(data)
    )


def _readings(data: Mapping[str, Any]) -> Iterator[str]:
    """Both where aggregates are computed: what is expected of each is the same unless it says otherwise."""
    yield "nodes"
    if "expected" in data and _AGGREGATE.search(data["program"]):
        yield "set"


# --- ways to run a case -------------------------------------------------------------------------------------------


def checked(case: Case) -> Checked:
    """The program of a case, checked against the schemas of its tables."""
    schemas = {
        label: pa.schema([field for field in table.schema if field.name not in (BEGIN, END)])
        for label, table in case.tables.items()
    }
    return check(parse_program(case.program), schemas, case.program)


def by_definition(case: Case) -> set[Event]:
    """What the judge says; whatever else runs a program checks it first, so this does, too."""
    program = checked(case).program
    end = None if case.has_points_only else END
    events = [event for label, table in case.tables.items() for event in events_of(table, label, begin=BEGIN, end=end)]
    tick = 1 if case.time_unit is None else UNITS[case.time_unit]
    return set(derive(program, events, case.aggregates, tick))


def by_program(case: Case, method: str) -> set[Event]:
    """What `run` gives to a user."""
    options = dict(case.times) if case.time_unit is None else {**case.times, "time_unit": case.time_unit}
    made = ac.xchangeeq(case.program, aggregates=case.aggregates).run(case.tables, method=method, **options)
    return {event for label, table in made.items() for event in events_of(table, label, begin="begin", end="end")}


def derived_by(method: str, case: Case) -> set[Event]:
    """What a program derives, as events; `semantics` is the judge itself, whatever else is a method of `run`."""
    return by_definition(case) if method == "semantics" else by_program(case, method)
