"""A query that also tells which events each variable holds: its own SELECT, with further columns after it.

One run gives both, so that every row of the result is paired with the events of its own match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acelera.language import ast
from acelera.language.variables import Variable
from acelera.report.values import cells

if TYPE_CHECKING:  # the engine takes a while to be imported, and a page of a notebook needs none
    from acelera.engine.compiled_query import CompiledQuery

NOTHING_MADE, SOME_MADE, ALL_MADE = range(3)


@dataclass(frozen=True)
class Held:
    """The columns that tell what a variable holds: where its events stand, and their attributes if some are made."""

    at: str
    single: bool
    made: int
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Extension:
    """The extended query, and what its columns are.

    The first `shown` columns are those of the query itself. Where it cannot be seen from elsewhere, `bounds` tell where
    a match starts and ends, and `keys` the attributes of PARTITION BY.
    """

    query: CompiledQuery
    shown: int
    bounds: tuple[str, ...]
    keys: tuple[str, ...]
    variables: Mapping[str, Held]


@dataclass(frozen=True)
class Entry:
    """An event that a variable holds: where it stands, and its attributes if it may have been made."""

    at: Any
    values: Mapping[str, Any]


def extended(query: CompiledQuery, by_time: bool = False, placed: bool = False) -> Extension:
    """The query with columns that tell the events of each variable, by their position or by their time.

    `placed`: it is known from elsewhere where a match lies, so that no columns are needed for it.
    """
    checked, clauses = query.checked, query.checked.clauses
    names = _free_names(column.name for column in checked.result.columns)
    items: list[ast.SelectItem] = list(clauses.select)

    def add(item: ast.SelectBound | ast.SelectVariable | ast.SelectAttribute) -> str:
        items.append(item)
        assert item.alias is not None
        return item.alias

    bounds = ("start_time", "end_time") if by_time else ("start", "end")
    lies = tuple(add(ast.SelectBound(bound, next(names))) for bound in bounds if not placed)
    keys = tuple(add(ast.SelectVariable(key.name, next(names))) for key in clauses.partition_by if not placed)
    variables = {}
    for name, held in checked.variables.items():
        if not held.bounds.high:
            continue
        at = add(ast.SelectAttribute(name, "time" if by_time else "position", next(names)))
        made = made_in(held)
        wanted = dict.fromkeys(held.attributes) if made else {}
        if made == SOME_MADE and held.from_stream:
            wanted["type"] = None  # which made events do not have
        attributes = {each: add(ast.SelectAttribute(name, each, next(names))) for each in wanted}
        variables[name] = Held(at, (held.bounds.low, held.bounds.high) == (1, 1), made, attributes)
    return Extension(query.with_select(items), len(checked.result.columns), lies, keys, variables)


def _free_names(taken: Iterable[str]) -> Iterator[str]:
    """Names that no column of the result has, not even in other letters."""
    lower = {name.lower() for name in taken}
    return (name for name in (f"report_{number}" for number in count()) if name not in lower)


def made_in(held: Variable) -> int:
    """Whether the variable holds made events: none, some, or nothing else."""
    told = [source.made for source in held.sources]
    return ALL_MADE if all(told) else SOME_MADE if any(told) else NOTHING_MADE


def entries(found: pa.Table, held: Held) -> list[list[Entry]]:
    """The events that a variable holds in each match, in the order in which the engine gives them."""
    at = ticks(found.column(held.at))
    columns = {name: cells(found.column(column)) for name, column in held.attributes.items()}
    listed = []
    for row, places in enumerate(at):
        values = {name: [column[row]] if held.single else column[row] for name, column in columns.items()}
        each = [places] if held.single else places
        listed.append(
            [Entry(place, {name: v[index] for name, v in values.items()}) for index, place in enumerate(each)]
        )
    return listed


def ticks(column: pa.ChunkedArray) -> list[Any]:
    """Integers, or lists of them: a time is told in ticks."""
    kind = column.type
    if pa.types.is_list(kind) and pa.types.is_timestamp(kind.value_type):
        column = column.cast(pa.list_(pa.int64()))
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    return list(column.to_pylist())
