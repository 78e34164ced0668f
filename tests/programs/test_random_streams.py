"""Random programs in the buckets of a stream, with their engines but without Spark: however rows arrive, it is what is
meant.
"""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acelera.programs.announcement import Announced
from acelera.programs.options import How
from acelera.programs.stream_task import ProgramTask
from acelera.programs.times import TimeKind
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.on_spark import stream_task
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.terms import Event, events_of
from programs.test_stream_task import Stream
from xchangeeq.strategies import SCHEMAS
from xchangeeq.streams import rounded, timed
from xchangeeq.timestamped import TIMES, Case, arrivals, cases, in_one_table

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "30"))


def task_of(case: Case) -> ProgramTask:
    checked = check(parse_program(case.text), SCHEMAS, case.text)
    longest = dict.fromkeys(SCHEMAS, 0.0 if case.points else float("inf"))
    stream = Announced(SCHEMAS, TimeKind(TIMES), How(case.times[0], "end", "type"), longest=longest)
    return stream_task(checked, stream, "nodes", case.text)


def travelling(task: ProgramTask, rows: pa.Table) -> pa.Table:
    """Rows with their data in structs."""
    columns = {name: rows.column(name) for name in ("type", *task.times)}
    labels = rows.column("type").to_pylist()
    for schema, slot in task.slots.items():
        own = pa.array([task.labels.get(label) == schema for label in labels], pa.bool_())
        data = rows.select(schema.names).cast(schema).combine_chunks().to_struct_array()
        columns[slot] = pc.if_else(own, data, None)
    return pa.table(columns)


def derived(stream: Stream) -> list[Event]:
    """What was found, each once."""
    found = []
    for row in stream.found:
        begin, end = (pa.scalar(row[name], TIMES).cast(pa.int64()).as_py() for name in ("begin", "end"))
        whole = {**row.get(row["type"], {}), "#begin": begin, "#end": end}
        table = pa.Table.from_pylist([whole], timed(stream.task.outputs[row["type"]]))
        found += events_of(table, row["type"], begin="#begin", end="#end")
    assert len(set(found)) == len(found)
    return found


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(case=cases(), forgets=st.booleans(), data=st.data())
def test_any_program_in_buckets(case: Case, forgets: bool, data: st.DataObject) -> None:
    arrival, task = data.draw(arrivals(len(case.ends))), task_of(case)
    stream, watermark = Stream(task, forgets), 0
    for piece in arrival.pieces(in_one_table(case.tables)):
        rows = travelling(task, piece)
        stream.take(rows, watermark)
        watermark = max(watermark, pc.max(piece.column("end").cast(pa.int64())).as_py() - arrival.delay)
        stream.take(rows.slice(0, 0), watermark)
    stream.take(rows.slice(0, 0), case.now)
    assert stream.late == 0
    assert rounded(derived(stream)) == rounded(case.meant(case.now))
