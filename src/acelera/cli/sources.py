"""Files that are read in this process: the types of their columns, and their rows, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from acelera.cli.inputs import Inputs
from acelera.cli.text_types import FORMS, IN_TEXTS, chosen, narrowed, read_as
from acelera.errors import DataError, SchemaError, listing
from acelera.language.schema import refuse_repeated

ROWS_AT_ONCE = 1 << 16
BYTES_AT_ONCE = 1 << 22

Seen = Callable[[int], None]
"""Is told how many more rows have been looked at."""


@dataclass(frozen=True)
class Source:
    """A file, with the columns and types of all files of its event type, and the number of its rows."""

    path: Path
    format: str
    event_type: str | None
    schema: pa.Schema
    rows: int

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Its rows: all columns, or some; those that this file lacks are NULL."""
        schema = self.schema if names is None else pa.schema([self.schema.field(name) for name in names])
        with _readable(self.path):
            yield from _READERS[self.format](self.path, schema)


def sources_of(inputs: Inputs, order_by: Sequence[str], seen: Seen) -> list[Source]:
    """The files with the types of their columns; text is read once to find out."""
    found = []
    for event_type, parts in inputs.by_type.items():
        files = [file for part in parts for file in part.files]
        for part in parts:
            if part.nested:
                raise click.UsageError(
                    f"`{part.path}` holds folders that are named key=value; they are read on Spark, so leave out "
                    "--in-process"
                )
        schema, rows = _DESCRIBERS[inputs.format](files, order_by, seen)
        found += [
            Source(file, inputs.format, event_type, schema, count) for file, count in zip(files, rows, strict=True)
        ]
    return found


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file is said with its name."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"`{path}` cannot be read: {' '.join(str(error).split())}") from None


# --- parquet ------------------------------------------------------------------------------------------------------


def _describe_parquet(files: Sequence[Path], order_by: Sequence[str], seen: Seen) -> tuple[pa.Schema, list[int]]:
    schemas, rows = [], []
    for path in files:
        with _readable(path), pa.parquet.ParquetFile(path) as file:
            schemas.append(file.schema_arrow.remove_metadata())
            rows.append(file.metadata.num_rows)
    return _unified(schemas, files), rows


def _unified(schemas: Sequence[pa.Schema], files: Sequence[Path], promote: str = "default") -> pa.Schema:
    try:
        return pa.unify_schemas(list(schemas), promote_options=promote)
    except (pa.ArrowException, ValueError) as error:
        raise SchemaError(f"the files, from `{files[0]}` on, are not of one type: {error}") from None


def _read_parquet(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with pa.parquet.ParquetFile(path) as file:
        there = set(file.schema_arrow.names)
        known = [name for name in schema.names if name in there]
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=known):
            yield _filled(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows, schema)


def _filled(columns: Mapping[str, Any], size: int, schema: pa.Schema) -> pa.RecordBatch:
    """Columns of these types; those that are not there are NULL."""
    arrays = [columns[each.name] if each.name in columns else pa.nulls(size, each.type) for each in schema]
    arrays = [array.cast(each.type) for array, each in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# --- CSV ----------------------------------------------------------------------------------------------------------


def _describe_csv(files: Sequence[Path], order_by: Sequence[str], seen: Seen) -> tuple[pa.Schema, list[int]]:
    names = _header(files[0])
    candidates, valued = {name: list(FORMS) for name in names}, dict.fromkeys(names, False)
    rows = []
    for path in files:
        if _header(path) != names:
            raise SchemaError(
                f"the columns of `{path}` ({listing(_header(path))}) are not those of `{files[0]}` ({listing(names)})"
            )
        rows.append(0)
        with _readable(path):
            for batch in _texts_of_csv(path, names, names):
                for name, column in zip(names, batch.columns, strict=True):
                    candidates[name] = narrowed(column, candidates[name])
                    valued[name] |= column.null_count < len(column)
                rows[-1] += batch.num_rows
                seen(batch.num_rows)
    return pa.schema([(name, chosen(candidates[name], valued[name], name in order_by)) for name in names]), rows


def _header(path: Path) -> list[str]:
    """The names of the columns, which stand in the first line."""
    with _readable(path), pa.csv.open_csv(path, parse_options=_CSV) as reader:
        names = list(reader.schema.names)
    refuse_repeated(names, f" in `{path}`")
    return names


_CSV = pa.csv.ParseOptions(newlines_in_values=True)


def _texts_of_csv(path: Path, names: Sequence[str], wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows as text; what is empty is NULL, unless it stands in quotes."""
    options = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=list(wanted),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    reading = pa.csv.ReadOptions(block_size=BYTES_AT_ONCE)
    with pa.csv.open_csv(path, read_options=reading, parse_options=_CSV, convert_options=options) as reader:
        yield from reader


def _read_csv(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in _texts_of_csv(path, schema.names, schema.names):
        arrays = [read_as(column, each.type, each.name) for column, each in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


# --- JSON ---------------------------------------------------------------------------------------------------------


def _describe_json(files: Sequence[Path], order_by: Sequence[str], seen: Seen) -> tuple[pa.Schema, list[int]]:
    found: pa.Schema = pa.schema([])
    candidates: dict[str, list[pa.DataType]] = {}
    valued: dict[str, bool] = {}
    rows = []
    for path in files:
        rows.append(0)
        with _readable(path):
            for chunk in _lines(path):
                schema = pa.json.read_json(pa.BufferReader(chunk), _whole(chunk)).schema
                schema = pa.schema([(each.name, _as_text(each.type)) for each in schema])
                found = _unified([found, schema], [path], "permissive")
                table = _parsed(chunk, schema)
                for name, column in zip(table.column_names, table.columns, strict=True):
                    if column.type == pa.string():
                        candidates[name] = narrowed(column, candidates.get(name, IN_TEXTS))
                        valued[name] = valued.get(name, False) or column.null_count < len(column)
                rows[-1] += table.num_rows
                seen(table.num_rows)
    kinds = {each.name: pa.string() if pa.types.is_null(each.type) else each.type for each in found}
    for name, kind in kinds.items():
        if kind == pa.string():
            kinds[name] = chosen(candidates.get(name, []), valued.get(name, False), name in order_by)
    return pa.schema(list(kinds.items())), rows


def _lines(path: Path) -> Iterator[bytes]:
    """A file in pieces of whole lines."""
    with pa.input_stream(str(path), compression="detect") as file:
        rest = b""
        while piece := file.read(BYTES_AT_ONCE):
            head, newline, tail = piece.rpartition(b"\n")
            if newline and (whole := rest + head).strip():
                yield whole + newline
            rest = tail if newline else rest + piece
        if rest.strip():
            yield rest + b"\n"


def _as_text(kind: pa.DataType) -> pa.DataType:
    """Arrow takes some texts for times; here they are texts at first."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _as_text(each.type)) for each in kind])
    return kind


def _parsed(chunk: bytes, schema: pa.Schema) -> pa.Table:
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return pa.json.read_json(pa.BufferReader(chunk), _whole(chunk), options).select(schema.names)


def _whole(chunk: bytes) -> Any:
    """Read it as one block, however long its lines are."""
    return pa.json.ReadOptions(block_size=len(chunk) + 1)


def _read_json(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    texts = pa.schema([(each.name, pa.string() if each.type in IN_TEXTS else each.type) for each in schema])
    for chunk in _lines(path):
        table = _parsed(chunk, texts)
        arrays = [
            read_as(column, each.type, each.name) if each.type in IN_TEXTS else column
            for column, each in zip(table.columns, schema, strict=True)
        ]
        yield from pa.table(arrays, schema=schema).combine_chunks().to_batches()


_DESCRIBERS: dict[str, Callable[[Sequence[Path], Sequence[str], Seen], tuple[pa.Schema, list[int]]]] = {
    "parquet": _describe_parquet,
    "csv": _describe_csv,
    "json": _describe_json,
}
_READERS: dict[str, Callable[[Path, pa.Schema], Iterator[pa.RecordBatch]]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "json": _read_json,
}
