"""Modules without `partition by` whose rules keep to one key, over frames: spread by it, with the stages of all keys."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import acelera as ac
from acelera import cdc
from acelera.language.types import INT, STRING, from_arrow
from acelera.trepl.checker import check
from acelera.trepl.on_spark import running_frames, stage_numbers
from acelera.trepl.on_spark.rule_frames import RuleFrames
from acelera.trepl.on_spark.travelling import LAST, NUMBER, WHEN, Travelling, travelling
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Relation
from acelera.trepl.splitting import parts_of
from spark.test_change_batch import SECOND, agree, at, changes
from tiers import thinned

pytestmark = pytest.mark.usefixtures("many_cores")

ToFrame = Callable[[pa.Table], Any]

PROGRAM = """
Begin Module M
monitor p, q; derived d(k, v, w);
Once: p(X) -> write("p");
Between: (p(X), any, p(Y, Y.k = X.k)) -> write(X.k, X.v, Y.v);
Absent: (p(X), *!q(U, U.k = X.k), p(Y, Y.k = X.k)) -> write(X.k, X.v, Y.v);
Later: [q(X), p(Y, Y.k = X.k)] -> d(Y.k, X.v, Y.v);
Again: [d(D), q(Y, Y.k = D.k)] -> write(D.k, D.w, Y.v);
End Module.
Begin Module N
monitor M.d;
Next: (d(X), d(Y, Y.k = X.k)) -> write(Y.k, Y.w);
End Module.
"""
P = changes(
    (1, "i", "a", 1), (2, "u", "b", 1), (4, "d", "a", 1), (5, "i", "a", 2), (5, "i", "b", 2), (7, "i", None, 1),
    (8, "u", "a", 3), (8, "i", "a", 4), (9, "i", None, 2),
)  # fmt: skip
Q = changes((3, "i", "a", 5), (6, "i", "c", 5), (8, "i", "b", 9), (9, "u", "a", 7))
"""The delete is not monitored, so the stages are at the seconds 1, 2, 3, 5, 6, 7, 8 and 9."""

WANTED: dict[str, list[tuple[Any, ...]]] = {
    "Once": [(1, 1, "p"), (2, 2, "p"), (4, 5, "p"), (6, 7, "p"), (7, 8, "p"), (8, 9, "p")],
    "Between": [(4, 5, "b", 1, 2)],
    "Absent": [(4, 5, "b", 1, 2), (7, 8, "a", 2, 3), (7, 8, "a", 2, 4)],
    "d": [(4, 5, "a", 5, 2), (7, 8, "a", 5, 3), (7, 8, "a", 5, 4)],
    "Again": [(8, 9, "a", 2, 7), (8, 9, "a", 3, 7), (8, 9, "a", 4, 7)],
    "Next": [(2, 8, "a", 3), (2, 8, "a", 4)],
}
"""The stage, the second and the arguments of what rules do."""


def sources(wrap: Callable[[pa.Table], Any]) -> dict[str, cdc.Source]:
    return {"p": cdc.changes(wrap(P)), "q": cdc.changes(wrap(Q))}


def told(table: pa.Table) -> list[tuple[Any, ...]]:
    names = [name for name in table.column_names if name not in ("module", "stage", "Timestamp", "message")]
    seconds = [(each - at(0)) // SECOND for each in table.column("Timestamp").cast(pa.int64()).to_pylist()]
    arguments = [table.column(name).to_pylist() for name in names]
    return sorted(zip(table.column("stage").to_pylist(), seconds, *arguments, strict=True))


def test_stages_of_other_keys_count(to_frame: ToFrame) -> None:
    program = ac.trepl(PROGRAM)
    frames = program.run(sources(to_frame))
    for tables in (program.run(sources(lambda table: table), method=each) for each in ("engine", "semantics")):
        assert {name: told(tables[name]) for name in WANTED} == WANTED
    agree(frames, tables)


def test_the_latest_time_of_a_stage_is_that_of_all_keys(to_frame: ToFrame) -> None:
    """Transactions are stages, and their changes need not be of one time; what rules ask of the key is not read else."""
    table = pa.table({"tx": ["x", "x", "y", "y"], "ts": [5, 9, 7, 2], "k": ["a", "b", "a", None], "v": [1, 2, 3, 4]})
    program = ac.trepl("monitor r; R: r(X) -> write(X.v); S: r(X) -> write(X.Timestamp);")
    given = {wrap: {"r": cdc.inserts(wrap(table), order_by="tx")} for wrap in (to_frame, lambda table: table)}
    frames, tables = (program.run(each, granularity="transaction") for each in given.values())
    assert [(row["Timestamp"], row["arg1"]) for row in tables["R"].to_pylist()] == [(9, 1), (9, 2), (7, 3), (7, 4)]
    agree(frames, tables)


@pytest.mark.parametrize("together", [False, True])
def test_a_key_that_no_rule_reads_travels(together: bool) -> None:
    """Engines keep instances apart by it, in a stream, too."""
    relations = {"r": Relation({"k": STRING, "v": INT, "w": INT})}
    program = check(parse("monitor r; R: r(X) -> write(X.v);").program, relations, from_arrow(pa.int64())).program
    schema = pa.schema([(name, pa.int64()) for name in ("#instant.0", "#time", "new.k", "new.v", "new.w")])
    (part,) = parts_of(program, together)
    (feed,) = travelling(part, program, {"r": schema}).feeds
    assert feed.values.names == ["new.k", "new.v"]


@pytest.mark.slow
def test_nothing_happens(to_frame: ToFrame) -> None:
    program = ac.trepl("monitor p, q; R: (p(X), q(Y, Y.k = X.k)) -> write(1);")
    frames = program.run({name: cdc.changes(to_frame(P.slice(0, 0))) for name in "pq"})
    assert frames["R"].toArrow().num_rows == 0


def test_keys_are_in_different_tasks(to_frame: ToFrame, spark: Any) -> None:
    from pyspark.sql import functions

    table = changes(*((second, "i", f"key {second % 20}", second) for second in range(100)))
    program = ac.trepl("monitor p; derived d(k, v); R: [p(X), p(Y, Y.k = X.k)] -> d(Y.k, Y.v - X.v);")
    made: RuleFrames = program.run({"p": cdc.changes(to_frame(table))})
    found = made["d"].groupBy(functions.spark_partition_id().alias("task"))
    by_task = {row.task: row.k for row in found.agg(functions.collect_set("k").alias("k")).collect()}
    assert len(by_task) > 1
    assert sorted(key for keys in by_task.values() for key in keys) == sorted(f"key {number}" for number in range(20))


@pytest.mark.slow
def test_operations_of_different_keys_are_told_apart(to_frame: ToFrame) -> None:
    tables = {"a": pa.table({"ts": [1, 2], "k": [1, 1]}), "b": pa.table({"ts": [3, 2], "k": [3, 2]})}
    given = {name: cdc.inserts(to_frame(table), order_by="ts") for name, table in tables.items()}
    program = ac.trepl("monitor a, b; R: [a(X), b(Y, Y.k = X.k)] -> write(1);")
    with pytest.raises(Exception, match="two changes of `a` and `b` are of one instant, 2, but with"):
        program.run(given, granularity="operation")["R"].toArrow()


# --- numbers ----------------------------------------------------------------------------------------------------------

INSTANTS: dict[str, tuple[list[pa.DataType], Callable[[int], tuple[Any, ...]]]] = {
    "without a zone": ([pa.timestamp("us")], lambda n: (datetime(2024, 3, 31, n % 24, n // 24),)),
    "integers": ([pa.int64()], lambda n: ((n - 20) * 2**56,)),
    "two columns": ([pa.date32(), pa.string()], lambda n: (date(2024, 1, 1 + n // 3), "äba"[n % 3])),
    "decimals": ([pa.decimal128(38, 2)], lambda n: (Decimal(n) / 4,)),
    "texts": ([pa.string()], lambda n: (f"{n:b}",)),
    "floats": ([pa.float64()], lambda n: ({0: float("-inf"), 41: float("inf"), 7: -0.0}.get(n, n - 7.0),)),
    "one": ([pa.int32()], lambda n: (5,)),
}


@pytest.mark.parametrize("name", thinned(INSTANTS, 4))
def test_instants_are_numbered_in_spans(name: str, to_frame: ToFrame) -> None:
    kinds, made = INSTANTS[name]
    numbers = [random.Random(1).randint(0, 41) for _ in range(60)] + [0, 41]
    instants = [made(number) for number in numbers]
    travels = Travelling((), tuple(kinds), pa.int64())
    columns = [pa.array(column, kind) for column, kind in zip(zip(*instants, strict=True), kinds, strict=True)]
    table = pa.table([*columns, pa.array(range(len(numbers)))], names=[*travels.instant_names, WHEN])
    with patch.object(stage_numbers, "AT_ONCE", 3):
        found = stage_numbers.with_stages(to_frame(table), travels, apart=False).toArrow()
    rank = {instant: number for number, instant in enumerate(sorted({*instants}), 1)}
    latest = {instant: time for time, instant in enumerate(instants)}
    wanted = [(time, rank[instant], latest[instant]) for time, instant in enumerate(instants)]
    assert sorted(zip(*(found.column(each).to_pylist() for each in (WHEN, NUMBER, LAST)), strict=True)) == wanted


# --- what is said -----------------------------------------------------------------------------------------------------


def test_few_cores_are_not_worth_it(to_frame: ToFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_frames, "MANY_CORES", 8)
    explained = ac.trepl("monitor p; R: (p(X), p(Y, Y.k = X.k)) -> write(1);").explain(sources(to_frame))
    assert explained.endswith(
        "module Main: one task, which sees all changes in order, as Main has no `partition by` (its rules keep to one "
        "k, but stages are numbered over all of them, which pays with 8 cores or more)"
    )


def test_explain(to_frame: ToFrame, spark: Any) -> None:
    assert ac.trepl(PROGRAM).explain(sources(to_frame)).partition("on Spark")[2].splitlines() == [
        ", over frames that are all there",
        "    module M: spread by key, p by k; q by k, which its rules keep to; stages are numbered before, over all keys",
        "    module N: spread by key, M.d by k, which its rules keep to; stages are numbered before, over all keys",
    ]
    stream = cdc.inserts(spark.readStream.format("rate").load(), time="timestamp")
    explained = ac.trepl("monitor r; R: (r(X), r(Y, Y.value = X.value)) -> write(1);").explain({"r": stream})
    assert explained.partition("on Spark")[2].splitlines() == [
        ", as a stream",
        "    module Main: one task, which sees all changes in order, as Main has no `partition by` (its rules keep to one "
        "value, but stages are numbered over all of them, which takes frames that are all there)",
    ]
