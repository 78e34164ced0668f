"""Streams as they come from nested JSON: ordered by a field of a struct, with a column that happens to be called type."""

import datetime
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac

START = datetime.datetime(2024, 1, 1)
QUAKES: list[dict[str, Any]] = [
    {
        "type": "Feature",
        "properties": {"mag": float(number % 3), "time": START + datetime.timedelta(seconds=10 - number)},
    }
    for number in range(10)
]
FALLS = "SELECT start_time, a.properties.mag AS high, b.properties.mag AS low MATCH Q AS a ; Q AS b FILTER a.properties.mag > 1 AND b.properties.mag < 1 WITHIN 2 SECONDS"
OPTIONS = {"order_by": "properties.time", "event_type": "Q"}


def test_all_methods_order_by_a_field() -> None:
    expected = [
        {"start_time": START + datetime.timedelta(seconds=second), "high": 2.0, "low": 0.0} for second in (2, 5, 8)
    ]
    for method in ("engine", "automaton", "semantics"):
        assert ac.query(FALLS).run(QUAKES, method=method, **OPTIONS).to_pylist() == expected


def test_a_session_goes_on() -> None:
    query, rows = ac.query(FALLS), QUAKES[::-1]
    session = query.open(pa.Table.from_pylist(rows).schema, **OPTIONS)
    found = session.push(rows[:4]).to_pylist()
    later = query.resume(session.snapshot())
    assert found + later.push(rows[4:]).to_pylist() == query.run(rows, **OPTIONS).to_pylist()
    assert len(found) == 1


def test_a_field_that_is_not_there() -> None:
    with pytest.raises(ac.SchemaError, match=r"no column `properties.tim`.*\(columns: type, properties\)"):
        ac.query(FALLS).run(QUAKES, order_by="properties.tim", event_type="Q")


def test_a_column_called_type_that_nobody_asks_for() -> None:
    with pytest.raises(ac.QueryCheckError, match="`type` may be the type of an event, or the column `type`"):
        ac.query("SELECT a.properties.mag MATCH Q AS a FILTER a.type = 'Feature'").run(QUAKES, **OPTIONS)
    with pytest.raises(ac.QueryCheckError, match="events are shown with all columns, and `type` may be"):
        ac.query("SELECT * MATCH Q AS a").run(QUAKES, **OPTIONS)
