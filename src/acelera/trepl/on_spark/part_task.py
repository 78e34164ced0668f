"""A part of a program as a worker runs it: rows that have travelled in, what actions do out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.language.aggregates import Aggregate, install
from acelera.programs.columns import plain, plain_column
from acelera.spark.hosting import completed
from acelera.trepl import resolved
from acelera.trepl.actions.action_rows import ARGUMENT, INSTANT, KEY, STAGE, TIME, column_of, key_type, named
from acelera.trepl.actions.messages import messages
from acelera.trepl.chained_keys import tells_key
from acelera.trepl.engine import ChangeEngine, opened, resumed
from acelera.trepl.on_spark.travelling import Given, Travelling
from acelera.trepl.rule_outputs import MESSAGE, STAMP, EventOutput, first_of_each
from acelera.trepl.splitting import Part
from acelera.trepl.stepping import Place
from acelera.trepl.waiting_stages import Waiting

ACTION = "action"
"""The column of a result that tells which action a row is of, before one for the time and a struct for each action."""

AGAIN = "#again"
"""Whether another action has derived the same event at the same stage."""

AT_ONCE = 1 << 16
"""So many rows are given to an engine at once, or more if a stage is larger."""


@dataclass(frozen=True)
class PartTask:
    """A part of a program, and how rows come to it; `apart` says that no two changes are of one instant.

    `aggregates` are those that users have added, of which a worker would not know.
    """

    program: resolved.Program
    part: Part
    travelling: Travelling
    max_tuples: int
    apart: bool
    aggregates: tuple[Aggregate, ...] = ()

    # --- columns ------------------------------------------------------------------------------------------------------

    @property
    def key_types(self) -> tuple[pa.DataType, ...]:
        """The types of its key, which are the same in all of its modules."""
        module = next(each for each in self.program.modules if each.name in self.part.modules)
        names = module.partition or next(iter(self.part.keys.values()))
        return tuple(key_type(self.program, module, name) for name in names if self.part.is_split)

    @property
    def tells_twice(self) -> bool:
        """Whether tasks may give the same row: at one stage, for keys that it does not tell."""
        if not self.part.numbered:
            return False
        ((key,),) = {*self.part.keys.values()}
        rules = [rule for each in self.program.modules if each.name in self.part.modules for rule in each.rules]
        return not all(tells_key(rule, action, key) for rule in rules for action in rule.actions)

    @property
    def columns(self) -> pa.Schema:
        """The columns of what it gives: a struct for each action, as actions are done, and a bit more."""
        structs = [pa.field(column_of(place), pa.struct(schema)) for place, schema in self.places().items()]
        return pa.schema([pa.field(ACTION, pa.string()), pa.field(STAMP, self.program.timestamp.arrow), *structs])

    def places(self) -> dict[Place, pa.Schema]:
        """The columns of each action: those in which engines give them, the message of `write`, and of a derived event
        whether it is there twice.
        """
        found: dict[Place, pa.Schema] = {}
        for module in self.program.modules:
            if module.name in self.part.modules:
                for rule in module.rules:
                    for number, action in enumerate(rule.actions):
                        found[module.name, rule.name, number] = self._columns(module, rule, number, action)
        return found

    def _columns(self, module: resolved.Module, rule: resolved.Rule, number: int, action: resolved.Action) -> pa.Schema:
        types = module.argument_types(rule, number)
        last = {resolved.Write: [pa.field(MESSAGE, pa.string())], resolved.Derive: [pa.field(AGAIN, pa.bool_())]}
        return pa.schema(
            [
                *(pa.field(f"{KEY}{name}", key_type(self.program, module, name)) for name in module.partition),
                pa.field(STAGE, pa.int64()),
                *(pa.field(f"{INSTANT}{place}", kind) for place, kind in enumerate(self.travelling.instants)),
                pa.field(TIME, self.program.timestamp.arrow),
                *(pa.field(f"{ARGUMENT}{place}", carried(each.arrow)) for place, each in enumerate(types, 1)),
                *last.get(type(action), []),
            ]
        )

    # --- rows ---------------------------------------------------------------------------------------------------------

    def open(self) -> ChangeEngine:
        """An engine that has seen nothing yet."""
        install(self.aggregates)
        return opened(self.program, self.max_tuples, self.part.modules)

    def resume(self, snapshot: bytes) -> ChangeEngine:
        """An engine that goes on."""
        install(self.aggregates)
        return resumed(self.program, snapshot, self.max_tuples, self.part.modules)

    def step(self, engine: ChangeEngine, given: Given) -> Iterator[pa.RecordBatch]:
        """Let an engine take whole stages of rows that have travelled; what actions do, each in its own columns."""
        changes, events = given
        if self.apart:
            names = [f"{INSTANT}{number}" for number in range(len(self.travelling.instants))]
            Waiting({}).with_more(changes, names, apart=True)
        fired = engine.step(changes, events)
        again = self._again(fired)
        for place, schema in self.places().items():
            table = fired.get(place)
            if table is not None and table.num_rows:
                yield from self._shown(place, schema, table, again.get(place))

    def _again(self, fired: Mapping[Place, pa.Table]) -> dict[Place, Any]:
        """For each action that derives an event, which of its rows another one before it has derived, too."""
        found: dict[Place, Any] = {}
        for module in self.program.modules:
            for event in module.derived:
                places = [each for each in EventOutput(self.program, module, event).places if each in fired]
                if places:
                    again = _repeated([fired[place] for place in places])
                    found |= dict(zip(places, again, strict=True))
        return found

    def _shown(self, place: Place, schema: pa.Schema, table: pa.Table, again: Any) -> Iterator[pa.RecordBatch]:
        columns: dict[str, Any] = dict(zip(table.column_names, table.columns, strict=True))
        if again is not None:
            columns[AGAIN] = pa.chunked_array([again])
        action = _action(self.program, place)
        if isinstance(action, resolved.Write):
            told = messages(action.form, named(table, ARGUMENT), table.num_rows, self.program.zone)
            columns[MESSAGE] = pa.chunked_array([told])
        rows = pa.table([_fitted(columns[each.name], each.type) for each in schema], schema=schema).combine_chunks()
        found = {
            ACTION: pa.repeat(column_of(place), rows.num_rows),
            STAMP: rows.column(TIME),
            column_of(place): rows.to_struct_array(),
        }
        yield from pa.table(found).to_batches()

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All that actions do, of rows in the order of instants."""
        engine, columns = self.open(), self.columns
        for rows in whole_stages(batches, self.travelling):
            for batch in self.step(engine, self.travelling.tables(rows)):
                yield from completed(pa.Table.from_batches([batch]), columns)


def _repeated(tables: Sequence[pa.Table]) -> list[npt.NDArray[np.bool_]]:
    """Which rows of each of some tables, each of which has no row twice, are in one before it."""
    whole = pa.concat_tables(tables)
    again = np.full(whole.num_rows, len(tables) > 1)
    if len(tables) > 1:
        again[first_of_each(whole).to_numpy()] = False
    return np.split(again, np.cumsum([table.num_rows for table in tables])[:-1])


def _action(program: resolved.Program, place: Place) -> resolved.Action:
    module = next(each for each in program.modules if each.name == place[0])
    return next(each for each in module.rules if each.name == place[1]).actions[place[2]]


def carried(kind: pa.DataType) -> pa.DataType:
    """The type in which Spark carries values: it counts microseconds."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    return plain(kind)


def _fitted(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return column.cast(kind, safe=False)
    return plain_column(column, kind)


def whole_stages(batches: Iterable[pa.RecordBatch], travelling: Travelling) -> Iterator[pa.Table]:
    """Rows in the order of instants, some at a time, all of one instant together."""
    held: list[pa.Table] = []
    rows, enough = 0, AT_ONCE
    for batch in batches:
        if batch.num_rows:
            held.append(pa.Table.from_batches([batch]))
            rows += batch.num_rows
        if rows >= enough:
            whole = pa.concat_tables(held)
            end = _last_stage(whole, travelling.instant_names)
            if end:
                yield whole.slice(0, end)
            held, rows = [whole.slice(end)], rows - end
            enough = max(AT_ONCE, 2 * rows)
    if held:
        yield pa.concat_tables(held)


def _last_stage(rows: pa.Table, names: list[str]) -> int:
    """Where the rows of the last instant begin."""
    columns = [rows.column(name) for name in names]
    same = reduce(pc.and_, (pc.equal(column, column[-1]) for column in columns))
    return int(pc.index(same, True).as_py())
