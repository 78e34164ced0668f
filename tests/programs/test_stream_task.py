"""Programs in the buckets of a stream, without Spark: however rows arrive, what is derived follows from the whole."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acelera.errors import DataError
from acelera.programs.components import Component
from acelera.programs.stream_task import BEGIN, END, TIMESTAMP, TYPE, ProgramTask
from acelera.spark.buckets import NEVER, Bucket
from acelera.spark.hosting import BUCKET, ROWS, Transport, _packer
from acelera.spark.waiting import Waiting, from_bytes
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term
from programs.judging import NOW, task_of
from spark.test_buckets import Kept
from xchangeeq.building import ev
from xchangeeq.programs import P

SECOND = 1_000_000
SCHEMAS = {
    "smoke": pa.schema({"area": pa.string()}),
    "temp": pa.schema({"area": pa.string(), "sensor": pa.string(), "value": pa.float64()}),
    "reset": pa.schema({"area": pa.string()}),
    "other": pa.schema([]),
}
TEXT = f"""{P}
DETECT minute {{ sensor {{ var S }}, n {{ count(all var V) }} }}
ON and {{ event w: timer:periodic [ 20 sec ], while w: collect temp {{{{ sensor {{{{ var S }}}}, value {{{{ var V }}}} }}}} }} END
DETECT calm {{ area {{ var A }} }}
ON and {{ event f: burnt {{{{ area {{{{ var A }}}} }}}}, event i: timer:from-end [ event f, 5 sec ],
         while i: not smoke {{{{ area {{{{ var A }}}} }}}} }} END
DETECT burnt {{ area {{ var A }} }}
ON and {{ event s: smoke {{{{ area {{{{ var A }}}} }}}}, event i: timer:from-end [ event s, 7 sec ] }} END
DETECT before {{ sensor {{ var S }} }}
ON and {{ event w: timer:periodic [ 20 sec ], event t: temp {{{{ sensor {{{{ var S }}}} }}}} }}
   where {{ w before t, {{w, t}} within 30 sec }} END
"""
"""Keys of two kinds, chained timers, a clock that is split and one that is not."""

TASK = task_of(TEXT, SCHEMAS, begin="begin", end="end")
PROGRAM = parse_program(TEXT)


def test_how_it_is_split() -> None:
    by = {each.derived: (each.buckets, each.reads_all) for each in TASK.components}
    assert by == {
        ("fire",): (16, False),
        ("burnt_down",): (16, False),
        ("avg_temp",): (16, False),
        ("minute",): (16, False),
        ("calm", "burnt"): (16, False),
        ("before",): (1, True),
    }


# --- rows in transport --------------------------------------------------------------------------------------------


def rows_of(task: ProgramTask, events: list[Event]) -> pa.Table:
    """Events as rows that travel."""
    columns: dict[str, list[Any]] = {
        TYPE: [],
        **{name: [] for name in task.times},
        **{s: [] for s in task.slots.values()},
    }
    for each in events:
        columns[TYPE].append(each.label)
        for name in task.times:
            columns[name].append(each.begin if name == BEGIN else each.end)
        data = {child.label: child.children[0] for child in each.term.children if isinstance(child, Term)}
        for schema, slot in task.slots.items():
            columns[slot].append(data if task.labels[each.label] == schema else None)
    kinds = {TYPE: pa.string(), BEGIN: TIMESTAMP, END: TIMESTAMP, **{s: pa.struct(k) for k, s in task.slots.items()}}
    return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})


def place_of(row: dict[str, Any], component: Component, task: ProgramTask) -> int | None:
    """The bucket of a row, if it goes to a component."""
    first, label = task.places.index(component), row[TYPE]
    if component.reads_all or (label in component.labels and not component.key):
        return first
    name = component.key.get(label)
    value = row[task.slot(label)][name] if label in task.labels and name in task.labels[label].names else None
    return None if value is None else first + zlib.crc32(repr(value).encode()) % component.buckets


def packed(task: ProgramTask, rows: pa.Table) -> dict[int, list[pa.Table]]:
    """What each bucket is sent; all of them are told of."""
    listed, spread = rows.to_pylist(), {}
    for number, component in enumerate(task.components):
        places = [place_of(each, component, task) for each in listed]
        spread[f"spread{number}"] = pa.array(places, pa.int32())
    routes = tuple(tuple(task.columns(task.places.index(component))) for component in task.components)
    columns = {**spread, **dict(zip(rows.column_names, rows.columns, strict=True))}
    found: dict[int, list[pa.Table]] = {}
    for batch in _packer(Transport(tuple(rows.column_names), routes, len(task.places)))(
        iter(pa.table(columns).to_batches())
    ):
        for number, data in zip(batch.column(BUCKET).to_pylist(), batch.column(ROWS).to_pylist(), strict=True):
            found.setdefault(number, []).extend([] if data is None else [from_bytes(data)])
    return found


@dataclass
class Stream:
    """What Spark does with the buckets of a program; `forgets` says whether they are taken out of their bytes."""

    task: ProgramTask
    forgets: bool
    buckets: dict[int, Bucket] = field(default_factory=dict)
    found: list[dict[str, Any]] = field(default_factory=list)
    late: int = 0
    visits: int = 0

    def read(self, events: list[Event], watermark: int) -> None:
        self.take(rows_of(self.task, events), watermark)

    def take(self, rows: pa.Table, watermark: int) -> None:
        """A micro-batch: rows that come, and up to when all rows have come."""
        for number, parcels in packed(self.task, rows).items():
            bucket = self._bucket(number)
            for parcel in parcels:
                bucket.add(parcel)
            for batch in bucket.advance(watermark):
                self.found += batch.to_pylist()
            self.late, bucket.late = self.late + bucket.late_events, []
            self.visits += bucket.running is not None
            self.buckets[number] = self._again(bucket) if self.forgets else bucket

    def _bucket(self, number: int) -> Bucket:
        return self.buckets.get(number) or Bucket(self.task, Waiting(Kept(), END), None, number)

    def _again(self, bucket: Bucket) -> Bucket:
        snapshot = bucket.snapshot
        if bucket.running is not None:
            taken = bucket.running.snapshot()
            snapshot = lambda: taken  # noqa: E731
        rows = Waiting.of(bucket.waiting.pieces, END, bucket.waiting.index)
        return Bucket(self.task, rows, snapshot, bucket.number, bucket.due)

    def derived(self) -> set[Event]:
        """What was found, as the judge says it; nothing may come twice."""
        events = {_event(row) for row in self.found}
        assert len(events) == len(self.found)
        return events


def _event(row: dict[str, Any]) -> Event:
    begin, end = (pa.scalar(row[name], TIMESTAMP).cast(pa.int64()).as_py() for name in (BEGIN, END))
    return ev(row[TYPE], begin, end, **row[row[TYPE]])


# --- any arrival --------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["r", "s", None])
DATA: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "smoke": st.fixed_dictionaries({"area": NAMES}),
    "temp": st.fixed_dictionaries({"area": NAMES, "sensor": NAMES, "value": st.sampled_from([30.0, 41.0, 50.0, None])}),
    "reset": st.fixed_dictionaries({"area": NAMES}),
    "other": st.just({}),
}


@st.composite
def events(draw: st.DrawFn) -> Event:
    label = draw(st.sampled_from(list(SCHEMAS)))
    data = {name: value for name, value in draw(DATA[label]).items() if value is not None}
    end = draw(st.integers(10, 70)) * SECOND + draw(st.sampled_from([0, 1, 999]))
    return ev(label, end - draw(st.sampled_from([0, 3])) * SECOND, end, **data)


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[list[Event]], list[int]]:
    """Micro-batches, and the watermark of each, in microseconds; it moves on when all is read."""
    given = draw(st.lists(events(), min_size=1, max_size=14))
    delay = draw(st.sampled_from([0, 3, 30])) * SECOND
    shift = draw(st.lists(st.integers(0, 6 * SECOND), min_size=len(given), max_size=len(given)))
    order = sorted(range(len(given)), key=lambda each: given[each].end + shift[each])
    cuts = sorted({0, len(given), *draw(st.lists(st.integers(0, len(given)), max_size=4))})
    batches = [[given[order[at]] for at in range(*cut)] for cut in itertools.pairwise(cuts)]
    ends = itertools.accumulate((max(int(each.end) for each in batch) for batch in batches), max)
    watermarks = [0, *((end - delay) // 1000 * 1000 for end in ends)]
    last = [watermarks[-1] + step * SECOND for step in draw(st.lists(st.sampled_from([1, 8, 40]), max_size=3))]
    watermarks += [*itertools.accumulate(last, max), 200 * SECOND]
    watermarks = list(itertools.accumulate(watermarks, max))
    return batches + [[] for _ in watermarks[len(batches) :]], watermarks


def in_time(batches: list[list[Event]], watermarks: list[int]) -> list[Event]:
    """Events that end after the watermark of the micro-batch before."""
    before = [-1, *watermarks]
    return [each for batch, passed in zip(batches, before, strict=False) for each in batch if each.end > passed]


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "50")))
@given(arrival=arrivals(), forgets=st.booleans())
def test_arrival_changes_nothing(arrival: tuple[list[list[Event]], list[int]], forgets: bool) -> None:
    batches, watermarks = arrival
    stream, kept = Stream(TASK, forgets), in_time(batches, watermarks)
    for batch, watermark in zip(batches, watermarks, strict=True):
        stream.read(batch, watermark)
    now = Event(Term(NOW), watermarks[-1], watermarks[-1])
    assert stream.derived() == {each for each in derive(PROGRAM, [*kept, now]) if each.end <= watermarks[-1]}
    assert stream.late == sum(map(len, batches)) - len(kept)


# --- single cases -------------------------------------------------------------------------------------------------

SILENT = """
DETECT silent { area { var A } }
ON and { event s: smoke {{ area {{ var A }} }}, event i: timer:from-end [ event s, 10 sec ],
         event o: timer:shorten-begin [ event i, 1 ms ], while o: not smoke {{ area {{ var A }} }} } END
"""


def silent_stream() -> Stream:
    stream = Stream(task_of(SILENT, SCHEMAS, end="end"), forgets=True)
    stream.read([ev("smoke", 20 * SECOND, area="r")], 0)
    stream.read([], 20 * SECOND)
    return stream


def test_something_happens_without_rows_when_it_is_due() -> None:
    stream = silent_stream()
    assert sorted(each.due for each in stream.buckets.values())[0] == 30 * SECOND
    assert stream.visits == 1
    for watermark in range(21, 30):
        stream.read([], watermark * SECOND)
    assert stream.visits == 1  # nobody looked what runs in the bucket
    stream.read([], 31 * SECOND)
    assert stream.visits == 2
    assert stream.derived() == {ev("silent", 20 * SECOND, 30 * SECOND, area="r")}
    assert all(each.due == NEVER for each in stream.buckets.values())


def test_rows_without_a_key_go_nowhere() -> None:
    stream = silent_stream()
    stream.read([ev("smoke", 22 * SECOND), ev("reset", 22 * SECOND, area="r")], 23 * SECOND)
    assert stream.visits == 1


def test_a_late_row_counts_once_however_many_components_need_it() -> None:
    stream = Stream(TASK, forgets=False)
    stream.read([], 50 * SECOND)
    stream.read([ev("temp", 40 * SECOND, area="r", sensor="s", value=1.0), ev("other", 40 * SECOND)], 50 * SECOND)
    assert stream.late == 2


def test_a_clock_begins_with_the_first_row_of_all() -> None:
    """A period that nothing of a label lies in happens, if the stream had begun."""
    stream = Stream(TASK, forgets=True)
    stream.read([ev("other", 15 * SECOND), ev("temp", 25 * SECOND, sensor="s")], 0)
    stream.read([], 30 * SECOND)
    assert ev("before", 0, 25 * SECOND, sensor="s") in stream.derived()


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((30, 20), r"an event smoke \(area = 'r'\) ends before it begins: `until` is before `since`"),
        ((None, 20), r"an event smoke \(area = 'r'\) has NULL in its time `since`"),
        ((20, None), r"an event smoke \(area = 'r'\) has NULL in its time `until`"),
    ],
)
def test_rows_that_are_no_events(times: tuple[int | None, int | None], message: str) -> None:
    task = task_of(SILENT, SCHEMAS, begin="since", end="until")
    rows = rows_of(task, [ev("smoke", 1, area="q"), ev("smoke", 1, area="r")])
    for name, time in zip((BEGIN, END), times, strict=True):
        values = pa.array([1, time], pa.int64()).cast(TIMESTAMP)
        rows = rows.set_column(rows.column_names.index(name), name, values)
    with pytest.raises(DataError, match=message):
        task.conform(rows)


def test_other_programs_are_told_apart() -> None:
    assert task_of(SILENT, SCHEMAS, end="end").fingerprint == task_of(SILENT, SCHEMAS, end="end").fingerprint
    other = task_of(SILENT.replace("10 sec", "11 sec"), SCHEMAS, end="end")
    assert other.fingerprint != task_of(SILENT, SCHEMAS, end="end").fingerprint


def test_what_workers_import_is_little() -> None:
    """Each start of a stream imports it anew; the engine of queries would take longer than all else."""
    code = "import sys, acelera.programs.stream_task, acelera.xchangeeq.buckets, acelera.spark.hosting; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "acelera.xchangeeq.buckets" in imported
    assert not {"numba", "acelera.engine.compiled_query"} & set(imported)
