"""What changes are read from: tables of any kind, Spark frames, or columns alone, whose rows come later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc.layout import Path, said
from acelera.errors import SchemaError, UsageError, did_you_mean
from acelera.language.schema import refuse_repeated
from acelera.programs.announcement import columns_of
from acelera.programs.columns import fits, plain, plain_column
from acelera.spark.schemas import arrow_schema, is_frame, nullable
from acelera.tables import in_batches, is_dataset, to_arrow

Numbers = npt.NDArray[np.int64]
"""The numbers of rows for people, from 1."""
Named = Callable[[int], str]


def numbered(number: int) -> str:
    """What people call a row of a table."""
    return f"row {number}"


@dataclass(frozen=True)
class Rows:
    """Rows of a table, with their numbers. Where they were dicts they are `loose`: what a dict lacks is NULL.

    They are `whole` if no others of the source come before or after them. `named` is what people call the row of a
    number.
    """

    table: pa.Table
    numbers: Numbers
    loose: bool = False
    whole: bool = False
    named: Named = numbered

    def called(self, place: int) -> str:
        """What people call a row."""
        return self.named(int(self.numbers[place]))

    def take(self, chosen: npt.NDArray[np.bool_]) -> Rows:
        """Those rows that are chosen."""
        if chosen.all():
            return self
        return replace(self, table=self.table.filter(pa.array(chosen)), numbers=self.numbers[chosen])

    def column(self, path: Path | None, wanted: pa.DataType) -> pa.ChunkedArray:
        """What stands at a place, as a plain column of a type; NULL in all rows if this is nowhere."""
        found = None if path is None else self._at(path)
        if found is None or pa.types.is_null(found.type):
            return pa.chunked_array([pa.nulls(len(self.numbers), wanted)])
        assert path is not None
        if not fits(plain(found.type), wanted):
            raise SchemaError(f"the column `{said(path)}` is {found.type} in these rows, but {wanted} before; cast it")
        try:
            return plain_column(found, wanted)
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise SchemaError(
                f"the column `{said(path)}` is {found.type} in these rows, but {wanted} before: {error}"
            ) from None

    def raw(self, path: Path) -> pa.ChunkedArray:
        """What stands at a place, of whatever type it is."""
        found = self._at(path)
        return pa.chunked_array([pa.nulls(len(self.numbers))]) if found is None else found

    def _at(self, path: Path) -> pa.ChunkedArray | None:
        """None stands for NULL in all rows: of a struct that never is, or that dicts lack."""
        name, *inner = path
        if name not in self.table.column_names:
            self._refuse_lacking(path, self.table.column_names)
            return None
        found = self.table.column(name)
        for name in inner:
            kind = found.type
            if pa.types.is_null(kind):
                return None
            if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
                self._refuse_lacking(path, [each.name for each in kind] if pa.types.is_struct(kind) else ())
                return None
            found = pc.struct_field(found, [name])
        return found

    def _refuse_lacking(self, path: Path, known: Iterable[str]) -> None:
        if not self.loose:
            raise SchemaError(f"there is no column `{said(path)}` in these rows{did_you_mean(path[-1], known)}")


def rows_of(batch: object, schema: pa.Schema, before: int = 0) -> Rows:
    """The rows of a table of any kind; `before` says how many came before."""
    loose = isinstance(batch, list | tuple)
    table = schema.empty_table() if loose and not batch else to_arrow(batch)
    refuse_repeated(table.column_names)
    for name in table.column_names if loose else ():  # what is misspelt in a dict would not be missed
        if name not in schema.names:
            raise UsageError(f"these rows have `{name}`, which is new{did_you_mean(name, schema.names)}")
    return Rows(table, np.arange(before + 1, before + table.num_rows + 1), loose)


@dataclass(frozen=True)
class Held:
    """Columns, and what holds their rows: a Spark frame, tables one after the other, or nothing."""

    schema: pa.Schema
    frame: Any = None
    tables: Callable[[], Iterator[object]] | None = None
    whole: bool = False
    """Whether all rows are in memory, to be looked at more than once."""
    named: Named = numbered
    """What people call the row of a number."""
    prepared: Callable[[object], object] = lambda batch: batch
    """What is done with further rows before they are a table."""


def held(data: object) -> Held:
    """What a user gives: a table, frame, reader, dataset or iterator of tables, or the columns alone."""
    found = _held(data)
    refuse_repeated(found.schema.names)
    return found


def _held(data: object) -> Held:
    if is_frame(data):
        columns = [pa.field(each.name, nullable(each.type)) for each in arrow_schema(data)]
        return Held(pa.schema(columns), frame=data)
    if isinstance(data, pa.Schema | Mapping):
        described = columns_of(data)
        if not isinstance(described, pa.Schema):
            raise UsageError("a source is of one relation; give its table, or a mapping of its columns to types")
        return Held(described)
    if isinstance(data, Iterator | pa.RecordBatchReader):
        schema, tables = in_batches(data)
        return Held(schema, tables=_once(tables))
    if is_dataset(data):
        schema, _ = in_batches(data)
        return Held(schema, tables=lambda: in_batches(data)[1])
    table = to_arrow(data)
    return Held(table.schema, tables=lambda: iter([table]), whole=True)


def _once(tables: Iterator[object]) -> Callable[[], Iterator[object]]:
    """What can be read a single time says so the second time."""
    left = [tables]

    def read() -> Iterator[object]:
        if not left:
            raise UsageError("these changes can be read only once; give a table, or make the source anew")
        return left.pop()

    return read
