"""Arrow tables at the edges: rows in, result tables out."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.errors import AceleraError, DataError, UsageError
from acelera.language.aggregates import canonical
from acelera.language.events import Moment, Opaque
from acelera.language.schema import Schema
from acelera.language.types import Kind, Type

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


# --- tables in ----------------------------------------------------------------------------------------------------


def to_arrow(table: object) -> pa.Table:
    """An Arrow table from whatever holds one: pyarrow, pandas, polars, lists of dicts, all with an Arrow stream."""
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.RecordBatchReader):
        return table.read_all()
    if is_dataset(table):
        return table.to_table()  # type: ignore[attr-defined]
    if isinstance(table, Sequence) and not isinstance(table, str | bytes):
        return _from_dicts(table)
    pandas = type(table).__module__.startswith("pandas.") and hasattr(table, "columns")
    if pandas or (hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns")):
        try:
            return _from_pandas(table) if pandas else pa.table(table)
        except (pa.ArrowException, ValueError, TypeError) as error:
            why = (_mixed_column(table) if pandas else None) or error
            raise DataError(f"the data frame cannot be read as an Arrow table: {why}") from None
    raise UsageError(
        f"cannot read events from {type(table).__name__}; give a pyarrow table, reader or dataset, a pandas or polars "
        "data frame, or a list of dicts"
    )


def is_dataset(table: object) -> bool:
    """Whether this is a dataset of pyarrow; that part of it is not imported to find out."""
    return type(table).__module__ == "pyarrow._dataset" and hasattr(table, "to_batches")


def in_batches(source: object) -> tuple[pa.Schema, Iterator[object]]:
    """The schema of a source and its rows, some at a time: those that can be read piece by piece are."""
    if isinstance(source, pa.RecordBatchReader):
        return source.schema, (pa.Table.from_batches([batch]) for batch in source)
    if is_dataset(source):
        batches = source.to_batches()  # type: ignore[attr-defined]
        return source.schema, (pa.Table.from_batches([batch]) for batch in batches)  # type: ignore[attr-defined]
    if isinstance(source, Iterator):
        first = next(source, None)
        if first is None:
            raise UsageError("there is no batch, so the columns are not known; give an empty table that has them")
        return to_arrow(first).schema, chain([first], source)
    if isinstance(source, list | tuple) and source and not isinstance(source[0], Mapping):
        return in_batches(iter(source))
    table = to_arrow(source)
    return table.schema, iter([table])


def described_by(source: object) -> object:
    """The schema of a table, reader or dataset; anything else is taken to describe a schema itself."""
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader) or is_dataset(source):
        return source.schema  # type: ignore[attr-defined]  # datasets are told by their module
    if isinstance(source, list) or hasattr(source, "__arrow_c_stream__"):
        return to_arrow(source).schema
    return source


def _from_pandas(frame: Any) -> pa.Table:
    """pandas brings its index along as a column; unless it has a name, it is not an attribute."""
    table = pa.Table.from_pandas(frame)
    brought = zip(table.schema.pandas_metadata["index_columns"], frame.index.names, strict=True)
    return table.drop_columns([column for column, name in brought if name is None and isinstance(column, str)])


def _from_dicts(rows: Sequence[Any]) -> pa.Table:
    if not rows:
        raise UsageError("an empty list has no columns; give an empty table that has them")
    names: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UsageError(f"row {number} is {type(row).__name__}, not a dict of attributes")
        names.update(dict.fromkeys(row))
    if not names:
        raise UsageError("the rows have no attributes, not even a type")
    columns = {}
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is not a name; attributes are named by strings")
        values = [row.get(name) for row in rows]
        moments = {value.tzinfo is None for value in values if isinstance(value, datetime.datetime)}
        if len(moments) > 1:
            raise DataError(f"some values of `{name}` have a time zone and some have none; give all of them one")
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
            raise DataError(_no_column(name, values, error)) from None
    return pa.table(columns)


def _mixed_column(frame: Any) -> str | None:
    """What is wrong with the first column of a data frame that is no column of Arrow; None if all are."""
    for name, column in frame.items():
        try:
            pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
            return _no_column(name, list(column), error)
    return None


def _no_column(name: object, values: Sequence[Any], error: Exception) -> str:
    """What is wrong with values that are no column of Arrow."""
    kinds = list(dict.fromkeys(type(value).__name__ for value in values if not _is_missing(value)))
    if len(kinds) < 2:
        return f"the values of `{name}` are not of one type that Arrow knows: {error}"
    return (
        f"the values of `{name}` are not of one type, but {' and '.join(kinds)}; make them one where they are made: "
        "times with pd.to_datetime(…), others with astype(…)"
    )


def _is_missing(value: object) -> bool:
    """Whether this is how Python, numpy or pandas say that there is no value."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NaTType"


def refuse_bad_text(table: pa.Table, numbers: npt.NDArray[Any] | None) -> None:
    """Arrow takes the bytes of a text on trust; those that are not UTF-8 are refused before anything looks at them.

    `numbers` are the rows' numbers for people, if they have any.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not _may_hold_text(column.type):
            continue
        try:
            if not all(map(_is_plainly_ascii, column.chunks)):
                column.validate(full=True)
        except pa.ArrowInvalid as error:
            readable = all(map(_can_be_looked_at, column.chunks))
            faults = ((row, _fault(column.slice(row, 1).chunk(0), readable)) for row in range(len(column)))
            row, fault = next(((row, fault) for row, fault in faults if fault), (0, str(error)))
            place = "" if numbers is None else f"row {numbers[row]}: "
            raise DataError(f"{place}{unreadable(name, column.type, fault)}") from None


def unreadable(name: str, kind: pa.DataType, fault: str) -> str:
    """What is said of a column that holds texts whose bytes are none."""
    return (
        f"the column `{name}` of type {kind} cannot be read: {fault}. Mend it where it is written; bytes that are no "
        "text belong into a binary column"
    )


def _may_hold_text(kind: pa.DataType) -> bool:
    fixed = pa.types.is_primitive(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind)
    return not fixed and kind not in (pa.binary(), pa.large_binary())


_PLACES: dict[pa.DataType, np.dtype[Any]] = {pa.string(): np.dtype(np.int32), pa.large_string(): np.dtype(np.int64)}
"""Texts that stand one after another, and how the places where they begin are written."""


def _is_plainly_ascii(chunk: pa.Array[Any]) -> bool:
    """Whether this is a column of texts of which a look at all bytes at once tells that they are in order."""
    if chunk.type not in _PLACES or not len(chunk):
        return False
    chunk.validate()  # the first and the last place are within the bytes
    places, characters = _places(chunk), chunk.buffers()[2]
    begin, end = int(places[0]), int(places[-1])
    plain = begin == end or int(np.frombuffer(characters, np.int8, end - begin, begin).min()) >= 0
    return plain and bool((places[1:] >= places[:-1]).all())


def _places(texts: pa.Array[Any]) -> npt.NDArray[Any]:
    """Where each text begins, and where the last one ends."""
    width = _PLACES[texts.type]
    return np.frombuffer(texts.buffers()[1], width, len(texts) + 1, texts.offset * width.itemsize)


def _can_be_looked_at(chunk: pa.Array[Any]) -> bool:
    """Whether single texts can be read at all: one that ends before it begins would end this process."""
    texts = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
    return texts.type in _PLACES and bool((np.diff(_places(texts)) >= 0).all())


def _fault(value: pa.Array[Any], readable: bool) -> str | None:
    """What is wrong with an array of one value, if anything is."""
    try:
        if readable:
            value.to_pylist()
        else:
            value.validate(full=True)
    except UnicodeDecodeError as error:
        return f"the bytes {error.object[error.start : error.end].hex(' ')} are not UTF-8"
    except (IndexError, pa.ArrowException) as error:  # such as an entry that a dictionary lacks
        return str(error)
    return None


def field_of(column: Any, path: Sequence[str]) -> Any:
    """A field of a column of structs; it is NULL where a struct around it is."""
    if pa.types.is_null(column.type):
        return column
    return pc.struct_field(without_runs(column), list(path))


def with_fields(table: pa.Table, schema: Schema) -> pa.Table:
    """The table with columns for the fields of structs that the schema names."""
    missing = {name: each for name, each in schema.fields.items() if name not in table.column_names}
    for name, (path, kind) in missing.items():
        table = table.append_column(pa.field(name, kind.arrow), field_of(table.column(path[0]), path[1:]))
    return table


def to_rows(table: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    """The rows as plain values: timestamps and durations in nanoseconds, dates in days."""
    table = with_fields(table, schema)
    refuse_bad_text(table.select(list(schema.columns)), np.arange(1, table.num_rows + 1))
    columns = {}
    for name, kind in schema.columns.items():
        try:
            columns[name] = plain_values(table.column(name), kind)
        except (pa.ArrowException, ValueError) as error:
            raise DataError(f"the column `{name}` of type {kind} cannot be read: {error}") from None
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def plain_values(column: pa.ChunkedArray | pa.Array[Any], kind: Type) -> list[Any]:
    """The values of a column as Python holds them: timestamps and durations in nanoseconds, dates in days, and one NaN
    and one zero among floats.
    """
    column = without_runs(column)
    match kind.kind:
        case Kind.TIMESTAMP | Kind.DURATION:
            factor = _NANOSECONDS[kind.arrow.unit]
            return [None if value is None else Moment(value * factor) for value in column.cast(pa.int64()).to_pylist()]
        case Kind.DATE:
            return list(column.cast(pa.date32()).cast(pa.int32()).to_pylist())
        case Kind.FLOAT:
            return [canonical(value) for value in column.to_pylist()]
        case Kind.OPAQUE:
            return [None if value is None else Opaque(value) for value in column.to_pylist()]
    return list(column.to_pylist())


def without_runs(column: Any) -> Any:
    """A column as it was before its runs were encoded; of views, Arrow cannot decode them."""
    if not pa.types.is_run_end_encoded(column.type):
        return column
    values = column.type.value_type
    if not (pa.types.is_string_view(values) or pa.types.is_binary_view(values)):
        return pc.run_end_decode(column)
    listed = pa.array(column.to_pylist(), values)
    return pa.chunked_array([listed]) if isinstance(column, pa.ChunkedArray) else listed


# --- tables out ---------------------------------------------------------------------------------------------------


def to_table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table of the result."""
    listed = list(rows)
    arrays = [_array([row[column.name] for row in listed], column.type, column.name) for column in schema]
    return pa.table(arrays, schema=schema)


def _array(values: list[Any], kind: pa.DataType, name: str) -> pa.Array[Any]:
    if pa.types.is_list(kind) and all(isinstance(value, list) for value in values):
        offsets = [0]
        for value in values:
            offsets.append(offsets[-1] + len(value))
        inner = _array([item for value in values for item in value], kind.value_type, name)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner, type=kind)
    if pa.types.is_struct(kind) and all(isinstance(value, Mapping) for value in values):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        arrays = [_array([value[field.name] for value in values], field.type, field.name) for field in fields]
        return pa.StructArray.from_arrays(arrays, fields=fields) if fields else pa.array(values, kind)
    return leaves(values, kind, name)


def leaves(values: list[Any], kind: pa.DataType, name: str) -> pa.Array[Any]:
    """The array of plain values that are neither lists nor structs; the name of its column is for the error."""
    convert: Callable[[Any], Any] | None = None
    stored = kind
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        factor, stored = _NANOSECONDS[kind.unit], pa.int64()

        def convert(value: int) -> int:
            return value // factor
    elif pa.types.is_date(kind):
        stored = pa.int32()
    elif pa.types.is_floating(kind):
        convert = float
    elif pa.types.is_integer(kind):
        convert = operator.index  # Arrow would cut a fraction off
    try:
        carried = [value.value if isinstance(value, Opaque) else value for value in values]
        plain = [None if value is None else convert(value) if convert else value for value in carried]
        array = pa.array(plain, stored)
        return array if stored is kind else array.cast(pa.date32() if pa.types.is_date(kind) else kind).cast(kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        remedy = "If it comes from an aggregate function of your own, say its type with acelera.aggregate(…, returns=…)"
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            remedy = f"Cast times to timestamp[us], which reaches farther. {remedy}"
        raise AceleraError(
            f"the column `{name}` of the result is of type {kind}, but a value does not fit: {error}. {remedy}"
        ) from None
