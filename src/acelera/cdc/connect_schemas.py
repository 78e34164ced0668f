"""Types of columns as they are told to Debezium's JSON messages: by a user, or by Kafka Connect in the message itself.

A type says how values are read. Times may be texts, or integers that count the unit of the type; decimals may be texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from acelera.errors import SchemaError
from acelera.language.types import parse_type

_NAMED = {
    "io.debezium.time.Date": pa.date32(),
    "io.debezium.time.Timestamp": pa.timestamp("ms"),
    "io.debezium.time.MicroTimestamp": pa.timestamp("us"),
    "io.debezium.time.ZonedTimestamp": pa.timestamp("us", "UTC"),
    "org.apache.kafka.connect.data.Date": pa.date32(),
    "org.apache.kafka.connect.data.Timestamp": pa.timestamp("ms"),
}
"""Types that have a meaning beyond their values; others, such as decimals as bytes, are read as they are."""

_PLAIN = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "float32": pa.float32(),
    "double": pa.float64(),
    "float64": pa.float64(),
}

Columns = dict[str, pa.DataType]


@dataclass(frozen=True)
class Described:
    """What is known of messages: the types of the rows' columns, and those of what stands around them, by path."""

    row: Columns
    around: Columns = field(default_factory=dict)


def described(schema: object) -> Described:
    """Types as a user gives them: a mapping of columns to types, an Arrow schema, or a schema of Kafka Connect."""
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise SchemaError(f"schema=… is a text, but no JSON: {error}") from None
    if isinstance(schema, pa.Schema):
        return Described({each.name: each.type for each in schema})
    if not isinstance(schema, Mapping):
        raise SchemaError(
            f"schema=… cannot be read from {type(schema).__name__}; give a mapping of columns to types, a pyarrow "
            "schema, or the schema of a message"
        )
    told: Mapping[str, Any] = schema["schema"] if isinstance(schema.get("schema"), Mapping) else schema
    if isinstance(told.get("fields"), list):
        return of_connect(told)
    return Described({name: parse_type(kind).arrow for name, kind in told.items()})


def of_connect(schema: Mapping[str, Any]) -> Described:
    """What a schema of Kafka Connect says, of a whole message or of a row alone."""
    fields = _fields(schema)
    rows = [fields[name] for name in ("after", "before") if name in fields and "op" in fields]
    if not rows:
        return Described({name: arrow_type(each) for name, each in fields.items()})
    around = {name: arrow_type(each) for name, each in fields.items() if name not in ("before", "after")}
    inner = {
        f"{name}.{each}": arrow_type(kind) for name in ("source", "transaction") for each, kind in _inner(fields, name)
    }
    return Described({name: arrow_type(each) for name, each in _fields(rows[0]).items()}, {**around, **inner})


def _inner(fields: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    return list(_fields(fields[name]).items()) if name in fields else []


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {str(each.get("field")): each for each in schema.get("fields") or ()}


def arrow_type(schema: Mapping[str, Any]) -> pa.DataType:
    """The type of a column, from a schema of Kafka Connect; what has no type of its own is a text.

    >>> print(arrow_type({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}))
    timestamp[us]
    """
    if schema.get("name") in _NAMED:
        return _NAMED[schema["name"]]
    kind = schema.get("type")
    if kind == "struct":
        return pa.struct([pa.field(name, arrow_type(each)) for name, each in _fields(schema).items()])
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return pa.list_(arrow_type(schema["items"]))
    return _PLAIN.get(str(kind), pa.string())
