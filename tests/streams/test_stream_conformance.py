"""Every conformance case of streams made of matches, by its meaning and by the engine, whole and in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.errors import AceleraError
from cases import read_yaml

FOLDER = Path(__file__).parent / "conformance"
COLUMNS = {"k": pa.string(), "v": pa.int64()}
TIME = pa.timestamp("us", "UTC")
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    for case in read_yaml(path)
]


def table_of(case: Mapping[str, Any]) -> pa.Table:
    timed, kinds, times, rows = case.get("timed", True), [], [], []
    for kind, *told in case["events"]:
        kinds.append(kind)
        if timed:
            times.append(1_000_000 * told.pop(0))
        rows.append(told[0] if told else {})
    columns: dict[str, Any] = {"type": pa.array(kinds, pa.string())}
    if timed:
        columns["ts"] = pa.array(times, TIME)
    columns |= {name: pa.array([row.get(name) for row in rows], arrow) for name, arrow in COLUMNS.items()}
    return pa.table(columns)


def options(case: Mapping[str, Any]) -> dict[str, Any]:
    return {"ties": case.get("ties", "error"), **({"order_by": "ts"} if case.get("timed", True) else {})}


def run(case: Mapping[str, Any], method: str) -> dict[str, pa.Table]:
    program, table = ac.program(case["program"]), table_of(case)
    if method != "pieces":
        return dict(program.run(table, method=method, **options(case)))
    session = program.open(table.schema, **options(case))
    parts = []
    for row in range(table.num_rows):
        parts.append(session.push(table.slice(row, 1)))
        session = program.resume(session.snapshot())
    parts.append(session.finish())
    return {name: pa.concat_tables([part[name] for part in parts]) for name in program.outputs}


def plain(value: Any) -> Any:
    """Times as seconds."""
    return int(value.timestamp()) if hasattr(value, "timestamp") else value


def made(case: Mapping[str, Any], method: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, table in run(case, method).items():
        rows = [{column: plain(value) for column, value in row.items()} for row in table.to_pylist()]
        found[name] = [[row.pop("ts"), row] for row in rows] if case.get("timed", True) else rows
    return found


@pytest.mark.parametrize("method", ["semantics", "engine", "pieces"])
@pytest.mark.parametrize("case", CASES)
def test_case(case: Mapping[str, Any], method: str) -> None:
    if "error" in case:
        with pytest.raises(AceleraError) as caught:
            made(case, method)
        assert case["error"] in " ".join(str(caught.value).split()).replace("rows 1 and 2 ", "").replace(
            "two rows ", ""
        )
        return
    found = made(case, method)
    if method == "pieces":  # events of one moment may become known one after the other
        order = {name: sorted(map(repr, rows)) for name, rows in case["expected"].items()}
        assert {name: sorted(map(repr, rows)) for name, rows in found.items()} == order
    else:
        assert found == case["expected"]


def test_names_are_unique() -> None:
    names = [case.id for case in CASES]
    assert len(names) == len(set(names))


def test_every_case_says_what_it_shows() -> None:
    assert all(case.values[0]["says"] for case in CASES)
