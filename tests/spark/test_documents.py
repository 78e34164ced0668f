"""The scripts of the documents that need Spark, run beside small tables of the names that they use."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from documents import Block, on_spark, pages, run_page

pytest.importorskip("pyspark")

SOURCES = {"ticks": None, "incoming": None, "sells": "SELL", "buys": "BUY"}
"""The folders that are there for every script, and the only type of events in them, if there is one."""

TYPES = ["SELL", "SELL", "SELL", "BUY", "A", "B"]
BEGIN = datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.timezone.utc)


def ticks() -> pa.Table:
    """A small market, with a time long after it, which lets a stream end."""
    rows = [
        {
            "ts": BEGIN + datetime.timedelta(seconds=10 * number),
            "type": TYPES[number % len(TYPES)],
            "name": ("MSFT", "INTL")[number // len(TYPES) % 2],
            "price": 101.0 + 7 * (number % len(TYPES)),
            "volume": 100 + number,
        }
        for number in range(36)
    ]
    rows.append({**rows[-1], "ts": BEGIN + datetime.timedelta(days=1), "type": "X"})
    return pa.Table.from_pylist(rows)


@pytest.fixture
def here(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own, which relative paths lead to, in Python and in the JVM; streams in it come to an end."""
    query = pytest.importorskip("pyspark.sql.streaming.query").StreamingQuery
    monkeypatch.setattr(query, "awaitTermination", lambda self, timeout=None: self.processAllAvailable())
    monkeypatch.chdir(tmp_path)
    hadoop, system = spark._jvm.org.apache.hadoop.fs, spark._jvm.java.lang.System
    files = hadoop.FileSystem.get(spark._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory(), system.getProperty("user.dir")
    files.setWorkingDirectory(hadoop.Path(str(tmp_path)))
    system.setProperty("user.dir", str(tmp_path))
    yield tmp_path
    files.setWorkingDirectory(before[0])
    system.setProperty("user.dir", before[1])


def settle(session: Any, names: dict[str, Any]) -> int:
    """Let streams read all there is, and frames compute what they promise; how many rows were found."""
    for stream in session.streams.active:
        stream.processAllAvailable()
        stream.stop()
        assert stream.exception() is None
    sinks = {path.parent.name for path in Path.cwd().glob("*/*.parquet")} - SOURCES.keys()
    written = [session.read.parquet(name).count() for name in sinks]
    assert any(written) or not sinks, f"nothing was written to {', '.join(sorted(sinks))}"
    several = [each for value in names.values() if isinstance(value, dict) for each in value.values()]
    frames = [each for each in (*names.values(), *several) if hasattr(each, "isStreaming") and not each.isStreaming]
    return sum(written) + sum(frame.count() for frame in frames)


def remove_what_it_writes(block: Block, folder: Path) -> None:
    """A page may write to a folder twice; here each script finds it empty."""
    if ".write" in block.text:
        for name in re.findall(r"[\"']([\w-]+)[\"']", block.text):
            if name not in SOURCES:
                shutil.rmtree(folder / name, ignore_errors=True)


def write_sources(folder: Path) -> None:
    """The folders that scripts read."""
    table = ticks()
    for name, kind in SOURCES.items():
        rows = table if kind is None else table.filter(pc.equal(table["type"], kind)).drop_columns("type")
        (folder / name).mkdir()
        pq.write_table(rows, folder / name / "part.parquet")


@pytest.mark.parametrize("page", [page for page in pages() if on_spark(page)])
def test_scripts(page: str, spark: Any, here: Path) -> None:
    write_sources(here)
    session = spark.newSession()  # its settings are its own
    frames = {name: session.read.parquet(name) for name in SOURCES}
    given = {"spark": session, "schema": frames["ticks"].schema, "df": frames["ticks"]}
    given |= {"sells": frames["sells"], "buys": frames["buys"]}
    names: dict[str, Any] = {"__name__": "__main__", **given}

    def made() -> dict[str, Any]:
        return {name: value for name, value in names.items() if value is not given.get(name)}

    def before(block: Block) -> None:
        if block.is_script:
            settle(session, made())
        remove_what_it_writes(block, here)

    run_page(page, names, on_spark(page), before)
    assert settle(session, made()), "no script of the page found anything"
