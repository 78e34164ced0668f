"""What is to be done, row by row and in order, from tables of what rules have fired.

A table holds the rows of one action, which its place tells: (module, rule, number of the action in the rule). Its
columns are `#key.K` for each attribute of `partition by`, `#stage`, `#instant.0`, `#instant.1`, …, `#time`, and `arg1`,
`arg2`, … in the order of the arguments.

A frame holds the rows of all actions: for each a column `module.rule.number`, which is a struct of the columns above,
and NULL in rows of other actions. Whatever other columns it has are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.errors import SchemaError, UsageError, did_you_mean, listing
from acelera.language.events import Moment
from acelera.language.types import NULL, ORDERED, Kind, Type, from_arrow, unify
from acelera.programs.columns import plain_column
from acelera.tables import leaves, plain_values
from acelera.trepl import resolved
from acelera.trepl.actions.identity import encoded, identities
from acelera.trepl.actions.messages import messages
from acelera.trepl.actions.parameters import python_values
from acelera.trepl.history import Fired

STAGE, TIME, KEY, INSTANT, ARGUMENT = "#stage", "#time", "#key.", "#instant.", "arg"

Place = tuple[str, str, int]
"""Where an action stands: module, rule, and its number in the rule, from 0."""

Tables = Mapping[Place, pa.Table]

Names = Mapping[tuple[str, str], str]
"""What stands for the text of each rule in identities, by module and rule."""


@dataclass(frozen=True)
class ActionRow:
    """What an action does once: the values are those of Python (datetime, Decimal, …), the message that of `write`.

    `key` has the values of `partition by`. The identity is the same whenever the same row comes again; `program` is
    what stands in it for the text of the rule.
    """

    module: str
    rule: str
    action: int
    key: Mapping[str, Any]
    stage: int
    instant: tuple[Any, ...]
    timestamp: Any
    arguments: tuple[Any, ...]
    identity: str
    program: str
    message: str | None = None

    @property
    def place(self) -> Place:
        """The place of its action."""
        return self.module, self.rule, self.action


def places(program: resolved.Program) -> dict[Place, resolved.Action]:
    """The actions of a program, in its order."""
    return {
        (module.name, rule.name, number): action
        for module in program.modules
        for rule in module.rules
        for number, action in enumerate(rule.actions)
    }


# --- tables to rows ---------------------------------------------------------------------------------------------------


def rows_of(program: resolved.Program, name: str | Names, tables: Tables) -> list[ActionRow]:
    """All rows, each once: by instant, then module by module, key by key, rule by rule, action by action, by arguments.

    `name` is what the program, or each rule, is called in identities. Derived events are not done, and left out.
    """
    modules = [module.name for module in program.modules]
    found: list[tuple[Any, ActionRow]] = []
    for number, (place, action) in enumerate(places(program).items()):
        table = tables.get(place)
        if table is not None and table.num_rows and not isinstance(action, resolved.Derive):
            sorted_table = _by_arguments(table)
            orders = _orders(sorted_table, modules.index(place[0]), number)
            called = name if isinstance(name, str) else name[place[:2]]
            found += zip(orders, _rows(place, action, called, sorted_table, program.zone), strict=True)
    found.sort(key=lambda each: each[0])
    return list({row.identity: row for _, row in found}.values())


def refuse_unknown(program: resolved.Program, tables: Tables) -> None:
    """Rows of an action that the program does not have would be lost."""
    known = [column_of(place) for place in places(program)]
    for place in tables:
        if column_of(place) not in known:
            near = did_you_mean(column_of(place), known)
            raise UsageError(f"the program has no action `{column_of(place)}`{near}; it has {listing(known)}")


def _rows(place: Place, action: resolved.Action, name: str, table: pa.Table, zone: str) -> Iterator[ActionRow]:
    keys, instants, arguments = (named(table, prefix) for prefix in (KEY, INSTANT, ARGUMENT))
    same = identities(name, place, keys, instants, arguments)
    shown: Sequence[str | None] = [None] * table.num_rows
    if isinstance(action, resolved.Write):
        shown = messages(action.form, arguments, table.num_rows, zone).to_pylist()
    attributes = [each.removeprefix(KEY) for each in table.column_names if each.startswith(KEY)]
    columns = zip(
        _by_row(keys, table.num_rows),
        python_values(table.column(STAGE)),
        _by_row(instants, table.num_rows),
        python_values(table.column(TIME)),
        _by_row(arguments, table.num_rows),
        same,
        [name] * table.num_rows,
        shown,
        strict=True,
    )
    for key, *rest in columns:
        yield ActionRow(*place, dict(zip(attributes, key, strict=True)), *rest)


def _by_row(columns: Sequence[pa.ChunkedArray], rows: int) -> list[tuple[Any, ...]]:
    return list(zip(*map(python_values, columns), strict=True)) if columns else [()] * rows


def named(table: pa.Table, prefix: str) -> list[pa.ChunkedArray]:
    """The columns whose names begin so; numbered ones by their number."""
    names = [each for each in table.column_names if each.startswith(prefix)]
    if prefix != KEY:
        names.sort(key=lambda each: int(each.removeprefix(prefix)))
    return [table.column(each) for each in names]


# --- order ------------------------------------------------------------------------------------------------------------


def _by_arguments(table: pa.Table) -> pa.Table:
    """A table sorted by its arguments, NULL last; those that have no order of their own by how they are written."""
    arguments = [_sortable(column) for column in named(table, ARGUMENT)]
    if not arguments:
        return table
    columns = pa.table(arguments, names=[str(number) for number in range(len(arguments))])
    return table.take(pc.sort_indices(columns, sort_keys=[(name, "ascending") for name in columns.column_names]))


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = plain_column(column)
    if from_arrow(plain.type).kind in ORDERED | {Kind.BOOL}:
        return plain
    return pa.chunked_array([pa.array(encoded(plain), pa.binary())])


def _orders(table: pa.Table, module: int, number: int) -> Iterator[tuple[Any, ...]]:
    """What sorts rows of several tables: instants come first, since stages are counted in each module and key anew."""
    instants = zip(*map(_comparable, named(table, INSTANT)), strict=True)
    keys = zip(*map(_comparable, named(table, KEY)), strict=True)
    for place, instant in enumerate(instants):
        yield instant, module, next(keys, ()), number, place


def _comparable(column: pa.ChunkedArray) -> list[tuple[int, Any]]:
    """Values that can be compared: NaN comes after all others, then NULL."""
    kind = from_arrow(column.type)
    values = encoded(column) if kind.kind is Kind.OPAQUE else plain_values(column, kind)
    return [(2, 0) if value is None else (1, 0) if value != value else (0, value) for value in values]


# --- other forms ------------------------------------------------------------------------------------------------------


def column_of(place: Place) -> str:
    """The column of an action in a frame of all of them."""
    return ".".join(map(str, place))


def from_frame(program: resolved.Program, frame: pa.Table) -> dict[Place, pa.Table]:
    """The tables of actions, of a frame that holds all of them."""
    tables = {}
    for place in places(program):
        if column_of(place) in frame.column_names:
            column = frame.column(column_of(place)).drop_null()
            if not pa.types.is_struct(column.type):
                raise SchemaError(f"the column `{column_of(place)}` is of type {column.type}, not a struct")
            tables[place] = pa.Table.from_batches(
                [pa.RecordBatch.from_struct_array(chunk) for chunk in column.chunks], pa.schema(list(column.type))
            )
    if not tables and frame.num_rows:
        raise SchemaError(f"no column is called after an action, such as `{column_of(next(iter(places(program))))}`")
    return tables


def from_fired(
    program: resolved.Program, fired: Iterable[Fired], instant: Sequence[pa.DataType] = ()
) -> dict[Place, pa.Table]:
    """The tables of actions, of what the meaning says that rules fire; `instant` are the types of what orders changes,
    which are guessed if they are not told.
    """
    by_place: dict[Place, list[Fired]] = {}
    for each in fired:
        by_place.setdefault((each.module, each.rule, each.action), []).append(each)
    return {place: _table(program, place, rows, instant) for place, rows in by_place.items()}


def _table(program: resolved.Program, place: Place, fired: Sequence[Fired], instant: Sequence[pa.DataType]) -> pa.Table:
    module = next(each for each in program.modules if each.name == place[0])
    rule = next(each for each in module.rules if each.name == place[1])
    instants = [each.instant if isinstance(each.instant, tuple) else (each.instant,) for each in fired]
    columns: dict[str, Any] = {}
    for number, name in enumerate(module.partition):
        values = [each.key[number] for each in fired]
        columns[f"{KEY}{name}"] = leaves(values, key_type(program, module, name), name)
    columns[STAGE] = pa.array([each.stage for each in fired], pa.int64())
    for number, parts in enumerate(zip(*instants, strict=True)):
        told = leaves(list(parts), instant[number], "instant") if instant else _guessed(list(parts))
        columns[f"{INSTANT}{number}"] = told
    columns[TIME] = leaves([each.timestamp for each in fired], program.timestamp.arrow, TIME)
    for number, kind in enumerate(module.argument_types(rule, place[2])):
        values = [each.arguments[number] for each in fired]
        columns[f"{ARGUMENT}{number + 1}"] = leaves(values, kind.arrow, f"{ARGUMENT}{number + 1}")
    return pa.table(columns)


def key_type(program: resolved.Program, module: resolved.Module, name: str) -> pa.DataType:
    """The type that holds an attribute of all events of the universe, as keys are."""
    found = NULL
    for event in module.universe:
        found = unify(found, _attributes(program, event)[name]) or found
    return found.arrow


def _attributes(program: resolved.Program, event: resolved.EventType) -> Mapping[str, Type]:
    if event.module is None:
        return program.relations[event.name].attributes
    return next(each for each in program.modules if each.name == event.module).derived[event.name]


def _guessed(values: list[Any]) -> pa.Array[Any]:
    """A column of instants, whose type nobody tells."""
    moments = all(isinstance(value, Moment) for value in values)
    return leaves(values, pa.timestamp("ns"), "instant") if moments else pa.array(values)
