"""Frames of all kinds: odd ones give what a table in this process gives, bad ones an error that says what is wrong."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import acelera as ac
from acelera import Acea, Move
from acelera.spark.schemas import spark_schema
from strategies import unordered
from tiers import slow, thinned

ToFrame = Callable[[pa.Table], Any]

EPOCH = datetime.datetime(2024, 1, 1)
NAN = float("nan")


def at(*seconds: float) -> pa.Array[Any]:
    return pa.array([EPOCH + datetime.timedelta(seconds=each) for each in seconds], pa.timestamp("us"))


TYPES = ["A", "B", "X", "A", "B", "B"]
EVENTS = pa.table(
    {
        "type": TYPES,
        "v": pa.array([1, 2, 3, None, 5, 6], pa.int64()),
        "k": ["x", "y", "x", "y", "y", "x"],
        "ts": at(1, 2, 3, 4, 5, 60),
    }
)


def shown(table: pa.Table) -> list[str]:
    return sorted(repr(unordered(row)) for row in table.to_pylist())


def agree(query: ac.Query | str, table: pa.Table, frame: Any, **options: Any) -> pa.Table:
    """The result on Spark, after it was compared with that in this process."""
    query = ac.query(query) if isinstance(query, str) else query
    options = {"order_by": "ts", **options}
    expected = query.run(table, **options)
    found = query.run(frame, **options)
    assert found.schema == spark_schema(expected.schema)
    result = found.toArrow()
    assert shown(result) == shown(expected)
    return result


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("MATCH A ; B FILTER B.price > 1", {}, ac.QueryCheckError, "no attribute `price`"),
        ("MATCH A ; B FILTER B.k > 1", {}, ac.QueryCheckError, "string cannot be compared with int64"),
        ("MATCH A ; B PARTITION BY name", {}, ac.QueryCheckError, "name"),
        ("MATCH A ; B", {"order_by": "time_"}, ac.SchemaError, "there is no column `time_`"),
        ("MATCH A ; B", {"order_by": "TS"}, ac.SchemaError, "there is no column `TS`"),
        ("MATCH A ; B", {"order_by": None}, ac.UsageError, "have no order of their own; say it with order_by"),
        ("MATCH A ; B", {"ties": "keep"}, ac.UsageError, "have no order of arrival"),
        ("MATCH A ; B", {"checkpoint": "c"}, ac.UsageError, "checkpoint=… is for streams"),
        ("MATCH A ; B", {"method": "automaton"}, ac.UsageError, "is for tables in this process"),
        ("MATCH A ; B", {"method": "semantics"}, ac.UsageError, "is for tables in this process"),
        ("MATCH A ; B", {"type_column": "kind"}, ac.SchemaError, "there is no column `kind`"),
        (
            "MATCH A ; B",
            {"type_column": "v"},
            ac.SchemaError,
            "the type column `v` is of type int64, but event types are names",
        ),
        ("SELECT a.v AS V, b.v AS v MATCH A AS a ; B AS b", {}, ac.UsageError, "which Spark does not tell apart"),
        ("MATCH A ; B WITHIN 5 SECONDS", {"order_by": "v"}, ac.QueryCheckError, "time"),
    ],
)
def test_mistakes_are_found_before_anything_runs(
    text: str, options: dict[str, Any], error: type[Exception], message: str, to_frame: ToFrame
) -> None:
    with pytest.raises(error, match=message):
        ac.query(text).run(to_frame(EVENTS), **{"order_by": "ts", **options})


def test_names_that_differ_in_case_where_spark_tells_them_apart(to_frame: ToFrame, conf: Any) -> None:
    conf("spark.sql.caseSensitive", "true")
    agree("SELECT a.v AS V, b.v AS v MATCH A AS a ; B AS b", EVENTS, to_frame(EVENTS))


INSIDE = ["\0slice", "slice", "letter", "c0", "spread", "relevant", "bucket", "rows", "matches"]
PIPELINE = ["#letter", "#slice", "#bucket"]


@pytest.mark.parametrize("names", [INSIDE, *(slow([name]) for name in INSIDE)], ids=" ".join)
def test_names_that_are_used_inside(names: list[str], to_frame: ToFrame) -> None:
    table = with_columns(names, [6, 5, 4, 3, 2, 1])
    shown = ", ".join(f"a.`{name}` AS x{number}" for number, name in enumerate(names))
    agree(f"SELECT {shown}, b.v AS y MATCH A AS a ; B AS b WITHIN 1 MINUTE", table, to_frame(table))


def with_columns(names: list[str], values: list[int]) -> pa.Table:
    """The events with more columns, all of the same values."""
    table = EVENTS
    for name in names:
        table = table.append_column(name, pa.array(values, pa.int64()))
    return table


def test_one_name_is_taken(to_frame: ToFrame) -> None:
    frame = to_frame(EVENTS.append_column("\0letter", pa.array([6, 5, 4, 3, 2, 1], pa.int64())))
    with pytest.raises(
        ac.UsageError, match=r"a column is called '\\x00letter', which has a meaning of its own on Spark"
    ):
        ac.query("SELECT a.`\0letter` AS x MATCH A AS a ; B").run(frame, order_by="ts")
    assert ac.query("SELECT a.v MATCH A AS a ; B").run(frame, order_by="ts").count() == 5


def test_columns_that_differ_in_case(spark: Any, to_frame: ToFrame, conf: Any) -> None:
    table = EVENTS.append_column("V", pa.array([6, 5, 4, 3, 2, 1], pa.int64()))
    frame = to_frame(table)
    with pytest.raises(ac.UsageError, match="reads the column `v`, which Spark does not tell apart from `V`"):
        ac.query("SELECT a.v MATCH A AS a ; B").run(frame, order_by="ts")
    assert ac.query("SELECT a.k MATCH A AS a ; B").run(frame, order_by="ts").count() == 5
    conf("spark.sql.caseSensitive", "true")
    agree("SELECT a.v, a.V, a.ts MATCH A AS a ; B FILTER a.V > 3", table, frame)


def test_two_columns_of_one_name(to_frame: ToFrame) -> None:
    frame = to_frame(EVENTS)
    with pytest.raises(ac.SchemaError, match="the column `v` occurs twice"):
        ac.query("MATCH A ; B").run(frame.join(frame.select("ts", "v"), "ts"), order_by="ts")


# --- what workers refuse ------------------------------------------------------------------------------------------

TIED = EVENTS.set_column(3, "ts", at(1, 2, 3, 3, 5, 6)).set_column(0, "type", pa.array(["A", "B", "A", "A", "B", "B"]))
WITHOUT_TIME = EVENTS.set_column(
    3, "ts", pa.array([*EVENTS.column("ts").to_pylist()[:4], None, None], pa.timestamp("us"))
)
WINDOWS = ["", " WITHIN 5 EVENTS", " WITHIN 5 SECONDS"]


@pytest.mark.parametrize("window", thinned(WINDOWS, 2))
def test_ties(window: str, to_frame: ToFrame) -> None:
    query = ac.query(f"MATCH A ; B{window}")
    with pytest.raises(Exception, match=r"DataError: two rows tie: both have ts = 2024-01-01 00:00:03") as raised:
        query.run(to_frame(TIED), order_by="ts").collect()
    told = str(raised.value).splitlines()
    assert "Traceback" not in str(raised.value) and told[-1].startswith("acelera.errors.DataError: two rows tie")
    agree(
        query,
        TIED.append_column("n", pa.array(range(6))),
        to_frame(TIED.append_column("n", pa.array(range(6)))),
        order_by=["ts", "n"],
    )


def test_a_tie_between_keys_is_none(to_frame: ToFrame) -> None:
    agree("MATCH A ; B PARTITION BY k", TIED, to_frame(TIED))
    same_key = TIED.set_column(2, "k", pa.array(["x"] * 6))
    with pytest.raises(Exception, match=r"DataError: two rows tie.*within the partition k = .*x"):
        ac.query("MATCH A ; B PARTITION BY k").run(to_frame(same_key), order_by="ts").collect()


@pytest.mark.parametrize("window", [*map(slow, WINDOWS), slow(" PARTITION BY k"), " PARTITION BY k WITHIN 5 SECONDS"])
def test_a_row_without_a_time(window: str, to_frame: ToFrame) -> None:
    with pytest.raises(Exception, match=r"DataError: a row has NULL in the order column `ts`"):
        ac.query(f"MATCH A ; B{window}").run(to_frame(WITHOUT_TIME), order_by="ts").collect()


def test_a_number_that_is_none_as_order(to_frame: ToFrame) -> None:
    table = EVENTS.append_column("f", pa.array([1.0, 2.0, 3.0, NAN, 5.0, 6.0]))
    with pytest.raises(Exception, match=r"DataError: a row has NaN in the order column `f`"):
        ac.query("MATCH A ; B WITHIN 9 EVENTS").run(to_frame(table), order_by="f").collect()


def test_an_overflow_in_a_worker(to_frame: ToFrame) -> None:
    table = EVENTS.set_column(1, "v", pa.array([2**62, 2**62, 2**62, 2**62, 2**62, 2**62]))
    with pytest.raises(Exception, match=r"AggregateError: .*overflow"):
        ac.query("SELECT sum(x.v) MATCH (A ; B) AS x").run(to_frame(table), order_by="ts").collect()


def test_an_aggregate_that_fails_in_a_worker(to_frame: ToFrame) -> None:
    ac.aggregate("broken", lift=lambda value: 1 // (value - 2), combine=max, identity=0)
    message = "AggregateError: the aggregate function `broken` failed: ZeroDivisionError: "
    with pytest.raises(Exception, match=message):
        ac.query("SELECT broken(x.v) AS b MATCH (A ; B) AS x").run(to_frame(EVENTS), order_by="ts").collect()


def test_a_corrupt_file(spark: Any, tmp_path: Path) -> None:
    """The run fails and names the file, rather than giving the matches of what can be read."""
    pq.write_table(EVENTS, tmp_path / "good.parquet")
    (tmp_path / "bad.parquet").write_bytes((tmp_path / "good.parquet").read_bytes()[:200])
    schema = spark.read.parquet(str(tmp_path / "good.parquet")).schema
    frame = spark.read.schema(schema).parquet(str(tmp_path))
    for text in PLACEMENTS:
        with pytest.raises(Exception, match=r"bad\.parquet"):
            ac.query(text).run(frame, order_by="ts").collect()


# --- many rows ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_with_five_million_events(spark: Any) -> None:
    """One task reads them, batch after batch; positions matter, so that none can be dropped before."""
    rows = 5_000_000
    frame = spark.range(0, rows, 1, 2).selectExpr("id", "'k' AS k", "IF(id % 1000000 = 999999, 'B', 'A') AS type")
    found = ac.query("SELECT start, end MATCH A : B PARTITION BY k WITHIN 10 EVENTS").run(frame, order_by="id")
    ends = range(1_000_000, rows + 1, 1_000_000)
    assert sorted(tuple(row) for row in found.collect()) == [(end - 1, end) for end in ends]


# --- few rows -----------------------------------------------------------------------------------------------------

PLACEMENTS = [
    "MATCH A ; B",
    "MATCH A ; B WITHIN 5 SECONDS",
    "MATCH A ; B PARTITION BY k",
    "MATCH A : B WITHIN 2 EVENTS",
]


@pytest.mark.parametrize("text", thinned(PLACEMENTS, 3))
def test_no_rows(text: str, to_frame: ToFrame) -> None:
    assert agree(text, EVENTS.slice(0, 0), to_frame(EVENTS.slice(0, 0))).num_rows == 0


@pytest.mark.parametrize("text", thinned(PLACEMENTS, 3))
def test_empty_partitions(text: str, to_frame: ToFrame, conf: Any) -> None:
    conf("spark.sql.shuffle.partitions", "7")
    agree(text, EVENTS, to_frame(EVENTS).repartition(9))
    agree(text, EVENTS.slice(0, 1), to_frame(EVENTS.slice(0, 1)).repartition(3))


@pytest.mark.parametrize("text", thinned(PLACEMENTS, 3))
def test_batches_of_one_row(text: str, to_frame: ToFrame, conf: Any) -> None:
    conf("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    agree(text, EVENTS, to_frame(EVENTS))


def test_adaptive_execution_changes_nothing(to_frame: ToFrame, conf: Any) -> None:
    conf("spark.sql.adaptive.enabled", "true")
    for text in PLACEMENTS:
        agree(text, EVENTS, to_frame(EVENTS).repartition(5))


def test_the_result_is_a_frame_like_any_other(to_frame: ToFrame) -> None:
    found = ac.query("SELECT a.v AS v, start_time MATCH A AS a ; B").run(to_frame(EVENTS), order_by="ts")
    assert found.count() == 5
    assert ac.query("SELECT A.v MATCH A ; B").run(to_frame(EVENTS), order_by="ts", limit=3).count() == 3
    assert found.filter("v = 1").select("start_time").distinct().count() == 1
    assert found.join(to_frame(EVENTS), "v").count() == 3


# --- a frame for each event type ----------------------------------------------------------------------------------

SELLS = pa.table(
    {"ts": at(1, 3, 5), "price": pa.array([10, 20, 30], pa.int32()), "id": pa.array([1, 2, 3], pa.int64())}
)
BUYS = pa.table({"ts": at(2, 4, 6), "price": pa.array([11, 21, None], pa.int64()), "who": ["ann", "bob", None]})
BOTH = pa.table(
    {
        "type": ["SELL", "BUY"] * 3,
        "ts": at(1, 2, 3, 4, 5, 6),
        "price": pa.array([10, 11, 20, 21, 30, None], pa.int64()),
        "id": pa.array([1, None, 2, None, 3, None], pa.int64()),
        "who": [None, "ann", None, "bob", None, None],
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s.price, b.price, b.who, s.id MATCH SELL AS s ; BUY AS b FILTER s.price > 10",
        "SELECT s, b MATCH SELL AS s ; BUY AS b WITHIN 3 SECONDS",
        "SELECT x.type, x.price MATCH (SELL ; BUY) AS x WITHIN 3 SECONDS",
    ],
)
def test_a_frame_for_each_type(text: str, to_frame: ToFrame) -> None:
    query, frames = ac.query(text), {"SELL": to_frame(SELLS), "BUY": to_frame(BUYS)}
    found = query.run(frames, order_by="ts").toArrow()
    expected = query.run(BOTH, order_by="ts")
    if "SELECT s, b" not in text:  # there, an event has the attributes of its type
        assert found.schema == expected.schema
        assert shown(found) == shown(expected)
    else:
        assert found.num_rows == expected.num_rows
        assert found.to_pylist()[0]["s"].keys() == {"type", "time", "price", "id"}
    assert "spark\n" in query.explain(frames, order_by="ts")


def test_frames_whose_types_do_not_fit(to_frame: ToFrame) -> None:
    other = SELLS.set_column(1, "price", pa.array(["a", "b", "c"]))
    with pytest.raises(ac.SchemaError, match=r"the attribute `price` is .* in BUY but .* elsewhere"):
        ac.query("MATCH SELL ; BUY").run({"SELL": to_frame(other), "BUY": to_frame(BUYS)}, order_by="ts")
    with pytest.raises(ac.SchemaError, match="the attribute `ts` is"):
        zoned = BUYS.set_column(0, "ts", BUYS.column("ts").cast(pa.timestamp("us", "UTC")))
        ac.query("MATCH SELL ; BUY").run({"SELL": to_frame(SELLS), "BUY": to_frame(zoned)}, order_by="ts")


def test_frames_whose_columns_differ_in_case(to_frame: ToFrame, conf: Any) -> None:
    one, two = EVENTS.select(["ts", "v"]), EVENTS.select(["ts", "v"]).rename_columns(["ts", "V"])
    frames, query = {"A": to_frame(one.slice(0, 2)), "B": to_frame(two.slice(2, 2))}, ac.query("SELECT A.v MATCH A ; B")
    with pytest.raises(ac.UsageError, match="the frames have columns `v` and `V`, which Spark does not tell apart"):
        query.run(frames, order_by="ts")
    conf("spark.sql.caseSensitive", "true")
    assert query.run(frames, order_by="ts").count() == 4


def test_frames_of_which_one_has_no_order(to_frame: ToFrame) -> None:
    with pytest.raises(ac.SchemaError, match="there is no column `ts` in the frame of BUY"):
        frames = {"SELL": to_frame(SELLS), "BUY": to_frame(BUYS.drop_columns(["ts"]))}
        ac.query("MATCH SELL ; BUY").run(frames, order_by="ts")


def test_the_python_of_workers(to_frame: ToFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = to_frame(EVENTS)
    monkeypatch.setattr("sys.executable", "/elsewhere/python")
    with pytest.warns(ac.AceleraWarning, match="set PYSPARK_PYTHON=/elsewhere/python before Spark is started"):
        ac.query("MATCH A ; B").run(frame, order_by="ts")


def test_the_python_of_workers_is_this_one_if_none_is_named(
    spark: Any, to_frame: ToFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after Spark was started, which would run any python3."""
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")
    agree("SELECT A.v MATCH A ; B", EVENTS, to_frame(EVENTS))
    assert spark.sparkContext.pythonExec == sys.executable


def test_frames_are_read_by_run(to_frame: ToFrame) -> None:
    with pytest.raises(ac.UsageError, match="a Spark DataFrame, batch or streaming, goes to run"):
        ac.query("MATCH A ; B").stream(to_frame(EVENTS), order_by="ts")


def test_lists_in_two_frames(spark: Any) -> None:
    """Spark tells lists that may hold NULL from those that may not; Arrow's values are the same."""
    one = spark.sql("SELECT TIMESTAMP_NTZ '2024-01-01 00:00:01' AS ts, array(1L, 2L) AS l")
    two = spark.sql("SELECT TIMESTAMP_NTZ '2024-01-01 00:00:02' AS ts, array(1L, CAST(NULL AS BIGINT)) AS l")
    found = ac.query("SELECT a.l AS one, b.l AS two MATCH A AS a ; B AS b").run({"A": one, "B": two}, order_by="ts")
    assert [tuple(row) for row in found.collect()] == [([1, 2], [1, None])]


def test_one_type_without_a_column(to_frame: ToFrame) -> None:
    table = EVENTS.drop_columns(["type"])
    agree(
        "SELECT a.v AS one, b.v AS two MATCH T AS a ; T AS b WITHIN 2 SECONDS", table, to_frame(table), event_type="T"
    )
    agree(
        "SELECT a.type, a.v MATCH T AS a : T AS b FROM T".replace(" FROM T", ""), table, to_frame(table), event_type="T"
    )
    agree("SELECT a, b FROM T MATCH T AS a ; T AS b FILTER a.v < b.v", table, to_frame(table))
    renamed = EVENTS.rename_columns(["kind", "v", "k", "ts"])
    agree("SELECT a.v, a.type MATCH A AS a ; B PARTITION BY k", renamed, to_frame(renamed), type_column="kind")


# --- names --------------------------------------------------------------------------------------------------------

NAMES = [
    "select",
    "order",
    "a.b",
    "a b",
    "tick`ed",
    'quo"ted',
    "it's",
    "Ünï",
    "*",
    "x; DROP TABLE t",
    "#n",
    "a\nb",
    "$1",
]


@pytest.mark.parametrize("names", [NAMES, *(slow([name]) for name in NAMES)], ids=" ".join)
def test_names_of_columns(names: list[str], to_frame: ToFrame) -> None:
    """As attribute, key, order and event type; all of them in one query, or each in its own."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    table = with_columns(names, [1, 2, 3, 4, 5, 6])
    shown = ", ".join(f"a.{name} AS {name}" for name in quoted)
    asked = " AND ".join(f"a.{name} < b.{name} AND b.{name} <> 3" for name in quoted)
    assert agree(f"SELECT {shown}, b MATCH A AS a ; B AS b FILTER {asked}", table, to_frame(table)).num_rows == 5
    agree(f"MATCH A ; B PARTITION BY {', '.join(quoted)}", table, to_frame(table))
    assert agree("SELECT a.v, b.v AS w MATCH A AS a ; B AS b", table, to_frame(table), order_by=names).num_rows == 5
    typed = pa.table({"type": [*names, "B"], "v": range(len(names) + 1), "ts": at(*range(len(names) + 1))})
    assert agree(f"SELECT B.v MATCH ({' OR '.join(quoted)}) ; B", typed, to_frame(typed)).num_rows == len(names)


@pytest.mark.parametrize("names", [PIPELINE, *(slow([name]) for name in PIPELINE)], ids=" ".join)
def test_names_that_the_pipeline_uses_itself(names: list[str], to_frame: ToFrame) -> None:
    table = with_columns(names, [1, 2, 3, 4, 5, 6])
    shown = ", ".join(f"a.`{name}` AS n{number}" for number, name in enumerate(names))
    agree(f"SELECT {shown}, a.v AS v MATCH A AS a ; B FILTER a.v > 0 WITHIN 90 SECONDS", table, to_frame(table))


def test_many_tests(to_frame: ToFrame) -> None:
    """More tests of events than a number has bits."""
    steps = " OR ".join(f"A AS a{n}" for n in range(80))
    filters = " AND ".join(f"a{n}.v <> {n}" for n in range(80))
    assert agree(f"SELECT B.v MATCH ({steps}) ; B FILTER {filters}", EVENTS, to_frame(EVENTS)).num_rows


# --- values -------------------------------------------------------------------------------------------------------


def carried(spark: Any) -> Any:
    return spark.sql(
        """
        SELECT IF(id % 2 = 0, 'A', 'B') AS type, timestamp_micros(1000000 * id) AS ts, array(id, NULL) AS list,
          map('k', id) AS map, named_struct('Inner', id, 'l', array(named_struct('x', id))) AS struct,
          CAST(CAST(id AS STRING) AS BINARY) AS bytes, CAST(id AS DECIMAL(38, 10)) AS big, CAST(id AS DECIMAL(5, 2)) AS small,
          make_dt_interval(0, 0, 0, id) AS span, CAST(NULL AS VOID) AS nothing, CAST(id AS BYTE) AS tiny, CAST(id AS SHORT) AS short,
          CAST(id AS FLOAT) AS float, date_add(DATE '2024-01-01', CAST(id AS INT)) AS day, id = 1 AS ok, id,
          TIMESTAMP_NTZ '1900-01-01 00:00:00' AS ntz
        FROM range(6)
        """
    )


@pytest.mark.parametrize(
    "text",
    thinned(
        [
            "SELECT * MATCH A AS x ; B AS y WITHIN 3 SECONDS",
            "SELECT a, b.list, b.map, b.struct, b.bytes, b.span, b.nothing MATCH A AS a ; B AS b",
            "SELECT a.id MATCH A AS a ; B AS b FILTER a.list IS NOT NULL AND b.nothing IS NULL AND b.span > INTERVAL 1 SECONDS",
            "SELECT a.big, b.small MATCH A AS a ; B AS b FILTER a.big < b.small AND b.small > 1.5",
            "SELECT max(x.big) AS m, sum(x.small) AS s, avg(x.float) AS f, min(x.day) AS d MATCH (A ; B) AS x WITHIN 3 SECONDS",
            "MATCH A ; B PARTITION BY big",
            "MATCH A ; B PARTITION BY day, ok",
            "MATCH (A ; B) AS x FILTER x[same(small)]",
        ],
        3,
    ),
)
def test_columns_of_all_types(text: str, spark: Any, conf: Any) -> None:
    frame = carried(spark)
    table = frame.toArrow()
    agree(text, table, frame)


@pytest.mark.parametrize("zone", [slow("UTC"), "America/New_York", slow("Asia/Kolkata")])
def test_time_zones_of_the_session(zone: str, spark: Any, conf: Any) -> None:
    """Times with a zone are moments, shown in UTC; those without are what they say. Both are read as they are."""
    conf("spark.sql.session.timeZone", zone)
    rows = ", ".join(
        f"('{kind}', {micros})"
        for kind, micros in zip("ABAB", (0, 10**15, 1711850400 * 10**6, 1711854000 * 10**6), strict=True)
    )
    frame = spark.sql(
        f"SELECT type, timestamp_micros(m) AS ts, CAST(timestamp_micros(m) AS timestamp_ntz) AS ntz FROM VALUES {rows} AS t(type, m)"
    )
    query = ac.query(
        "SELECT a.ts AS one, b.ts AS two, end_time MATCH A AS a ; B AS b FILTER b.ts > TIMESTAMP '2024-03-31 02:00:00Z' WITHIN 2 HOURS"
    )
    (row,) = query.run(frame, order_by="ts").toArrow().to_pylist()
    assert [row[name].timestamp() for name in ("one", "two", "end_time")] == [1711850400, 1711854000, 1711854000]
    table = frame.select("type", "ntz").toArrow()
    agree(
        "MATCH A AS x ; B AS y FILTER x.ntz > TIMESTAMP '2000-01-01' WITHIN 2 HOURS",
        table,
        frame.select("type", "ntz"),
        order_by="ntz",
    )


def test_times_that_the_zone_of_the_session_does_not_have(to_frame: ToFrame, conf: Any) -> None:
    """In New York no clock shows 02:45 on this day; a time without a zone may say so, and slices are cut by it."""
    conf("spark.sql.session.timeZone", "America/New_York")
    begin = datetime.datetime(2024, 3, 10, 1, 45, 0, 999_999)
    times = [begin + datetime.timedelta(minutes=15 * number) for number in range(24)]
    table = pa.table({"type": ["A", "B"] * 12, "ts": pa.array(times, pa.timestamp("us"))})
    text = "SELECT start_time, end_time MATCH A ; B WITHIN 15 MINUTES"
    assert "cut into slices" in ac.query(text).explain(to_frame(table), order_by="ts")
    assert agree(text, table, to_frame(table)).num_rows == 12


@pytest.mark.parametrize("kind", thinned(["date", "decimal", "string", "int", "float", "boolean"], 3))
def test_orders_that_are_not_times(kind: str, to_frame: ToFrame) -> None:
    values: dict[str, list[Any]] = {
        "date": [datetime.date(2024, 1, day) for day in range(1, 7)],
        "decimal": [Decimal(f"{n}.5") for n in (-3, -1, 0, 1, 10, 100)],
        "string": ["", " ", "A", "a", "é", "𝄞"],
        "int": [-(2**31), -1, 0, 1, 2, 2**31 - 1],
        "float": [float("-inf"), -1.0, 0.0, 5e-324, 1.0, float("inf")],
        "boolean": [False, True],
    }
    table = EVENTS.slice(0, len(values[kind])).append_column("o", pa.array(values[kind]))
    shuffled = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    agree("SELECT A.v, B.v MATCH A ; B", table, to_frame(shuffled), order_by="o")
    agree("MATCH A ; B WITHIN 3 EVENTS", table, to_frame(shuffled), order_by="o")


def test_keys_that_are_equal_but_not_alike(to_frame: ToFrame) -> None:
    table = EVENTS.append_column("f", pa.array([0.0, -0.0, 0.0, NAN, NAN, None]))
    for text in (
        "MATCH A ; B PARTITION BY f",
        "MATCH (A ; B) AS x FILTER x[same(f)]",
        "MATCH ANY AS x ; ANY AS y PARTITION BY f",
    ):
        agree(text, table, to_frame(table).repartition(3))


def test_times_far_apart(to_frame: ToFrame) -> None:
    """More microseconds than a float tells apart."""
    first, day = datetime.datetime(1600, 1, 1), datetime.timedelta(microseconds=1)
    last = datetime.datetime(9990, 1, 1)
    middle = [first + (last - first) * part // 4 + day * step for part in (1, 2, 3) for step in range(-6, 7)]
    times = pa.array([first, *middle, last], pa.timestamp("us"))
    table = pa.table({"type": ["A", "B"] * 20 + ["A"], "ts": times})
    agree("SELECT a.ts AS one, b.ts AS two MATCH A AS a ; B AS b WITHIN 1 SECONDS", table, to_frame(table))


def test_strings_that_spark_compares_otherwise(spark: Any, to_frame: ToFrame) -> None:
    """A collation is how Spark compares; the language compares characters."""
    table = EVENTS.set_column(2, "k", pa.array(["x", "X", "x", "X", "x", "X"]))
    frame = to_frame(table).selectExpr("type", "v", "k COLLATE UTF8_LCASE AS k", "ts")
    agree("SELECT a.v, b.v AS w MATCH A AS a ; B AS b FILTER b.k = 'x'", table, frame)
    agree("SELECT a.v, b.v AS w MATCH A AS a ; B AS b PARTITION BY k", table, frame)


def test_strings_of_fixed_length(spark: Any) -> None:
    """Spark fills them up with blanks, and does not see these when it compares."""
    spark.sql("CREATE TABLE fixed (type CHAR(3), n INT) USING parquet")
    try:
        spark.sql("INSERT INTO fixed VALUES ('A', 1), ('B', 2)")
        frame = spark.table("fixed")
        agree("MATCH ANY AS x FILTER x.type = 'A'", frame.toArrow(), frame, order_by="n")
    finally:
        spark.sql("DROP TABLE fixed")


def test_a_column_that_arrow_does_not_know(spark: Any) -> None:
    """It is not asked for, so it does not matter."""
    frame = spark.sql("SELECT 'A' AS type, id, make_ym_interval(1, 2) AS months FROM range(2)")
    with pytest.warns(ac.AceleraWarning, match="the column `months` is left out.* interval year to month; cast it"):
        assert ac.query("SELECT A.id MATCH A").run(frame, order_by="id").count() == 2
    with pytest.raises(ac.QueryCheckError, match="no attribute `months`"), pytest.warns(ac.AceleraWarning):
        ac.query("SELECT A.months MATCH A").run(frame, order_by="id")


# --- what users bring along ---------------------------------------------------------------------------------------


def test_own_aggregates(to_frame: ToFrame) -> None:
    ac.aggregate("spread", lift=lambda v: (v, v), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), identity=(10**9, -(10**9)), finish=lambda s: s[1] - s[0], returns="int")  # fmt: skip
    agree("SELECT spread(x.v) AS s MATCH (A ; B) AS x", EVENTS, to_frame(EVENTS))
    found = agree(
        "SELECT m.s AS s MATCH ((A ; B) AS x AGG m[s <- spread(x.v)]) FILTER m.s > 3", EVENTS, to_frame(EVENTS)
    )
    assert sorted(found.column("s").to_pylist()) == [4, 5]


def test_the_newest_definition_counts(to_frame: ToFrame) -> None:
    """Workers live on between queries."""
    for base in (1, 100):
        ac.aggregate("shifted", lift=lambda v, base=base: v + base, combine=max, identity=0, returns="int")
        agree("SELECT shifted(x.v) AS s MATCH (A ; B) AS x", EVENTS, to_frame(EVENTS))


def test_an_automaton_written_by_hand(to_frame: ToFrame) -> None:
    totals = Acea.of("begin", "go", [
        Move("begin", "go", when="type = 'A'", assign={"t": "v"}, marks={"out": {"b": "t"}}),
        Move("go", "go", when="type = 'B'", assign={"t": "t + v"}, marks={"out": {"b": "t"}}),
    ])  # fmt: skip
    agree(ac.query(totals), EVENTS, to_frame(EVENTS))
    agree(ac.query(totals, partition_by=["k"], within="5 seconds"), EVENTS, to_frame(EVENTS))
    agree(ac.query(totals, within="2 events"), EVENTS, to_frame(EVENTS))


def test_both_readings(to_frame: ToFrame) -> None:
    for reading in ("once", "additive"):
        query = ac.query("SELECT count(x) AS n MATCH (A AS y ; B) AS x", bag_union=reading)
        agree(query, EVENTS, to_frame(EVENTS))


# --- explain ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "SELECT A.v MATCH A ; B PARTITION BY k",
            ["in the JVM, before anything is moved: 2 tests of 2", "rows that no state reacts to are dropped first", "columns that travel: v, k, ts", "split by k: many keys a task"],
        ),
        ("SELECT A.v MATCH A ; B WITHIN 5 SECONDS", ["cut into slices of time that overlap by the window"]),
        ("SELECT A.v MATCH A ; B", ["one task reads the whole stream in order: PARTITION BY, or WITHIN a time, would split it"]),
        ("SELECT A.v MATCH A : B PARTITION BY k", ["all rows travel: it matters which event stands right after another"]),
        ("SELECT x.v MATCH ANY AS x PARTITION BY k", ["all rows travel: each may matter"]),
        ("SELECT A.v MATCH A ; B FILTER B.v % 2 = 1", ["2 tests of 3", "in Python: v % 2 = 1"]),
    ],
)  # fmt: skip
def test_explain(text: str, lines: list[str], to_frame: ToFrame) -> None:
    told = ac.query(text).explain(to_frame(EVENTS), order_by="ts").split("\nspark\n")[1]
    for line in lines:
        assert line in told


def test_columns_called_as_what_every_event_has_are_no_trouble(spark: Any) -> None:
    rows = [(1, "A", "x", 9, 1.5), (2, "B", "y", 8, 2.5), (3, "B", "z", 7, 3.5)]
    frame = spark.createDataFrame(rows, "ts long, type string, time string, position int, v double")
    frame = frame.withColumn("ts", frame.ts.cast("timestamp"))
    query = ac.query("SELECT A.v AS a, B.v AS b MATCH A ; B FILTER A.v < B.v WITHIN 1 MINUTE")
    there = query.run(frame, order_by="ts").toArrow().to_pylist()
    assert sorted(there, key=repr) == query.run(frame.toArrow(), order_by="ts").to_pylist()
    with pytest.raises(ac.QueryCheckError, match="rename the column `time`"):
        ac.query("SELECT A.time MATCH A ; B").run(frame, order_by="ts")
