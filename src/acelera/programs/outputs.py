"""What goes out: events that rules made, in the times that came in, sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from acelera.algebra.names import BEGIN, END
from acelera.programs.columns import plain_column
from acelera.programs.times import TimeKind

TIMES = ("begin", "end")
"""The columns of time of what is given to users."""


def output_schema(children: pa.Schema, kind: TimeKind) -> pa.Schema:
    """The columns of an output: its times, then its children."""
    return pa.schema([*(pa.field(name, kind.arrow) for name in TIMES), *children])


def shown(
    made: Sequence[Mapping[str, pa.Table]], outputs: Mapping[str, pa.Schema], kind: TimeKind
) -> dict[str, pa.Table]:
    """A table for each output, of what an engine made in some steps: by end, then by begin, then by its values."""
    return {
        label: _shown([each[label] for each in made if label in each], output_schema(children, kind), kind)
        for label, children in outputs.items()
    }


def _shown(parts: Sequence[pa.Table], schema: pa.Schema, kind: TimeKind) -> pa.Table:
    tables = [_one(part, schema, kind) for part in parts if part.num_rows]
    table = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
    values = [each.name for each in schema if each.name not in TIMES and _sortable(each.type)]
    return table.sort_by([(name, "ascending") for name in ("end", "begin", *values)])


def _one(table: pa.Table, schema: pa.Schema, kind: TimeKind) -> pa.Table:
    times = [kind.shown(table.column(name)) for name in (BEGIN, END)]
    children = [plain_column(table.column(each.name), each.type) for each in schema if each.name not in TIMES]
    return pa.table([*times, *children], schema=schema)


def _sortable(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_string,
        pa.types.is_timestamp,
        pa.types.is_date,
        pa.types.is_decimal,
    )
    return any(test(kind) for test in tests)
