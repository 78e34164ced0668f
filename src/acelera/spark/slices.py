"""Slices of time of a frame that is all there: which rows each reads, and what it owns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.summaries.stretches import Slice
from acelera.engine.summaries.windows import Spans
from acelera.engine.window import window_of
from acelera.language.schema import Schema
from acelera.spark.spark_expressions import quoted, ticks_of

SLICE = "slice"
"""The column that tells the slice of a row."""


@dataclass(frozen=True)
class Slices:
    """Stretches of time of one length, at least that of the window, in microseconds."""

    begin: int
    length: int
    window: int

    @classmethod
    def of(cls, frame: Any, query: CompiledQuery) -> Slices:
        """Slices for all processors; looks at the first and the last time of the frame."""
        first, last = _first_and_last(frame, query.schema)
        width = window_of(query.checked.clauses.within, query.schema).width
        assert width is not None
        window = min(width, last - first + 1)  # one that is wider holds no more
        slices = 2 * parallelism(frame)
        return cls(first, max(window + 1, (last - first) // slices + 1), window)

    def column(self, schema: Schema) -> Any:
        """The slices that a row is read in: that of its time, and the one before if it is within the window of its end.

        A row without a time goes somewhere, so that its reader can refuse it.
        """
        from pyspark.sql import functions

        since = functions.coalesce(micros(schema) - functions.lit(self.begin), functions.lit(0))
        length = functions.lit(self.length)
        own = functions.round((since - functions.pmod(since, length)) / length).cast("bigint")  # a float is not exact
        overlaps = (since - own * functions.lit(self.length) <= functions.lit(self.window)) & (own > 0)
        both = functions.array(own, own - functions.lit(1))
        return functions.explode(functions.when(overlaps, both).otherwise(functions.array(own)))

    def end(self, number: int) -> int:
        """Where a slice ends."""
        return self.begin + (number + 1) * self.length

    def part(self, number: int) -> Slice:
        """What a slice is, for a summary: it has the matches that start in it."""
        return Slice(number, end=self.end(number))


@dataclass(frozen=True)
class WindowSlices:
    """Stretches of time that begin with windows: each has so many of them, from the window with the number `first` on.

    They are at least as long as a window, so that a row is read in two of them at most.
    """

    spans: Spans
    first: int
    windows: int

    @classmethod
    def of(cls, frame: Any, query: CompiledQuery, spans: Spans) -> WindowSlices:
        """Slices for all processors; looks at the first and the last time of the frame."""
        first, last = _first_and_last(frame, query.schema)
        oldest, newest = (first - spans.length) // spans.every + 1, last // spans.every
        slices = 2 * parallelism(frame)
        return cls(spans, oldest, max(-(-spans.length // spans.every), -(-(newest - oldest + 1) // slices), 1))

    def column(self, schema: Schema) -> Any:
        """The slices that a row is read in: that in which the newest window begins that may hold it, and the one before
        if an older window does.
        """
        from pyspark.sql import functions

        every, length = functions.lit(self.spans.every), functions.lit(self.spans.length)
        time = functions.coalesce(micros(schema), functions.lit(0))
        newest, before = time - functions.pmod(time, every), time - length
        oldest = before - functions.pmod(before, every) + every
        own, other = self._slice(newest), self._slice(oldest)
        both = functions.array(own, own - functions.lit(1))
        return functions.explode(functions.when(other < own, both).otherwise(functions.array(own)))

    def _slice(self, begin: Any) -> Any:
        """The slice that has the window which begins then."""
        from pyspark.sql import functions

        since = begin - functions.lit(self.first * self.spans.every)
        length = functions.lit(self.windows * self.spans.every)
        return functions.round((since - functions.pmod(since, length)) / length).cast("bigint")

    def part(self, number: int) -> Slice:
        """What a slice is, for a summary: it has the windows that begin in it."""
        first = self.first + number * self.windows
        return Slice(number, windows=(first, first + self.windows - 1))


def runs(slices: Any, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The parts of a batch that belong to one slice each."""
    found = pc.run_end_encode(slices)
    begin = 0
    for number, end in zip(found.values.to_pylist(), found.run_ends.to_pylist(), strict=True):
        yield number, rows.slice(begin, end - begin)
        begin = end


def _first_and_last(frame: Any, schema: Schema) -> tuple[int, int]:
    """The first and the last time of a frame."""
    from pyspark.sql import functions

    time = micros(schema)
    first, last = frame.agg(functions.min(time), functions.max(time)).collect()[0]
    return (0, 0) if first is None else (first, last)


def last_time(frame: Any, schema: Schema) -> int | None:
    """The last time of a frame, if it has rows."""
    from pyspark.sql import functions

    found: int | None = frame.agg(functions.max(micros(schema))).collect()[0][0]
    return found


def micros(schema: Schema) -> Any:
    """The time of a row in microseconds."""
    from pyspark.sql import functions

    return micros_of(functions.col(quoted(schema.order_by[0])), schema)


def micros_of(column: Any, schema: Schema) -> Any:
    """A time of a stream in microseconds."""
    assert schema.time is not None
    return ticks_of(column, schema.time.zoned)


def parallelism(frame: Any) -> int:
    """How many tasks can run at once, as far as the session tells."""
    conf = frame.sparkSession.conf
    told = conf.get("spark.default.parallelism", None) or conf.get("spark.sql.shuffle.partitions", "8")
    return max(1, int(told))
