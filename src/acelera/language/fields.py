"""Fields of structs: attributes whose names are paths, such as `geo.lat`.

An attribute that is called `geo.lat` is the column of that name, if there is one; otherwise it is the field `lat` of
the column `geo`. So the places where attributes are used need not know that there are fields: these are columns, too,
that are taken out of others when rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from acelera.errors import did_you_mean, listing
from acelera.language.expression_tree import Computed, Literal
from acelera.language.tree import Node, walk
from acelera.language.types import Type, from_arrow


class Field(NamedTuple):
    """Where a field stands: the column, then the names of fields within fields; and its type."""

    path: tuple[str, ...]
    type: Type


def find_field(name: str, columns: Mapping[str, Type]) -> Field | None:
    """The field that a name with dots means, if there is one. Names of columns and of fields may have dots, too."""
    for column, rest in _split(name):
        found = _within(columns[column].arrow, rest) if column in columns else None
        if found is not None:
            return Field((column, *found[0]), from_arrow(found[1]))
    return None


def _within(kind: pa.DataType, name: str) -> tuple[tuple[str, ...], pa.DataType] | None:
    """A field of a struct, also of one within it: the names on the way, and the type."""
    if pa.types.is_null(kind):  # a column without values, or one of which nothing is known yet
        return (name,), kind
    if not pa.types.is_struct(kind):
        return None
    if kind.get_field_index(name) >= 0:
        return (name,), kind.field(name).type
    for first, rest in _split(name):
        found = _within(kind.field(first).type, rest) if kind.get_field_index(first) >= 0 else None
        if found is not None:
            return (first, *found[0]), found[1]
    return None


def _split(name: str) -> Iterator[tuple[str, str]]:
    """A name as two with a dot between them, in all ways."""
    parts = name.split(".")
    return ((".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts)))


def why_unknown_field(name: str, columns: Mapping[str, Type]) -> tuple[str, str | None] | None:
    """What is wrong with a name with dots that begins as a column does, and a hint; None if it does not."""
    for column, rest in _split(name):
        known = columns.get(column) or getattr(find_field(column, columns), "type", None)
        if known is None:
            continue
        if not pa.types.is_struct(known.arrow):
            if known.vague:
                return None
            if pa.types.is_list(known.arrow) or pa.types.is_map(known.arrow):
                return f"`{column}` is of type {known}; of lists and maps nothing can be taken", None
            return f"`{column}` is of type {known}, and has no fields", None
        names = known.arrow.names
        first = rest.split(".")[0]
        if first in names:
            continue
        near = did_you_mean(first, names)
        return f"no field `{first}` in `{column}`{near}", None if near else f"fields: {listing(names) or 'none'}"
    return None


def names_with_dots(*trees: Node) -> frozenset[str]:
    """The names in syntax trees that may be those of fields."""
    found: set[str] = set()
    todo: list[object] = list(trees)
    while todo:
        item = todo.pop()
        if isinstance(item, Computed):
            todo += walk(item.expression)
        elif isinstance(item, str):
            found.add(item)
        elif isinstance(item, tuple):
            todo += item
        elif isinstance(item, Node) and not isinstance(item, Literal):
            todo += item.parts()
    return frozenset(name for name in found if "." in name)


def as_column_name(*names: str | None) -> str:
    """What a column of the result is called after these names: `a_geo_lat` of a.geo.lat."""
    return "_".join(filter(None, names)).replace(".", "_")
