"""What is known of events before they come: the labels, their columns, and what their times are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.algebra.names import BEGIN, END
from acelera.errors import SchemaError, did_you_mean, listing
from acelera.language.schema import refuse_repeated
from acelera.language.types import Type, parse_type
from acelera.programs.columns import plain, plain_column
from acelera.programs.options import How
from acelera.programs.times import TimeKind, kind_of
from acelera.tables import described_by, refuse_bad_text


@dataclass(frozen=True)
class Asked:
    """What a program wants to know of: the labels of events that rules ask for, and of those that they make.

    If a rule asks for events of any label, `every` is true.
    """

    labels: tuple[str, ...]
    made: tuple[str, ...]
    every: bool = False

    def concerns(self, label: str) -> bool:
        """Whether events of a label matter: what comes in is not made again."""
        return self.every or label in self.labels or label in self.made


@dataclass(frozen=True)
class Announced:
    """A stream before its rows: for each label that matters the columns of its data, in plain types.

    `others` are labels that may come, too; None says that any may. `made` are those that rules make; events of these
    come in only if they are among the labels.
    """

    labels: Mapping[str, pa.Schema]
    kind: TimeKind
    how: How
    made: frozenset[str] = frozenset()
    others: frozenset[str] | None = None
    longest: Mapping[str, float] = field(default_factory=dict)
    """For each label that comes in how many ticks an event lasts at most; infinity if nothing is known."""


Columns: TypeAlias = pa.Schema | Mapping[str, pa.Schema]
"""The columns of one table for all labels, or of a table for each."""


def columns_of(source: object) -> Columns:
    """The columns of tables that are given, or described: one for all labels, or one for each."""
    if isinstance(source, Mapping) and not _are_columns(source):
        for label in source:
            if not isinstance(label, str):
                raise SchemaError(f"{label!r} is no label; labels are strings")
        return {label: _schema(each, f" of `{label}`") for label, each in source.items()}
    return _schema(source, "")


def _are_columns(source: Mapping[object, object]) -> bool:
    """Whether a mapping tells the types of columns, and not the columns of labels."""
    return any(isinstance(each, str | type | pa.DataType | Type) for each in source.values())


def _schema(source: object, where: str) -> pa.Schema:
    found = described_by(source)
    if isinstance(found, Mapping):
        found = pa.schema([pa.field(name, parse_type(kind).arrow) for name, kind in found.items()])
    if not isinstance(found, pa.Schema):
        raise SchemaError(
            f"the columns{where} cannot be read from {type(found).__name__}; give a table, a pyarrow schema, or a "
            "mapping of columns to types"
        )
    refuse_repeated(found.names, where and f" in the columns{where}")
    return found


def announce(columns: Columns, how: How, asked: Asked, come: Mapping[str, pa.Schema] | None = None) -> Announced:
    """What a program can expect of tables with these columns.

    In one table for all labels, every label that is asked for and not made has all columns. `come` are further labels
    that its rows are known to have, with their columns.
    """
    made = frozenset(asked.made)
    if isinstance(columns, pa.Schema):
        _demand(how.type_column, columns, "tells the label of an event", "Name it with type_column=…")
        kind = _kind({"": columns}, how)
        if asked.every and come is None:
            raise SchemaError(
                "a rule asks for events of any label, so all labels must be known; give a mapping of labels to schemas"
            )
        data = _data(columns, {*how.times, how.type_column})
        labels = {label: data for label in asked.labels if label not in made}
        labels |= {label: _data(each, {*how.times, how.type_column}) for label, each in (come or {}).items()}
        return Announced(labels, kind, how, made)
    kind = _kind(columns, how)
    labels = {label: _data(each, how.times) for label, each in columns.items() if asked.concerns(label)}
    return Announced(labels, kind, how, made, frozenset(columns) - frozenset(labels))


def _kind(tables: Mapping[str, pa.Schema], how: How) -> TimeKind:
    """The kind of all columns of time."""
    found = {}
    for label, schema in tables.items():
        where = f" of `{label}`" if label else ""
        for name in how.times:
            _demand(name, schema, f"tells a time{where}", "Name it with time=…, or with begin=… and end=…")
            found[f"the column `{name}`{where}"] = schema.field(name).type
    return kind_of(found, how.time_unit)


def _demand(name: str, schema: pa.Schema, purpose: str, hint: str) -> None:
    if name not in schema.names:
        near = did_you_mean(name, schema.names) or f" (columns: {listing(schema.names)})."
        raise SchemaError(f"there is no column `{name}` that {purpose}{near} {hint}")


def _data(schema: pa.Schema, apart: Collection[str]) -> pa.Schema:
    """The columns of data, in plain types."""
    for name in (BEGIN, END):
        if name in schema.names:
            raise SchemaError(f"a column cannot be called `{name}`: that is how times are called inside; rename it")
    return pa.schema([pa.field(each.name, plain(each.type)) for each in schema if each.name not in apart])


def labels_in(table: pa.Table, how: How, asked: Asked) -> dict[str, pa.Schema]:
    """Labels of rows that the columns of one table for all labels do not tell: of what is made, or of anything.

    As NULL is no child, a column counts if it has a value in a row of the label; so what is made under this label may
    have other columns.
    """
    if how.type_column not in table.column_names:
        return {}
    types = plain_column(table.column(how.type_column))
    refuse_bad_text(pa.table({how.type_column: types}), np.arange(1, table.num_rows + 1))
    found = {}
    for label in types.unique().drop_null().to_pylist():
        if isinstance(label, str) and asked.concerns(label) and (asked.every or label in asked.made):
            rows = table.filter(pc.equal(types, label))
            found[label] = pa.schema([each for each in table.schema if rows.column(each.name).null_count < len(rows)])
    return found
