"""What the JVM says alone is what the engine finds: matches, columns, and errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.automata.terms import Attr, Sql
from acelera.language import ast
from acelera.language.parser import parse_expression
from acelera.language.schema import names_alike, schema_of
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import to_column
from contiguous_cases import contiguous, stream
from strategies import unordered

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "5"))


def shown(table: pa.Table) -> list[str]:
    return sorted(repr(unordered(row)) for row in table.to_pylist())


def spark_part(query: ac.Query, frame: Any, order_by: Any) -> str:
    return query.explain(frame, order_by=order_by).split("\nspark\n")[1]


def agree(query: ac.Query, table: pa.Table, frame: Any, order_by: Any = "ts") -> int:
    expected, found = query.run(table, order_by=order_by), query.run(frame, order_by=order_by).toArrow()
    assert found.schema == expected.schema, str(query)
    assert shown(found) == shown(expected), str(query)
    return int(expected.num_rows)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return stream(300, 3)


@pytest.fixture(scope="module")
def frame(spark: Any, rows: pa.Table) -> Any:
    made = spark.createDataFrame(rows, schema=spark_schema(rows.schema)).cache()
    yield made
    made.unpersist()


# --- by hand ------------------------------------------------------------------------------------------------------

ALONE = """
    MATCH A : B
    SELECT x.p, y.n, start_time, end_time, start, end, k MATCH (ANY AS x FILTER x.p > 0) : (ANY AS y FILTER y.n < 3):{2} PARTITION BY k WITHIN 9 SECONDS
    SELECT w, x MATCH (A : ANY) AS x FILTER x[same(n)] PARTITION BY w
    MATCH A AS x : ANY AS y : ANY AS z FILTER (x.p <= y.p AND y.n + 1 >= z.n) OR z.n > 1
    MATCH ANY:{3} AS x FILTER x[p > prev(p)]
    SELECT x.p, y.listed MATCH (A AS x OR B AS y) : C
    MATCH A : B OR A : C : A
    SELECT A, B.n MATCH A:{1,2} : (B : C):{0,1} PARTITION BY k
    MATCH START(ANY : ANY) PARTITION BY k, b
    MATCH A : ANY : B WITHIN 3 SECONDS
    MATCH A FILTER A.p > 1 PARTITION BY k, w
    SELECT x.s, x.s AS t MATCH A AS x : B AS y FILTER x.s <> y.s AND x.d <= y.p AND x.ts < y.time
    MATCH (A : A) AS x : B AS y FILTER x.n <> y.n
    MATCH ANY:{2} AS x : ANY AS y FILTER x.n = y.p
    SELECT count(x), count(x.p), sum(x.p), min(x.p), max(x.p), avg(x.p), first(x.s), last(x.s), min(x.s), max(x.d), min(x.ts), sum(x.tiny), avg(x.n) MATCH ANY:{3} AS x
    SELECT count(x.p IGNORE NULLS), sum(x.p IGNORE NULLS), min(x.p IGNORE NULLS), max(x.g IGNORE NULLS), avg(x.p IGNORE NULLS), first(x.s IGNORE NULLS), nth(x.p IGNORE NULLS, 2), nth(x.p IGNORE NULLS, -2), nth(x.s, 2), nth(x.s, 9), sum(x.n IGNORE NULLS), avg(x.n IGNORE NULLS), sum(x.g) MATCH ANY:{3} AS x
    SELECT y.p - x.p AS rise, -x.n AS less, x.n * y.n AS both, y.n / x.n AS part, x.p < y.p AS higher, max(z.n) - x.n AS most, sum(z.n * 2) AS twice MATCH A AS x : B AS y : ANY:{2} AS z
    SELECT -x.tiny AS less, sum(-y.tiny) AS total, max(-y.tiny) + 1 AS high, first(-y.tiny) AS one, avg(-y.tiny) AS mean, -min(y.tiny) AS low MATCH ANY AS x : ANY:{2} AS y
    SELECT x.n + 1 AS more, end, x.position, x.type, end_time, x.b, x.tiny, x.g MATCH STRICT(A AS x ; B)
"""

NOT_ALONE = {
    "MATCH A ; B": "the events of a match are not a fixed number that stand next to each other",
    "MATCH A:+ : B": "the events of a match are not a fixed number that stand next to each other",
    "MATCH (A : B) UNLESS C": "UNLESS looks at further events",
    "MATCH A : B KEEP LONGEST PER START": "KEEP compares matches",
    "SELECT m.most MATCH A : B AGG m[most <- max(A.n)]": "AGG makes events",
    "MATCH A : B FILTER B.n % 2 = 1": "n % 2 = 1: Spark does not compute this as the language means it",
    "SELECT product(A.p) MATCH A : B": "`product` is computed in Python",
    "MATCH ANY:{17}": "a match has more than 16 events",
}


@pytest.mark.parametrize("order_by", ["ts", "z"])
def test_the_jvm_alone(order_by: str, rows: pa.Table, frame: Any) -> None:
    texts = [line.strip() for line in ALONE.strip().splitlines()]
    for text in texts[:: 1 if order_by == "ts" else 3]:
        query = ac.query(text)
        assert "in the JVM alone, without Python" in spark_part(query, frame, order_by), text
        assert agree(query, rows, frame, order_by), f"{text}: there is nothing to compare"


def test_what_is_not_said_alone(rows: pa.Table, frame: Any) -> None:
    for text, why in NOT_ALONE.items():
        assert f"not in the JVM alone: {why}" in spark_part(ac.query(text), frame, "ts")


def test_more_tests_than_a_number_has_bits(spark: Any) -> None:
    columns = {f"w{n}": [(n * k) % 7 for k in range(9)] for n in range(64)}
    table = pa.table({"type": ["A"] * 9, "ts": range(9), **columns})
    asked = " AND ".join(f"a[w{n} >= 0]" for n in range(1, 64))
    query = ac.query(f"SELECT end, a.ts MATCH A AS a : A AS b FILTER {asked} AND a[w0 < 1]")
    assert agree(query, table, spark.createDataFrame(table, schema=spark_schema(table.schema))) == 8


@pytest.mark.parametrize("days", [106_751_991, 106_751_992, 10**9])
def test_windows_wider_than_time(rows: pa.Table, frame: Any, days: int) -> None:
    for pattern in ("A : B", "A AS a ; B AS b FILTER a.n = 1 AND b.n = 2"):
        assert agree(ac.query(f"SELECT start_time, end_time MATCH {pattern} WITHIN {days} DAYS"), rows, frame)


def test_one_shuffle_one_sort_one_window_and_no_python(frame: Any, capsys: pytest.CaptureFixture[str]) -> None:
    query = ac.query("SELECT k, x.p, end_time MATCH (A AS x FILTER x.s = 'a') : B : C PARTITION BY k WITHIN 9 SECONDS")
    query.run(frame, order_by="ts").explain()
    plan = capsys.readouterr().out
    assert [plan.count(each) for each in ("Window [", "Exchange hashpartitioning", "Sort [", "Python", "Arrow")] == [
        1,
        1,
        1,
        0,
        0,
    ]
    window = next(line for line in plan.splitlines() if "Window [" in line)
    assert "`s`" not in window and "s#" not in window.split("], [")[0]  # it is told by the letter


def test_columns_that_are_never_null_are_so_in_the_frame_alone(spark: Any, rows: pa.Table) -> None:
    """As from Python: all columns of a result may be NULL."""
    table = rows.select(["type", "ts", "listed"])
    schema = spark_schema(table.schema)
    schema.fields[0].nullable = schema.fields[1].nullable = False
    made = spark.createDataFrame(table.to_pylist(), schema=schema)
    found = ac.query("SELECT A.type, B, end, start_time MATCH A : B").run(made, order_by="ts")
    assert all(field.nullable for field in found.schema.fields)
    assert found.schema == spark_schema(
        ac.query("SELECT A.type, B, end, start_time MATCH A : B").check(table, order_by="ts")
    )


# --- errors -------------------------------------------------------------------------------------------------------

Made = Callable[..., Any]


@pytest.fixture
def reports(spark: Any) -> Made:
    def made(*values: str, text: str = "'m'") -> Any:
        listed = ", ".join(f"({value})" for value in values)
        kinds = "timestamp_micros(at) AS ts, double(speed) AS speed, key"
        return spark.sql(f"SELECT {kinds}, {text} AS status FROM VALUES {listed} AS t(at, speed, key)")

    return made


PAIR = "SELECT key, x.speed, end_time MATCH (r AS x FILTER x.speed > 1) : r PARTITION BY key"


def error_of(frame: Any, text: str = PAIR, order_by: Any = "ts") -> str:
    query = ac.query(text)
    assert "in the JVM alone" in query.explain(frame, order_by=order_by, event_type="r")
    with pytest.raises(Exception) as counted:
        query.run(frame, order_by=order_by, event_type="r").count()
    return str(counted.value)


def test_rows_that_are_refused(reports: Made) -> None:
    tied = reports("1000000, 5, 'a'", "2000000, 0, 'it''s 5%'", "2000000, 1, 'it''s 5%'")
    assert (
        "two rows tie: both have ts = 1970-01-01 00:00:02 UTC within the partition key = 'it's 5%', so their order is not "
        "defined. Add a column to order_by that tells them apart"
    ) in error_of(tied)
    assert "two rows tie: both have ts = 1970-01-01 00:00:02 UTC, so" in error_of(tied, "MATCH r AS x : r")
    assert "both have speed = 0.0 within the partition key = NULL, so" in error_of(
        reports("1, 0, NULL", "2, 0, NULL"), "MATCH r AS x : r PARTITION BY key", "speed"
    )
    assert "a row has NULL in the order column `ts`, so it has no place in the order" in error_of(
        reports("1000000, 5, 'a'", "NULL, 0, 'b'")
    )
    assert "a row has NaN in the order column `speed`, so" in error_of(
        reports("1, 'NaN', 'a'"), "MATCH r AS x : r", ["speed", "ts"]
    )
    bad = reports("1000000, 5, 'a'", text="CAST(x'80' AS STRING)")
    assert "the column `status` of type string cannot be read: it holds bytes that are not UTF-8" in error_of(
        bad, "SELECT x.status MATCH r AS x : r"
    )


def test_an_aggregate_that_does_not_fit(reports: Made) -> None:
    text = "SELECT sum(x.at) AS total MATCH r:{2} AS x"
    most = reports("1, 1, 'a'", "2, 2, 'a'").selectExpr("ts", "9223372036854775807 AS at")
    with pytest.raises(Exception, match="integer overflow: an aggregate does not fit into its type"):
        ac.query(text).run(most, order_by="ts", event_type="r").collect()


def test_rows_that_cannot_be_in_a_match_are_not_looked_at(reports: Made) -> None:
    """As in Python, where a match is one event: others are dropped, and may tie."""
    query = ac.query("SELECT x.speed MATCH (r AS x FILTER x.speed > 1) PARTITION BY key")
    made = reports("1, 5, 'a'", "2, 0, 'a'", "2, 1, 'a'", "NULL, 1, 'a'")
    assert query.run(made, order_by="ts", event_type="r").toArrow().to_pylist() == [{"x_speed": 5.0}]


def test_nothing_is_compared_with_itself(spark: Any) -> None:
    """Spark warns of that. NULL and NaN are not even equal to themselves."""
    schema = schema_of({"p": "float", "n": "int"}, event_type="T")
    for text in ("p = p", "n = n", "n <> n", "NOT p = p", "type = type", "type = 'T'", "1 = 1", "p + 1 >= p + 1"):
        predicate = parse_expression(text)
        leaves = {
            (node.variable, node.name): Attr(node.name)
            for node in ast.walk(predicate)
            if isinstance(node, ast.Attribute)
        }
        column = str(to_column(Sql(predicate, tuple(leaves.items())), schema))
        assert " = " not in column and ">=" not in column, column


# --- at random ----------------------------------------------------------------------------------------------------


@pytest.mark.property
@settings(max_examples=EXAMPLES, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(texts=st.lists(contiguous(), min_size=3, max_size=3), order_by=st.sampled_from(["ts", "z"]))
def test_random_runs(rows: pa.Table, frame: Any, texts: list[str], order_by: str) -> None:
    for text in texts:
        try:
            query = ac.query(text)
            named = names_alike(query.check(rows, order_by=order_by).names)
        except ac.QueryCheckError:
            event("no query")
            continue
        if named is not None:
            event("names that Spark does not tell apart")
            continue
        told = spark_part(query, frame, order_by)
        alone = "in the JVM alone, without Python" in told
        event("alone" if alone else told.splitlines()[0])
        if alone:
            event("matches" if agree(query, rows, frame, order_by) else "no matches")
