"""Files that are read in this process: the types of their columns, and their rows, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet

from acelera.cli import csv_files, json_files
from acelera.cli.arrow_texts import read_as, rows_of, times_of, wrong_in
from acelera.cli.bad_rows import BadRows, readable
from acelera.cli.inputs import Inputs
from acelera.cli.json_files import unified
from acelera.cli.reading import Column, Reading, columns_of_csv, columns_of_types, with_times
from acelera.errors import DataError

ROWS_AT_ONCE = 1 << 16

Seen = Callable[[int], None]
"""Is told how many more rows have been looked at."""


@dataclass(frozen=True)
class Source:
    """A file, with the columns of all files of its event type, and the number of its rows, if that is known."""

    path: Path
    format: str
    event_type: str | None
    columns: tuple[Column, ...]
    rows: int | None
    reading: Reading

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return pa.schema([(each.name, each.kind) for each in self.columns])

    def batches(self, names: Sequence[str] | None = None, bad: BadRows | None = None) -> Iterator[pa.RecordBatch]:
        """Its rows: all columns, or some; those that this file lacks are NULL. Bad rows are counted in `bad`."""
        known = {each.name: each for each in self.columns}
        wanted = list(self.columns) if names is None else [known[name] for name in names]
        bad = bad or BadRows(self.reading.bad_rows == "skip")
        with readable(self.path):
            yield from _READERS[self.format](self.path, self.columns, wanted, self.reading, bad)


def sources_of(inputs: Inputs, order_by: Sequence[str], seen: Seen, reading: Reading | None = None) -> list[Source]:
    """The files with the types of their columns; text is read once to find out those that are not said."""
    described, reading = [], reading or Reading()
    for event_type, parts in inputs.by_type.items():
        files = [file for part in parts for file in part.files]
        for part in parts:
            if part.nested:
                raise click.UsageError(
                    f"`{part.path}` holds folders that are named key=value; they are read on Spark, so leave out "
                    "--in-process"
                )
        described.append((event_type, files, *_DESCRIBERS[inputs.format](files, event_type, reading, seen)))
    if len(described) > 1:
        reading.refuse_unknown(columns for _, _, columns, _ in described)
    settled = with_times([columns for _, _, columns, _ in described], order_by, inputs.format)
    return [
        Source(file, inputs.format, event_type, tuple(columns), count, reading)
        for (event_type, files, _, rows), columns in zip(described, settled, strict=True)
        for file, count in zip(files, rows, strict=True)
    ]


# --- parquet ----------------------------------------------------------------------------------------------------------


def _describe_parquet(
    files: Sequence[Path], event_type: str | None, reading: Reading, seen: Seen
) -> tuple[list[Column], list[int | None]]:
    schemas, rows = [], list[int | None]()
    for path in files:
        with readable(path), pa.parquet.ParquetFile(path) as file:
            schemas.append(file.schema_arrow.remove_metadata())
            rows.append(file.metadata.num_rows)
    held = {each.name: each.type for each in unified(schemas, files)}
    return columns_of_types(held, reading, f" in `{files[0]}`", {}), rows


def _read_parquet(
    path: Path, columns: Sequence[Column], wanted: Sequence[Column], reading: Reading, bad: BadRows
) -> Iterator[pa.RecordBatch]:
    schema, row = pa.schema([(each.name, each.kind) for each in wanted]), 0
    with pa.parquet.ParquetFile(path) as file:
        there = set(file.schema_arrow.names)
        known = [each.written for each in wanted if each.written in there]
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=known):
            given = dict(zip(batch.schema.names, batch.columns, strict=True))
            arrays = []
            for column in wanted:
                values = given.get(column.written)
                values = pa.nulls(batch.num_rows, column.held) if values is None else values.cast(column.held)
                arrays.append(_times(path, values, column, row))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            row += batch.num_rows


def _times(path: Path, column: pa.Array, described: Column, first: int) -> pa.Array:
    """Values of which it was said how they tell times."""
    if described.epoch is not None:
        values = times_of(column, described.epoch)
    elif described.form is not None:
        values = read_as(column, described.form)
    else:
        return column
    if values.null_count != column.null_count:
        row = int(rows_of(wrong_in(column, values))[0])
        raise DataError(f"{path}, row {first + row + 1}, {described.expected(column[row].as_py())}")
    return values


# --- CSV and JSON -----------------------------------------------------------------------------------------------------


def _describe_csv(
    files: Sequence[Path], event_type: str | None, reading: Reading, seen: Seen
) -> tuple[list[Column], list[int | None]]:
    rows: list[int | None] = [None] * len(files)

    def guess(wanted: Sequence[str]) -> Any:
        nonlocal rows
        found, rows = csv_files.guess_types(files, names, wanted, reading, seen)
        return found

    names = csv_files.common_header(files, reading)
    return columns_of_csv(names, reading, event_type, f" in `{files[0]}`", guess), rows


_Describer = Callable[[Sequence[Path], "str | None", Reading, Seen], tuple[list[Column], "list[int | None]"]]
_Reader = Callable[[Path, Sequence[Column], Sequence[Column], Reading, BadRows], Iterator[pa.RecordBatch]]

_DESCRIBERS: dict[str, _Describer] = {
    "parquet": _describe_parquet,
    "csv": _describe_csv,
    "json": json_files.described,
}
_READERS: dict[str, _Reader] = {
    "parquet": _read_parquet,
    "csv": csv_files.read_csv,
    "json": json_files.read_json,
}
