"""Reads the conformance cases of TREPL and runs them; conformance/README.md describes the format."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

import acelera as ac
from acelera import cdc
from cases import ARROW, read_yaml

FOLDER = Path(__file__).parent / "conformance"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
LETTERS = "abcde"
"""Relations that are there in every case, with one attribute `k`, even if nothing happens to them."""

_LETTER = re.compile(r"(?P<deleted>-?)(?P<relation>[a-e])(?P<first>\d*)(?:>(?P<second>\d+))?")


class Row(NamedTuple):
    """A change as it is written."""

    kind: str
    relation: str
    at: Any
    cells: Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One case of the corpus."""

    file: str
    data: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.file}: {self.data['name']}"

    @property
    def error(self) -> str | None:
        """A piece of the message, if an error is expected."""
        return self.data.get("error")

    @property
    def program(self) -> ac.trepl.program.Program:
        return ac.trepl(self.data["program"])

    @property
    def sources(self) -> dict[str, cdc.Source]:
        """What comes in: sources as they are written, or changes of each relation."""
        made = {name: cdc.changes(table, order_by=self._order_by or None) for name, table in self.tables.items()}
        return {**made, **{name: _source(each) for name, each in self.data.get("sources", {}).items()}}

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The changes of each relation that the program needs, unless there are sources of them."""
        changes = self.data.get("changes", [])
        rows = list(_letters(changes) if isinstance(changes, str) else _rows(changes))
        schemas = {**{name: {"k": "int"} for name in LETTERS}, **self.data.get("schemas", {})}
        known = dict.fromkeys([*schemas, *(row.relation for row in rows)])
        return {
            name: _changes([row for row in rows if row.relation == name], schemas.get(name, {}), self._order_by)
            for name in self.program.relations
            if name in known and name not in self.data.get("sources", {})
        }

    @property
    def _order_by(self) -> list[str]:
        return list(self.data.get("order_by", []))

    @property
    def expected(self) -> dict[str, Counter[str]]:
        """The rows of each output that the case speaks of."""
        rows = self.data["expected"]
        named = rows if isinstance(rows, dict) else {self.program.ast.modules[-1].rules[-1].name: rows}
        return {name: Counter(map(_canonical, those)) for name, those in named.items()}

    def found(self, method: str) -> dict[str, Counter[str]]:
        """The rows of the same outputs, as the method computes them."""
        made = self.program.run(self.sources, method=method, **self.data.get("options", {}))
        return {name: Counter(map(_canonical, self._shown(made[name]))) for name in self.expected}

    @property
    def has_steps(self) -> bool:
        """Whether its changes can be cut by their times, and something comes of them."""
        return self.error is None and "sources" not in self.data and not self._order_by

    def found_in_steps(self) -> dict[str, Counter[str]]:
        """The same of a session that gets the changes of one time after the other, and is stored after each."""
        program, sources = self.program, {name: cdc.changes(table.slice(0, 0)) for name, table in self.tables.items()}
        session = program.open(sources, **self.data.get("options", {}))
        found = {name: list[list[Any]]() for name in self.expected}
        for time in sorted({time for table in self.tables.values() for time in table["ts"].to_pylist()}):
            made = session.push({name: table.filter(pc.field("ts") == time) for name, table in self.tables.items()})
            session = program.resume(session.snapshot(), sources)
            for name, rows in found.items():
                rows += self._shown(made[name])
        made = session.finish()
        return {name: Counter(map(_canonical, [*rows, *self._shown(made[name])])) for name, rows in found.items()}

    def _shown(self, table: pa.Table) -> list[list[Any]]:
        apart = ("module", "Timestamp", "message", "command")
        columns = self.data.get("columns") or [name for name in table.column_names if name not in apart]
        return [[row[name] for name in columns] for row in table.to_pylist()]


@cache
def load_cases() -> tuple[Case, ...]:
    """All cases."""
    return tuple(Case(path.stem, data) for path in sorted(FOLDER.glob("*.yaml")) for data in read_yaml(path))


# --- changes ------------------------------------------------------------------------------------------------------


def _letters(text: str) -> Iterator[Row]:
    """`a1 b2 | -a1 | a1>2`: two inserts at the first stage, a delete at the second, an update at the third."""
    for at, stage in enumerate(text.split("|"), 1):
        for word in stage.split():
            found = _LETTER.fullmatch(word)
            assert found is not None, f"{word} is no change"
            first, second = (None if not found[name] else int(found[name]) for name in ("first", "second"))
            kind = "delete" if found["deleted"] else "insert" if second is None else "update"
            yield Row(kind, found["relation"], at, {"k": [first, second] if kind == "update" else first})


def _rows(changes: list[Any]) -> Iterator[Row]:
    for what, at, *cells in changes:
        kind, relation = what.split()
        yield Row(kind, relation, at, cells[0] if cells else {})


def _changes(rows: list[Row], schema: Mapping[str, str], order_by: list[str]) -> pa.Table:
    """A table of changes with old and new values; what orders them stands beside these."""
    names = list(dict.fromkeys([*schema, *(name for row in rows for name in row.cells)]))
    values = [name for name in names if name not in order_by]
    sides = [_side(rows, values, schema, side) for side in (0, 1)]
    columns = {
        "ts": pa.array([moment(row.at) for row in rows], pa.timestamp("us", "UTC")),
        "op": pa.array([row.kind for row in rows], pa.string()),
        "old": sides[0],
        "new": sides[1],
        **{name: pa.array([row.cells[name] for row in rows]) for name in order_by},
    }
    return pa.table(columns)


def _side(rows: list[Row], names: list[str], schema: Mapping[str, str], side: int) -> pa.StructArray:
    """The old or the new values; the types are those of both."""
    there = [row.kind != ("insert", "delete")[side] for row in rows]
    columns = []
    for name in names:
        both = [[_cell(row.cells.get(name), which) for row in rows] for which in (0, 1)]
        kind = ARROW[schema[name]] if name in schema else pa.array(both[0] + both[1]).type
        columns.append(pa.array([cell if shown else None for cell, shown in zip(both[side], there, strict=True)], kind))
    return pa.StructArray.from_arrays(columns, names, mask=pa.array([not shown for shown in there], pa.bool_()))


def _cell(cell: Any, side: int) -> Any:
    return cell[side] if isinstance(cell, list) else cell


def moment(at: Any) -> datetime.datetime:
    """A number of seconds since 1970, or a text such as `2024-01-31 10:00:00`; both are UTC."""
    if isinstance(at, int | float):
        return EPOCH + datetime.timedelta(seconds=at)
    return datetime.datetime.fromisoformat(str(at)).replace(tzinfo=datetime.timezone.utc)


def _source(written: Mapping[str, Any]) -> cdc.Source:
    """`{inserts: rows, time: at}`: what to call, and what it is given."""
    (name, rows), *options = written.items()
    return getattr(cdc, name)(rows, **dict(options))


# --- results ------------------------------------------------------------------------------------------------------


def _canonical(row: list[Any]) -> str:
    return ", ".join(map(_text, row))


def _text(value: Any) -> str:
    """A text that is equal for equal values: a whole float equals the integer, and times may be written as text."""
    if isinstance(value, datetime.datetime):
        return str(value.replace(tzinfo=None))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{float(value):.12g}"
    return str(value)
