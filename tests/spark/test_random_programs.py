"""Random programs on Spark, over frames that are all there and over streams, against their meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.programs.spark_streaming import Streamed
from acelera.xchangeeq.terms import Event, events_of
from spark.test_streaming import Files, late_events
from xchangeeq.streams import rounded
from xchangeeq.timestamped import TIMES, Arrival, Case, arrivals, cases, in_one_table

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "2"))
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A case takes seconds, so a smaller one of those that fail is best looked for in process."""


def events_in(tables: Mapping[str, pa.Table]) -> list[Event]:
    """Events with their times in microseconds, of which none may come twice."""
    found = [each for label, table in tables.items() for each in events_of(table, label, begin="begin", end="end")]
    assert len(set(found)) == len(found)
    return found


# --- all there ----------------------------------------------------------------------------------------------------


def run_batch(case: Case, to_frame: Callable[[pa.Table], Any]) -> list[str]:
    frames = {label: to_frame(table) for label, table in case.tables.items()}
    found = ac.xchangeeq(case.text).run(frames, **case.options)
    return rounded(events_in({label: frame.toArrow() for label, frame in found.items()}))


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(case=cases(recursion=False))
def test_batches(case: Case, to_frame: Callable[[pa.Table], Any]) -> None:
    expected = rounded(case.meant())
    event("derives something" if expected else "derives nothing")
    assert run_batch(case, to_frame) == expected


# --- streams ------------------------------------------------------------------------------------------------------


def last_rows(schema: pa.Schema, labels: Iterable[str], time: int) -> pa.Table:
    """A row of each label at a time."""
    names = list(labels)
    known = {"type": names} | {name: pa.array([time] * len(names), TIMES) for name in ("begin", "end")}
    return pa.table({each.name: known.get(each.name, pa.nulls(len(names), each.type)) for each in schema}, schema)


def streaming(case: Case, files: Files, arrival: Arrival) -> Streamed:
    """A program over the files of a stream."""
    program, delay = ac.xchangeeq(case.text), f"{arrival.delay // 1000} milliseconds"
    frame = files.frame(None, 1)
    if not arrival.apart:
        columns = list(dict.fromkeys(name for table in case.tables.values() for name in table.column_names))
        found: Any = frame.select("type", *columns).withWatermark("end", delay)
    else:
        found = {
            label: frame.filter(frame.type == label).select(*table.column_names).withWatermark("end", delay)
            for label, table in case.tables.items()
        }
    streamed: Streamed = program.run(found, **case.options)
    return streamed


def derived(table: pa.Table, outputs: Mapping[str, pa.Schema]) -> list[Event]:
    """The events of a result, which has a struct for each label."""
    tables = {}
    for label, schema in outputs.items():
        own = table.filter(pa.array([each == label for each in table.column("type").to_pylist()], pa.bool_()))
        data = pa.Table.from_struct_array(own.column(label).combine_chunks()) if len(schema) else own.select([])
        tables[label] = own.select(["begin", "end"]).rename_columns(["#begin", "#end"])
        for name in data.column_names:
            tables[label] = tables[label].append_column(name, data.column(name))
    found = [each for label, own in tables.items() for each in events_of(own, label, begin="#begin", end="#end")]
    assert len(set(found)) == len(found)
    return found


def run_stream(case: Case, arrival: Arrival, spark: Any, folder: Path) -> list[str]:
    """What is derived by the last watermark, with a restart in between."""
    files = Files(spark, folder)
    files.time = "end"
    table = in_one_table(case.tables)
    pieces = [*arrival.pieces(table), last_rows(table.schema, case.tables, case.now + arrival.delay)]
    progress = []
    for part in (pieces[: arrival.restart], pieces[arrival.restart :]):
        for rows in part:
            files.put(rows)
        streamed = streaming(case, files, arrival)
        progress += files.run(streamed.frame)
    assert late_events(progress) == 0
    return rounded(derived(files.found(), streamed.outputs))


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("stream") for _ in iter(int, 1))


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=EXAMPLES, phases=UNSHRUNK, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(case=cases(), data=st.data())
def test_streams(case: Case, data: st.DataObject, spark: Any, folders: Iterator[Path]) -> None:
    arrival = data.draw(arrivals(len(case.ends)))
    expected = rounded(case.meant(case.now))
    event("derives something" if expected else "derives nothing")
    assert run_stream(case, arrival, spark, next(folders)) == expected
