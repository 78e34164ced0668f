"""Every row of the tables of docs/coming-from.md finds what it says, by semantics, automaton and engine."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pytest

import acelera as ac
from acelera.testing.written import Columns, rows_of
from documents import ROOT

PAGE = ROOT / "docs" / "coming-from.md"
METHODS = ("semantics", "automaton", "engine")


@dataclass(frozen=True)
class Row:
    """A row of a table: a query, the events that it is run over, and what it finds."""

    line: int
    query: str
    events: str
    finds: str

    def __str__(self) -> str:
        return f"{self.line}: {self.query}"

    @property
    def shows_values(self) -> bool:
        return self.query.startswith(("SELECT", "SUMMARIZE"))

    @property
    def expected(self) -> Counter[str]:
        return Counter() if self.finds == "nothing" else Counter(each.strip() for each in self.finds.split(";"))

    @property
    def table(self) -> pa.Table:
        if self.events.startswith("v: "):
            values = [None if each == "NULL" else int(each) for each in self.events[3:].split()]
            return pa.table({"type": ["T"] * len(values), "v": values})
        rows = rows_of(self.events, Columns("type", None, "ts"), letters=False)
        names = dict.fromkeys(name for row in rows for name in row)
        table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
        return table if "v" in names else table.append_column("v", pa.nulls(len(rows), pa.int64()))


def rows() -> list[Row]:
    """All rows of tables that have the columns `here`, `in` and `finds`."""
    found: list[Row] = []
    columns: list[str] = []
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = []
        elif not columns:
            columns = cells
        elif not set(line) <= set("|-"):
            cell = dict(zip(columns, cells, strict=True))
            query = re.findall(r"`([^`]+)`", cell["here"])[-1]
            whole = query if query.startswith(("SELECT", "SUMMARIZE")) else f"MATCH {query}"
            found.append(Row(number, whole, cell["in"].strip("`"), cell["finds"]))
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", rows(), ids=str)
def test_row(row: Row, method: str) -> None:
    timed = "@" in row.events
    result = ac.query(row.query).run(row.table, method=method, order_by="ts" if timed else None)
    assert Counter(shown(row, result)) == row.expected


def shown(row: Row, result: pa.Table) -> list[str]:
    """The values of each row, or the positions of the events of each match."""
    if row.shows_values:
        return [
            " ".join("NULL" if value is None else str(value) for value in each.values()) for each in result.to_pylist()
        ]
    times = row.table.column("ts").to_pylist() if "ts" in row.table.column_names else []
    found = []
    for match in result.to_pylist():
        events = [event for bag in match.values() if isinstance(bag, list) for event in bag]
        places = {event["position"] if "position" in event else times.index(event["time"]) + 1 for event in events}
        found.append(" ".join(map(str, sorted(places))))
    return found


def test_there_are_tables_for_each() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(rows()) > 70 and all(f"| {peer} | here |" in text for peer in ("Flink CEP", "EPL", "SQL"))
