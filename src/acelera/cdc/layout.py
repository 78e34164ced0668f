"""Where in a table the parts of a change stand: its kind, its time, what orders it, its old and its new values.

A layout is made from the columns alone, before any row is read. Tables and Spark frames are read by the same one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from acelera.errors import SchemaError, UsageError, did_you_mean, listing
from acelera.language.schema import names_alike
from acelera.language.types import ORDERED, Type, from_arrow, unify
from acelera.programs.columns import plain
from acelera.programs.times import UNITS, TimeKind, kind_of

INSERT, UPDATE, DELETE = range(3)
"""Kinds of changes, as the column `#kind` tells them."""
CALLED = ("an insert", "an update", "a delete")
"""What people call kinds of changes."""
SKIPPED = -1
"""The kind of a row that is no change."""
CODES = {"i": INSERT, "insert": INSERT, "u": UPDATE, "update": UPDATE, "d": DELETE, "delete": DELETE}
"""How tables of changes call kinds, in small letters."""

KIND, TIME, INSTANT, NEW, OLD = "#kind", "#time", "#instant.", "new.", "old."
"""Columns of normalized changes; the last three are what the names of several begin with."""

GRANULARITIES = ("timestamp", "transaction", "operation")
"""What changes of one stage have in common."""

_ALIKE = 0.75
"""The part of their letters that a name and its misspelling have in common."""

Path: TypeAlias = tuple[str, ...]
"""A column, then fields of structs, each in the one before."""


@dataclass(frozen=True)
class Operations:
    """How rows tell what kind of change they are.

    `kinds` has the kind of each code, `refused` what to do about codes that are known but not taken. A row without a
    code whose `values` are all NULL, too, is a tombstone; `tombstones` is the kind of those, None if they are errors.
    """

    path: Path
    kinds: Mapping[str, int]
    refused: Mapping[str, str] = field(default_factory=dict)
    any_case: bool = False
    values: tuple[Path, ...] = ()
    tombstones: int | None = None

    @property
    def known(self) -> str:
        """The codes, for people."""
        return ", ".join(self.kinds)


@dataclass(frozen=True)
class Side:
    """Old or new values: where attributes stand, and the kinds of changes that have them; others are NULL.

    `row` is the struct of all of them, if there is one, and `demanded` are the kinds of changes that must have it.
    """

    paths: Mapping[str, Path]
    kinds: tuple[int, ...]
    row: Path | None = None
    demanded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Clock:
    """When changes happen: a column, the kind of times that come out, and what 1 is if integers become timestamps."""

    path: Path
    kind: TimeKind
    unit: str | None = None


@dataclass(frozen=True)
class Layout:
    """The parts of changes of one relation.

    `orders` has for a granularity the columns of the instant, `lacking` why there is none. `tables` is where rows tell
    the table that they are of, and `table` the one whose rows count.
    """

    attributes: Mapping[str, pa.DataType]
    new: Side
    old: Side | None
    clock: Clock
    orders: Mapping[str, Mapping[Path, pa.DataType]]
    lacking: str
    operations: Operations | None = None
    tables: Path | None = None
    table: str | None = None

    @property
    def has_old(self) -> bool:
        """Whether updates tell what was there before."""
        return self.old is not None and UPDATE in self.old.kinds

    @property
    def sides(self) -> dict[str, Side]:
        """New values, and old ones if there can be any, each by what the names of its columns begin with."""
        return {NEW: self.new} if self.old is None else {NEW: self.new, OLD: self.old}

    def instant(self, granularity: str) -> Mapping[Path, pa.DataType]:
        """The columns that order changes; where the time is among them, it is as it comes out."""
        if granularity not in GRANULARITIES:
            known = ", ".join(map(repr, GRANULARITIES))
            raise UsageError(f"granularity={granularity!r} is not known; it is one of {known}")
        if granularity == "timestamp":
            return {self.clock.path: self.clock.kind.arrow}
        if granularity not in self.orders:
            raise UsageError(f"granularity={granularity!r} needs order_by=…: {self.lacking}")
        own = {self.clock.path: self.clock.kind.arrow}
        return {path: own.get(path, kind) for path, kind in self.orders[granularity].items()}

    def schema(self, granularity: str) -> pa.Schema:
        """The columns of normalized changes."""
        return pa.schema(
            [
                pa.field(KIND, pa.int8()),
                *(pa.field(f"{INSTANT}{n}", kind) for n, kind in enumerate(self.instant(granularity).values())),
                pa.field(TIME, self.clock.kind.arrow),
                *(pa.field(f"{side}{name}", kind) for side in self.sides for name, kind in self.attributes.items()),
            ]
        )


def said(path: Path) -> str:
    """A path as people write it.

    >>> said(("source", "ts_ms"))
    'source.ts_ms'
    """
    return ".".join(path)


def no_values(side: Side, prefix: str) -> str:
    """What is wrong with a change that lacks the row that its kind demands."""
    name = prefix.rstrip(".")
    where = f": `{said(side.row)}` is NULL" if side.row else ", for which there is no column"
    return f"but has no {name} values{where}. Have the database tell whole rows, or leave such changes out"


# --- columns ----------------------------------------------------------------------------------------------------------


def fields_at(schema: pa.Schema, root: Path = ()) -> dict[str, pa.DataType]:
    """The columns of a table, or the fields of a struct in it; none if this is no struct."""
    found = {each.name: each.type for each in schema}
    for name in root:
        inner = found.get(name)
        found = {each.name: each.type for each in inner} if inner is not None and pa.types.is_struct(inner) else {}
    return found


def find(schema: pa.Schema, name: str, root: Path = ()) -> Path | None:
    """The place of a column by its name; dots lead into structs, unless a column is called so itself."""
    fields = fields_at(schema, root)
    if name in fields:
        return (*root, name)
    for outer in fields:
        if name.startswith(f"{outer}."):
            inner = find(schema, name[len(outer) + 1 :], (*root, outer))
            if inner is not None:
                return inner
    return None


def demand(schema: pa.Schema, name: object, purpose: str, hint: str, roots: Sequence[Path] = ((),)) -> Path:
    """The place of a column that must be there."""
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is no name of a column; {hint}")
    for root in roots:
        path = find(schema, name, root)
        if path is not None:
            return path
    known = list(dict.fromkeys(said(path[len(root) :]) for root in roots for path in _all_paths(schema, root)))
    near = did_you_mean(name, [each for each in known if _alike(name, each)])
    raise SchemaError(f"there is no column `{name}` that {purpose}{near} (columns: {listing(known)}). {hint}")


def _alike(name: str, other: str) -> bool:
    """Whether one is most likely the other misspelt; of short names, few letters in common do not say so."""
    return difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio() >= _ALIKE


def as_list(names: object, option: str) -> str:
    """What to write instead of several columns in one text; nothing if it is one."""
    parts = [part for part in re.split(r"[\s,;+]+", names) if part] if isinstance(names, str) else []
    return f"; several columns are a list: {option}={parts}" if len(parts) > 1 else ""


def _all_paths(schema: pa.Schema, root: Path) -> Iterator[Path]:
    """All columns below a place, outer ones before inner ones."""
    todo = [root]
    for place in todo:
        inner = [(*place, name) for name in fields_at(schema, place)]
        yield from inner
        todo += inner


def type_at(schema: pa.Schema, path: Path) -> pa.DataType:
    """The plain type of what stands at a place."""
    return plain(fields_at(schema, path[:-1])[path[-1]])


def made_alike(schema: pa.Schema, left: Path, right: Path) -> pa.Schema:
    """Columns in which a struct that is NULL in all rows, so that nothing is known of it, is like another one."""
    for lacking, other in ((left, right), (right, left)):
        kinds = [fields_at(schema, path[:-1]).get(path[-1], pa.int8()) for path in (lacking, other)]
        if pa.types.is_null(kinds[0]) and pa.types.is_struct(kinds[1]):
            return pa.schema(_retyped(schema, lacking, kinds[1]))
    return schema


def _retyped(fields: Iterable[pa.Field], path: Path, kind: pa.DataType) -> list[pa.Field]:
    """Fields of which the one at a place has another type."""
    name, *inner = path
    return [
        each.with_type(pa.struct(_retyped(each.type, tuple(inner), kind)) if inner else kind)
        if each.name == name
        else each
        for each in fields
    ]


def attributes_of(sides: Sequence[Mapping[str, pa.DataType]]) -> dict[str, pa.DataType]:
    """Attributes and their plain types: those of all sides, each of a type that holds the values of both.

    New values stand before old ones.
    """
    found: dict[str, Type] = {}
    for name, kind in ((name, from_arrow(plain(kind))) for side in sides for name, kind in side.items()):
        both = _joined(found.get(name, kind), kind)
        if both is None:
            raise SchemaError(
                f"the attribute `{name}` is {found[name]} among new values, but {kind} among old ones; cast one of them"
            )
        found[name] = both
    alike = names_alike(found)
    if alike is not None:
        raise SchemaError(
            f"the attributes `{alike[0]}` and `{alike[1]}` differ in case alone, which Spark does not tell apart; "
            "rename one of them"
        )
    return {name: kind.arrow for name, kind in found.items()}


def _joined(left: Type, right: Type) -> Type | None:
    return left if left.arrow == right.arrow else unify(left, right)


# --- times and instants -----------------------------------------------------------------------------------------------


def clock(schema: pa.Schema, path: Path, unit: str | None) -> Clock:
    """When changes happen. Integers whose unit is known become timestamps in UTC."""
    if unit is not None and unit not in UNITS:
        raise UsageError(f"time_unit={unit!r} is not known; it is one of {', '.join(map(repr, UNITS))}")
    kind = kind_of({f"the column `{said(path)}`": type_at(schema, path)}, unit)
    if unit is None:
        return Clock(path, kind)
    return Clock(path, TimeKind(pa.timestamp("us", "UTC")), unit)


def ordering(schema: pa.Schema, names: object, roots: Sequence[Path] = ((),)) -> dict[Path, pa.DataType]:
    """The columns of `order_by`, which is a name or several."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not listed:
        raise UsageError(f"order_by={names!r} is no list of columns")
    hint = f"Name others with order_by=…{as_list(names, 'order_by')}"
    paths = [demand(schema, each, "orders changes", hint, roots) for each in listed]
    found = {path: type_at(schema, path) for path in paths}
    for path, kind in found.items():
        if from_arrow(kind).kind not in ORDERED:
            raise SchemaError(f"the column `{said(path)}` is {kind}, which has no order; name others with order_by=…")
    return found


def orders_of(schema: pa.Schema, order_by: object, roots: Sequence[Path] = ((),)) -> dict[str, dict[Path, pa.DataType]]:
    """The instants of transactions and operations, where a user says them."""
    if order_by is None:
        return {}
    return dict.fromkeys(GRANULARITIES[1:], ordering(schema, order_by, roots))
