"""The schema of a stream: which event types there are, and which attributes of which type they have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from acelera.errors import SchemaError, did_you_mean, listing
from acelera.language.fields import Field, find_field
from acelera.language.types import STRING, Kind, Type, from_arrow, parse_type, unify


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, and which of them each event type has.

    `event_types` is None when the types are not known beforehand: then any type may occur and has all columns.
    `type_column` is the column that tells the type; None when all rows are of one type. Those of the columns that are
    `fields` of structs are not in tables: they are taken out of the column that their path begins with. `hidden` are
    columns that are called as what every event has, its time or its position; nothing sees them.
    """

    columns: Mapping[str, Type]
    event_types: Mapping[str, tuple[str, ...]] | None = None
    type_column: str | None = "type"
    order_by: tuple[str, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    @property
    def in_tables(self) -> Mapping[str, Type]:
        """The columns that tables have."""
        return {name: kind for name, kind in self.columns.items() if name not in self.fields}

    def with_fields(self, names: Iterable[str]) -> Schema:
        """The same schema, in which those of the names that are fields of structs are columns."""
        found = {name: find_field(name, self.columns) for name in sorted(names) if name not in self.columns}
        fresh = {name: each for name, each in found.items() if each is not None}
        if not fresh:
            return self
        known = {**self.fields, **fresh}
        fields = {name: known[name] for name in sorted(known)}  # whoever asked first
        columns = {**self.in_tables, **{name: each.type for name, each in fields.items()}}
        return replace(self, columns=columns, fields=fields)

    def read_for(self, names: Iterable[str]) -> list[str]:
        """The columns of tables that these columns are, or are taken out of."""
        wanted = {self.fields[name].path[0] if name in self.fields else name for name in names}
        return [name for name in self.columns if name in wanted]

    def whole(self, names: Iterable[str]) -> list[str]:
        """The names, and those of the fields of what they name."""
        given = list(names)
        return [*given, *(name for name, each in self.fields.items() if each.path[0] in given)]

    def shown(self, name: str) -> str:
        """What a column of the result is called that shows an attribute of PARTITION BY."""
        return name.replace(".", "_") if name in self.fields else name

    @property
    def time(self) -> Type | None:
        """The type of the events' time: that of the first order column if it is a timestamp."""
        first = self.columns.get(self.order_by[0]) if self.order_by else None
        return first if first is not None and first.kind is Kind.TIMESTAMP else None

    def is_exactly(self, other: Schema) -> bool:
        """Whether its columns are also the same in tables: schemas are equal if the language makes no difference."""
        exact = [[(name, kind.arrow) for name, kind in each.columns.items()] for each in (self, other)]
        return self == other and exact[0] == exact[1]

    def attributes(self, event_type: str | None) -> Mapping[str, Type]:
        """The attributes of an event type; of any type if it is None."""
        if event_type is None or self.event_types is None:
            return self.columns
        return {name: self.columns[name] for name in self.whole(self.event_types.get(event_type, ()))}

    def ordered_by(self, order_by: str | tuple[str, ...] | list[str] | None, hiding: bool = False) -> Schema:
        """The same schema for a stream in this order; checks that the columns exist and can be ordered.

        A column that is called `time` or `position`, as what every event has, is refused, or hidden.
        """
        names = (order_by,) if isinstance(order_by, str) else tuple(order_by or ())
        for name in names:
            if (
                name not in self.columns
                and isinstance(name, str)
                and re.search(r",|\s(asc|desc)$", name, re.IGNORECASE)
            ):
                raise SchemaError(
                    f"order_by: {name!r} is not a column; pass a list of columns, all ascending: ['a', 'b']"
                )
            if name not in self.columns:
                near = did_you_mean(str(name), self.in_tables)
                raise SchemaError(f"order_by: there is no column `{name}`{near}{_listing(self.in_tables)}")
            if self.columns[name].kind in (Kind.OPAQUE, Kind.NULL):
                raise SchemaError(f"order_by: column `{name}` of type {self.columns[name]} has no order")
        ordered = replace(self, order_by=names)
        if hiding:
            ordered = ordered._without(ordered._taken())
        ordered._refuse_collisions()
        return ordered

    def _taken(self) -> list[str]:
        """Columns that are called as what every event has, and are something else."""
        names = ["position"] + (["time"] if self.time is not None else [])
        found = [name for name in names if name in self.columns and name not in self.order_by[:1]]
        return [*found, "type"] if "type" in self.columns and self.type_column != "type" else found

    def _without(self, names: Sequence[str]) -> Schema:
        """Columns are hidden, but for those that tell types or the order, which are needed."""
        hidden = tuple(name for name in names if name not in (self.type_column, *self.order_by))
        if not hidden:
            return self
        columns = {name: kind for name, kind in self.columns.items() if name not in hidden}
        event_types = self.event_types and {
            each: tuple(name for name in known if name not in hidden) for each, known in self.event_types.items()
        }
        return replace(self, columns=columns, event_types=event_types, hidden=hidden)

    def _refuse_collisions(self) -> None:
        """`position` and `time` are what every event has; a column of that name would be mistaken for it."""
        first = self.columns.get("position")
        if first is not None and self.order_by[:1] == ("position",) and first.kind is not Kind.INT:
            raise SchemaError(
                f"the order column `position` is of type {first}, but positions are integers; rename the column"
            )
        for name in self._taken():
            raise SchemaError(
                f"the column `{name}` has the name of what every event carries, its {name}; rename the column"
            )


def schema_of(
    described: object,
    *,
    type_column: str | None = "type",
    event_type: str | None = None,
    stream: str | None = None,
) -> Schema:
    """A schema from whatever describes one.

    - a mapping of columns to types, shared by all event types: `{"type": "string", "price": float}`; a struct is a
      mapping of its fields, `{"type": "string", "geo": {"lat": float, "lon": float}}`
    - a mapping of event types to such mappings: `{"SELL": {"price": float}, "BUY": {"price": float}}`
    - a pyarrow schema, or a Spark schema (StructType)

    A stream without a type column is a stream of one type, named by `event_type`, or else by the stream's own name.

    >>> schema = schema_of({"SELL": {"price": "float"}, "NEWS": {"text": "string"}})
    >>> list(schema.attributes("NEWS")), list(schema.columns)
    (['type', 'text'], ['type', 'price', 'text'])
    """
    if isinstance(described, Schema):
        return described
    for option, value in (("type_column", type_column), ("event_type", event_type)):
        if value is not None and not isinstance(value, str):
            raise SchemaError(f"{option}={value!r} is not a name")
    if isinstance(described, pa.Schema):
        refuse_repeated(described.names)
        columns = {column.name: from_arrow(column.type) for column in described}
        return _from_columns(columns, type_column, event_type, stream)
    if hasattr(described, "fields") and hasattr(described, "simpleString"):
        return _from_columns(_spark_columns(described), type_column, event_type, stream)
    if isinstance(described, Mapping):
        _refuse_odd_names(described)
        if described and event_type is None and all(isinstance(value, Mapping) for value in described.values()):
            return _from_event_types(described, type_column)
        columns = {name: parse_type(kind) for name, kind in described.items()}
        return _from_columns(columns, type_column, event_type, stream)
    raise SchemaError(
        f"a schema cannot be read from {type(described).__name__}; give a mapping of columns to types, a pyarrow "
        "schema or a Spark schema"
    )


def refuse_repeated(names: Iterable[str], where: str = "") -> None:
    """Each column has a name of its own."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise SchemaError(f"the column `{min(repeated)}` occurs twice{where}; rename one of them")


def names_alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Two names that differ in case alone."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            return other, name
    return None


def _from_columns(
    columns: dict[str, Type], type_column: str | None, event_type: str | None, stream: str | None
) -> Schema:
    if event_type is None and type_column not in columns:
        event_type = stream
    if event_type is not None:
        if type_column is not None and type_column != "type" and type_column in columns:
            raise SchemaError(
                f"event_type={event_type!r} says that all rows are of one type, type_column={type_column!r} that a "
                "column tells it; give only one of them"
            )
        return Schema(columns, {event_type: tuple(columns)}, None)
    if type_column is None:
        raise SchemaError("without a type column all events are of one type; name it with event_type=…")
    if type_column not in columns:
        near = did_you_mean(type_column, columns)
        raise SchemaError(
            f"there is no column `{type_column}` that tells an event's type{near}{_listing(columns)}. Name it "
            "with type_column=…, or, if all rows are of one type, name that type with event_type=… (or FROM)"
        )
    if columns[type_column].kind not in (Kind.STRING, Kind.NULL):
        raise SchemaError(
            f"the type column `{type_column}` is of type {columns[type_column]}, but event types are names; "
            "cast it to string"
        )
    return Schema(columns, None, type_column)


def _from_event_types(described: Mapping[str, object], type_column: str | None) -> Schema:
    """The columns are those of all types together, with a column that tells the type."""
    name = type_column or "type"
    columns: dict[str, Type] = {name: STRING}
    event_types: dict[str, set[str]] = {}
    for event_type, inner in described.items():
        assert isinstance(inner, Mapping)
        _refuse_odd_names(inner)
        for attribute, kind in inner.items():
            given = parse_type(kind)
            known = columns.get(attribute, given)
            both = unify(known, given)
            if both is None:
                raise SchemaError(
                    f"the attribute `{attribute}` is {given} in {event_type} but {known} elsewhere; an attribute has "
                    "one type in all event types that have it"
                )
            columns[attribute] = both
        event_types[event_type] = set(inner)
    return Schema(
        columns,
        {each: tuple(c for c in columns if c in names or c == name) for each, names in event_types.items()},
        name,
    )


def _refuse_odd_names(mapping: Mapping[object, object]) -> None:
    for name in mapping:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"{name!r} is not a name; columns and event types are named by strings")


def _spark_columns(described: object) -> dict[str, Type]:
    """Columns of a Spark StructType, which describes itself without Spark being imported here."""
    columns = {}
    for each in described.fields:  # type: ignore[attr-defined]  # a StructType, seen by its attributes
        columns[each.name] = _spark_type(each.dataType)
    return columns


_SPARK = {
    "int": pa.int32(),
    "float": pa.float32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}


def _spark_type(kind: Any) -> Type:
    if hasattr(kind, "fields"):
        return from_arrow(pa.struct([(each.name, _spark_type(each.dataType).arrow) for each in kind.fields]))
    name = kind.simpleString()
    if name in _SPARK:
        return from_arrow(_SPARK[name])
    if name.startswith("interval"):
        return from_arrow(pa.duration("us"))
    try:
        return parse_type(name)
    except SchemaError:
        return from_arrow(pa.struct([]))  # arrays, maps: carried, never looked into


def _listing(columns: Mapping[str, object]) -> str:
    return f" (columns: {listing(columns)})" if columns else " (there are no columns)"
