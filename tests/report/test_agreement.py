"""Whatever the query, a page tells the events of each match as the definition does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import acelera as ac
from acelera.language import ast
from acelera.report import Limits
from acelera.report.page import data_of
from strategies import checked_query, keyed_cases
from tiers import slow


def shown(query: ac.Query, table: pa.Table) -> Counter[str] | str:
    """For each match where it lies, and for each variable the places of its events."""
    options = {"order_by": None, "type_column": "type", "event_type": None}
    try:
        found = query.findings(table, options, Limits(10**6, 10**6))
    except ac.AggregateError as error:
        return str(error)
    page, matches = data_of(found), Counter[str]()
    place = page["events"]["place"]
    for match in page["matches"]:
        held: dict[str, list[int]] = {variable["name"]: [] for variable in page["variables"]}
        names = list(held)
        for variable, events in match["held"]:
            held[names[variable]] += [place[event] for event in events]
        for variable, event, _ in match["made"]:
            held[names[variable]].append(place[event])
        matches[
            repr((place[match["start"]], place[match["end"]], {name: sorted(at) for name, at in held.items()}))
        ] += 1
    return matches


def defined(query: ac.Query, table: pa.Table, keys: tuple[str, ...]) -> Counter[str] | str:
    """The same from the rows of the judge, whose positions are those within a key."""
    try:
        result = query.run(table, method="automaton")
    except ac.AggregateError as error:
        return str(error)
    places: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(table.to_pylist(), 1):
        places.setdefault(_key(row, keys), []).append(number)
    matches = Counter[str]()
    for row in result.to_pylist():
        own = places[_key(row, keys)]
        names = [name for name in row if name not in ("start", "end", *keys)]
        held = {name: sorted(own[event["position"] - 1] for event in row[name]) for name in names}
        matches[repr((own[row["start"] - 1], own[row["end"] - 1], held))] += 1
    return matches


def _key(row: dict[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple("NaN" if row[name] != row[name] else row[name] for name in keys)


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", slow("additive")])
@given(case=keyed_cases())
def test_places_are_those_of_the_automaton(bag_union: Any, case: tuple[ast.Query, pa.Table]) -> None:
    tree, table = case
    query = checked_query(tree, table, bag_union)
    assert shown(query, table) == defined(query, table, tuple(key.name for key in tree.partition_by))
