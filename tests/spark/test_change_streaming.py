"""Rules over changes that still come: however they arrive, what rules do is what they do with all of them in process."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera import cdc
from acelera.errors import UsageError
from acelera.trepl.on_spark.rule_frames import RuleFrames
from cdc.messages import MESSAGES, ROME, message, texts
from spark.test_change_batch import PROGRAMS, TIMES, at, rows
from spark.test_streaming import Files, late_events


def history(size: int, seed: int = 1) -> pa.Table:
    """Changes of two relations in up to so many seconds: few keys, of which one is NULL, and several a second."""
    rng = np.random.default_rng(seed)
    ops = rng.choice(["i", "u", "d"], size, p=[0.3, 0.5, 0.2])
    keys = pa.array(rng.choice(["a", "b", "c"], size), mask=rng.random(size) < 0.2)
    values = rng.integers(1, 9, size)
    return pa.table(
        {
            "relation": pa.array(rng.choice(["p", "q"], size)),
            "ts": pa.array([at(int(second)) for second in rng.integers(0, 60, size)], TIMES),
            "op": pa.array(ops),
            "old_k": pa.array(keys.to_pylist(), mask=ops == "i"),
            "old_v": pa.array(values - 1, mask=ops == "i"),
            "new_k": pa.array(keys.to_pylist(), mask=ops == "d"),
            "new_v": pa.array(values, mask=ops == "d"),
        }
    )


def shuffled(table: pa.Table, seconds: float, seed: int = 2) -> pa.Table:
    """Rows as they arrive, each up to some seconds after its time."""
    times = table.column("ts").cast(pa.int64()).to_numpy()
    delays = np.random.default_rng(seed).uniform(0, seconds * 1_000_000, table.num_rows)
    return table.take(pa.array(np.argsort(times + delays)))


def last(table: pa.Table, second: int) -> pa.Table:
    """A change of each relation at a time, so that all before it pass."""
    time = pa.array([at(second)] * 2, TIMES)
    known = {"relation": pa.array(["p", "q"]), "ts": time, "op": pa.array(["i"] * 2), "new_v": pa.array([0, 0])}
    return pa.table({each.name: known.get(each.name, pa.nulls(2, each.type)) for each in table.schema})


def in_process(text: str, table: pa.Table, **options: Any) -> dict[str, pa.Table]:
    found: dict[str, pa.Table] = ac.trepl(text).run(apart(text, table), **options)
    return found


def apart(text: str, table: pa.Table) -> dict[str, cdc.Source]:
    """The changes of each relation."""
    names = table.column("relation").to_pylist()
    own = {name: table.filter(pa.array([each == name for each in names])) for name in ac.trepl(text).relations}
    return {name: cdc.changes(rows.drop_columns(["relation"])) for name, rows in own.items()}


def streaming(text: str, files: Files, delay: str | None = "20 seconds") -> RuleFrames:
    frame, program = files.frame(None, 1), ac.trepl(text)
    sources = {}
    for name in program.relations:
        own = frame.filter(frame.relation == name).drop("relation")
        sources[name] = cdc.changes(own if delay is None else own.withWatermark("ts", delay))
    found: RuleFrames = program.run(sources, checkpoint=files.folder / "checkpoint")
    return found


def outputs(found: RuleFrames, sink: pa.Table, files: Files) -> Mapping[str, list[str]]:
    """The rows of each output, from what was written of all actions."""
    written = files.spark.createDataFrame(sink, schema=found.frame.schema)
    stored = RuleFrames(
        dict.fromkeys(found.by_module, written), found.tasks, found.outputs, found.program, found.acting
    )
    return {name: rows(stored[name].toArrow()) for name in stored}


TWO_PARTS = """
    Begin Module M monitor p, delete(p) as gone partition by k; derived d(k, n);
    Run: (* p(X, X.v > Last(X.v)), Count(X) >= 2) -> d(X.k, Count(X)), write("%s: %d in a row", X.k, Count(X));
    Gone: [d(R), gone(X)] -> d(X.k, R.n - 1);
    End Module.
    Begin Module N monitor q; Last: (q(X), q(Y, Y.k = X.k)) -> write(X.k, X.v, Y.v, Y.Timestamp - X.Timestamp);
    End Module.
"""
"""One module is spread over the buckets of a key, the other has one."""

STREAMED = {"two parts": TWO_PARTS, **PROGRAMS}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::acelera.errors.AceleraWarning")
@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_gives_what_tables_give(name: str, spark: Any, tmp_path: Path) -> None:
    """Changes are out of order, and the stream is stopped, and goes on from its checkpoint."""
    text, table, files = STREAMED[name], history(60), Files(spark, tmp_path)
    arriving = shuffled(table, 15)
    files.put(arriving.slice(0, 40))
    progress = files.run(streaming(text, files).frame)
    before = files.found().num_rows
    with pytest.raises(ac.SnapshotError, match="the checkpoint belongs to another program"):
        streaming("monitor p; Any: p(X) -> write(X.k);", files)
    files.put(arriving.slice(40))
    files.put(last(table, 90))
    found = streaming(text, files)
    progress += files.run(found.frame)
    assert late_events(progress) == 0
    wanted = in_process(text, table)
    sink = files.found()
    assert 0 < before < sink.num_rows
    assert outputs(found, sink, files) == {output: rows(each) for output, each in wanted.items()}


# --- what is done -----------------------------------------------------------------------------------------------------

COMMANDS = """
    Begin Module M monitor p partition by k;
    Rise: (p(X), p(Y, Y.v > X.v)) -> call(Y.k), insert into t values (Y.k, X.v, Y.v, Y.Timestamp);
    End Module.
    Begin Module N monitor q, delete(q); Gone: (q(X), delete(q(Y))) -> sql("insert into t values (?, ?, 0, 0)", X.k, X.v);
    End Module.
"""
"""One module is spread by its key, the other runs in one bucket."""


@pytest.mark.slow
def test_commands_are_done_once(spark: Any, tmp_path: Path) -> None:
    """An action fails, and the stream goes on from its checkpoint: each row is in the database once."""
    table, called, wanted = history(150, seed=3), list[Any](), list[Any]()
    files = Files(spark, tmp_path)
    arriving = shuffled(table, 15)
    files.put(arriving.slice(0, 110))
    for name in ("stream", "process"):
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute("create table t(k text, x int, y int, at text)")

    def call(row: Any, identity: str) -> None:
        called.append(identity)
        if len(called) == 2:
            raise ValueError("not now")

    def run() -> None:
        own = files.frame("20 seconds", 1)
        given = {name: cdc.changes(own.filter(own.relation == name).drop("relation")) for name in "pq"}
        writer = (
            program.run(given)
            .do(database=tmp_path / "stream")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
        )
        writer.trigger(availableNow=True).start().awaitTermination()

    program = ac.trepl(COMMANDS, {"call": call})
    with pytest.raises(Exception, match="not now"):
        run()
    files.put(pa.concat_tables([arriving.slice(110), last(table, 90)]))
    run()
    in_process = ac.trepl(COMMANDS, {"call": lambda _, identity: wanted.append(identity)})
    in_process.run(apart(COMMANDS, table), database=tmp_path / "process")
    content = {}
    for name in ("stream", "process"):
        with sqlite3.connect(tmp_path / name) as connection:
            content[name] = connection.execute("select * from t order by at, k, x, y").fetchall()
    assert content["stream"] == content["process"] and len(content["process"]) > 3
    assert sorted(called) == sorted([*wanted, called[1]])  # the one that failed was called again


# --- late and early ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_late_changes_are_counted_and_left_out(spark: Any, tmp_path: Path) -> None:
    table, files = history(40, seed=4), Files(spark, tmp_path)
    order = table.sort_by("ts")
    in_time, late = pa.concat_tables([order.slice(0, 10), order.slice(20)]), order.slice(10, 10)
    for piece in (in_time, last(table, 100), late, last(table, 200)):
        files.put(piece)
    found = streaming(TWO_PARTS, files)
    progress = files.run(found.frame)
    asked = [row for row in late.to_pylist() if (row["relation"], row["op"]) != ("q", "d")]
    assert late_events(progress) == len(asked) > 0
    seen = pa.concat_tables([in_time, last(table, 100)])
    assert outputs(found, files.found(), files) == {
        name: rows(each) for name, each in in_process(TWO_PARTS, seen).items()
    }


@pytest.mark.slow
def test_messages_of_debezium(spark: Any, tmp_path: Path) -> None:
    """Times stand inside of texts, so that the stream is told how late they may come."""
    text = "monitor customers; Moved: (customers(X), update(customers(Y), Y.id = X.id)) -> write(Y.id, X.city, Y.city);"
    messages = [*MESSAGES, message("c", None, ROME, 60_000)]
    files = Files(spark, tmp_path)
    for each in (messages[2:5], messages[:2], messages[5:]):
        files.put(pa.Table.from_pylist(texts(each)))
    options: dict[str, Any] = {"schema": {"id": int, "city": str}, "order_by": ["source.ts_ms", "transaction.id"]}
    source = cdc.debezium(files.frame(None, 1), **options)
    found = ac.trepl(text).run({"customers": source}, granularity="transaction", delay="10 seconds")
    files.run(found.frame)
    whole = cdc.debezium(pa.Table.from_pylist(texts(MESSAGES)), **options)
    wanted = ac.trepl(text).run({"customers": whole}, granularity="transaction")
    assert outputs(found, files.found(), files) == {name: rows(each) for name, each in wanted.items()}
    assert wanted["Moved"].num_rows


# --- frames -----------------------------------------------------------------------------------------------------------


def test_the_columns_of_a_result(spark: Any, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.put(history(2))
    found = streaming(TWO_PARTS, files)
    names = ["action", "Timestamp", "M.Run.0", "M.Run.1", "M.Gone.0", "N.Last.0"]
    assert found.frame.columns == names
    assert list(found) == ["d", "Run", "Run.2", "Gone", "Last"]
    assert repr(found) == "<acelera.trepl streams of d, Run, Run.2, Gone, Last>"
    schemas = ac.trepl(TWO_PARTS).check(apart(TWO_PARTS, history(2)))
    assert {name: frame.columns for name, frame in found.items()} == {
        name: each.names for name, each in schemas.items()
    }
    for frame in (found.frame, found["Run"], found["d"]):
        assert [each.name for each in frame.schema if each.metadata] == ["Timestamp"]


def test_explain_says_what_is_spread(spark: Any, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.put(history(2))
    own = files.frame("1 second").drop("relation")
    told = ac.trepl(PROGRAMS["a key, then none"]).explain({"p": cdc.changes(own)})
    assert told.partition("  on Spark")[2].splitlines() == [
        ", as a stream",
        "    modules M, N, O: one task, which sees all changes in order, as N has no `partition by` (E looks for "
        "d(Y) of whatever v)",
    ]


def test_what_is_refused(spark: Any, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.put(history(2))
    frame, bare = files.frame("1 second").drop("relation"), files.frame(None).drop("relation")
    naive = bare.selectExpr("* EXCEPT (ts)", "CAST(ts AS TIMESTAMP_NTZ) AS ts")
    numbered = bare.selectExpr("* EXCEPT (ts)", "unix_micros(ts) AS ts")
    whole = spark.read.parquet(files.source).drop("relation")
    program = ac.trepl("monitor p, q; R: p(X) -> sql('insert into t values (?)', X.v);")

    def run(left: Any, right: Any, granularity: str = "timestamp", **options: Any) -> Any:
        given = {name: cdc.changes(each, order_by=["new_v", "ts"]) for name, each in (("p", left), ("q", right))}
        return program.run(given, granularity=granularity, **options)

    refused = {
        "there is no watermark on `ts`.*delay=": lambda: run(frame, bare),
        "cast it to a timestamp": lambda: run(naive, naive, delay="1 second"),
        "say with time_unit=": lambda: run(numbered, numbered, delay="1 second"),
        "the frame of p is a stream, that of q is not": lambda: run(frame, whole),
        "begin order_by with `ts`": lambda: run(frame, frame, "operation"),
        r"run\(…\).do\(database=…\) is a writer": lambda: run(frame, frame, database="x.db"),
        "say with database=… where to do them": lambda: run(frame, frame).do(),
    }
    for message_, refuse in refused.items():
        with pytest.raises(UsageError, match=message_):
            refuse()
    only_messages = ac.trepl("monitor p; R: p(X) -> write(X.v);").run({"p": cdc.changes(frame)})
    with pytest.raises(UsageError, match="nothing is to do"):
        only_messages.do()
