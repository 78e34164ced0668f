"""What a snapshot tells of the stream that it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section
from acelera.language.schema import Schema
from acelera.language.types import from_arrow


def described(schema: Schema, ties: str) -> Section:
    """The stream apart from its columns, and what is done with ties."""
    types = schema.event_types
    return {
        "event_types": None if types is None else {name: list(columns) for name, columns in types.items()},
        "type_column": schema.type_column,
        "order_by": list(schema.order_by),
        "ties": ties,
    }


def stream_of(sections: Mapping[str, Any]) -> tuple[Schema, str]:
    """The schema of the stream that a snapshot was made of, and what to do with ties."""
    columns = {field.name: from_arrow(field.type) for field in sections["columns"].schema}
    told = sections["state"]["stream"]
    named = [*told["order_by"], *([] if told["type_column"] is None else [told["type_column"]])]
    types = told["event_types"]
    event_types = None if types is None else {name: tuple(listed) for name, listed in types.items()}
    schema = Schema(columns, event_types, told["type_column"], tuple(told["order_by"])).with_fields(told["order_by"])
    check.holds("columns", set(named) <= set(schema.columns), "lacks what tells an event's type or place")
    return schema, told["ties"]
