"""Streams: however rows arrive in micro-batches, inside the watermark, the matches are those of the whole table."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.spark.watermarks import late_events_of
from engine.test_sessions import long_stream, shown, timed_cases
from tiers import thinned

pytest.importorskip("pyspark")

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "0")) // 5
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
LATER = 4 * 10**15
"""The time of a last row, which lets all others pass, in microseconds."""


class Files:
    """A folder that a stream reads, file by file in the order in which they were put there, and one for its matches."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self.count = spark, folder, 0
        self.source, self.sink, self.time = str(folder / "in"), str(folder / "out"), "ts"
        (folder / "in").mkdir(parents=True)

    def put(self, table: pa.Table) -> None:
        """One more file."""
        self.count += 1
        path = self.folder / f"{self.count:06d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (self.count, self.count))  # Spark takes the oldest first
        path.rename(self.folder / "in" / path.name)

    def put_all(self, table: pa.Table, pieces: int) -> None:
        """A table in several files, and at last a row that lets all others pass."""
        for rows in np.array_split(np.arange(table.num_rows), pieces):
            self.put(table.take(pa.array(rows)))
        self.put(last_row(table.schema, self.time))

    def frame(self, delay: str | None = "1 minute", files: int = 2) -> Any:
        """The stream."""
        schema = self.spark.read.parquet(self.source).schema
        frame = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(self.source)
        return frame if delay is None else frame.withWatermark(self.time, delay)

    def run(self, frame: Any) -> list[Any]:
        """Read all that is there, and write it to the sink; the progress of each micro-batch."""
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.folder / "checkpoint"))
        stream = writer.option("path", self.sink).trigger(availableNow=True).start()
        stream.awaitTermination()
        return list(stream.recentProgress)

    def found(self) -> pa.Table:
        """What the sink holds."""
        return self.spark.read.parquet(self.sink).toArrow()


def last_row(schema: pa.Schema, time: str = "ts") -> pa.Table:
    """A row long after all others, of no event type."""
    later = pa.array([LATER], pa.timestamp("us")).cast(schema.field(time).type)
    return pa.table({each.name: later if each.name == time else pa.nulls(1, each.type) for each in schema})


def zoned(table: pa.Table) -> pa.Table:
    """Times as Spark's usual timestamps."""
    at = table.column_names.index("ts")
    return table.set_column(at, "ts", table.column("ts").cast(pa.timestamp("us", "UTC")))


def shuffled(table: pa.Table, seconds: float, seed: int = 1) -> pa.Table:
    """Rows as they arrive, each up to some seconds after its time."""
    times = table.column("ts").cast(pa.int64()).to_numpy()
    delays = np.random.default_rng(seed).uniform(0, seconds * 1_000_000, table.num_rows)
    return table.take(pa.array(np.argsort(times + delays)))


def late_events(progress: list[Any]) -> int:
    return sum(map(late_events_of, progress))


QUERIES = [
    "MATCH A ; B ; C PARTITION BY k WITHIN 20 SECONDS",  # split by a key, rows dropped in the JVM
    "SELECT a.v, b.v, start, end MATCH A AS a ; B AS b FILTER a.v < b.v WITHIN 6 EVENTS",  # one bucket, all rows
    "SELECT x, m, start_time MATCH (A ; B : C) AS x AGG m[most <- max(x.d)] PARTITION BY s, k WITHIN 9 EVENTS",
    "MATCH (A ; C) UNLESS B PARTITION BY k WITHIN 30 SECONDS",
    "MATCH (A ; B) UNLESS C FOR 10 SECONDS PARTITION BY k WITHIN 20 SECONDS",  # matches wait
    "MATCH (A AS one ; B) UNLESS (C AS c FILTER c.v > one.v) FOR 20 SECONDS WITHIN 9 SECONDS",  # for what they hold
    "MATCH (A ; B) AS x FILTER x[same(s)] WITHIN 15 SECONDS",  # split by what is common to all events of a match
]


@pytest.mark.parametrize("text", thinned(QUERIES, 4))
def test_a_stream_gives_the_matches_of_the_table(text: str, spark: Any, tmp_path: Path) -> None:
    table, files = zoned(long_stream(2_000)), Files(spark, tmp_path)
    files.put_all(shuffled(table, 55), 5)
    progress = files.run(ac.query(text).run(files.frame(), order_by="ts"))
    assert shown(files.found()) == shown(ac.query(text).run(table, order_by="ts", until=LATER))
    assert len([each for each in progress if each.numInputRows]) == 3
    assert late_events(progress) == 0


def test_what_waits_for_its_time_is_given_then(spark: Any, tmp_path: Path) -> None:
    """No match is written before the watermark has passed its time, and the next run from the checkpoint goes on."""
    query = ac.query("SELECT a.n, end_time MATCH A AS a UNLESS (B AS b FILTER b.v = a.v) FOR 2 MINUTES PARTITION BY k")
    made, files = long_stream(1_000), Files(spark, tmp_path)
    table = zoned(made.append_column("n", pa.array(range(made.num_rows), pa.int64())))
    expected = query.run(table, order_by="ts", until=LATER)
    first, rest = table.slice(0, 600), table.slice(600)
    files.put(first)
    files.run(query.run(files.frame("1 second"), order_by="ts"))
    watermark = first.column("ts")[-1].as_py() - timedelta(seconds=1)
    known = expected.filter(pc.less(expected.column("end_time"), watermark - timedelta(minutes=2)))
    assert shown(files.found()) == shown(known)
    assert 0 < known.num_rows < expected.num_rows
    files.put(rest)
    files.put(last_row(table.schema))
    files.run(query.run(files.frame("1 second"), order_by="ts"))
    assert shown(files.found()) == shown(expected)


@pytest.mark.property
@pytest.mark.skipif(not EXAMPLES, reason="takes long; set ACELERA_SPARK_EXAMPLES")
@settings(max_examples=max(EXAMPLES, 1))
@given(case=timed_cases(), pieces=st.integers(1, 4), delay=st.sampled_from([0, 3, 20]), seed=st.integers(0, 99))
def test_any_query_on_any_stream(
    case: tuple[ac.Query, pa.Table], pieces: int, delay: int, seed: int, spark: Any, folders: Iterator[Path]
) -> None:
    query, table = case[0], zoned(case[1])
    try:
        expected = query.run(table, order_by="ts", method="automaton", until=LATER)
    except ac.AggregateError:
        assume(False)
    files = Files(spark, next(folders))
    files.put_all(shuffled(table, delay, seed), pieces)
    try:
        frame = query.run(files.frame(f"{delay} seconds", 1), order_by="ts")
    except ac.UsageError as error:
        assume("which Spark does not tell apart" not in str(error))
        raise
    progress = files.run(frame)
    assert shown(files.found()) == shown(expected)
    assert late_events(progress) == 0


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("stream") for _ in iter(int, 1))


# --- late rows, other starts --------------------------------------------------------------------------------------


def put_with_late_rows(files: Files) -> tuple[pa.Table, pa.Table]:
    """The rows of a stream that come in time, and those of types A, B and C that do not."""
    table = zoned(long_stream(600))
    late = np.isin(np.arange(600), np.random.default_rng(2).choice(300, 40, replace=False))
    in_time = table.filter(pa.array(~late))
    files.put(in_time.slice(0, 550))
    files.put(in_time.slice(550))  # late is what the watermark of the micro-batch before has passed
    files.put(table.filter(pa.array(late)))
    files.put(last_row(table.schema))
    matter = np.isin(table.column("type").to_numpy(zero_copy_only=False), ["A", "B", "C"])
    return in_time, table.filter(pa.array(late & matter))


@pytest.mark.slow
def test_late_rows_are_counted_and_left_out(spark: Any, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    query = ac.query("MATCH A ; B ; C PARTITION BY k WITHIN 20 SECONDS")
    in_time, late = put_with_late_rows(files)
    progress = files.run(query.run(files.frame("5 seconds", 1), order_by="ts"))
    assert shown(files.found()) == shown(query.run(in_time, order_by="ts"))
    assert late_events(progress) == late.num_rows > 0


def test_late_rows_are_a_second_output(spark: Any, tmp_path: Path) -> None:
    """They come whole, in a column of their own, and can be told from matches by it."""
    files = Files(spark, tmp_path)
    query = ac.query("SELECT A.v AS v, start_time MATCH A ; B ; C PARTITION BY k WITHIN 20 SECONDS")
    in_time, late = put_with_late_rows(files)
    progress = files.run(query.run(files.frame("5 seconds", 1), order_by="ts", late_events="too late"))
    found = spark.read.parquet(files.sink)
    matches = found.filter("`too late` IS NULL").drop("too late").toArrow()
    events = found.filter("`too late` IS NOT NULL")
    assert shown(matches) == shown(query.run(in_time, order_by="ts"))
    assert events.filter("v IS NOT NULL OR start_time IS NOT NULL").count() == 0
    assert shown(events.select("`too late`.*").toArrow()) == shown(late)
    assert late_events(progress) == late.num_rows


@pytest.mark.slow
def test_rows_before_1970_wait_as_well(spark: Any, tmp_path: Path) -> None:
    """Spark's watermark begins in 1970, and a timer before that would never expire."""
    table, files = zoned(long_stream(200)), Files(spark, tmp_path)
    times = pa.array(table.column("ts").cast(pa.int64()).to_numpy() - 10**9, table.column("ts").type)
    table = table.set_column(table.column_names.index("ts"), "ts", times)
    files.put_all(table, 2)
    query = ac.query("MATCH A ; B WITHIN 20 SECONDS")
    files.run(query.run(files.frame(), order_by="ts"))
    assert shown(files.found()) == shown(query.run(table, order_by="ts"))


@pytest.mark.slow  # tests/spark/test_cli.py takes one up in any case
def test_a_checkpoint_is_taken_up_by_its_query_alone(
    spark: Any, tmp_path: Path, conf: Callable[[str, str], None]
) -> None:
    table, files = zoned(long_stream(900)), Files(spark, tmp_path)
    query = ac.query("MATCH A ; B ; C PARTITION BY k WITHIN 20 SECONDS")
    arriving = shuffled(table, 55)
    for begin in range(0, 600, 150):
        files.put(arriving.slice(begin, 150))
    files.run(query.run(files.frame(), order_by="ts"))
    before = files.found().num_rows
    other, checkpoint = ac.query("MATCH A ; B ; D PARTITION BY k WITHIN 20 SECONDS"), files.folder / "checkpoint"
    with pytest.raises(ac.SnapshotError, match="the checkpoint belongs to another query"):
        other.run(files.frame(), order_by="ts", checkpoint=checkpoint)
    files.put(arriving.slice(600, 150))
    with pytest.raises(
        Exception, match=r"worker: acelera\.errors\.SnapshotError: the checkpoint belongs to another query"
    ):
        files.run(other.run(files.frame(), order_by="ts"))
    files.put(arriving.slice(750))
    files.put(last_row(table.schema))
    conf("spark.sql.session.timeZone", "America/Santiago")  # rows that wait came with times of another zone
    files.run(query.run(files.frame(), order_by="ts", checkpoint=checkpoint))
    conf("spark.sql.session.timeZone", "UTC")
    expected = query.run(table, order_by="ts")
    assert 0 < before < expected.num_rows
    assert shown(files.found()) == shown(expected)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("MATCH A ; B PARTITION BY k", "rows wait for the watermark; then split by k, in 16 buckets with a state each"),
        ("MATCH A ; B WITHIN 5 SECONDS", "rows wait for the watermark; then one task reads the whole stream in order"),
    ],
)
def test_explain(text: str, line: str, empty: Files) -> None:
    told = ac.query(text).explain(empty.frame(), order_by="ts")
    assert line in told
    assert "slices" not in told


def test_late_rows_have_a_column_of_their_own(empty: Files) -> None:
    query = ac.query("SELECT A.v AS late MATCH A ; B")
    with pytest.raises(ac.UsageError, match="late_events='Late': the result has a column of that name"):
        query.run(empty.frame(), order_by="ts", late_events="Late")
    alike = empty.frame().selectExpr("*", "k AS K")
    with pytest.raises(ac.UsageError, match="reads the column `k`, which Spark does not tell apart from `K`"):
        query.run(alike, order_by="ts", late_events="late rows")  # whole, with columns that the query does not ask for
    with pytest.raises(ac.UsageError, match="late_events=… is for streams"):
        query.run(empty.spark.read.parquet(empty.source), order_by="ts", late_events="late rows")
    with pytest.raises(ac.UsageError, match="late_events=… is for streaming DataFrames"):
        query.run(zoned(long_stream(1)), order_by="ts", late_events="late rows")
    with pytest.raises(ac.UsageError, match="checkpoint=… is for streaming DataFrames"):
        query.run([{"type": "A"}], checkpoint="checkpoint")


@pytest.fixture
def empty(spark: Any, tmp_path: Path) -> Files:
    files = Files(spark, tmp_path)
    files.put(zoned(long_stream(1)))
    return files


def test_a_watermark_is_needed(empty: Files) -> None:
    with pytest.raises(ac.UsageError, match=r'no watermark on `ts`.*Add one: df.withWatermark\("ts", "10 minutes"\)'):
        ac.query("MATCH A ; B").run(empty.frame(delay=None), order_by="ts")


def test_each_of_several_streams_needs_one(empty: Files) -> None:
    query = ac.query("MATCH A ; B")
    with pytest.raises(ac.UsageError, match="no watermark on `ts` of the frame of B"):
        query.run({"A": empty.frame(), "B": empty.frame(delay=None)}, order_by="ts")
    with pytest.raises(ac.UsageError, match="the frame of A is a stream, that of B is not"):
        query.run({"A": empty.frame(), "B": empty.spark.read.parquet(empty.source)}, order_by="ts")


def test_a_watermark_wants_a_zone(empty: Files) -> None:
    frame = empty.frame(delay=None).selectExpr("* EXCEPT (ts)", "CAST(ts AS TIMESTAMP_NTZ) AS ts")
    with pytest.raises(ac.UsageError, match="for times with a zone only, and `ts` has none; cast it before"):
        ac.query("MATCH A ; B").run(frame, order_by="ts")


def test_the_watermark_is_on_the_column_that_orders(empty: Files) -> None:
    frame = empty.frame().selectExpr("*", "ts + INTERVAL 1 SECOND AS other")
    with pytest.raises(ac.UsageError, match="no watermark on `other`"):
        ac.query("MATCH A ; B").run(frame, order_by="other")


def test_a_stream_is_ordered_by_time(empty: Files) -> None:
    with pytest.raises(ac.UsageError, match="a stream is ordered by time, but `v` is of type"):
        ac.query("MATCH A ; B").run(empty.frame(), order_by="v")


def test_an_order_is_needed(empty: Files) -> None:
    with pytest.raises(ac.UsageError, match="order_by"):
        ac.query("MATCH A ; B").run(empty.frame())


def test_more_partitions_than_buckets_are_a_waste(empty: Files, conf: Callable[[str, str], None]) -> None:
    conf("spark.sql.shuffle.partitions", "200")
    with pytest.warns(ac.AceleraWarning, match="shuffle.partitions is 200, but there are 16 buckets.*Set it to 16"):
        ac.query("MATCH A ; B").run(empty.frame(), order_by="ts")


def test_the_state_store_is_named(empty: Files) -> None:
    conf = empty.spark.conf
    before = conf.get(PROVIDER)
    conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(ac.UsageError, match=f"RocksDB store; set {PROVIDER} to org.apache.*RocksDBStateStoreP"):
            ac.query("MATCH A ; B").run(empty.frame(), order_by="ts")
    finally:
        conf.set(PROVIDER, before)
