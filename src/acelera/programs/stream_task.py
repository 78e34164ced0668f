"""A program as the buckets of a stream run it: rows of a component in, derived events out.

Each component of the rules has buckets of its own, and an engine in each of them. The watermark is the clock: what ends
by it is derived, also if no more rows come. A stream does not end, so whatever would happen after the watermark waits.

*Clocks.* By its meaning, a clock (an absolute or a periodic timer) begins with the first and ends with the last of all
events. Here a clock event happens once the watermark has passed its end, unless that lies before the first row of the
bucket, which is told to its engine as `clock_from`. This is the same: where a rule may look at an earlier clock event,
its component is not split, and reads the times of all rows (`components`); and the watermark never passes the last row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from acelera.algebra.names import BEGIN as INNER_BEGIN
from acelera.algebra.names import END as INNER_END
from acelera.algebra.rules import Rule
from acelera.engine.storage.snapshots import fingerprint_of
from acelera.errors import DataError
from acelera.programs.components import Component, components_of
from acelera.spark.metrics import Told

TYPE, BEGIN, END = "type", "begin", "end"
"""The columns of a result, before a struct for each label; and of rows that travel, before their data."""

DATA = "data"
"""How the names of columns begin that data travels in."""

TIMESTAMP = pa.timestamp("us", "UTC")


class Stepping(Protocol):
    """An engine of some rules. Tables have the data of a label, and its times as #begin and #end."""

    @property
    def due(self) -> int:
        """The least time at which something may happen even if no events come, or `buckets.NEVER`."""

    def step(self, given: Mapping[str, pa.Table], now: int) -> Mapping[str, pa.Table]:
        """Take all events that end after the last step and by now; those that are derived and do so, by label."""

    def snapshot(self) -> bytes:
        """All that is needed to go on."""


class Engines(Protocol):
    """Makes engines of rules, which are told by their numbers; it is sent to workers."""

    @property
    def fingerprint(self) -> str:
        """What tells a program and its options from others."""

    def open(self, rules: Sequence[int], clock_from: int) -> Stepping:
        """Begin; clock events that end before `clock_from` do not happen."""

    def resume(self, rules: Sequence[int], snapshot: bytes) -> Stepping:
        """Go on from a snapshot."""


@dataclass(frozen=True)
class ProgramTask:
    """A program as buckets run it.

    `labels` has the data of each label of rows, all columns that tell events apart, and `outputs` that of each label
    that rules derive. Rows have their times in the columns `begin` and `end`, or a point in time in `end` alone; their
    label is in `type_column`, unless each has a frame of its own.
    """

    noun: ClassVar[str] = "program"
    time: ClassVar[str] = END
    rules: tuple[Rule, ...]
    labels: Mapping[str, pa.Schema]
    outputs: Mapping[str, pa.Schema]
    engines: Engines
    end: str
    begin: str | None = None
    type_column: str = "type"

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The rules that need one another, each set with its key."""
        return components_of(self.rules, self.labels)

    @cached_property
    def slots(self) -> dict[pa.Schema, str]:
        """The columns that data travels in: a struct for labels that have the same columns."""
        different = dict.fromkeys(schema for schema in self.labels.values() if len(schema))
        return {schema: f"{DATA}{number}" for number, schema in enumerate(different)}

    def slot(self, label: str) -> str:
        """The column with the data of a label, which has some."""
        return self.slots[self.labels[label]]

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of times that travel."""
        return (END,) if self.begin is None else (BEGIN, END)

    @property
    def fingerprint(self) -> str:
        """That of the program, its rows and how they are split."""
        columns = {label: str(schema) for label, schema in self.labels.items()}
        return fingerprint_of(repr((self.engines.fingerprint, columns, self.times, self.components)))

    @cached_property
    def places(self) -> tuple[Component, ...]:
        """The component of each bucket."""
        return tuple(component for component in self.components for _ in range(component.buckets))

    def columns(self, bucket: int) -> list[str]:
        """The label of a row, its times, and the data of the labels that a component needs."""
        needed = self.needed(self.places[bucket])
        slots = dict.fromkeys(self.slot(label) for label in needed if len(self.labels[label]))
        return [TYPE, *self.times, *slots]

    def needed(self, component: Component) -> list[str]:
        """The labels of rows that enter an engine."""
        return [label for label in component.labels if label in self.labels]

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced; one without a time, or that ends before it begins, is refused."""
        known = {TYPE: pa.string(), **dict.fromkeys(self.times, TIMESTAMP)}
        known |= {name: pa.struct(schema) for schema, name in self.slots.items()}
        fields = [pa.field(each.name, known.get(each.name, each.type)) for each in rows.schema]
        rows = rows.cast(pa.schema(fields))
        for inner, name in zip(self.times, filter(None, (self.begin, self.end)), strict=True):
            if rows.column(inner).null_count:
                raise DataError(f"an event {_first(rows, rows.column(inner).is_null())} has NULL in its time `{name}`")
        if self.begin is not None:
            backward = pc.greater(rows.column(BEGIN), rows.column(END))
            if pc.any(backward).as_py():
                raise DataError(
                    f"an event {_first(rows, backward)} ends before it begins: `{self.end}` is before `{self.begin}`"
                )
        return rows

    def late_rows(self, rows: pa.Table) -> pa.Table:
        """Label and times, and a struct for each label; only that of its own has something in it."""
        found = {name: rows.column(name) for name in (TYPE, *self.times)}
        for each in self.late_type:
            if each.name not in found:
                own = pc.equal(rows.column(TYPE), each.name)
                found[each.name] = pc.if_else(own, rows.column(self.slot(each.name)), None)
        return pa.table(found)

    @property
    def late_type(self) -> pa.StructType:
        """What late rows consist of."""
        times = [pa.field(name, TIMESTAMP) for name in self.times]
        data = [pa.field(label, pa.struct(schema)) for label, schema in self.labels.items() if len(schema)]
        return pa.struct([pa.field(TYPE, pa.string()), *times, *data])

    def open(self, bucket: int) -> Deriving:
        """An engine, which is made when the first rows come."""
        return Deriving(self, self.places[bucket])

    def resume(self, bucket: int, snapshot: bytes) -> Deriving:
        """An engine that goes on."""
        component = self.places[bucket]
        return Deriving(self, component, self.engines.resume(component.rules, snapshot))


def _first(rows: pa.Table, where: Any) -> str:
    """The first of some rows, in words."""
    row = rows.filter(where).slice(0, 1).to_pylist()[0]
    data: dict[str, object] = next(
        (value for name, value in row.items() if name.startswith(DATA) and value is not None), {}
    )
    return f"{row[TYPE]} ({', '.join(f'{name} = {value!r}' for name, value in data.items())})"


@dataclass
class Deriving:
    """The engine of a component that runs in a bucket."""

    task: ProgramTask
    component: Component
    engine: Stepping | None = None

    @property
    def due(self) -> int:
        """When the engine has something to do."""
        assert self.engine is not None
        return self.engine.due

    @property
    def told(self) -> Told:
        """It counts nothing but its rows."""
        return Told()

    def advance(self, rows: pa.Table | None, now: int) -> Iterator[pa.RecordBatch]:
        """One step; the events that are derived."""
        if self.engine is None:
            assert rows is not None
            first = pc.min(rows.column(END).cast(pa.int64())).as_py()
            self.engine = self.task.engines.open(self.component.rules, first)
        given = {} if rows is None else {label: self._given(rows, label) for label in self.task.needed(self.component)}
        for label, table in self.engine.step(given, now).items():
            yield from _shown(label, table, self.task.outputs[label])

    def _given(self, rows: pa.Table, label: str) -> pa.Table:
        """The events of a label, as engines take them."""
        own = rows.filter(pc.equal(rows.column(TYPE), label))
        found = {INNER_BEGIN: own.column(self.task.times[0]), INNER_END: own.column(END)}
        found = {name: column.cast(pa.int64()) for name, column in found.items()}
        if len(self.task.labels[label]):
            data = pa.Table.from_struct_array(own.column(self.task.slot(label)))
            found |= dict(zip(data.column_names, data.columns, strict=True))
        return pa.table(found)

    def snapshot(self) -> bytes:
        """That of the engine."""
        assert self.engine is not None
        return self.engine.snapshot()


def _shown(label: str, table: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Derived events in the columns of the result."""
    table = table.combine_chunks()
    found = {TYPE: pa.array([label] * table.num_rows, pa.string())}
    found |= {name: table.column(inner).cast(TIMESTAMP) for name, inner in ((BEGIN, INNER_BEGIN), (END, INNER_END))}
    if len(schema):
        found[label] = table.select(schema.names).cast(schema).to_struct_array()
    yield from pa.table(found).to_batches()
