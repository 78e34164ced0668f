"""CSV files that are read in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from acelera.cli.arrow_texts import decoded, narrowed, nulled, read_as, rows_of, without, wrong_in
from acelera.cli.bad_rows import OF_BYTES, BadRow, BadRows, line_of, ragged, readable, refuse_endless
from acelera.cli.csv_bytes import MARK, TAIL, Utf8, as_written, unmarked, warn_of_delimiter
from acelera.cli.reading import Column, Reading
from acelera.cli.text_types import Form, chosen, guessed
from acelera.errors import DataError, SchemaError, listing
from acelera.language.schema import refuse_repeated

BYTES_AT_ONCE = 1 << 22
BYTES_AT_MOST = 1 << 30
"""How many bytes are read at once, and how many if a row is so long."""


def header(path: Path, reading: Reading) -> list[str]:
    """The names of the columns: those that were said, or those of the first line."""
    if reading.header:
        names = list(reading.header)
    else:
        with readable(path):
            names = _first_line(path, reading, BYTES_AT_ONCE)
        warn_of_delimiter(names, reading, str(path))
        damaged = next((name for name in names if MARK in name), None)
        if damaged is not None:
            raise DataError(
                f"`{path}` has bytes that are not {reading.encoding} in the name of a column, "
                f"{as_written(damaged)!r}; say what it is written in, as --encoding latin-1"
            )
    refuse_repeated(names, f" in `{path}`")
    return names


def _first_line(path: Path, reading: Reading, size: int) -> list[str]:
    parsing = _parsing(reading, lambda _: "skip")
    try:
        with pyarrow.csv.open_csv(
            Utf8(path, reading), pyarrow.csv.ReadOptions(block_size=size), parse_options=parsing
        ) as reader:
            return list(reader.schema.names)
    except pa.ArrowInvalid as error:
        return _first_line(path, reading, _larger(size, error, path, reading))


def _larger(size: int, error: pa.ArrowInvalid, path: Path, reading: Reading) -> int:
    """How many bytes to read at once, if a row is longer than what was read, and no open quote has made it so."""
    if "straddl" not in str(error) or size >= BYTES_AT_MOST:
        raise error
    refuse_endless(path, reading)
    return min(size * 8, BYTES_AT_MOST)


def common_header(files: Sequence[Path], reading: Reading) -> list[str]:
    """The names of the columns, which are those of all files."""
    names = header(files[0], reading)
    for path in files:
        if header(path, reading) != names:
            own = listing(header(path, reading))
            raise SchemaError(f"the columns of `{path}` ({own}) are not those of `{files[0]}` ({listing(names)})")
    return names


def guess_types(
    files: Sequence[Path],
    names: Sequence[str],
    wanted: Sequence[str],
    reading: Reading,
    seen: Callable[[int], None],
) -> tuple[dict[str, tuple[pa.DataType, Form | None]], list[int | None]]:
    """The types of some columns by their values, and how many rows each file has. Bad rows are told when read."""
    candidates, valued = {name: guessed(reading.decimal) for name in wanted}, dict.fromkeys(wanted, False)
    rows: list[int | None] = []
    for path in files:
        size = 0
        with readable(path):
            file = _Texts(path, names, wanted, reading)
            for texts in file.batches():
                for name, column in zip(wanted, texts.columns, strict=True):
                    candidates[name] = narrowed(column, candidates[name])
                    valued[name] |= column.null_count < len(column)
                size += texts.size
                seen(texts.size)
            if file.ragged and reading.bad_rows != "skip":
                BadRows().meet(file.ragged, ragged(path, reading, len(names)))
        rows.append(size)
    return {name: chosen(candidates[name], valued[name]) for name in wanted}, rows


def read_csv(
    path: Path, columns: Sequence[Column], wanted: Sequence[Column], reading: Reading, bad: BadRows
) -> Iterator[pa.RecordBatch]:
    """Rows with the values of some columns; those with a value that cannot be read are skipped, or an error."""
    schema = pa.schema([(each.name, each.kind) for each in wanted])
    texts = _Texts(path, [each.written for each in columns], [each.written for each in wanted], reading)
    for batch in texts.batches():
        if texts.ragged and not bad.skip:
            bad.meet(texts.ragged, ragged(path, reading, len(columns)))
        arrays, wrong = [], batch.damaged
        for place, (text, column) in enumerate(zip(batch.columns, wanted, strict=True)):
            values = _values(text, column)
            if values.null_count != text.null_count and not pa.types.is_null(column.kind):
                wrong = {place: wrong_in(text, values), **wrong}
            arrays.append(values)
        found = pa.RecordBatch.from_arrays(arrays, schema=schema)
        if wrong:
            masks = list(wrong.values())
            mask = masks[0]
            for other in masks[1:]:
                mask = pc.or_(mask, other)
            row = int(rows_of(mask)[0])
            line = line_of(path, reading, len(columns), batch.first + row)
            bad.meet(pc.sum(mask).as_py(), _bad_row(path, line, batch, wrong, wanted, row))
            found = found.filter(pc.invert(mask))
        yield found
    if texts.ragged:
        bad.meet(texts.ragged, ragged(path, reading, len(columns)))


def _values(text: Any, column: Column) -> Any:
    if pa.types.is_null(column.kind):
        return pa.nulls(len(text))
    return text.cast(column.kind) if column.form is None else read_as(text, column.form)


def _bad_row(
    path: Path, line: int, batch: _Batch, wrong: Mapping[int, Any], wanted: Sequence[Column], row: int
) -> BadRow:
    """What is wrong with a row."""
    place = next(place for place, mask in sorted(wrong.items()) if mask[row].as_py())
    if place in batch.damaged and batch.damaged[place][row].as_py():
        raw = unmarked(batch.raw[place][row].as_py())
        said = f", column {wanted[place].name}: {raw!r} has bytes that are not of the encoding"
        return BadRow(path, line, said, OF_BYTES)
    return BadRow(path, line, f", {wanted[place].expected(batch.columns[place][row].as_py())}")


# --- texts ------------------------------------------------------------------------------------------------------------


@dataclass
class _Batch:
    """Some rows as columns of text; `first` is the number of the first. `damaged`: which values are not UTF-8."""

    first: int
    size: int
    raw: Sequence[Any]
    columns: list[Any]
    damaged: dict[int, Any]

    def beyond(self, row: int) -> _Batch:
        """The rows that are not before one."""
        skip = min(max(row - self.first, 0), self.size)
        return _Batch(
            self.first + skip,
            self.size - skip,
            [each.slice(skip) for each in self.raw],
            [each.slice(skip) for each in self.columns],
            {place: each.slice(skip) for place, each in self.damaged.items()},
        )


@dataclass
class _Texts:
    """The values of a file as text. What is empty is NULL, unless it stands in quotes; so are texts that were named."""

    path: Path
    names: Sequence[str]
    wanted: Sequence[str]
    reading: Reading
    ragged: int = 0
    _endless: bool = field(default=False)

    def batches(self) -> Iterator[_Batch]:
        """Some rows at a time; if one is longer than what is read at once, it is begun anew with more."""
        size, given = BYTES_AT_ONCE, 0
        while True:
            self.ragged, self._endless = 0, False
            try:
                for batch in self._batches(size):
                    rest = batch.beyond(given)
                    if rest.size:
                        yield rest
                        given = rest.first + rest.size
                return
            except pa.ArrowInvalid as error:
                size = _larger(size, error, self.path, self.reading)

    def _batches(self, size: int) -> Iterator[_Batch]:
        options = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.binary()),
            include_columns=list(self.wanted),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        reading = pyarrow.csv.ReadOptions(block_size=size, column_names=list(self.reading.header) or None)
        parsing, source, first = _parsing(self.reading, self._meet), Utf8(self.path, self.reading), 0
        last: Any = None
        with pyarrow.csv.open_csv(source, reading, parsing, options) as reader:
            for rows in reader:
                columns = [without(decoded(each), MARK) if source.damaged else decoded(each) for each in rows.columns]
                damaged = {
                    place: wrong_in(raw, text)
                    for place, (raw, text) in enumerate(zip(rows.columns, columns, strict=True))
                    if raw.null_count != text.null_count
                }
                columns = [nulled(each, self.reading.nulls) for each in columns]
                yield _Batch(first, rows.num_rows, rows.columns, columns, damaged)
                first += rows.num_rows
                last = rows.columns[-1][-1].as_py() if rows.num_rows and rows.num_columns else last
        if self._endless or (last is not None and _may_be_open(last, source.tail)):
            refuse_endless(self.path, self.reading)

    def _meet(self, row: Any) -> str:
        """A row with too few or too many values; a line of blanks is none."""
        if row.text.strip():
            self.ragged += 1
            self._endless |= "\n" in row.text
        return "skip"


def _may_be_open(last: bytes, tail: bytes) -> bool:
    """Whether the last value may have a quote before it and none behind it."""
    longer = len(last) + 2 > len(tail) >= TAIL
    return longer or last.endswith(b'"') or b"\n" in last or tail.rstrip(b"\r\n").endswith(b'"' + last)


def _parsing(reading: Reading, meet: Callable[[Any], str]) -> Any:
    return pyarrow.csv.ParseOptions(delimiter=reading.delimiter, newlines_in_values=True, invalid_row_handler=meet)
