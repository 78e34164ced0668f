"""What other systems find, we find: situations of their tests, on streams of our own; see tests/peers/README.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.testing.written import Columns, rows_of
from cases import read_yaml

FOLDER = Path(__file__).parent / "peers"
METHODS = ("semantics", "automaton", "engine")


@dataclass(frozen=True)
class Situation:
    """A situation of a peer's tests."""

    peer: str
    data: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.peer}: {self.data['name']}"

    @property
    def table(self) -> pa.Table:
        if "values" in self.data:
            return pa.table({"type": ["T"] * len(self.data["values"]), "v": self.data["values"]})
        rows = rows_of(self.data["stream"], Columns("type", None, "ts"), letters=False)
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])

    @property
    def options(self) -> dict[str, str]:
        return {"order_by": "ts"} if "@" in self.data.get("stream", "") else {}


SITUATIONS = [Situation(path.stem, data) for path in sorted(FOLDER.glob("*.yaml")) for data in read_yaml(path)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_situation(situation: Situation, method: str) -> None:
    theirs = situation.data.get("matches", situation.data.get("rows"))
    expected = situation.data.get("ours", theirs)
    assert found(situation, method, expected) == Counter(map(repr, expected))
    if "differs" in situation.data:
        assert Counter(map(repr, theirs)) != Counter(map(repr, expected))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("situation", [each for each in SITUATIONS if "events" in each.data], ids=str)
def test_rows_of_events(situation: Situation, method: str) -> None:
    result = ac.query(situation.data["query"]).run(situation.table, method=method, rows="events", **situation.options)
    assert [list(row.values()) for row in result.select(["variable", "position"]).to_pylist()] == situation.data[
        "events"
    ]


def found(situation: Situation, method: str, expected: list[Any]) -> Counter[str]:
    """The matches, or the rows of the result."""
    query, table = ac.query(situation.data["query"]), situation.table
    if "rows" in situation.data:
        rows = query.run(table, method=method, **situation.options).to_pylist()
        return Counter(map(repr, rows))
    places = (
        dict(zip(table.column("ts").to_pylist(), range(1, table.num_rows + 1), strict=True))
        if "ts" in table.column_names
        else {}
    )
    matches = []
    for row in query.run(table, method=method, **situation.options).to_pylist():
        bags = {
            name: [each.get("position") or places[each["time"]] for each in bag]
            for name, bag in row.items()
            if isinstance(bag, list)
        }
        if any(isinstance(each, dict) for each in expected):
            named = {name for each in expected for name in each}
            matches.append({name: bag for name, bag in bags.items() if bag and name in named})
        else:
            matches.append(sorted({place for bag in bags.values() for place in bag}))
    return Counter(repr(each) for each in matches)


def test_most_are_equal() -> None:
    """Of all situations that are written down; each of the others says why."""
    differ = [each for each in SITUATIONS if "differs" in each.data]
    assert all("ours" in each.data for each in differ) and len(SITUATIONS) - len(differ) >= 30
    names = [str(each) for each in SITUATIONS]
    assert len(names) == len(set(names)) >= 40
