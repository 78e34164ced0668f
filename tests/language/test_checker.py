"""What the checker finds out: how many events a variable holds, what the result looks like, what a schema may be."""

import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import acelera as ac
from acelera.language import ast
from acelera.language.checker import check
from acelera.language.schema import schema_of
from acelera.semantics.formulas import Stream, denotation
from acelera.semantics.queries import partitions
from acelera.tables import to_rows
from strategies import SCHEMA, formulas, streams

SIMPLE = {"type": "string", "v": "int", "w": "float", "s": "string"}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("A", {"A": "exactly one"}),
        ("A AS x", {"A": "exactly one", "x": "exactly one"}),
        ("(A AS x) AS y", {"A": "exactly one", "x": "exactly one", "y": "exactly one"}),
        ("A ; A", {"A": "at least one"}),
        ("A ; B", {"A": "exactly one", "B": "exactly one"}),
        ("A OR B", {"A": "at most one", "B": "at most one"}),
        ("(A OR B) AS x", {"A": "at most one", "B": "at most one", "x": "exactly one"}),
        ("A+", {"A": "at least one"}),
        ("(A OR B):+", {"A": "any number", "B": "any number"}),
        ("A ; B PROJECT B", {"A": "none", "B": "exactly one"}),
        ("(A ; B) AND (A ; B)", {"A": "exactly one", "B": "exactly one"}),
        ("A ALL B", {"A": "exactly one", "B": "exactly one"}),
        ("A ALL A", {"A": "at least one"}),
        ("A UNLESS B", {"A": "exactly one"}),
        ("A+ AGG m[c <- count(A)]", {"A": "at least one", "m": "exactly one"}),
        ("(A AGG m[c <- count(A)])+", {"A": "at least one", "m": "at least one"}),
        ("NEXT(A)", {"A": "exactly one"}),
        ("START(ANY)", {"ANY": "exactly one"}),
        ("STRICT(A)", {"A": "exactly one"}),
    ],
)
def test_how_many_events_a_variable_holds(formula: str, expected: dict[str, str]) -> None:
    assert ac.query(f"MATCH {formula}").variables == expected


def test_additive_bags_hold_more() -> None:
    assert ac.query("MATCH (A AS x) AS y", bag_union="additive").variables["y"] == "at least one"


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(formula=formulas(), table=streams())
def test_bounds_hold_in_every_match(bag_union: Any, formula: ast.Formula, table: pa.Table) -> None:
    try:
        checked = check(ast.Query(formula), SCHEMA, bag_union)
    except ac.QueryCheckError:
        return
    for partition in partitions(to_rows(table, SCHEMA), SCHEMA, checked.clauses, "error"):
        for c in denotation(formula, Stream(partition.events, "type", bag_union == "once")):
            for name in {*c.variables, *checked.variables}:
                bounds = checked.variables[name].bounds
                assert bounds.low <= len(c(name)) <= bounds.high, name
                shown = {attribute for event in c(name) for attribute, value in event.attributes if value is not None}
                assert shown <= set(checked.variables[name].attributes)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (
            "MATCH A AS x",
            {
                "start": "int64",
                "end": "int64",
                "A": "list<item: struct<position: int64, type: string, v: int64, w: double, s: string>>",
                "x": "list<item: struct<position: int64, type: string, v: int64, w: double, s: string>>",
            },
        ),
        (
            "SELECT A.v, A.w, A.position, A.type MATCH A",
            {"A_v": "int64", "A_w": "double", "A_position": "int64", "A_type": "string"},
        ),
        ("SELECT A.v MATCH A+", {"A_v": "list<item: int64>"}),
        ("SELECT A MATCH A PROJECT A(v)", {"A": "struct<position: int64, v: int64>"}),
        (
            "SELECT m MATCH A+ AGG m[c <- count(A), a <- avg(A.v)]",
            {"m": "struct<position: int64, c: int64, a: double>"},
        ),
        (
            "SELECT sum(A.v), sum(A.w), avg(A.v), min(A.s), count(A) AS n, first(A.s) MATCH A+",
            {
                "sum_A_v": "int64",
                "sum_A_w": "double",
                "avg_A_v": "double",
                "min_A_s": "string",
                "n": "int64",
                "first_A_s": "string",
            },
        ),
        ("SELECT s, start MATCH A PARTITION BY s", {"s": "string", "start": "int64"}),
    ],
)
def test_result_schema(query: str, columns: dict[str, str]) -> None:
    found = ac.query(query).check(SIMPLE)
    assert {column.name: str(column.type) for column in found} == columns


def test_the_time_of_events_comes_from_the_first_order_column() -> None:
    schema = {"type": "string", "ts": "timestamp[ms, tz=UTC]", "id": "int", "v": "int"}
    found = ac.query("MATCH A").check(schema, order_by=["ts", "id"])
    assert [column.name for column in found] == ["start_time", "end_time", "A"]
    assert (
        str(found.field("A").type.value_type)
        == "struct<time: timestamp[ms, tz=UTC], type: string, id: int64, v: int64>"
    )
    by_id = ac.query("MATCH A").check(schema, order_by=["id", "ts"])
    assert by_id.names == ["start", "end", "A"]
    assert [field.name for field in by_id.field("A").type.value_type] == ["position", "type", "ts", "id", "v"]


def test_attributes_of_several_event_types_come_together() -> None:
    schema = {"SELL": {"price": "int"}, "NEWS": {"text": str}}
    found = ac.query("MATCH (SELL OR NEWS) AS x FILTER x.price > 1").check(schema)
    assert str(found.field("SELL").type.value_type) == "struct<position: int64, type: string, price: int64>"
    assert str(found.field("x").type.value_type) == "struct<position: int64, type: string, price: int64, text: string>"


class SparkField:
    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.dataType = self
        self.simpleString = lambda: kind


class SparkSchema:
    def __init__(self, **columns: str) -> None:
        self.fields = [SparkField(name, kind) for name, kind in columns.items()]

    def simpleString(self) -> str:  # noqa: N802  # Spark's name
        return "struct<…>"


@pytest.mark.parametrize(
    "described",
    [
        {"type": str, "v": int, "t": datetime.datetime, "d": "decimal(10, 2)"},
        {"type": "string", "v": "int64", "t": "timestamp[us]", "d": pa.decimal128(10, 2)},
        pa.schema({"type": pa.string(), "v": pa.int64(), "t": pa.timestamp("us"), "d": pa.decimal128(10, 2)}),
        pa.schema(
            {
                "type": pa.dictionary(pa.int8(), pa.string()),
                "v": pa.int64(),
                "t": pa.timestamp("us"),
                "d": pa.decimal128(10, 2),
            }
        ),
        SparkSchema(type="string", v="bigint", t="timestamp_ntz", d="decimal(10,2)"),
    ],
    ids=["python", "names", "arrow", "dictionary", "spark"],
)
def test_schemas(described: object) -> None:
    schema = schema_of(described)
    assert {name: str(kind) for name, kind in schema.columns.items()} == {
        "type": "string",
        "v": "int64",
        "t": "timestamp[us]",
        "d": "decimal128(10, 2)",
    }


@pytest.mark.parametrize(
    ("described", "options", "says"),
    [
        ({"v": "int"}, {}, "no column `type`"),
        ({"Type": "string"}, {}, "did you mean `Type`"),
        ({"type": "int"}, {}, "event types are names"),
        ({"type": "string", "v": "integr"}, {}, "'integr' is not a type"),
        ({"type": "string", "position": "int", "n": "int"}, {"order_by": ["n", "position"]}, "rename the column"),
        ({"type": "string", "v": "int"}, {"order_by": "vv"}, "did you mean `v`"),
        ({"type": "string", "b": pa.list_(pa.int64())}, {"order_by": "b"}, "has no order"),
        ({"type": "string", "v": "int"}, {"type_column": None}, "event_type"),
        ({"kind": "string", "v": "int"}, {"event_type": "A", "type_column": "kind"}, "only one of them"),
        ({"A": {"v": "int"}, "B": {"v": "string"}}, {}, "one type in all"),
        (pa.schema([("type", pa.string()), ("type", pa.string())]), {}, "occurs twice"),
        ({5: "int"}, {}, "named by strings"),
        ("type: string", {}, "cannot be read from str"),
    ],
)
def test_schemas_that_are_refused(described: object, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ac.SchemaError, match=says):
        ac.query("MATCH A").check(described, **options)


COLUMNS = {"type": "string", "v": "int", "time": "int", "position": "string", "ts": "timestamp"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT A.time MATCH A", "`time` may be when an event happens, which `ts` tells, or the column `time`"),
        ("SELECT A.v MATCH A FILTER A.position > 3", "`position` may be the position of an event"),
        ("SELECT A.v MATCH A ; B FILTER A.v - A.position > B.v", "`position` may be"),
        ("SELECT max(A.time) AS m MATCH A+", "`time` may be"),
        ("SELECT A.v MATCH A+ FILTER A[increasing(time)]", "`time` may be"),
        ("SELECT A.v MATCH A+ PROJECT A(v, time)", "`time` may be"),
        ("SELECT A.v MATCH A PARTITION BY time", "`time` may be"),
        ("SUMMARIZE sum(A.time) AS n MATCH A", "`time` may be"),
        ("SELECT A MATCH A", "events are shown with all columns"),
        ("MATCH A", "events are shown with all columns"),
    ],
)
def test_a_column_called_as_what_every_event_has_is_refused_where_it_is_asked_for(text: str, says: str) -> None:
    with pytest.raises(ac.QueryCheckError, match=says):
        ac.query(text).check(COLUMNS, order_by="ts")


def test_a_column_called_as_what_every_event_has_is_no_trouble_otherwise() -> None:
    query = ac.query("SELECT A.v, start_time, count(B) AS n MATCH A ; B+ FILTER B[v > 3] PARTITION BY v WITHIN 1 HOUR")
    assert query.check(COLUMNS, order_by="ts").names == ["A_v", "start_time", "n"]
    query = ac.query("SUMMARIZE max(A.v) AS time MATCH A HAVING time > 1")
    assert query.check(COLUMNS, order_by="ts").names == ["time"]
    types = {"A": {"v": "int", "ts": "timestamp", "time": "int"}, "B": {"v": "int", "ts": "timestamp"}}
    assert ac.query("SELECT A.v MATCH A ; B").check(types, order_by="ts").names == ["A_v"]
    with pytest.raises(ac.SchemaError, match="rename the column `position`"):
        ac.query("SELECT A.v MATCH A").check(COLUMNS, order_by="ts", rows="events")
    no_time = {name: kind for name, kind in COLUMNS.items() if name not in ("ts", "position")}
    assert ac.query("SELECT A.time MATCH A").check(no_time).names == ["A_time"]  # where events have no time of theirs


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("int", 'unit="s"'),
        ("float", "--time-format epoch"),
        ("date", "--time-format %Y-%m-%d"),
        ("string", "--time-format '%d/%m/%Y %H:%M:%S'"),
    ],
)
def test_a_window_in_time_needs_a_timestamp_and_it_is_told_how_to_make_one(kind: str, says: str) -> None:
    with pytest.raises(ac.QueryCheckError, match="needs a stream with time") as error:
        ac.query("MATCH A ; B WITHIN 5 MINUTES").check({"type": "string", "ts": kind}, order_by="ts")
    assert says in str(error.value)


def test_a_text_as_order_is_warned_of() -> None:
    query, rows = ac.query("SELECT A.n MATCH A"), [{"type": "A", "n": "9"}, {"type": "A", "n": "10"}]
    with pytest.warns(ac.AceleraWarning, match="'10' comes before '9'"):
        query.check({"type": "string", "n": "string"}, order_by="n")
    with pytest.warns(ac.AceleraWarning, match="`n` is text"):
        assert [row["A_n"] for row in query.run(rows, order_by="n").to_pylist()] == ["10", "9"]


def test_a_column_called_time_or_position_may_be_the_order() -> None:
    table = pa.table({"type": ["A", "A"], "position": [20, 10]})
    found = ac.query("SELECT A.position, start MATCH A").run(table, order_by="position")
    assert found.to_pylist() == [{"A_position": 10, "start": 1}, {"A_position": 20, "start": 2}]
    table = pa.table({"type": ["A"], "time": pa.array([5], pa.timestamp("s"))})
    assert ac.query("SELECT A MATCH A").run(table, order_by="time").schema.field("A").type.names == ["time", "type"]
