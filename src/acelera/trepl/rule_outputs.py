"""What goes out: a table for each derived event, and one for each action of a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from acelera.errors import Span
from acelera.language.schema import names_alike
from acelera.language.types import ORDERED, Kind, from_arrow
from acelera.programs.columns import plain_column
from acelera.programs.problems import Notes
from acelera.trepl import ast, resolved
from acelera.trepl.actions.action_rows import ARGUMENT, INSTANT, KEY, STAGE, TIME, key_type, named
from acelera.trepl.actions.identity import encoded
from acelera.trepl.actions.messages import messages
from acelera.trepl.stepping import Place

MODULE, NUMBER, STAMP, MESSAGE, COMMAND = "module", "stage", "Timestamp", "message", "command"
"""Columns of what is given to users."""

Fired = Mapping[Place, pa.Table]
"""What an engine gives."""


class Output(Protocol):
    """A table that goes out."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""

    def shown(self, fired: Fired) -> pa.Table:
        """Its rows, of what an engine gives: by instant, then by key, then by values."""


# --- names ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """An output by its name, what it is called for people, and where it is written."""

    name: str
    said: str
    columns: tuple[str, ...]
    span: Span | None


def named_outputs(program: ast.Program) -> list[Named]:
    """All outputs of a program: the derived events of each module, then the actions of its rules.

    The first action of a rule is called as the rule is, the second `rule.2`, and so on.
    """
    return [each for module in program.modules for each in (*_events(module), *_actions(module))]


def _events(module: ast.Module) -> Iterator[Named]:
    for event in module.derived:
        yield Named(event.name, f"the derived event {event.name}", (NUMBER, STAMP, *event.attributes), event.span)


def _actions(module: ast.Module) -> Iterator[Named]:
    for rule in module.rules:
        for number, act in enumerate(rule.actions):
            name = output_name(rule.name, number)
            columns = (MODULE, *module.partition, NUMBER, STAMP, *_arguments(len(act.arguments)), MESSAGE, COMMAND)
            yield Named(name, f"the rule {rule.name} of {module.name}", columns, rule.span)


def output_name(rule: str, action: int) -> str:
    """What the output of an action is called.

    >>> output_name("Tell", 0), output_name("Tell", 1)
    ('Tell', 'Tell.2')
    """
    return f"{rule}.{action + 1}" if action else rule


def _arguments(count: int) -> list[str]:
    return [f"{ARGUMENT}{number + 1}" for number in range(count)]


def check_names(program: ast.Program, notes: Notes) -> None:
    """Note outputs, and columns of one output, that would have the same name."""
    found: dict[str, Named] = {}
    for each in named_outputs(program):
        other = found.setdefault(each.name, each)
        if other is not each and other.said != each.said:
            message = f"{each.said} and {other.said} would give one table of the name {each.name}"
            notes.wrong(message, each.span, "give one of them another name")
        alike = _alike(each.columns)
        if alike is not None:
            hint = "give it another name" if each.said.startswith("the derived") else "rename the column in the source"
            notes.wrong(f"{each.said} would have the column {alike} twice", each.span, hint)


def _alike(names: Sequence[str]) -> str | None:
    """A name that is there twice, also in another case, in which Spark does not tell names apart."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    alike = names_alike(names)
    return twice[0] if twice else None if alike is None else " and ".join(alike)


# --- tables -----------------------------------------------------------------------------------------------------------


def outputs_of(program: resolved.Program, names: Iterable[str]) -> dict[str, Output]:
    """The outputs of a program, in the order of their names."""
    found: dict[str, Output] = {}
    for module in program.modules:
        for event in module.derived:
            found[event] = EventOutput(program, module, event)
        for rule in module.rules:
            for number in range(len(rule.actions)):
                found[output_name(rule.name, number)] = ActionOutput(program, module, rule, number)
    return {name: found[name] for name in names}


@dataclass(frozen=True)
class ActionOutput:
    """What an action of a rule does: its arguments, of `write` also the message, of SQL the command."""

    program: resolved.Program
    module: resolved.Module
    rule: resolved.Rule
    action: int

    @property
    def place(self) -> Place:
        """Where the action stands."""
        return self.module.name, self.rule.name, self.action

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        types = self.module.argument_types(self.rule, self.action)
        keys = [pa.field(name, key_type(self.program, self.module, name)) for name in self.module.partition]
        last = {resolved.Write: [pa.field(MESSAGE, pa.string())], resolved.Sql: [pa.field(COMMAND, pa.string())]}
        return pa.schema(
            [
                pa.field(MODULE, pa.string()),
                *keys,
                pa.field(NUMBER, pa.int64()),
                pa.field(STAMP, self.program.timestamp.arrow),
                *(pa.field(name, each.arrow) for name, each in zip(_arguments(len(types)), types, strict=True)),
                *last.get(type(self.rule.actions[self.action]), []),
            ]
        )

    def shown(self, fired: Fired) -> pa.Table:
        """Its rows, of what an engine gives."""
        table = fired.get(self.place)
        if table is None or not table.num_rows:
            return self.schema.empty_table()
        table = _sorted(table, [INSTANT, KEY, ARGUMENT])
        columns = [pa.repeat(self.module.name, table.num_rows), *named(table, KEY)]
        columns += [table.column(STAGE), table.column(TIME), *named(table, ARGUMENT), *self._last(table)]
        return _fitted(columns, self.schema)

    def _last(self, table: pa.Table) -> Iterator[pa.Array[object]]:
        match self.rule.actions[self.action]:
            case resolved.Write(form, _):
                yield messages(form, named(table, ARGUMENT), table.num_rows, self.program.zone)
            case resolved.Sql(text, _):
                yield pa.repeat(text, table.num_rows)


@dataclass(frozen=True)
class EventOutput:
    """A derived event, whatever rules derive it; the same one of one key and stage is there once."""

    program: resolved.Program
    module: resolved.Module
    event: str

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        attributes = self.module.derived[self.event]
        times = [pa.field(NUMBER, pa.int64()), pa.field(STAMP, self.program.timestamp.arrow)]
        return pa.schema([*times, *(pa.field(name, each.arrow) for name, each in attributes.items())])

    def shown(self, fired: Fired) -> pa.Table:
        """Its rows, of what an engine gives."""
        tables = [self._typed(fired[place]) for place in self.places if place in fired]
        if not any(table.num_rows for table in tables):
            return self.schema.empty_table()
        table = pa.concat_tables(tables)
        if len(tables) > 1:
            table = table.take(first_of_each(table))
        table = _sorted(table, [INSTANT, KEY, ARGUMENT])
        return _fitted([table.column(STAGE), table.column(TIME), *named(table, ARGUMENT)], self.schema)

    @property
    def places(self) -> tuple[Place, ...]:
        """The actions that derive it."""
        return tuple(
            (self.module.name, rule.name, number)
            for rule in self.module.rules
            for number, action in enumerate(rule.actions)
            if isinstance(action, resolved.Derive) and action.event == self.event
        )

    def _typed(self, table: pa.Table) -> pa.Table:
        """Different rules may give numbers of different types."""
        kinds = [each.arrow for each in self.module.derived[self.event].values()]
        for name, kind in zip(_arguments(len(kinds)), kinds, strict=True):
            place = table.column_names.index(name)
            table = table.set_column(place, name, plain_column(table.column(name), kind))
        return table


def _fitted(columns: Sequence[pa.ChunkedArray | pa.Array[object]], schema: pa.Schema) -> pa.Table:
    pairs = zip(columns, schema, strict=True)
    fitting = [column if column.type == each.type else column.cast(each.type) for column, each in pairs]
    return pa.table(fitting, schema=schema)


def _sorted(table: pa.Table, prefixes: Sequence[str]) -> pa.Table:
    first = named(table, prefixes[0])
    if len(first) == 1 and _ascends(first[0]):
        return table
    keys = [_comparable(column) for prefix in prefixes for column in named(table, prefix)]
    rows = pa.table(keys, names=[str(number) for number in range(len(keys))])
    return table.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in rows.column_names]))


def _ascends(column: pa.ChunkedArray) -> bool:
    """Whether each value is greater than the one before."""
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray) or from_arrow(whole.type).kind not in (Kind.INT, Kind.TIMESTAMP):
        return False
    return bool(pc.all(pc.greater(whole[1:], whole[:-1]), min_count=0).as_py())


def first_of_each(table: pa.Table) -> pa.ChunkedArray:
    """The numbers of rows that are like none before them."""
    keys = [_comparable(column) for column in table.columns]
    names = [str(number) for number in range(len(keys))]
    rows = pa.table([*keys, pa.array(range(table.num_rows))], names=[*names, "row"])
    return rows.group_by(names).aggregate([("row", "min")])["row_min"]


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that Arrow can sort and group by; other values as they are written for identities."""
    if from_arrow(column.type).kind in ORDERED | {Kind.BOOL}:
        return plain_column(column)
    return pa.chunked_array([pa.array(encoded(column), pa.binary())])
