"""Every type of Arrow's in every place of a query: it works as the definition says, or is refused before data is read."""

import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.session.pages import Page, in_order
from acelera.language.expressions import FUNCTIONS
from report.reading import data
from strategies import AGGREGATES, with_function
from tiers import thinned

DAY, MOMENT = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 10, 30)

VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.null(), [None, None]),
    (pa.bool_(), [True, False]),
    (pa.int8(), [3, -5]),
    (pa.uint8(), [3, 200]),
    (pa.int64(), [3, -5]),
    (pa.uint64(), [3, 2**64 - 1]),
    (pa.float16(), [0.5, -1.5]),
    (pa.float32(), [0.5, -1.5]),
    (pa.float64(), [0.5, -1.5]),
    (pa.decimal32(7, 2), [Decimal("12.50"), Decimal("-1.25")]),
    (pa.decimal64(12, 2), [Decimal("12.50"), Decimal("-1.25")]),
    (pa.decimal128(10, 2), [Decimal("12.50"), Decimal("-1.25")]),
    (pa.decimal256(50, 2), [Decimal("12.50"), Decimal("-1.25")]),
    (pa.string(), ["né", "b"]),
    (pa.large_string(), ["né", "b"]),
    (pa.string_view(), ["né", "b"]),
    (pa.binary(), [b"\x00", b"b"]),
    (pa.large_binary(), [b"\x00", b"b"]),
    (pa.binary_view(), [b"\x00", b"b"]),
    (pa.binary(1), [b"\x00", b"b"]),
    (pa.date32(), [DAY, datetime.date(1969, 1, 1)]),
    (pa.date64(), [DAY, datetime.date(1969, 1, 1)]),
    (pa.timestamp("s"), [MOMENT, datetime.datetime(1969, 1, 1)]),
    (pa.timestamp("ns", "UTC"), [MOMENT.replace(tzinfo=datetime.timezone.utc)] * 2),
    (pa.duration("ms"), [datetime.timedelta(seconds=1), datetime.timedelta(seconds=-1)]),
    (pa.time32("s"), [datetime.time(10), datetime.time(11)]),
    (pa.time64("us"), [datetime.time(10), datetime.time(11)]),
    (pa.dictionary(pa.int8(), pa.string()), ["né", "b"]),
    (pa.dictionary(pa.int32(), pa.large_string()), ["né", "b"]),
    (pa.dictionary(pa.int32(), pa.string_view()), ["né", "b"]),
    (pa.dictionary(pa.int32(), pa.int64()), [3, -5]),
    (pa.dictionary(pa.int32(), pa.float64()), [0.5, -1.5]),
    (pa.dictionary(pa.int32(), pa.timestamp("us")), [MOMENT, datetime.datetime(1969, 1, 1)]),
    (pa.dictionary(pa.int32(), pa.decimal128(10, 2)), [Decimal("12.50"), Decimal("-1.25")]),
    (pa.dictionary(pa.int32(), pa.binary()), [b"\x00", b"b"]),
    (pa.run_end_encoded(pa.int32(), pa.int64()), [3, -5]),
    (pa.run_end_encoded(pa.int32(), pa.string()), ["né", "b"]),
    (pa.run_end_encoded(pa.int16(), pa.string_view()), ["né", "b"]),
    (pa.run_end_encoded(pa.int64(), pa.timestamp("us")), [MOMENT, datetime.datetime(1969, 1, 1)]),
    (pa.list_(pa.int64()), [[1], []]),
    (pa.large_list(pa.string()), [["x"], []]),
    (pa.list_(pa.int64(), 1), [[1], [2]]),
    (pa.list_view(pa.int64()), [[1], []]),
    (pa.list_(pa.string_view()), [["x"], []]),
    (pa.struct([("x", pa.int64())]), [{"x": 1}, {"x": 2}]),
    (pa.struct([("x", pa.string_view())]), [{"x": "1"}, {"x": "2"}]),
    (pa.list_(pa.struct([("x", pa.float16()), ("y", pa.list_(pa.binary_view()))])), [[{"x": 1.5, "y": [b"1"]}], []]),
    (pa.map_(pa.string(), pa.int64()), [[("x", 1)], []]),
    (pa.map_(pa.string(), pa.string_view()), [[("x", "1")], []]),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([1, 2, 3]), pa.MonthDayNano([4, 5, 6])]),
]

ALWAYS = [
    "SELECT x MATCH (A ; B) AS x",
    "SELECT x.v MATCH (A ; B)+ AS x WITHIN 4 EVENTS",
    "SELECT A.v MATCH A ; B",
    "SELECT * MATCH (A PROJECT A(v)) ; B",
    "SELECT start, end MATCH A ; B FILTER A.v IS NULL",
    "SELECT start, end MATCH (A ; B) AS x FILTER x[v IS NOT NULL]",
]
"""What can be asked of any value."""

PLACES = [
    *ALWAYS,
    "SELECT v, start MATCH A ; B PARTITION BY v",
    "SELECT start, end MATCH (A ; B) AS x FILTER x[same(v)]",
    "SELECT start, end MATCH (A ; B+) AS x FILTER x[increasing(v)]",
    "SELECT start, end MATCH (A ; B+) AS x FILTER x[decreasing(v)]",
    "SELECT start, end MATCH A AS a ; B AS b FILTER a.v = b.v",
    "SELECT start, end MATCH A AS a ; B AS b FILTER a.v < b.v",
    "SELECT start, end MATCH A ; B FILTER A[v = v]",
    "SELECT start, end MATCH A ; B FILTER A[v >= v]",
    "SELECT start, end MATCH A ; B FILTER A[v IN (v, v)]",
    "SELECT start, end MATCH A ; B FILTER A[v BETWEEN v AND v]",
    "SELECT start, end MATCH A ; B FILTER A[v LIKE 'n%']",
    "SELECT start, end MATCH A ; B FILTER A[v || 'x' = 'bx']",
    "SELECT start, end MATCH A ; B FILTER A[v + v > v]",
    "SELECT start, end MATCH A ; B FILTER A[- v < v]",
    "SELECT start, end MATCH A ; B FILTER A[v]",
    "SELECT start, end MATCH A ; B UNLESS (C FILTER C[v = v])",
    *(f"SELECT start, end MATCH A ; B FILTER A[CAST(v AS {kind}) IS NULL]" for kind in ("string", "int", "float")),
    *(
        f"SELECT start, end MATCH A ; B FILTER A[{name}(v) = {name}(v)]"
        for name in FUNCTIONS
        if name not in ("nullif", "if")
    ),
    "SELECT start, end MATCH A ; B FILTER A[nullif(v, v) IS NULL]",
    "SELECT start, end MATCH A ; B FILTER A[if(type = 'A', v) IS NOT NULL]",
]
AGGREGATED = [
    "SELECT {f}(x.v) AS r MATCH (A ; B)+ AS x WITHIN 4 EVENTS",
    "SELECT {f}(x.v IGNORE NULLS) AS r MATCH (A ; B)+ AS x WITHIN 4 EVENTS",
    "SELECT m.r MATCH (A ; B) AS x AGG m[r <- {f}(x.v)]",
    "SELECT m.r MATCH (A ; B)+ AS x AGG m[r <- {f}(x.v)] FILTER m.r IS NOT NULL WITHIN 4 EVENTS",
    "SELECT n.s MATCH (A ; B) AS x AGG m[r <- {f}(x.v)] FILTER m.r = m.r AGG n[s <- last(m.r)]",
]
QUERIES = [*PLACES, *(with_function(text, name) for text in AGGREGATED for name in AGGREGATES)]


@cache
def queries() -> list[ac.Query]:
    """Compiled once for all types."""
    return [ac.query(text) for text in QUERIES]


def stream(kind: pa.DataType, values: list[Any]) -> pa.Table:
    """Events A B A B A, whose values are the two, NULL, and the first again."""
    plain = kind.value_type if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) else kind
    column: Any = pa.array([*values, None, values[0], values[0]], plain)
    if pa.types.is_dictionary(kind):
        indices = pa.array([0, 1, 2, 0, 0], kind.index_type)
        column = pa.DictionaryArray.from_arrays(indices, column.slice(0, 3))
    elif pa.types.is_run_end_encoded(kind):
        column = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 6), kind.run_end_type), column, kind)
    return pa.table({"type": list("ABABA"), "v": column})


def accepted(query: ac.Query, table: pa.Table, **options: Any) -> bool:
    try:
        query.check(table.schema, **options)
    except (ac.QueryCheckError, ac.SchemaError):
        return False
    return True


@pytest.mark.parametrize(("kind", "values"), thinned(VALUES, 5), ids=lambda given: str(given).split("\n")[0][:40])
def test_every_place(kind: pa.DataType, values: list[Any]) -> None:
    table, wrong, accepted = stream(kind, values), [], 0
    for number, query in enumerate(queries()):
        try:
            query.check(table.schema)
        except (ac.QueryCheckError, ac.SchemaError):
            continue
        accepted += 1
        try:
            found = {_rows(query.run(table)), _rows(query.run(table, method="automaton"))}
            if number < len(PLACES):
                found.add(_rows(pieces(query, table)))
        except Exception as error:
            wrong.append(f"{query}: {type(error).__name__}: {error}")
            continue
        if len(found) > 1:
            wrong.append(f"{query}: {found}")
    assert wrong == []
    assert accepted >= len(ALWAYS)


def pieces(query: ac.Query, table: pa.Table) -> pa.Table:
    """The matches of two batches, the second of which is read by a session that was resumed."""
    session = query.open(table.schema)
    first = session.push(table.slice(0, 2))
    return pa.concat_tables([first, query.resume(session.snapshot()).push(table.slice(2))])


def _rows(table: pa.Table) -> tuple[str, ...]:
    table.validate(full=True)
    return tuple(sorted(map(repr, table.to_pylist())))


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda given: str(given).split("\n")[0][:40])
def test_reports(kind: pa.DataType, values: list[Any], tmp_path: Path) -> None:
    table = stream(kind, values).append_column("n", pa.array([3, 2, 1, 5, 4]))
    page = data(ac.query("SELECT x, A.v MATCH (A ; B) AS x").report(table, tmp_path / "page.html", order_by="n"))
    assert page["counts"]["matches"] == ac.query("MATCH A ; B").run(table, order_by="n").num_rows == 4


TEXTS = [kind for kind, values in VALUES if values == ["né", "b"]]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_types_of_events_and_order(kind: pa.DataType) -> None:
    table = stream(kind, ["A", "B"]).rename_columns(["was", "type"]).append_column("n", pa.array([3, 2, 1, 5, 4]))
    for order_by in (None, "n"):
        ordinary = table.set_column(1, "type", pa.array(table.column("type").to_pylist()))
        query = ac.query("SELECT start, end, a.type MATCH A AS a ; B")
        expected = query.run(ordinary, order_by=order_by).to_pylist()
        assert query.run(table, order_by=order_by).to_pylist() == expected
        assert query.run(table, order_by=order_by, method="automaton").to_pylist() == expected
    with pytest.warns(ac.AceleraWarning, match="no row is of type `a`; did you mean `A`"):
        assert ac.query("MATCH a").run(table).num_rows == 0
    filled = pa.concat_tables([table.slice(0, 2), table.slice(3)])  # without NULL
    query = ac.query("SELECT start, x.type MATCH (A : A) AS x")
    expected = query.run(filled, order_by=["type", "n"], method="automaton").to_pylist()
    assert query.run(filled, order_by=["type", "n"]).to_pylist() == expected
    assert len(expected) == 2


def test_pages_out_of_order_hold_any_type() -> None:
    rows = pa.table({"v": pa.array(["a", "b", "c"], pa.string_view()), "w": [[1.5], [], None]})
    halves = [Page(rows.slice(at, 1).to_batches()[0], np.array([at]), np.array([at])) for at in (2, 0, 1)]
    assert in_order(halves, rows.schema).equals(rows)
