"""Programs of statements on Spark, over frames that are all there and over streams: the same as in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.errors import UsageError
from spark.test_streaming import Files, late_events, shuffled
from streams.random_programs import AT_ONCE, counted, programs, tables

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "2"))
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
ORDER = {"order_by": ["ts", "seq"]}

KEYED = """
STREAM rise AS SELECT k, b.v, start_time MATCH A AS a ; (A OR B) AS b FILTER b.v > a.v PARTITION BY k WITHIN 5 SECONDS;
STREAM twice AS SELECT k, count(r) AS n, max(c.v) AS v MATCH (rise AS r){2} ; C AS c PARTITION BY k WITHIN 9 SECONDS;
STREAM again AS SELECT k FROM twice MATCH twice : twice PARTITION BY k;
"""
APART = """
STREAM rise AS SELECT k, b.v AS v MATCH A AS a ; B AS b FILTER b.v > a.v PARTITION BY k WITHIN 3 SECONDS;
STREAM both AS SELECT x.k AS one, y.k AS two MATCH rise AS x ; rise AS y FILTER x.k <> y.k WITHIN 30 SECONDS;
"""
OTHER = "STREAM rise AS SELECT k MATCH A AS a ; B AS b PARTITION BY k WITHIN 3 SECONDS;"


def rows(size: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "type": pa.array(rng.choice(["A", "B", "C"], size)),
            "k": pa.array(rng.choice(["p", "q", "r"], size)),
            "v": pa.array(rng.integers(0, 5, size), mask=rng.random(size) < 0.1),
            "ts": pa.array(np.sort(rng.integers(0, size, size)) * 1_000_000, pa.timestamp("us", "UTC")),
            "seq": pa.array(np.arange(size)),
        }
    )


def collected(found: Any) -> dict[str, pa.Table]:
    return {name: frame.toArrow() for name, frame in found.items()}


def assert_same(program: Any, made: dict[str, pa.Table], table: pa.Table) -> None:
    expected = program.run(table, **ORDER)
    assert counted(made) == counted(expected)


@pytest.mark.parametrize("text", [KEYED, APART], ids=["keys in common", "no key in common"])
def test_what_is_all_there(text: str, to_frame: Callable[[pa.Table], Any]) -> None:
    program, table = ac.program(text), rows(90)
    found = program.run(to_frame(table.take(pa.array(np.random.default_rng(2).permutation(90)))), **ORDER)
    assert all(each.num_rows for each in program.run(table, **ORDER).values())
    assert_same(program, collected(found), table)


def test_a_frame_for_each_type(to_frame: Callable[[pa.Table], Any]) -> None:
    program, table = ac.program(KEYED), rows(60)
    frames = {kind: to_frame(table.filter(pc.field("type") == kind).drop_columns(["type"])) for kind in "ABC"}
    assert_same(program, collected(program.run(frames, **ORDER)), table)


def test_what_runs_where(to_frame: Callable[[pa.Table], Any]) -> None:
    frame = to_frame(rows(3))
    told = ac.program(KEYED).explain(frame, **ORDER)
    assert "rise: split by k, many keys a task" in told and "again: split by k, many keys a task" in told
    told = ac.program(APART).explain(frame, **ORDER)
    assert "rise: split by k" in told and "both: one task reads the whole stream in order" in told


def test_what_frames_are_not_for(to_frame: Callable[[pa.Table], Any]) -> None:
    program, frame = ac.program(KEYED), to_frame(rows(3))
    with pytest.raises(UsageError, match="collect the rows"):
        program.run(frame, method="semantics", **ORDER)
    with pytest.raises(UsageError, match="no order of arrival"):
        program.run(frame, ties="keep", **ORDER)
    with pytest.raises(UsageError, match="say it with order_by"):
        program.run(frame)
    with pytest.raises(UsageError, match="late_events"):
        program.run(frame, late_events="late", **ORDER)


# --- streams ------------------------------------------------------------------------------------------------------


def streamed_tables(found: pa.Table, outputs: dict[str, pa.Schema]) -> dict[str, pa.Table]:
    """The events of each stream out of one table."""
    made = {}
    for name, schema in outputs.items():
        own = found.filter(pc.field("type") == name)
        data = pa.Table.from_struct_array(own.column(name).combine_chunks())
        made[name] = pa.table([own.column("ts"), *data.columns], names=["ts", *data.column_names]).cast(schema)
    return made


def last_row(schema: pa.Schema, time: int) -> pa.Table:
    known = {"ts": pa.array([time], pa.timestamp("us", "UTC")), "seq": pa.array([10**6])}
    return pa.table({each.name: known.get(each.name, pa.nulls(1, each.type)) for each in schema})


def run_stream(text: str, table: pa.Table, arrived: pa.Table, pieces: int, spark: Any, folder: Path) -> Any:
    """What is made by the last watermark, with a restart in between."""
    program, files, progress = ac.program(text), Files(spark, folder), []
    parts = np.array_split(np.arange(arrived.num_rows), pieces)
    latest = pc.max(table.column("ts").cast(pa.int64())).as_py() + 3_600_000_000
    for half in (parts[: pieces // 2], parts[pieces // 2 :]):
        for part in half:
            files.put(arrived.take(pa.array(part)))
        if half is not parts[: pieces // 2] and len(half) and half[-1] is parts[-1]:
            files.put(last_row(table.schema, latest))
        streamed = program.run(files.frame("1 minute", 1), **ORDER, checkpoint=folder / "checkpoint")
        progress += files.run(streamed.frame)
    assert late_events(progress) == 0
    with pytest.raises(ac.SnapshotError, match="the checkpoint belongs to another program"):
        ac.program(OTHER).run(files.frame("1 minute", 1), **ORDER, checkpoint=folder / "checkpoint")
    return streamed_tables(files.found(), program.check(table, **ORDER))


@pytest.mark.parametrize("text", [KEYED, APART], ids=["keys in common", "no key in common"])
def test_a_stream(text: str, spark: Any, tmp_path: Path) -> None:
    table = rows(90)
    made = run_stream(text, table, shuffled(table, 20), 4, spark, tmp_path)
    assert_same(ac.program(text), made, table)


def test_one_output_of_a_stream(spark: Any, tmp_path: Path) -> None:
    table, files, program = rows(60), Files(spark, tmp_path), ac.program(KEYED)
    for part in (table, last_row(table.schema, 3_600_000_000)):
        files.put(part)
    streamed = program.run(files.frame("1 minute", 1), **ORDER)
    files.run(streamed["rise"])
    assert counted({"rise": files.found()}) == counted({"rise": program.run(table, **ORDER)["rise"]})


# --- random programs ----------------------------------------------------------------------------------------------


def with_places(table: pa.Table) -> pa.Table:
    return table.append_column("seq", pa.array(np.arange(table.num_rows)))


PROGRAMS, TABLES = st.one_of(programs(True), programs(True, keyed=True)), tables(True).map(with_places)


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, deadline=None, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(text=PROGRAMS, table=TABLES)
def test_random_batches(text: str, table: pa.Table, to_frame: Callable[[pa.Table], Any]) -> None:
    program = ac.program(text)
    expected = program.run(table, **ORDER)
    assume(0 < sum(each.num_rows for each in expected.values()) < 3_000)
    assert_same(program, collected(program.run(to_frame(table), **ORDER)), table)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("stream") for _ in iter(int, 1))


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, deadline=None, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(text=programs(True, keep=AT_ONCE), table=TABLES, seed=st.integers(0, 99))
def test_random_streams(text: str, table: pa.Table, seed: int, spark: Any, folders: Iterator[Path]) -> None:
    expected = ac.program(text).run(table, **ORDER)
    assume(0 < sum(each.num_rows for each in expected.values()) < 3_000)
    made = run_stream(text, table, shuffled(table, 20, seed), 3, spark, next(folders))
    assert_same(ac.program(text), made, table)
