"""What a page says, read back from it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

import acelera as ac


def data(path: Path) -> Any:
    """The data that stand in the page."""
    text = path.read_text(encoding="utf-8")
    assert text.count('<script type="application/json" id="data">') == 1
    return json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def bags(page: Any) -> Counter[str]:
    """The matches of a page as bags of events: for each variable the places and attributes of its events."""
    found: Counter[str] = Counter()
    for match in page["matches"]:
        variables: dict[str, list[str]] = {variable["name"]: [] for variable in page["variables"]}
        names = list(variables)
        for variable, events in match["held"]:
            variables[names[variable]] += [repr(event_at(page, event)) for event in events]
        for variable, event, values in match["made"]:
            held = {name: value for name, value in values.items() if value is not None}
            variables[names[variable]].append(repr((page["events"]["place"][event], sorted(held.items()))))
        bounds = [page["events"]["place"][match[bound]] for bound in ("start", "end")]
        found[repr((bounds, [(name, sorted(held)) for name, held in variables.items()]))] += 1
    return found


def event_at(page: Any, event: int) -> tuple[int, list[tuple[str, Any]]]:
    """An event of the stream: its place, and its attributes that are not NULL."""
    values = {column["name"]: column["values"][event] for column in page["events"]["columns"]}
    values["type"] = page["types"][page["events"]["type"][event]]
    return page["events"]["place"][event], sorted((name, value) for name, value in values.items() if value is not None)


def judged(query: ac.Query, rows: list[dict[str, Any]], method: str) -> Counter[str]:
    """The same from the definition, or from the automaton: rows without time, in order, each with a number `at`.

    A made event has no number of its own; it stands at the position of the event that ended what it was made of.
    """
    table = pa.Table.from_pylist([{**row, "at": number} for number, row in enumerate(rows, 1)])
    result = query.run(table, method=method)
    keys = [key.name for key in query.ast.partition_by]
    places: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(rows, 1):
        places.setdefault(tuple(row[key] for key in keys), []).append(number)
    found: Counter[str] = Counter()
    for row in result.to_pylist():
        own = places[tuple(row[key] for key in keys)]
        variables = []
        for name in list(row)[2 + len(keys) :]:
            held = []
            for event in row[name]:
                position, at = own[event.pop("position") - 1], event.pop("at", None)
                assert at in (None, position)
                held.append(repr((position, sorted((k, v) for k, v in event.items() if v is not None))))
            variables.append((name, sorted(held)))
        found[repr(([own[row["start"] - 1], own[row["end"] - 1]], variables))] += 1
    return found
