"""Kill a stream again and again, and look whether its sink holds exactly what the run in process gives.

    python tests/spark/killing.py [--kills 10] [--seed 1] [--into files|absences|sqlite|postgresql]

A child process reads files as a stream and writes the matches of a query to files, or lets rules act on a database. It
is killed (SIGKILL, with its JVM) at random moments and started again from its checkpoint, while more files come. At
last it may finish.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import acelera as ac
from acelera import cdc

sys.path.insert(0, str(Path(__file__).parents[1]))
from trepl.actions.servers import postgresql

QUERY = ac.query("SELECT a.n, b.n, c.n MATCH A AS a ; B AS b ; C AS c PARTITION BY k WITHIN 30 SECONDS")
ABSENCES = ac.query("""
    SELECT a.n, b.n MATCH (A AS a ; B AS b) UNLESS (C AS c FILTER c.n < a.n + 200) FOR 40 SECONDS
    PARTITION BY k WITHIN 30 SECONDS
""")
RULES = ac.trepl("""
    monitor event partition by k; derived pair(a, b);
    Pair: (event(X, X.type = 'A'), event(Y, Y.type <> 'A'))
      -> pair(X.n, Y.n), sql("insert into pairs values (?, ?)", X.n, Y.n), sql("update total set n = n + ?", Y.n);
""")
TABLES = ("create table pairs (a bigint, b bigint)", "create table total (n bigint)", "insert into total values (0)")
PIECES, ROWS = 60, 100
LAST = 2 * 10**15
"""The time of a last row, which lets all others pass, in microseconds."""


def main() -> None:
    """Parse, kill, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--into", choices=SINKS, default="files", help="matches into files, or actions on a database")
    parser.add_argument("--child", type=Path, help="only read the stream in this folder")
    parser.add_argument("--where", default="", help="the database that the child acts on")
    told = parser.parse_args()
    if told.child:
        read(told.child, SINKS[told.into](told.child, told.where))
        return
    with tempfile.TemporaryDirectory() as folder, SINKS[told.into].there(Path(folder)) as sink:
        sys.exit(0 if survive(sink, told.kills, random.Random(told.seed)) else 1)


# --- where results go ---------------------------------------------------------------------------------------------


class Matches:
    """The matches of a query, in files; also what all sinks share."""

    name = "files"
    query = QUERY

    def __init__(self, folder: Path, where: str = "") -> None:
        self.folder, self.where = folder, where

    @classmethod
    @contextmanager
    def there(cls, folder: Path) -> Iterator[Matches]:
        """The sink, before anything was written."""
        yield cls(folder)

    def writer(self, frame: Any) -> Any:
        """What writes the results of a stream."""
        return (
            self.query.run(frame, order_by="ts").writeStream.format("parquet").option("path", str(self.folder / "out"))
        )

    def found(self) -> list[str]:
        """What is there in the end."""
        return sorted(map(repr, session().read.parquet(str(self.folder / "out")).toArrow().to_pylist()))

    def expected(self, table: pa.Table) -> list[str]:
        """What should be there."""
        return sorted(map(repr, self.query.run(table, order_by="ts", until=LAST).to_pylist()))


class Absences(Matches):
    """Matches that wait until it is known that something does not follow."""

    name = "absences"
    query = ABSENCES


class Sqlite(Matches):
    """What rules do: they insert pairs, which shows what is missing, and add them up, which shows what is done twice."""

    name = "sqlite"

    @classmethod
    @contextmanager
    def there(cls, folder: Path) -> Iterator[Matches]:
        made = cls(folder, str(folder / "acted.db"))
        made.make()
        yield made

    def connect(self) -> Any:
        """A connection to the database."""
        return sqlite3.connect(self.where)

    def make(self) -> None:
        """The tables that rules write to."""
        connection = self.connect()
        for command in TABLES:
            connection.cursor().execute(command)
        connection.commit()
        connection.close()

    def asked(self, question: str) -> list[Any]:
        """The rows of a question to the database."""
        cursor = self.connect().cursor()
        cursor.execute(question)
        return list(cursor.fetchall())

    def writer(self, frame: Any) -> Any:
        return RULES.run({"event": cdc.inserts(frame, time="ts")}).do(database=self.connect)

    def found(self) -> list[str]:
        (total,) = self.asked("select n from total")
        return [*sorted(map(repr, self.asked("select a, b from pairs"))), f"total {total[0]}"]

    def expected(self, table: pa.Table) -> list[str]:
        rows = RULES.run({"event": cdc.inserts(table, time="ts")})["pair"].to_pylist()
        return [*sorted(repr((row["a"], row["b"])) for row in rows), f"total {sum(row['b'] for row in rows)}"]


class Postgresql(Sqlite):
    """The same in a server of one's own."""

    name = "postgresql"

    @classmethod
    @contextmanager
    def there(cls, folder: Path) -> Iterator[Matches]:
        with postgresql() as where:
            made = cls(folder, where)
            made.make()
            yield made

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.where)


SINKS = {sink.name: sink for sink in (Matches, Absences, Sqlite, Postgresql)}


# --- the process that dies ----------------------------------------------------------------------------------------


def read(folder: Path, sink: Matches) -> None:
    """Read all files as a stream, one a micro-batch, until none is left."""
    spark = session()
    frame = spark.readStream.schema(spark.read.parquet(str(folder / "in")).schema)
    frame = frame.option("maxFilesPerTrigger", 1).parquet(str(folder / "in")).withWatermark("ts", "20 seconds")
    writer = sink.writer(frame).option("checkpointLocation", str(folder / "checkpoint"))
    (folder / "reading").touch()
    writer.trigger(availableNow=True).start().awaitTermination()


def session() -> Any:
    """A small Spark with what a stream needs."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


# --- the process that kills ---------------------------------------------------------------------------------------


def survive(sink: Matches, kills: int, chance: random.Random) -> bool:
    """Whether nothing is lost, and nothing there twice, after so many kills."""
    folder = sink.folder
    (folder / "in").mkdir()
    table = events()
    pieces = iter(arrivals(table))
    put(folder, pieces, PIECES // 2)
    began, killed = time.time(), 0
    while killed < kills:
        put(folder, pieces, PIECES // (2 * kills))
        (folder / "reading").unlink(missing_ok=True)
        child = start(sink)
        at = wait(folder, child, chance)
        if child.poll() is not None:
            print(f"the child ended by itself with {child.returncode}", flush=True)
            if child.returncode:
                print((folder / "child.log").read_text(errors="replace")[-5000:])
                return False
            continue
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        killed += 1
        print(
            f"kill {killed:2} after {at:3.1f} s of reading: {committed(folder)} of {PIECES + 1} micro-batches are done",
            flush=True,
        )
    put(folder, pieces, PIECES + 1)
    if start(sink).wait() != 0:
        print("the last child failed")
        return False
    print(f"all is read after {time.time() - began:.0f} s: {committed(folder)} micro-batches")
    return same(sink, table)


def events() -> pa.Table:
    """A stream with time in order; each event has a number."""
    size, rng = PIECES * ROWS, np.random.default_rng(1)
    times = 1_700_000_000_000_000 + np.cumsum(rng.integers(500_000, 1_500_000, size))
    return pa.table(
        {
            "type": rng.choice(["A", "B", "C", "D"], size),
            "k": rng.integers(0, 10, size),
            "n": np.arange(size),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def arrivals(table: pa.Table) -> list[pa.Table]:
    """The files: rows up to 15 seconds after their time, and one row that lets all others pass."""
    times = table.column("ts").cast(pa.int64()).to_numpy()
    order = np.argsort(times + np.random.default_rng(2).uniform(0, 15_000_000, len(times)))
    found = [table.take(pa.array(rows)) for rows in np.array_split(order, PIECES)]
    last = pa.table({"type": ["D"], "k": [0], "n": [-1], "ts": pa.array([LAST], pa.timestamp("us", "UTC"))})
    return [*found, last]


def put(folder: Path, pieces: Any, count: int) -> None:
    """Some more files."""
    for _, piece in zip(range(count), pieces, strict=False):
        number = len(list((folder / "in").iterdir()))
        path = folder / "being_written"
        pq.write_table(piece, path)
        os.utime(path, (number + 1, number + 1))  # Spark takes the oldest first
        path.rename(folder / "in" / f"{number:06d}.parquet")


def start(sink: Matches) -> subprocess.Popen[bytes]:
    """A child in a process group of its own, so that its JVM dies with it."""
    command = [sys.executable, __file__, "--child", str(sink.folder), "--into", sink.name, "--where", sink.where]
    environment = {"PYSPARK_PYTHON": sys.executable, **os.environ}
    with (sink.folder / "child.log").open("ab") as log:
        return subprocess.Popen(command, start_new_session=True, env=environment, stdout=log, stderr=log)


def wait(folder: Path, child: subprocess.Popen[bytes], chance: random.Random) -> float:
    """Wait for a random moment: some seconds after the child began to read, or up to three micro-batches and a while."""
    while not (folder / "reading").exists() and child.poll() is None:
        time.sleep(0.05)
    began = time.time()
    if chance.random() < 0.5:
        end = began + chance.uniform(0, 10)
    else:
        enough = committed(folder) + chance.randint(0, 3)
        while committed(folder) < enough and child.poll() is None:
            time.sleep(0.01)
        end = time.time() + chance.uniform(0, 2)
    while time.time() < end and child.poll() is None:
        time.sleep(0.01)
    return time.time() - began


def committed(folder: Path) -> int:
    """How many micro-batches are done."""
    commits = folder / "checkpoint" / "commits"
    return sum(each.name.isdigit() for each in commits.iterdir()) if commits.is_dir() else 0


def same(sink: Matches, table: pa.Table) -> bool:
    """Whether the sink holds what it should, each row once."""
    found, expected = sink.found(), sink.expected(table)
    lost, more = len(set(expected) - set(found)), len(set(found) - set(expected))
    print(f"{len(found)} rows; lost {lost}, more than once {len(found) - len(set(found))}, wrong {more}")
    return found == expected


if __name__ == "__main__":
    main()
