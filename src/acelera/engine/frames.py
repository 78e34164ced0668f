"""Events as columns: what a batch says of each event, by attribute."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.errors import DataError
from acelera.language import ast
from acelera.language.events import Event, Value, made_event
from acelera.language.expressions import type_of
from acelera.language.schema import Schema
from acelera.language.types import INT, NULL, STRING, Type
from acelera.tables import plain_values

_EARLIER = "\0earlier."


def earlier(name: str) -> str:
    """What an attribute of the event right before is called among the columns; no column of a stream is called so."""
    return _EARLIER + name


def attribute_type(name: str, schema: Schema) -> Type:
    """The type of an attribute of the events of a stream; one that they do not have is NULL."""
    if isinstance(name, ast.Computed):
        return type_of(name.expression, lambda node: attribute_type(node.name, schema), lambda problem: None)
    name = name.removeprefix(_EARLIER)
    if name in schema.columns:
        return schema.columns[name]
    known = {"position": INT, "type": STRING, "time": schema.time or NULL}
    return known.get(name, NULL)


def column_of(name: str, schema: Schema) -> str | None:
    """The column that an attribute comes from, if it comes from one."""
    if name in schema.columns:
        return name
    if name == "time" and schema.time is not None:
        return schema.order_by[0]
    return schema.type_column if name == "type" else None


def columns_of(names: Iterable[str], schema: Schema) -> set[str]:
    """The columns that attributes come from, or are computed from."""
    found = (column_of(plain, schema) for name in names for plain in ast.plain_names(name))
    return {column for column in found if column is not None}


class Frame:
    """Some rows of the stream. A column that is a dictionary stays one."""

    def __init__(self, batch: pa.RecordBatch, positions: npt.NDArray[np.int64], schema: Schema) -> None:
        self.batch = batch
        self.positions = positions
        self.schema = schema
        self._columns: dict[str, Any] = {}
        self._plain: dict[str, list[Value]] = {}

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, name: str) -> Any:
        """An attribute as an Arrow array."""
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def know_earlier(self, name: str, column: Any) -> None:
        """What an attribute was of the event before each one in its partition."""
        self._columns[earlier(name)] = column

    def _column(self, name: str) -> Any:
        column = column_of(name, self.schema)
        if column is not None:
            return self.batch.column(column)
        if name == "position":
            return pa.array(self.positions)
        if name == "type" and self.schema.event_types:
            only = next(iter(self.schema.event_types))
            return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(self), np.int8)), pa.array([only]))
        return pa.nulls(len(self))

    def plain(self, name: str) -> list[Value]:
        """An attribute as the plain values that the definitions work on."""
        if name not in self._plain:
            kind = attribute_type(name, self.schema)
            try:
                self._plain[name] = plain_values(self[name], kind)
            except (pa.ArrowException, ValueError) as error:
                raise DataError(f"the column `{name}` of type {kind} cannot be read: {error}") from None
        return self._plain[name]

    @cached_property
    def _event_columns(self) -> list[tuple[str, list[Value]]]:
        return [(name, self.plain(name)) for name in self.batch.schema.names]

    def event(self, row: int) -> Event:
        """A row as an event, with the attributes that are there."""
        values = {name: column[row] for name, column in self._event_columns}
        time = self.plain("time")[row] if self.schema.time is not None else None
        place = values["position"] if self.schema.order_by[:1] == ("position",) else None
        told = self.schema.type_column is None or self.schema.type_column in values  # nobody asks for the type if not
        kind = self.plain("type")[row] if told else None
        return made_event(int(self.positions[row]), values, kind, time, place=place)
