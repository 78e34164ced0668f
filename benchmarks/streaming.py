"""Streams on Spark: keys in buckets against a call for each key, and against moving the rows alone.

    python benchmarks/streaming.py [--rows 250000] [--batches 3] [--keys 1000 50000]

A call for each key is measured twice: one that only reads and writes a few bytes of state, which is the least that any
query would take, and one that runs the query as one would by hand, with a session and its snapshot for each key (but
without waiting for the watermark).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import acelera as ac
from measuring import heading, line
from spark import SELECTIVE, ticks
from spark_session import session

ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def seconds_of(frame: Any, folder: Path) -> float:
    """The time of a micro-batch; the first one, which starts everything, is left out."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder))
    stream = writer.trigger(availableNow=True).start()
    stream.awaitTermination()
    durations = [each.batchDuration / 1000 for each in stream.recentProgress if each.numInputRows]
    return median(durations[1:])


def per_key(query: ac.Query | None, schema: pa.Schema) -> Any:
    """A call for each key: some bytes of state, read and written, and in between the query, if there is one."""
    from pyspark.sql.streaming import StatefulProcessor

    class Processor(StatefulProcessor):  # type: ignore[misc]  # Spark's classes have no types
        """The state of a key."""

        def init(self, handle: Any) -> None:
            self.state = handle.getValueState("state", "bytes binary")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            frames, known = list(rows), self.state.get()
            if query is None:
                self.state.update((b"0" * 100,))
                return
            session = query.resume(bytes(known[0])) if known else query.open(schema, order_by="ts")
            for frame in frames:
                matches = session.push(pa.Table.from_pandas(frame).cast(schema))
                if matches.num_rows:
                    yield pd.DataFrame({"n": [matches.num_rows]})
            self.state.update((session.snapshot(),))

        def close(self) -> None:
            pass

    return Processor()


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--keys", type=int, nargs="*", default=[1_000, 50_000])
    options = parser.parse_args()
    spark = session()
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS_DB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")  # each costs a commit of its state in every micro-batch
    query = ac.query(SELECTIVE.format(then=":"))
    for keys in options.keys:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "in").mkdir()
            whole = folder / "ticks.parquet"
            ticks(options.rows * options.batches, keys, whole)
            table = pq.read_table(whole)
            for number in range(options.batches):
                path = folder / "in" / f"{number}.parquet"
                pq.write_table(table.slice(number * options.rows, options.rows), path)
                os.utime(path, (number, number))  # Spark takes the oldest first
            frame = spark.readStream.schema(spark.read.parquet(str(whole)).schema).option("maxFilesPerTrigger", 1)
            frame = frame.parquet(str(folder / "in")).withWatermark("ts", "10 seconds")
            moved = frame.repartition("name").mapInArrow(lambda batches: batches, frame.schema)
            works = {"moved": moved, "ours": query.run(frame, order_by="ts")}
            for each, asked in (("calls", None), ("sessions", query)):
                processor = per_key(asked, pq.read_schema(whole))
                works[each] = frame.groupBy("name").transformWithStateInPandas(
                    processor, "n int", "Append", "EventTime"
                )
            seconds = {each: seconds_of(works[each], folder / each) for each in works}
            heading(f"{options.rows:,} rows a micro-batch, {keys:,} keys, a : b : c")
            for each, name in (("calls", "calls that do nothing"), ("sessions", "a session for each key")):
                note = f"{seconds[each]:.1f} s and {seconds['ours']:.1f} s"
                line(f"buckets against {name}", seconds[each] / seconds["ours"], "times as quick", note=note)
            note = f"{seconds['ours']:.1f} s and {seconds['moved']:.1f} s"
            line("buckets against moving all rows", seconds["ours"] / seconds["moved"], "times", note=note)
    spark.stop()


if __name__ == "__main__":
    main()
