"""The state of a bucket, without Spark: however rows arrive, the matches are those of the whole stream."""

import datetime
import itertools
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.positions import distances_matter
from acelera.spark import waiting
from acelera.spark.batch import Task
from acelera.spark.buckets import Bucket
from acelera.spark.hosting import watermark_of
from acelera.spark.streaming import QueryTask
from acelera.spark.waiting import Waiting
from acelera.tables import with_fields
from engine.test_sessions import EPOCH, shown, timed_cases

SECOND = 1_000_000
END_OF_TIME = 2**53


def task_of(query: ac.Query, schema: pa.Schema, ties: str = "error") -> tuple[QueryTask, list[str], list[str]]:
    """What a worker is sent, the columns that travel, and those by which rows are spread."""
    compiled = query._compiled(query._schema(schema, "ts", "type", None), ties=ties)
    split_by = () if distances_matter(compiled.checked, compiled.plan) else compiled.plan.split_by
    keys = [*(key.name for key in query.ast.partition_by), *split_by]
    columns = compiled.columns_read() if ties == "error" else list(schema.names)
    return QueryTask(Task(compiled, (), ties=ties), tuple(columns)), columns, keys


class Kept(dict[int, bytes]):
    """Pieces in memory."""

    def read(self, number: int) -> bytes:
        return self[number]

    def write(self, number: int, data: bytes) -> None:
        self[number] = data

    def remove(self, number: int) -> None:
        del self[number]


def again(bucket: Bucket) -> Bucket:
    """The bucket as it comes out of its state."""
    snapshot = bucket.snapshot
    if bucket.running is not None:
        taken = bucket.running.snapshot()
        snapshot = lambda: taken  # noqa: E731
    rows = Waiting.of(bucket.waiting.pieces, "ts", bucket.waiting.index)
    return Bucket(bucket.task, rows, snapshot, bucket.number, bucket.due)


@dataclass
class Spark:
    """What Spark does with buckets: a call for each in every micro-batch.

    `forgets` says whether a bucket is taken out of its bytes for the next call.
    """

    task: QueryTask
    number: int  # of buckets
    delay: int  # milliseconds
    forgets: Iterator[bool]
    highest: int = 0  # milliseconds: Spark begins with 1970
    watermark: int = 0
    late: int = 0
    buckets: dict[int, Bucket] = field(default_factory=dict)
    found: list[pa.RecordBatch] = field(default_factory=list)

    def read(self, rows: dict[int, pa.Table]) -> None:
        """A micro-batch: the rows of each bucket."""
        self.watermark = max(self.watermark, self.highest - self.delay)
        for number in range(self.number):
            bucket = self._bucket(number)
            if number in rows:
                middle = rows[number].num_rows // 2  # a micro-batch may come in several pieces
                bucket.add(rows[number].slice(0, middle))
                bucket.add(rows[number].slice(middle))
            self.found += bucket.advance(self._now())
            self.late, bucket.late = self.late + bucket.late_events, []
            self.buckets[number] = bucket
        for table in rows.values():
            self.highest = max(self.highest, *(time // 1000 for time in micros(table)))

    def finish(self) -> None:
        """No more rows, and so late that none can wait."""
        self.highest = END_OF_TIME // 1000
        self.read({})
        assert all(not bucket.waiting.pieces and not bucket.waiting.listed for bucket in self.buckets.values())

    def _now(self) -> int:
        return watermark_of(SimpleNamespace(getCurrentWatermarkInMs=lambda: self.watermark))

    def _bucket(self, number: int) -> Bucket:
        known = self.buckets.get(number)
        if known is None:
            return Bucket(self.task, Waiting(Kept(), "ts"), None, number)
        return again(known) if next(self.forgets) else known


def micros(table: pa.Table) -> list[int]:
    return table.column("ts").cast(pa.int64()).to_pylist()


def in_time(batches: list[pa.Table], delay: int) -> pa.Table:
    """The rows that do not come late, by Spark's definition: after the watermark of the micro-batch before."""
    kept, highest, watermark = [], 0, 0
    for batch in batches:
        late, watermark = watermark, max(watermark, highest - delay)
        kept.append(batch.filter(pa.array([late == 0 or time > late * 1000 for time in micros(batch)])))
        highest = max([highest, *(time // 1000 for time in micros(batch))])
    return pa.concat_tables(kept)


def spread(table: pa.Table, keys: list[str], buckets: int, columns: list[str]) -> dict[int, pa.Table]:
    """The rows of each bucket, with the columns that travel."""
    numbers = [zlib.crc32(repr([row[key] for key in keys]).encode()) % buckets for row in table.to_pylist()]
    column, travelling = pa.array(numbers, pa.int64()), table.select(columns)
    return {number: travelling.filter(pc.equal(column, number)) for number in sorted(set(numbers))}


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[ac.Query, list[pa.Table], int, bool, str]:
    """A query, a stream as it arrives in micro-batches, the watermark's delay in ms, whether rows may be late, and what
    is done with ties; if they are no error, there are some.
    """
    query, table = draw(timed_cases())
    ties = draw(st.sampled_from(["error", "error", "any", "drop"]))
    if ties != "error" and table.num_rows:
        rows = st.integers(0, table.num_rows - 1)
        table = table.take(pa.array([*range(table.num_rows), *draw(st.lists(rows, max_size=3))], pa.int64()))
    size = table.num_rows
    parts = draw(st.lists(st.sampled_from([0, 1, 999, 1000, 500_500]), min_size=size, max_size=size))
    begin = draw(st.sampled_from([0, 0, micros_of(datetime.datetime(1970, 1, 1)) - 7 * SECOND]))
    times = [time + part + begin for time, part in zip(micros(table), parts, strict=True)]
    zone = draw(st.sampled_from([None, "UTC", "America/Santiago"]))
    if ties != "error":
        times = [time // (4 * SECOND) * 4 * SECOND for time in times]
    table = table.set_column(table.column_names.index("ts"), "ts", pa.array(times, pa.timestamp("us", zone)))
    delay, late = draw(st.sampled_from([0, 1500, 6000])), draw(st.booleans())
    most = 30 * SECOND if late else delay * 1000
    shift = draw(st.lists(st.integers(0, most), min_size=size, max_size=size))
    arrive = sorted(range(size), key=lambda row: times[row] + shift[row])
    cuts = sorted({0, size, *draw(st.lists(st.integers(0, size), max_size=4))})
    batches = [table.take(pa.array(arrive[one:two], pa.int64())) for one, two in itertools.pairwise(cuts)]
    return query, batches, delay, late, ties


def micros_of(moment: datetime.datetime) -> int:
    """From EPOCH, in microseconds."""
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


SIZES = st.sampled_from([(1 << 12, 1 << 17, 32), (1, 2, 1), (2, 3, 0), (3, 100, 1)])


@pytest.mark.property
@given(arrival=arrivals(), buckets=st.sampled_from([1, 2, 16]), data=st.data())
def test_arrival_changes_nothing(arrival: tuple[Any, ...], buckets: int, data: st.DataObject) -> None:
    query, batches, delay, may_be_late, ties = arrival
    assume(batches)
    kept = in_time(batches, delay)
    try:
        expected = query.run(kept, order_by="ts", method="automaton", until=END_OF_TIME, ties=ties)
    except ac.AggregateError:
        assume(False)
    task, columns, keys = task_of(query, kept.schema, ties)
    forgets = iter(lambda: data.draw(st.booleans()), None)
    number = buckets if keys else 1
    spark = Spark(task, number, delay, forgets)
    with pytest.MonkeyPatch.context() as patch:  # so that a few rows are many
        for name, value in zip(("SMALL", "LARGE", "MANY"), data.draw(SIZES), strict=True):
            patch.setattr(waiting, name, value)
        for batch in batches:
            spark.read(spread(with_fields(batch, task.task.query.schema), keys, number, columns))
        spark.finish()
    assert spark.late == sum(batch.num_rows for batch in batches) - kept.num_rows
    assert may_be_late or not spark.late
    found = pa.Table.from_batches(spark.found, schema=expected.schema)
    assert shown(found) == shown(expected)


# --- single cases -------------------------------------------------------------------------------------------------

SCHEMA = pa.schema([("type", pa.string()), ("ts", pa.timestamp("us", "UTC"))])


def bucket_of(text: str = "SELECT start_time, end_time MATCH A ; B WITHIN 10 SECONDS") -> Bucket:
    return Bucket(task_of(ac.query(text), SCHEMA)[0], Waiting(Kept(), "ts"), None)


def rows(*timed: tuple[str, int | None]) -> pa.Table:
    """Events and their seconds."""
    kinds, seconds = [kind for kind, _ in timed], [second for _, second in timed]
    times = pa.array([None if second is None else second * SECOND for second in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"type": pa.array(kinds, pa.string()), "ts": times})


def test_rows_wait_for_the_watermark() -> None:
    bucket = bucket_of()
    bucket.add(rows(("B", 12), ("A", 10)))
    assert not list(bucket.advance(10 * SECOND - 1))
    assert bucket.running is None
    assert not list(bucket.advance(12 * SECOND - 1))
    assert bucket.running is not None
    (found,) = bucket.advance(12 * SECOND)  # another row at the watermark would be late
    assert found.num_rows == 1
    assert not bucket.waiting.listed


def test_rows_up_to_the_watermark_before_are_late() -> None:
    bucket = bucket_of()
    assert not list(bucket.advance(10 * SECOND))
    bucket.add(rows(("A", 9), ("A", 10), ("A", 11), ("B", 12)))
    assert [late.to_pylist() for late in bucket.late] == [rows(("A", 9), ("A", 10)).to_pylist()]
    assert sum(batch.num_rows for batch in bucket.advance(20 * SECOND)) == 1


def test_a_row_without_a_time_is_refused() -> None:
    bucket = bucket_of()
    with pytest.raises(ac.DataError, match=r"NULL in the order column `ts`"):
        bucket.add(rows(("A", 10), ("B", None)))


def test_ties_that_arrive_apart_are_refused() -> None:
    bucket = bucket_of()
    bucket.add(rows(("A", 10)))
    list(bucket.advance(9 * SECOND))
    bucket.add(rows(("B", 10)))
    with pytest.raises(ac.DataError, match="tie"):
        list(bucket.advance(11 * SECOND))


def test_the_zone_of_the_session_may_change() -> None:
    bucket = bucket_of()
    bucket.add(rows(("A", 10)))
    bucket = again(bucket)
    elsewhere = pa.schema([("type", pa.large_string()), ("ts", pa.timestamp("us", "America/Santiago"))])
    bucket.add(rows(("B", 12)).cast(elsewhere))
    assert sum(batch.num_rows for batch in bucket.advance(13 * SECOND)) == 1


def test_state_belongs_to_its_query() -> None:
    bucket = bucket_of()
    bucket.add(rows(("A", 10)))
    list(bucket.advance(11 * SECOND))
    other = task_of(ac.query("MATCH A ; C WITHIN 10 SECONDS"), SCHEMA)[0]
    assert other.fingerprint != bucket.task.fingerprint
    assert bucket.running is not None
    with pytest.raises(ac.SnapshotError, match="another query"):
        other.resume(0, bucket.running.snapshot())


def test_state_does_not_grow_with_time() -> None:
    """What waits is as large as its rows, and the session as what is open, after however many micro-batches."""
    bucket, sizes = bucket_of(), []
    for second in range(200):
        bucket = again(bucket)
        bucket.add(rows(("A" if second % 3 else "B", second)))
        list(bucket.advance((second - 4) * SECOND))
        snapshot = b"" if bucket.running is None else bucket.running.snapshot()
        kept = bucket.waiting.pieces
        assert isinstance(kept, Kept)
        sizes.append(sum(map(len, [snapshot, bucket.waiting.index, *kept.values()])))
    assert max(sizes[100:]) < 1.2 * max(sizes[50:100])


def test_pieces_are_few_and_read_when_their_time_comes() -> None:
    """However rows arrive, an advance reads about what it gives."""

    class Counted(Kept):
        reads = 0

        def read(self, number: int) -> bytes:
            self.reads += 1
            return super().read(number)

    kept = Counted()
    rows_waiting, rng = Waiting(kept, "ts"), random.Random(1)
    given = 0
    for second in range(800):  # a slow stream, and a watermark that is far behind
        times = sorted(1_000 * rng.randrange(second * 1_000, (second + 600) * 1_000) for _ in range(5))
        rows_waiting.add(rows(*(("A", 0) for _ in times)).set_column(1, "ts", pa.array(times, SCHEMA.field("ts").type)))
        taken = rows_waiting.take(second * SECOND)
        given += 0 if taken is None else taken.num_rows
        rows_waiting = Waiting.of(kept, "ts", rows_waiting.index)
    assert len(kept) == len(rows_waiting.listed) <= waiting.MANY + 8
    taken = rows_waiting.take(2_000 * SECOND)
    assert taken is not None
    assert given + taken.num_rows == 4_000
    assert not kept
    assert kept.reads < 800 * waiting.MANY


def test_many_rows_are_cut_by_time() -> None:
    kept = Kept()
    rows_waiting = Waiting(kept, "ts")
    times = pa.array(random.Random(1).sample(range(10**9), 300_000), SCHEMA.field("ts").type)
    rows_waiting.add(pa.table({"ts": times}))
    assert len(kept) == waiting.PARTS
    stretches = sorted((piece.first, piece.last) for piece in rows_waiting.listed)
    assert all(one[1] < two[0] for one, two in itertools.pairwise(stretches))
    taken = rows_waiting.take(10**8)
    assert taken is not None
    assert len(kept) == waiting.PARTS  # the first one has more
    assert taken.num_rows == sum(time < 10**8 for time in times.cast(pa.int64()).to_pylist())
    assert min(piece.first for piece in rows_waiting.listed) == min(
        time for time in times.cast(pa.int64()).to_pylist() if time >= 10**8
    )


def test_what_a_bucket_tells_of_a_micro_batch() -> None:
    """Counts are those of one visit; what is held is known of a bucket that is not looked into, too."""
    query = ac.query("SELECT start_time MATCH A ; B WITHIN 10 SECONDS")
    task, _, _ = task_of(query, SCHEMA, "drop")
    bucket = Bucket(task, Waiting(Kept(), "ts"), None)

    def visited(*timed: tuple[str, int | None], watermark: int) -> tuple[int, ...]:
        nonlocal bucket
        if timed:
            bucket.add(rows(*timed))
        list(bucket.advance(watermark * SECOND))
        told = bucket.told[:-1]
        if bucket.running is not None:
            taken = bucket.running.snapshot()
            bucket.snapshot = lambda: taken
            bucket.counts = bucket.counts._replace(state_bytes=len(taken))
        assert bucket.told.state_bytes > 0
        bucket = Bucket.of(task, bucket.waiting.pieces, bucket.index, bucket.snapshot, 0, bucket.due)
        return told

    # events, tied, dropped, matches, rows that wait, partial matches
    assert visited(("A", 1), ("A", 1), ("B", 1), ("A", 9), watermark=0) == (0, 0, 0, 0, 4, 0)
    assert visited(watermark=1) == (2, 1, 1, 1, 1, 1)  # A and B at 1
    assert visited(watermark=2) == (0, 0, 0, 0, 1, 1)
    assert visited(("B", 9), ("A", 0), watermark=9) == (2, 1, 0, 2, 0, 1)
