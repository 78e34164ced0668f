"""Tables of all kinds in, Arrow tables out, with every type of value as it was."""

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import acelera as ac
from acelera.tables import refuse_bad_text, to_arrow

UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2024, 1, 31, 10, 0, 0, 123000)
ROWS = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]
QUERY = ac.query("SELECT A.v AS a, B.v AS b MATCH A ; B")


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        pa.Table.from_pylist(ROWS),
        pa.RecordBatch.from_pylist(ROWS),
        pa.Table.from_pylist(ROWS).to_reader(),
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS, index=["x", "y"]),
        pl.DataFrame(ROWS),
        ds.dataset(pa.Table.from_pylist(ROWS)),
    ],
    ids=["dicts", "table", "batch", "reader", "pandas", "pandas with an index", "polars", "dataset"],
)
def test_inputs(table: object) -> None:
    assert QUERY.run(table).to_pylist() == [{"a": 1, "b": 2}]


def test_sources_are_read_piece_by_piece() -> None:
    read = []

    def batches() -> Iterator[pa.Table]:
        for number in range(3):
            read.append(number)
            yield pa.Table.from_pylist([{**row, "v": 10 * number + row["v"]} for row in ROWS])

    stream = QUERY.stream(batches())
    assert next(stream).to_pylist() == [{"a": 1, "b": 2}]
    assert read == [0]  # the rest has not been asked for
    assert [row["b"] for batch in stream for row in batch.to_pylist()] == [12, 12, 22, 22, 22]


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        pa.Table.from_pylist(ROWS).to_reader(max_chunksize=1),
        ds.dataset(pa.Table.from_pylist(ROWS)),
        iter([ROWS[:1], pl.DataFrame(ROWS[1:])]),
    ],
    ids=["dicts", "reader", "dataset", "iterator"],
)
def test_sources(source: object) -> None:
    assert QUERY.stream(source).read_all().to_pylist() == [{"a": 1, "b": 2}]


def test_a_source_that_is_wrong_says_so() -> None:
    with pytest.raises(ac.UsageError, match="there is no batch"):
        QUERY.stream(iter([]))
    with pytest.raises(ac.DataError, match="row 2 is out of order"):
        QUERY.stream([{"type": "A", "v": 2}, {"type": "B", "v": 1}], order_by="v").read_all()


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (5, "cannot read events from int"),
        ("A;B", "cannot read events from str"),
        ([1, 2], "row 1 is int"),
        ([{"type": "A", "v": 1}, {"type": "B", "v": "x"}], "values of `v` are not of one type"),
        ([{"type": "A", 5: 1}], "named by strings"),
        ([], "an empty list has no columns"),
        (pd.Series([1]), "cannot read events from Series"),
        (pd.DataFrame([[1, 2]], columns=["type", "type"]), "cannot be read as an Arrow table"),
        (pd.DataFrame({"type": ["A"], "v": [object()]}), "cannot be read as an Arrow table"),
        ([{"t": MOMENT}, {"t": MOMENT.replace(tzinfo=UTC)}], "time zone"),
    ],
)
def test_inputs_that_are_refused(table: object, says: str) -> None:
    with pytest.raises(ac.AceleraError, match=says):
        QUERY.run(table)


def test_the_index_of_pandas_is_told_by_what_it_is_not_by_its_name() -> None:
    values = {"type": ["A", "B"], "__index_level_0__": [1, 2]}
    query = ac.query("SELECT x.__index_level_0__ AS v MATCH (A ; B) AS x")
    for frame in (pd.DataFrame(values, index=[5, 6]), pl.DataFrame(values)):
        assert query.run(frame).to_pylist() == [{"v": [1, 2]}]
    index = pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=["k", None])
    assert to_arrow(pd.DataFrame({"type": ["A", "B"]}, index=index)).column_names == ["type", "k"]


def test_attributes_that_some_dicts_do_not_have_are_null() -> None:
    rows = [{"type": "A"}, {"type": "B", "v": 2}, {"type": "A", "w": 3}]
    assert ac.query("SELECT ANY.v, ANY.w MATCH ANY").run(rows).to_pylist() == [
        {"ANY_v": None, "ANY_w": None},
        {"ANY_v": 2, "ANY_w": None},
        {"ANY_v": None, "ANY_w": 3},
    ]


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        (pa.int8(), -5),
        (pa.uint32(), 4_000_000_000),
        (pa.uint64(), 2**64 - 1),
        (pa.float32(), 0.5),
        (pa.float64(), float("inf")),
        (pa.string(), "né"),
        (pa.large_string(), "né"),
        (pa.string_view(), "né"),
        (pa.bool_(), True),
        (pa.date32(), datetime.date(1969, 12, 31)),
        (pa.date64(), datetime.date(2024, 1, 31)),
        (pa.timestamp("s"), MOMENT.replace(microsecond=0)),
        (pa.timestamp("ms"), MOMENT),
        (pa.timestamp("us", "UTC"), MOMENT.replace(tzinfo=UTC)),
        (pa.timestamp("us", "Europe/Paris"), MOMENT.replace(tzinfo=UTC)),
        (pa.timestamp("us"), datetime.datetime(9999, 12, 31)),
        (pa.timestamp("us"), datetime.datetime(1, 1, 1)),
        (pa.duration("ms"), datetime.timedelta(milliseconds=-1500)),
        (pa.decimal128(10, 2), Decimal("12.50")),
        (pa.decimal256(50, 2), Decimal("12.50")),
        (pa.binary(), b"\x00"),
        (pa.list_(pa.int64()), [1, 2]),
        (pa.struct([("x", pa.int64())]), {"x": 1}),
        (pa.map_(pa.string(), pa.int64()), [("x", 1)]),
        (pa.time64("us"), datetime.time(10, 30)),
    ],
    ids=str,
)
def test_values_pass_through_as_they_are(kind: pa.DataType, one: Any) -> None:
    table = pa.table({"type": ["A", "A"], "v": pa.array([one, None], kind)})
    query = ac.query(
        "SELECT A, A.v, last(A.v IGNORE NULLS) AS l MATCH A" if _aggregates(kind) else "SELECT A, A.v MATCH A"
    )
    result = query.run(table)
    assert result.schema.field("A_v").type == kind
    assert result.schema.field("A").type.field("v").type == kind
    assert result.column("A_v").to_pylist() == table.column("v").to_pylist()
    assert [event["v"] for event in result.column("A").to_pylist()] == table.column("v").to_pylist()
    result.validate(full=True)
    if _aggregates(kind):
        assert result.schema.field("l").type == kind
        assert result.column("l").to_pylist() == table.column("v").to_pylist()


def _aggregates(kind: pa.DataType) -> bool:
    return not (
        pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_time(kind) or pa.types.is_uint64(kind)
    )


def test_nanoseconds_are_kept() -> None:
    table = pa.table({"type": ["A", "B"], "ts": pa.array([1, 3], pa.timestamp("ns"))})
    query = ac.query("SELECT range(x.ts), start_time MATCH (A ; B) AS x FILTER A.ts < B.ts")
    result = query.run(table, order_by="ts")
    assert str(result.schema.field("range_x_ts").type) == "duration[ns]"
    assert result.column("range_x_ts").cast(pa.int64()).to_pylist() == [2]
    assert result.column("start_time").cast(pa.int64()).to_pylist() == [1]


def test_dictionary_columns_are_strings() -> None:
    table = pa.table({"type": pa.array(["A", "B", "A"]).dictionary_encode()})
    assert ac.query("SELECT A.type MATCH A").run(table).to_pydict() == {"A_type": ["A", "A"]}


def test_an_empty_table_gives_an_empty_table_of_the_same_schema() -> None:
    table = pa.table({"type": pa.array([], pa.string()), "v": pa.array([], pa.int64())})
    query = ac.query("MATCH A AS x AGG m[s <- sum(x.v)]")
    assert query.run(table).num_rows == 0
    assert query.run(table).schema == query.check(table.schema)


def test_an_aggregate_of_a_wrong_type_is_said() -> None:
    ac.aggregate("halved", lift=float, combine=max, identity=0.0, finish=lambda state: state / 2)
    with pytest.raises(ac.AceleraError, match="returns="):
        ac.query("SELECT halved(A.v) MATCH A").run(ROWS)
    ac.aggregate("halved", lift=float, combine=max, identity=0.0, finish=lambda state: state / 2, returns=float)
    assert ac.query("SELECT halved(A.v) MATCH A").run(ROWS).to_pylist() == [{"halved_A_v": 0.5}]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_are_refused_where_arrow_finds_a_fault(kind: pa.DataType) -> None:
    """Also those that a look at all bytes at once takes for plain, and those of which it sees only a slice."""
    random, width = np.random.default_rng(1), np.int32 if kind == pa.string() else np.int64
    verdicts = []
    for _ in range(300):
        data = bytes(random.choice([65, 66, 0xC3, 0xA4], 12, p=[0.5, 0.4, 0.05, 0.05]).tolist())
        places = np.sort(random.integers(0, 13, 7)).astype(width)
        falls = random.random() < 0.2
        if falls:
            random.shuffle(places[1:-1])
        column = pa.Array.from_buffers(kind, 6, [None, pa.py_buffer(places), pa.py_buffer(data)])
        column = column if falls else column.slice(*random.integers(0, 4, 2).tolist())
        try:
            column.validate(full=True)
            valid = True
        except pa.ArrowInvalid:
            valid = False
        try:
            refuse_bad_text(pa.table({"s": column}), None)
            taken = True
        except ac.DataError:
            taken = False
        assert taken == valid, (data, places, column.offset, len(column))
        verdicts.append(valid)
    assert 50 < sum(verdicts) < 290
