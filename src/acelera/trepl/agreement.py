"""The sources of a program: one for each relation, which agree on what times are and on what orders changes."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc import Source
from acelera.cdc.layout import INSTANT, TIME, said
from acelera.errors import (
    AceleraWarning,
    DataError,
    Problem,
    SchemaError,
    UsageError,
    did_you_mean,
    listing,
    outside,
)
from acelera.language.types import Kind, Type, from_arrow, parse_type, unify
from acelera.programs.columns import plain_column
from acelera.spark.schemas import is_frame
from acelera.tables import to_arrow
from acelera.trepl.resolved import Relation

STAMP = from_arrow(pa.timestamp("us", "UTC"))
"""What times are, if no source tells."""


@dataclass(frozen=True)
class Incoming:
    """What comes in: the source of each relation, what a stage is, the type of times, and those of instants.

    `others` are relations that may come, too, but of which no rule asks anything.
    """

    sources: Mapping[str, Source]
    granularity: str
    timestamp: Type
    instants: tuple[pa.DataType, ...]
    others: frozenset[str] = frozenset()

    @property
    def instant_names(self) -> list[str]:
        """The columns of the instant in normalized changes."""
        return [f"{INSTANT}{number}" for number in range(len(self.instants))]

    def schema(self, relation: str) -> pa.Schema:
        """The columns of the normalized changes of a relation."""
        found = self.sources[relation].schema(self.granularity)
        for name, kind in self._agreed.items():
            found = found.set(found.get_field_index(name), pa.field(name, kind))
        return found

    @property
    def _agreed(self) -> dict[str, pa.DataType]:
        """The columns whose types are the same for all relations."""
        return {**dict(zip(self.instant_names, self.instants, strict=True)), TIME: self.timestamp.arrow}

    def whole(self, relation: str) -> pa.Table:
        """All changes of a relation, which are there."""
        with told_of(relation):
            return self._aligned(relation, self.sources[relation].normalized(self.granularity))

    def batch(self, relation: str, rows: object, before: int) -> pa.Table:
        """Further changes of a relation; `before` says how many rows came before."""
        source = self.sources[relation]
        with told_of(relation):
            _refuse_lacking(source, rows)
            return self._aligned(relation, source.normalize(rows, self.granularity, before))

    def _aligned(self, relation: str, table: pa.Table) -> pa.Table:
        """Instants and times of all relations are of the same types, and each has its place in time."""
        schema = self.schema(relation)
        for name, kind in self._agreed.items():
            column = plain_column(table.column(name), kind)
            if pa.types.is_floating(kind) and pc.any(pc.is_nan(column)).as_py():
                raise DataError("an instant is NaN, which comes neither before nor after others; name other columns")
            table = table.set_column(table.column_names.index(name), schema.field(name), column)
        return table


def _refuse_lacking(source: Source, rows: object) -> None:
    """What some dicts lack is NULL; an attribute that all of them lack is most likely misspelt, or forgotten.

    Attributes in structs are not looked for: messages need not have the struct at all.
    """
    if not isinstance(rows, list | tuple) or not rows:
        return
    there = {name for row in rows if isinstance(row, Mapping) for name in row}
    for attribute in source.layout.attributes:
        paths = [side.paths[attribute] for side in source.layout.sides.values() if attribute in side.paths]
        if all(len(path) == 1 and path[0] not in there for path in paths):
            column = said(paths[0])
            raise SchemaError(
                f"there is no column `{column}` in these rows{did_you_mean(column, map(str, there))}; where it is not "
                "known, give it as None"
            )


@contextmanager
def told_of(relation: str) -> Iterator[None]:
    """What is wrong with a source is told with the name of its relation."""
    try:
        yield
    except (DataError, SchemaError, UsageError) as error:
        raise type(error)(f"`{relation}`: {error}") from None


# --- what is known beforehand -----------------------------------------------------------------------------------------


def by_relation(given: object) -> Mapping[str, Any]:
    """What a user gives, which is something for each relation."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise UsageError(
            f"sources are a mapping of relations to what acelera.cdc makes, such as {{'reading': cdc.inserts(…)}}, not "
            f"{type(given).__name__}"
        )
    return given


def rows_by_relation(given: object) -> Mapping[str, Any]:
    """What a user pushes, which is rows for each relation."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise UsageError(f"rows are pushed by relation, such as push({{'reading': rows}}), not {type(given).__name__}")
    for name, rows in given.items():
        if isinstance(rows, Source):
            raise UsageError(f"`{name}` is a source; push its rows as they are: push({{{name!r}: rows}})")
    return given


def warn_of_rows(sources: Mapping[str, Source]) -> None:
    """Rows that are there when a session is opened are not read, which who gives the first of them may not know."""
    for name, source in sources.items():
        held = source.held
        if held.whole and held.tables is not None and any(to_arrow(table).num_rows for table in held.tables()):
            warnings.warn(
                f"the rows of the source of `{name}` are not read by open; push them, and open with the columns "
                "alone: an empty table, a schema, or a mapping of columns to types",
                AceleraWarning,
                stacklevel=outside(),
            )


def unmonitored(given: Collection[str], asked: Collection[str]) -> list[Problem]:
    """Sources that are not read, of which a user may think that they are."""
    return [
        Problem(
            f"no rule monitors `{name}`, so its changes are not looked at"
            f"{did_you_mean(name, asked) or f'; monitored are {listing(asked)}'}",
            None,
        )
        for name in given
        if name not in asked
    ]


def relations_of(given: Mapping[str, Any]) -> dict[str, Relation]:
    """What is known of relations, each told by a source or by its attributes alone."""
    return {name: _relation(name, each) for name, each in given.items()}


def _relation(name: str, given: Any) -> Relation:
    if isinstance(given, Source):
        return Relation(given.attributes, given.has_old, given.layout.clock.path[-1])
    if is_frame(given) or not isinstance(given, Mapping | pa.Schema):
        raise UsageError(_no_source(name, given))
    with told_of(name):
        columns = {each.name: each.type for each in given} if isinstance(given, pa.Schema) else given
        return Relation({attribute: parse_type(kind) for attribute, kind in columns.items()})


def _no_source(name: str, given: object) -> str:
    return (
        f"`{name}` is {type(given).__name__}, which does not tell what happened to its rows; make a source of it with "
        "acelera.cdc: inserts(…), changes(…), debezium(…) or delta(…)"
    )


def incoming(given: Mapping[str, Any], asked: Collection[str], granularity: str, *, on_spark: bool = False) -> Incoming:
    """Sources of the relations that are asked for, which agree; they are in Spark frames only if `on_spark`."""
    known = {name: each for name, each in given.items() if name in asked}
    for name, each in known.items():
        if not isinstance(each, Source):
            raise UsageError(_no_source(name, each))
        if each.is_spark and not on_spark:
            raise UsageError(f"the changes of `{name}` are in a Spark frame; collect its rows: frame.toArrow()")
    others = frozenset(given) - frozenset(known)
    return Incoming(known, granularity, timestamp_of(known), _instants(known, granularity), others)


def are_on_spark(given: Mapping[str, Any], asked: Collection[str]) -> bool:
    """Whether the sources of the relations that are asked for are in Spark frames: all of them, or none."""
    found = {name: given[name].is_spark for name in asked if isinstance(given.get(name), Source)}
    if len(set(found.values())) > 1:
        here, there = (next(name for name, each in found.items() if each is spark) for spark in (False, True))
        raise UsageError(
            f"the changes of `{there}` are in a Spark frame, those of `{here}` are not; make frames of all of them, or "
            "collect the rows: frame.toArrow()"
        )
    return any(found.values())


def timestamp_of(given: Mapping[str, Any]) -> Type:
    """What the times of all sources are; moments that are told in different zones are told in UTC."""
    sources = {name: each for name, each in given.items() if isinstance(each, Source)}
    kinds = {name: each.timestamp for name, each in sources.items()}
    if not kinds:
        return STAMP
    (first, kind), *others = kinds.items()
    for name, other in others:
        if other.kind is not kind.kind or other.zoned != kind.zoned:
            columns = [said(sources[each].layout.clock.path) for each in (first, name)]
            raise SchemaError(
                f"the times of one program are of one kind, but `{columns[0]}` of `{first}` gives {kind} and "
                f"`{columns[1]}` of `{name}` gives {other}; {_remedy((columns[0], kind), (columns[1], other))}"
            )
    return kind if len({each.arrow for each in kinds.values()}) == 1 else STAMP


def _remedy(one: tuple[str, Type], other: tuple[str, Type]) -> str:
    """What to do about columns whose times are of different kinds."""
    if one[1].kind is not other[1].kind:
        return "cast one of them, or say time_unit=… of integers"
    column, _ = other if one[1].zoned else one
    return (
        f'say which moments those without a zone are: df["{column}"].dt.tz_localize("UTC") in pandas, '
        f'pc.assume_timezone(table["{column}"], "UTC") in pyarrow'
    )


def _instants(sources: Mapping[str, Source], granularity: str) -> tuple[pa.DataType, ...]:
    """The types of what orders changes, which hold the instants of all sources."""
    found: tuple[Type, ...] | None = None
    first = ""
    for name, source in sources.items():
        with told_of(name):
            own = source.instant(granularity)
        if found is None:
            found, first = own, name
            continue
        joined = [_joined(*pair) for pair in zip(found, own, strict=False)]
        if len(found) != len(own) or None in joined:
            raise SchemaError(
                f"one thing orders the changes of one program, but with granularity={granularity!r} it is "
                f"{_listed(found)} in `{first}` and {_listed(own)} in `{name}`; name columns of the same types with "
                "order_by=…"
            )
        found = tuple(each for each in joined if each is not None)
    return tuple(each.arrow for each in found or (STAMP,))


def _joined(left: Type, right: Type) -> Type | None:
    """A type for instants of both; numbers of different kinds are not mixed, as they are compared exactly."""
    if left.arrow == right.arrow:
        return left
    same = left.kind is right.kind and left.kind is not Kind.NULL and left.zoned == right.zoned
    return unify(left, right) if same else None


def _listed(kinds: Sequence[Type]) -> str:
    return f"({', '.join(map(str, kinds))})"
