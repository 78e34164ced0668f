"""Queries as tables in statements of SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.spark_sql import _calls
from spark.test_inputs import at
from spark.test_streaming import Files

ToFrame = Callable[[Any], Any]

# --- what a statement says ----------------------------------------------------------------------------------------


def test_calls_are_found_where_they_are_code() -> None:
    text = """-- acelera('no', TABLE(x))
    SELECT 'acelera(' AS ö, other.acelera('no') /* acelera( */ FROM Acelera("MATCH A FILTER A.x = '(,'", TABLE(ticks),
        order_by => array('ts', "id"), Type_Column=>NULL) AS m JOIN `acelera`(r'MATCH', A => TABLE(a.b), B => TABLE
        (SELECT * FROM acelera('MATCH C', TABLE(c)))) WHERE acelera > 1"""
    first, second = _calls(text)
    assert text[first.start :].startswith("Acelera(") and text[first.end :].startswith(" AS m JOIN")
    assert first.query == "\"MATCH A FILTER A.x = '(,'\"" and first.tables == {None: "ticks"}
    assert first.options == {"order_by": "array('ts', \"id\")", "type_column": "NULL"}
    assert second.tables == {"A": "a.b", "B": "SELECT * FROM acelera('MATCH C', TABLE(c))"} and not second.options
    assert text[second.end :] == " WHERE acelera > 1"


@pytest.mark.parametrize("before", ["EXPLAIN FORMATTED ", "INSERT INTO t ", "CREATE TEMP VIEW v AS ", "SET x = 1; "])
def test_calls_stand_in_any_statement(before: str) -> None:
    text = f"{before}SELECT 'é' FROM acelera('MATCH A', TABLE(t)); OPTIMIZE acelera('MATCH B', TABLE(u))"
    assert [(text[each.start : each.end], each.tables[None]) for each in _calls(text)] == [
        ("acelera('MATCH A', TABLE(t))", "t"),
        ("acelera('MATCH B', TABLE(u))", "u"),
    ]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("acelera('MATCH A', TABLE(t)", r"`acelera\(` is not closed"),
        ("acelera('MATCH A', TABLE(t), oder_by => 'ts')", "no option `oder_by`; did you mean `order_by`"),
        ("acelera('MATCH A', TABLE(t), method => 'engine')", "no option `method`; there are order_by, type_column, "),
        ("acelera('MATCH A', TABLE(t), order_by => 'ts', order_by => 'id')", "order_by is given twice"),
        ("acelera('MATCH A', TABLE(t), TABLE(u))", "TABLE(…) is given twice"),
        ("acelera('MATCH A', t)", "`t` is none of these"),
        ("acelera('MATCH A')", "takes one table"),
        ("acelera('MATCH A', A => TABLE(t), TABLE(u))", "takes one table"),
        ("acelera()", "has an argument that is empty"),
        ("acelera('MATCH A', TABLE(t) PARTITION BY k)", "PARTITION BY k` behind TABLE(…) has no meaning here"),
        ("acelera('MATCH A, TABLE(t))", "the statement cannot be read"),
    ],
)
def test_calls_that_make_no_sense(call: str, says: str) -> None:
    with pytest.raises(ac.UsageError) as raised:
        ac.sql(None, f"SELECT * FROM {call}")
    assert says.replace("\\", "") in str(raised.value)


# --- on Spark -----------------------------------------------------------------------------------------------------

EVENTS = pa.table(
    {
        "type": [*"AABBAB"],
        "k": [*"xyxyyy"],
        "v": [1, 2, 3, 4, 5, 6],
        "ts": at(1, 2, 3, 4, 5, 6).cast(pa.timestamp("us", "UTC")),
    }
)
"""One match of the key x, three of y."""

TEXT = "SELECT k, a.v AS v, end_time MATCH A AS a ; B PARTITION BY k WITHIN 5 SECONDS"


def test_a_statement_gives_what_run_gives(spark: Any, to_frame: ToFrame, tmp_path: Path) -> None:
    frame = to_frame(EVENTS)
    frame.createOrReplaceTempView("events")
    found = ac.query(TEXT).run(frame, order_by=["ts"])
    by_key = f"SELECT k, count(*) AS n FROM acelera('{TEXT}', TABLE(events), order_by => array('ts')) GROUP BY k"
    assert sorted(map(tuple, ac.sql(spark, by_key).collect())) == [("x", 1), ("y", 3)]
    apart = [TABLE.format(kind) for kind in ("A", "B")]
    by_type = f"""SELECT m.* FROM acelera("{TEXT}", A => {apart[0]}, b => {apart[1]}, order_by => 'ts') AS m"""
    with pytest.raises(ac.QueryCheckError, match="B"):  # types are told apart by case
        ac.sql(spark, by_type)
    ac.sql(spark, f"CREATE OR REPLACE TEMP VIEW found AS {by_type.replace('b =>', 'B =>')}")
    assert sorted(spark.table("found").collect()) == sorted(found.collect())
    nested = f"acelera('{TEXT}', TABLE(events), order_by => 'ts')"
    pairs = f"""SELECT * FROM acelera("SELECT count(m) AS n MATCH m+ PARTITION BY k",
        TABLE(SELECT *, row_number() OVER (ORDER BY k, v, end_time) AS i FROM {nested}),
        order_by => 'i', event_type => 'm')"""
    assert ac.sql(spark, pairs).count() == 1 + 7
    with pytest.raises(ac.QuerySyntaxError, match="unexpected"):
        ac.sql(spark, "SELECT * FROM acelera('MATCH A ;; B', TABLE(events), order_by => 'ts')")
    with pytest.raises(ac.UsageError, match="the first argument is the text of a query, not 1"):
        ac.sql(spark, "SELECT * FROM acelera(1, TABLE(events))")
    files = Files(spark, tmp_path)
    files.put_all(EVENTS, 1)
    files.frame().createOrReplaceTempView("incoming")
    stream = ac.sql(spark, f"SELECT * FROM acelera('{TEXT}', TABLE(incoming), order_by => 'ts')")
    files.run(stream)
    assert sorted(map(str, files.found().to_pylist())) == sorted(map(str, found.toArrow().to_pylist()))


TABLE = "TABLE(SELECT * EXCEPT (type) FROM events WHERE type = '{}')"
