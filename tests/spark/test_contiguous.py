"""What a query asks of events in a row, read from its plan; no Spark is needed for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import acelera as ac
from acelera.automata.terms import Environment, holds
from acelera.language.evaluation import evaluate
from acelera.language.lowering import UnsupportedError
from acelera.language.printer import print_expression
from acelera.language.schema import schema_of
from acelera.semantics.queries import partitions
from acelera.spark.alone import alone
from acelera.spark.contiguous import Run, Shape, shapes_of
from acelera.tables import to_rows
from contiguous_cases import contiguous, stream

SCHEMA = schema_of({"type": "string", "p": "float", "n": "int", "ts": "timestamp"}).ordered_by("ts")


def shapes(text: str) -> tuple[Shape, ...]:
    return shapes_of(ac.query(text).compiled(SCHEMA).plan)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("MATCH A AS x : B AS y FILTER x.p < y.p", ["`0`.p < `1`.p"]),
        ("MATCH A:{3} AS x FILTER x[p > prev(p)]", ["`1`.p > `0`.p", "`2`.p > `1`.p"]),
        ("MATCH A:{2} AS x : B AS y FILTER x.p < y.p", ["`0`.p < `2`.p", "`1`.p < `2`.p"]),
        ("MATCH A:{2} AS x : B AS y FILTER x.p = y.p", ["`0`.p = `1`.p", "`0`.p = `2`.p", "`1`.p = `2`.p"]),
        ("MATCH A:{2} AS x : B AS y FILTER x.p + x.n < y.p", ["`0`.p + `0`.n < `2`.p", "`1`.p + `1`.n < `2`.p"]),
        ("MATCH A:{2} AS x : B AS y FILTER x.p <> y.p", ["`0`.p <> `2`.p", "`1`.p <> `2`.p"]),
        ("MATCH A:{2} AS x FILTER x[same(n)]", ["`0`.n = `0`.n", "`0`.n = `1`.n"]),
        ("MATCH A AS x : B AS y FILTER x.p + y.n > 2", ["`0`.p + `1`.n > 2"]),
    ],
)
def test_conditions(text: str, conditions: list[str]) -> None:
    (shape,) = shapes(text)
    (run,) = shape.runs
    assert sorted(print_expression(each) for each in run.conditions) == conditions


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("MATCH A : B", [2]),
        ("MATCH A : B OR A : C : A", [2, 3]),
        ("MATCH A : (ANY FILTER ANY.p > 1 OR ANY.n > 1)", [2]),  # two runs find the same match
        ("MATCH A:{1,3}", [1, 2, 3]),
        ("MATCH START(A : B)", [2]),
        ("MATCH A : START(B)", []),
    ],
)
def test_lengths(text: str, lengths: list[int]) -> None:
    assert sorted(shape.length for shape in shapes(text)) == lengths


@pytest.mark.parametrize(
    "text", ["MATCH A ; B", "MATCH A:+", "MATCH A : B+", "MATCH (A : B) UNLESS C", "MATCH ANY:{17}"]
)
def test_what_is_no_run(text: str) -> None:
    with pytest.raises(UnsupportedError):
        shapes(text)


# --- at random ----------------------------------------------------------------------------------------------------

ROWS = stream(60, 5)


def satisfies(run: Run, events: Sequence[Any], plan: Any) -> bool:
    """Whether so many events satisfy a run, by the definition."""
    if run.begins and events[0].position != 1:
        return False
    for each, tests in zip(events, run.tests, strict=True):
        if not all(holds(plan.tests[number], Environment(each)) for number in tests):
            return False
    return all(
        evaluate(condition, lambda node: events[int(node.variable)].raw(node.name)) is True
        for condition in run.conditions
    )


@pytest.mark.property
@given(text=contiguous(), reading=st.sampled_from(["once", "additive"]))
def test_shapes_are_what_the_engine_finds(text: str, reading: Any) -> None:
    """Also that the JVM says it alone, or refuses it in words."""
    tail = text.split(" MATCH ")[1]
    try:
        query = ac.query(f"SELECT start_time, end_time MATCH {tail}", bag_union=reading)
        schema = query._schema(ROWS.schema, "ts", "type", None)
        compiled = query.compiled(schema)
        shapes = alone(compiled).shapes
        alone(ac.query(text, bag_union=reading).compiled(schema))
    except ac.QueryCheckError:
        event("no query")
        return
    except UnsupportedError as error:
        event(str(error))
        return
    found: Counter[tuple[int, int]] = Counter()
    for partition in partitions(to_rows(ROWS, schema), schema, compiled.checked.clauses, "error"):
        for shape in shapes:
            for begin in range(len(partition.events) - shape.length + 1):
                events = partition.events[begin : begin + shape.length]
                seconds = 4_000_000_000 if "SECONDS" in tail else 10**18
                if events[-1].time - events[0].time <= seconds and any(
                    satisfies(run, events, compiled.plan) for run in shape.runs
                ):
                    found[events[0].time, events[-1].time] += 1
    result = query.run(ROWS, order_by="ts")
    times = [column.cast(pa.int64()).to_numpy() * 1000 for column in result.columns]
    assert found == Counter(zip(*(each.tolist() for each in times), strict=True))
    event("matches" if found else "no matches")
