"""What is found out about a summary before any data is read: its columns, their types, what must be computed."""

from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.automata.model import Acea
from acelera.language import ast
from acelera.language.checker import check, check_clauses
from acelera.language.parser import parse_query
from acelera.language.result import AttributeValues, MatchBound, PartitionKey
from acelera.language.schema import schema_of
from acelera.language.summary import Summarized, Windows
from documents import blocks

SCHEMA = {
    "type": "string",
    "k": "string",
    "v": "int",
    "w": "float",
    "d": "decimal(9, 2)",
    "small": "int16",
    "ts": "timestamp",
    "slow": "timestamp[s]",
    "zoned": "timestamp[ms, tz=Europe/Paris]",
    "raw": "binary",
}
HOURS = 3_600_000_000_000


def summarized(text: str, order_by: str | None = "ts") -> Summarized:
    query = parse_query(text)
    found = check(query, schema_of(SCHEMA).ordered_by(order_by), text=text)
    assert query.select == () and found.result.columns == ()
    assert found.summary is not None
    return found.summary


def columns(text: str, order_by: str | None = "ts") -> dict[str, str]:
    """The columns of the result and their types."""
    found = ac.query(text).check(SCHEMA, order_by=order_by)
    assert found == summarized(text, order_by).schema
    return {field.name: str(field.type) for field in found}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("count(*)", {"count": "int64"}),
        ("log2_count(*), count(x)", {"log2_count": "double", "count_x": "int64"}),
        ("SUM(x.v), Sum(x.w) AS s", {"sum_x_v": "int64", "s": "double"}),
        ("avg(x.v), max(x.small), min(x.k)", {"avg_x_v": "double", "max_x_small": "int16", "min_x_k": "string"}),
        ("count(x.v IGNORE NULLS)", {"count_x_v": "int64"}),
        ("sum(x.v) / count(*) AS mean, sum(x.v) + 1 AS more", {"mean": "double", "more": "int64"}),
        ("1.0 * count(x) / count(A) AS ratio", {"ratio": "double"}),
        ("abs(coalesce(max(x.v), 0)) AS high", {"high": "int64"}),
        ("count(*) > 5 AS many, max(x.k) || '!' AS loud", {"many": "bool", "loud": "string"}),
        ("max(x.time), min(x.position), max(x.type)", {
            "max_x_time": "timestamp[us]", "min_x_position": "int64", "max_x_type": "string",
        }),
        ("max(x.ts) - min(x.ts) AS spread", {"spread": "duration[us]"}),
        ("max(m.total), avg(m.total) AS mean", {"max_m_total": "int64", "mean": "double"}),
        ("first(x.v), last(x.k)", {"first_x_v": "int64", "last_x_k": "string"}),
    ],
)  # fmt: skip
def test_items(items: str, expected: dict[str, str]) -> None:
    assert columns(f"SUMMARIZE {items} MATCH A ; (B AS x)+ AGG m[total <- sum(x.v)]") == expected


def test_columns_come_in_order() -> None:
    text = "SUMMARIZE count(*) AS n MATCH A ; B+ PARTITION BY k BY end_time, k AS sector, A.v, start OVER 1 HOUR"
    assert columns(text) == {
        "window_start": "timestamp[us]",
        "window_end": "timestamp[us]",
        "end_time": "timestamp[us]",
        "sector": "string",
        "A_v": "int64",
        "start": "int64",
        "n": "int64",
    }
    found = summarized(text)
    assert [key.source for key in found.keys] == [
        MatchBound(end=True, timed=True), PartitionKey("k"), AttributeValues("A", "v"), MatchBound(False, False)
    ]  # fmt: skip
    assert all(key.single for key in found.keys)
    assert found.partition_keys == ["k"]
    assert found.event_keys == [("A", "v")]
    assert found.bounds == {(True, True), (False, False)}


def test_each_total_is_computed_once() -> None:
    found = summarized(
        "SUMMARIZE sum(x.v) / count(*) AS mean, COUNT(*), Sum(x.v), sum(x.v IGNORE NULLS) AS s MATCH A AS x"
    )
    assert [(total.name, total.total) for total in found.totals] == [
        ("t0", ast.Total("sum", "x", "v")),
        ("t1", ast.Total("count")),
        ("t2", ast.Total("sum", "x", "v", True)),
    ]
    assert [total.given and str(total.given) for total in found.totals] == ["int64", None, "int64"]
    mean, *others = (item.expression for item in found.items)
    assert mean == ast.Binary("/", ast.Attribute(None, "t0"), ast.Attribute(None, "t1"))
    assert others == [ast.Attribute(None, "t1"), ast.Attribute(None, "t0"), ast.Attribute(None, "t2")]


@pytest.mark.parametrize(
    ("over", "windows", "order_by", "kind"),
    [
        ("1 HOUR", Windows(HOURS, HOURS, True), "ts", "timestamp[us]"),
        ("2 HOURS EVERY 30 MINUTES", Windows(2 * HOURS, HOURS // 2, True), "zoned", "timestamp[ms, tz=Europe/Paris]"),
        ("1 MILLISECOND EVERY 1 DAY", Windows(10**6, 24 * HOURS, True), "ts", "timestamp[us]"),
        ("1000 MILLISECONDS EVERY 2 SECONDS", Windows(10**9, 2 * 10**9, True), "slow", "timestamp[s]"),
        ("10 EVENTS", Windows(10, 10, False), "v", "int64"),
        ("10 EVENTS EVERY 3 EVENTS", Windows(10, 3, False), None, "int64"),
    ],
)
def test_windows(over: str, windows: Windows, order_by: str | None, kind: str) -> None:
    found = summarized(f"SUMMARIZE count(*) MATCH A OVER {over}", order_by)
    assert found.windows == windows
    assert str(found.window_type) == kind
    assert [str(field.type) for field in found.schema][:2] == [kind, kind]


@pytest.mark.parametrize("over", ["500 MILLISECONDS", "1 SECOND EVERY 1500 MILLISECONDS"])
def test_windows_that_the_time_cannot_tell(over: str) -> None:
    query = ac.query(f"SUMMARIZE count(*) MATCH A OVER {over}")
    assert query.check(SCHEMA, order_by="zoned")
    with pytest.raises(ac.QueryCheckError, match=r"times of type timestamp\[s\] cannot tell the bounds") as caught:
        query.check(SCHEMA, order_by="slow")
    assert caught.value.problems[0].hint == "give OVER and EVERY as whole seconds"


@pytest.mark.parametrize(
    "having",
    [
        "n > 3",
        "n > 3 AND mean < 2 OR k = 'a'",
        "window_start > TIMESTAMP '2024-01-01' AND window_end - window_start = INTERVAL 1 HOUR",
        "A_v IS NOT NULL AND NOT n IN (1, 2)",
        "abs(mean) BETWEEN 1 AND n",
    ],
)
def test_having_speaks_of_all_columns(having: str) -> None:
    found = summarized(
        "SUMMARIZE count(*) AS n, avg(B.w) AS mean MATCH A ; B PARTITION BY k BY k, A.v OVER 1 HOUR HAVING " + having
    )
    assert found.having is not None


def test_keys_cannot_be_opaque() -> None:
    with pytest.raises(ac.QueryCheckError, match="values of type binary cannot be a key"):
        ac.query("SUMMARIZE count(*) MATCH A BY A.raw").check(SCHEMA)


def test_an_attribute_of_agg_is_a_key() -> None:
    assert columns("SUMMARIZE count(*) MATCH A+ AGG m[n <- count(A)] BY m.n") == {"m_n": "int64", "count": "int64"}


def test_a_key_may_be_called_like_a_variable() -> None:
    found = summarized("SUMMARIZE count(*) MATCH A AS k PARTITION BY k BY k")
    assert found.partition_keys == ["k"]


def test_first_and_last_within_a_partition() -> None:
    assert columns("SUMMARIZE first(A.v) MATCH A+ PARTITION BY k BY k") == {"k": "string", "first_A_v": "int64"}
    with pytest.raises(ac.QueryCheckError, match="cannot be compared"):
        ac.query("SUMMARIZE first(A.v) MATCH A+ PARTITION BY k")


def test_functions_of_users_are_totals() -> None:
    ac.aggregate("summary_longest", lift=len, combine=max, identity=0, finish=int, returns=int)
    assert columns("SUMMARIZE Summary_Longest(A.k) MATCH A+") == {"summary_longest_A_k": "int64"}


def test_without_a_schema_what_is_known_is_checked() -> None:
    query = ac.query(
        "SUMMARIZE sum(x.v) / count(*) AS mean MATCH A AS x BY x.nope OVER 500 MILLISECONDS HAVING mean > 1"
    )
    assert query.variables == {"A": "exactly one", "x": "exactly one"}
    with pytest.raises(ac.QueryCheckError, match="no attribute `nope`"):
        query.check(SCHEMA, order_by="ts")


def test_the_example_of_the_documents() -> None:
    (text,) = (
        block.text for block in blocks("docs/language.md") if block.text.startswith("SUMMARIZE count(*) AS rises")
    )
    schema = {"type": "string", "name": "string", "price": "float", "ts": "timestamp"}
    expected = ["window_start", "window_end", "name", "rises", "mean", "gain"]
    assert ac.query(text).check(schema, order_by="ts").names == expected


def automaton() -> Acea:
    return ac.query("MATCH A AS x ; B+").automaton


def test_automata_are_summarized() -> None:
    query = ac.query(
        automaton(), partition_by=["k"], summarize=["count(*) AS n", "sum(B.v)"], by=["k", "end_time"], over="1 hour",
        every="5 minutes", having="n > 3",
    )  # fmt: skip
    assert str(query).split("\n") == [
        "SUMMARIZE count(*) AS n, sum(B.v)",
        "an automaton of 3 states, 5 transitions, 0 registers",
        "PARTITION BY k",
        "BY k, end_time",
        "OVER 1 HOUR EVERY 5 MINUTES",
        "HAVING n > 3",
    ]
    assert query.check(SCHEMA, order_by="ts").names == ["window_start", "window_end", "k", "end_time", "n", "sum_B_v"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"summarize": "sum(C.v)"}, "never binds `C`"),
        ({"summarize": "5 AS five"}, "speaks of no match"),
        ({"summarize": "count(*)", "by": "k"}, "no attribute of PARTITION BY"),
        ({"summarize": "count(*)", "over": "0 events"}, "hold no match"),
        ({"summarize": "count()"}, r"count\(\*\) counts matches"),
        ({"by": "k"}, "are for summaries"),
        ({"having": "n > 1"}, "are for summaries"),
        ({"summarize": "count(*)", "every": "5 minutes"}, "give over="),
        ({"summarize": 5}, "neither a text nor a list"),
        ({"summarize": "count(*)", "by": [3]}, "neither a text nor a list"),
        ({"summarize": "count(*)", "over": 5}, "not a window"),
    ],
)
def test_mistakes_around_automata(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ac.AceleraError, match=says):
        ac.query(automaton(), **options)


def test_a_text_says_itself_what_is_summarized() -> None:
    with pytest.raises(ac.UsageError, match="said in the query itself"):
        ac.query("MATCH A", summarize=["count(*)"])


def test_other_columns_show_the_matches() -> None:
    query = ac.query("SUMMARIZE count(*) MATCH A PARTITION BY k BY k").with_select([ast.SelectBound("end")])
    assert query == ac.query("SELECT end MATCH A PARTITION BY k")


def test_clauses_with_both_are_refused() -> None:
    summary = ast.Summary((ast.SummaryItem(ast.Total("count")),))
    variables = check(parse_query("MATCH A"), None).variables
    assert check_clauses(ast.Clauses((), summary=summary), None, variables).summary is not None
    with pytest.raises(ac.QueryCheckError, match="either SELECT or SUMMARIZE"):
        check_clauses(ast.Clauses((ast.SelectBound("end"),), summary=summary), None, variables)


def test_equal_summaries_are_equal_queries() -> None:
    assert ac.query("SUMMARIZE count(*) MATCH A") == ac.query("summarize COUNT(*) match A")
    assert ac.query("SUMMARIZE count(*) MATCH A") != ac.query("SUMMARIZE count(*) AS n MATCH A")
    assert ac.query("SUMMARIZE count(*) MATCH A").check({"type": str}) == pa.schema([("count", pa.int64())])
