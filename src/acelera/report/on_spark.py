"""What a report shows of a Spark DataFrame: Spark finds and counts the matches, and hands over what is shown.

If the order is one column of time, an event is told by its key and its time, so that the query runs as it would without
a report, and only the stretch of the stream that is shown is numbered. Otherwise all rows are numbered, by one task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.language.checker import Checked
from acelera.language.schema import Schema
from acelera.language.types import Kind
from acelera.report.buckets import width_of
from acelera.report.extension import SOME_MADE, Extension, extended, ticks
from acelera.report.findings import About, Buckets, Findings, Ints, Limits, places_shown, that_fit
from acelera.report.matching import matches_of, with_type
from acelera.report.values import cells
from acelera.spark.running import described, run
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import quoted, ticks_of

PLACE, NUMBER, TICK = "place", "number", "tick"
"""Columns beside those of the stream: where a row stands in it, its position in its partition, its time."""


def find(about: About, query: CompiledQuery, frames: Any, limits: Limits) -> Findings:
    """What a page shows of the matches in a frame."""
    schema = query.schema
    frame, _ = described(frames, lambda _: schema)
    by_time = schema.time is not None and len(schema.order_by) == 1
    extension = extended(query, by_time)
    stream = _Stream(frame, query.checked, by_time)
    found = run(extension.query, frame)
    found = kept(found.toDF(*(f"m{number}" for number in range(len(found.columns)))))
    try:
        return _Reading(stream, extension, found, limits).findings(about, query.checked)
    finally:
        found.unpersist()
        stream.close()


_MAY_COALESCE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


def kept(frame: Any) -> Any:
    """The frame, kept on the cluster; its small partitions are put together, which Spark does not do by itself here."""
    conf = frame.sparkSession.conf
    before = conf.get(_MAY_COALESCE, "false")
    conf.set(_MAY_COALESCE, "true")
    try:
        return frame.persist()
    finally:
        conf.set(_MAY_COALESCE, before)


class _Stream:
    """The rows of the stream, under plain names, each with its time."""

    def __init__(self, frame: Any, checked: Checked, by_time: bool) -> None:
        from pyspark.sql import functions

        assert checked.schema is not None
        self.schema: Schema = checked.schema
        self.by_time = by_time
        self.session = frame.sparkSession
        self.plain = {name: f"c{number}" for number, name in enumerate(self.schema.columns)}
        columns = []
        for name, plain in self.plain.items():
            column = functions.col(quoted(name))
            if self.schema.columns[name].kind is Kind.STRING:
                column = column.cast("string")  # whose order is that of its bytes
            columns.append(column.alias(plain))
        self.order = [self.plain[name] for name in self.schema.order_by]
        self.keys = [self.plain[key.name] for key in checked.clauses.partition_by]
        rows = frame.select(*columns)
        if self.schema.time is not None:
            rows = rows.withColumn(TICK, ticks_of(functions.col(self.order[0]), self.schema.time.zoned))
        self.rows = rows if by_time else kept(self._numbered(rows))
        self.kept = None if by_time else self.rows

    def _numbered(self, rows: Any, before: int = 0) -> Any:
        """The rows with their places in the stream, of which some come before; one task does it."""
        from pyspark.sql import Window, functions

        whole = Window.orderBy(*self.order, *self.keys)
        rows = rows.withColumn(PLACE, functions.row_number().over(whole) + functions.lit(before - 1))
        if self.by_time:
            return rows
        within = Window.partitionBy(*(self.keys or [functions.lit(0)])).orderBy(*self.order)
        rows = rows.withColumn(NUMBER, functions.row_number().over(within))
        return rows if self.schema.time is not None else rows.withColumn(TICK, functions.col(PLACE))

    def stretch(self, low: int | None, high: int | None, around: int) -> tuple[Any, int]:
        """The rows from one time to another and some more around, with their places; and the place after the last.

        Without times, the first rows of the stream.
        """
        from pyspark.sql import functions

        if not self.by_time:
            return self.rows, self.rows.count()
        tick = functions.col(TICK)
        low = low if low is not None else _only(self.rows.agg(functions.min(TICK)))
        high = high if high is not None else low
        if low is None:
            return self._numbered(self.rows), 0
        first = _only(self.rows.filter(tick < low).orderBy(tick.desc()).limit(max(1, around)).agg(functions.min(TICK)))
        last = _only(self.rows.filter(tick > high).orderBy(tick).limit(max(1, around)).agg(functions.max(TICK)))
        first, last = low if first is None else first, high if last is None else last
        before = self.rows.filter(tick < first).count()
        self.kept = kept(self._numbered(self.rows.filter(tick.between(first, last)), before))
        return self.kept, before + self.kept.count()

    def close(self) -> None:
        """Let go of what was kept."""
        if self.kept is not None:
            self.kept.unpersist()


class _Reading:
    def __init__(self, stream: _Stream, extension: Extension, found: Any, limits: Limits) -> None:
        self.stream, self.extension, self.found, self.limits = stream, extension, found, limits
        self.names = [column.name for column in extension.query.checked.result.columns]
        plain = {name: f"m{number}" for number, name in enumerate(self.names)}
        self.start, self.end = (plain[name] for name in extension.bounds)
        self.keys = [plain[name] for name in extension.keys]
        self.held = [plain[held.at] for held in extension.variables.values()]

    def findings(self, about: About, checked: Checked) -> Findings:
        """Find all that is shown."""
        ended = self._ended()
        order = [TICK, *self.keys] if self.stream.by_time else [PLACE]
        listed = ended.orderBy(*order, self.start, *self.held).limit(self.limits.matches).toArrow()
        table = listed.select(range(len(self.names))).rename_columns(self.names)
        keys = [_identities(listed.column(name)) for name in self.keys]
        starts, ends = (ticks(listed.column(name)) for name in (self.start, self.end))
        rows, until = self.stream.stretch(min(starts, default=None), max(ends, default=None), self.limits.events)
        located = self._located(rows, listed, table)
        of_match = list(zip(*keys, strict=True)) if keys else [()] * len(starts)

        def bound(number: int, at: int) -> int:
            return located[False, of_match[number], at]

        matches = matches_of(
            table,
            self.extension,
            [bound(number, at) for number, at in enumerate(starts)],
            [bound(number, at) for number, at in enumerate(ends)],
            lambda number, at: located[True, of_match[number], at],
            _Attributes(rows, self.stream, located.values(), self.extension),
        )
        shown = that_fit(matches, self.limits.events)
        places = places_shown(shown, until, self.limits.events)
        buckets, events, count = self._buckets(ended)
        return Findings(about, checked, self._rows(rows, places), places, shown, events, count, True, buckets)

    def _ended(self) -> Any:
        """The matches, each with the tick of its end, and with its place if all rows have one."""
        from pyspark.sql import functions

        if self.stream.by_time:
            zoned = self.stream.schema.time is not None and self.stream.schema.time.zoned
            return self.found.withColumn(TICK, ticks_of(functions.col(self.end), zoned))
        ends = self.stream.rows.select(*self.stream.keys, NUMBER, PLACE, TICK)
        same = functions.col(self.end) == functions.col(NUMBER)
        for left, right in zip(self.keys, self.stream.keys, strict=True):
            same = same & functions.col(left).eqNullSafe(functions.col(right))
        return self.found.join(ends, same)

    def _located(self, rows: Any, listed: pa.Table, table: pa.Table) -> dict[tuple[bool, tuple[Any, ...], int], int]:
        """The places of all events of some matches: for bounds and for events of variables, by key and position.

        They differ only where the order column is called `position`, since that is what events show as theirs.
        """
        from pyspark.sql import functions

        held = [table.column(self.extension.variables[name].at) for name in self.extension.variables]
        events = sorted({at for column in held for listed_at in ticks(column) for at in _listed(listed_at)})
        bounds = sorted({at for name in (self.start, self.end) for at in ticks(listed.column(name))})
        own = self.stream.schema.order_by[:1] == ("position",)
        columns = {False: TICK if self.stream.by_time else NUMBER}
        columns[True] = self.stream.plain["position"] if own else columns[False]
        located: dict[tuple[bool, tuple[Any, ...], int], int] = {}
        for of_events, wanted in ((False, bounds), (True, events)):
            column = columns[of_events]
            known = rows.select(*self.stream.keys, functions.col(column).cast("bigint").alias("at"), PLACE)
            found = known.join(functions.broadcast(self._frame("at", wanted)), "at").toArrow()
            keys = [_identities(found.column(name)) for name in self.stream.keys]
            of_row = list(zip(*keys, strict=True)) if keys else [()] * found.num_rows
            pairs = zip(of_row, found.column("at").to_pylist(), found.column(PLACE).to_pylist(), strict=True)
            located |= {(of_events, key, at): place for key, at, place in pairs}
        return located

    def _frame(self, name: str, values: Sequence[int]) -> Any:
        table = pa.table({name: pa.array(values, pa.int64())})
        return self.stream.session.createDataFrame(table, schema=spark_schema(table.schema))

    def _rows(self, rows: Any, places: Ints) -> pa.Table:
        from pyspark.sql import functions

        wanted = functions.broadcast(self._frame(PLACE, places.tolist()))
        found = rows.join(wanted, PLACE).orderBy(PLACE).toArrow()
        return found.select(list(self.stream.plain.values())).rename_columns(list(self.stream.plain))

    def _buckets(self, ended: Any) -> tuple[Buckets, int, int]:
        """Counts of all events and matches, and how many there are."""
        from pyspark.sql import functions

        rows, tick = self.stream.rows, functions.col(TICK)
        count = functions.count(functions.lit(1))
        total, first, last = rows.agg(count, functions.min(TICK), functions.max(TICK)).first()
        if not total:
            return Buckets(0, 1, [], []), 0, 0
        width = width_of(first, last, self.stream.schema.time)
        size = last // width - first // width + 1
        even = tick - functions.pmod(tick, functions.lit(width))
        number = functions.round(even / functions.lit(width)).cast("bigint")  # a float is not exact
        counts = []
        for frame in (rows, ended):
            grouped = frame.groupBy(number.alias("bucket")).count().collect()
            found = {row["bucket"] - first // width: row["count"] for row in grouped}
            counts.append([found.get(index, 0) for index in range(size)])
        return Buckets(first // width * width, width, *counts), total, sum(counts[1])


class _Attributes:
    """Attributes of rows by their places; asked for only if some variable holds made events beside others."""

    def __init__(self, rows: Any, stream: _Stream, places: Any, extension: Extension) -> None:
        self._found: dict[int, dict[str, Any]] = {}
        if all(held.made != SOME_MADE for held in extension.variables.values()):
            return
        table = pa.table({PLACE: pa.array(sorted(set(places)), pa.int64())})
        wanted = stream.session.createDataFrame(table, schema=spark_schema(table.schema))
        found = rows.join(wanted, PLACE).toArrow()
        columns = {name: cells(found.column(plain)) for name, plain in stream.plain.items()}
        for row, place in enumerate(found.column(PLACE).to_pylist()):
            self._found[place] = with_type({name: column[row] for name, column in columns.items()}, stream.schema)

    def __call__(self, place: int) -> Mapping[str, Any]:
        return self._found[place]


def _only(frame: Any) -> Any:
    return frame.first()[0]


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _identities(column: pa.ChunkedArray) -> list[Any]:
    """Values of a key that can be compared: NaN is equal to itself."""
    return ["NaN" if value != value else value for value in column.to_pylist()]
