"""Files of JSON lines that are read in this process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from acelera.cli.arrow_texts import narrowed, nulled, read_as, rows_of, times_of, wrong_in
from acelera.cli.bad_rows import OF_LINES, BadRow, BadRows, readable
from acelera.cli.epochs import EPOCHS
from acelera.cli.reading import Column, Reading, columns_of_types, shown
from acelera.cli.text_types import IN_TEXTS, Form, chosen, form_of
from acelera.errors import DataError, SchemaError

BYTES_AT_ONCE = 1 << 22


def described(
    files: Sequence[Path], event_type: str | None, reading: Reading, seen: Callable[[int], None]
) -> tuple[list[Column], list[int | None]]:
    """The columns of files, and how many rows each has; if a schema names the columns, nothing is read."""
    where = f" in `{files[0]}`"
    said = said_columns(reading, event_type, where)
    if said is not None:
        return said, [None] * len(files)
    found: pa.Schema = pa.schema([])
    candidates: dict[str, list[Form]] = {}
    valued: dict[str, bool] = {}
    rows: list[int | None] = []
    for path in files:
        size = 0
        with readable(path):
            for begin, chunk in _lines(path):
                table, schema = _looked_at(path, chunk, begin, reading)
                if table is None:
                    continue
                found = unified([found, schema], [path], "permissive")
                for name, column in zip(table.column_names, table.columns, strict=True):
                    if column.type == pa.string():
                        texts = nulled(column, reading.nulls)
                        candidates[name] = narrowed(texts, candidates.get(name, IN_TEXTS))
                        valued[name] = valued.get(name, False) or texts.null_count < len(texts)
                size += table.num_rows
                seen(table.num_rows)
        rows.append(size)
    held = {each.name: pa.string() if pa.types.is_null(each.type) else each.type for each in found}
    forms: dict[str, Form | None] = {}
    for name, kind in held.items():
        if kind == pa.string():
            kind, form = chosen(candidates.get(name, []), valued.get(name, False))
            if pa.types.is_null(kind):
                held[name] = kind
            elif form is not None:
                forms[name] = form
    return columns_of_types(held, reading, where, forms), rows


def said_columns(reading: Reading, event_type: str | None, where: str) -> list[Column] | None:
    """The columns that a schema names, which are all that there are; None if there is no schema."""
    if reading.schema is None:
        return None
    names = reading.named_by_schema(event_type)
    old = {new: written for written, new in reading.renamed.items()}
    held: dict[str, pa.DataType] = {}
    forms: dict[str, Form | None] = {}
    for name, kind in names.items():
        written = old.get(name, name)
        held[written] = kind
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            format_ = reading.times.get(name, "")
            held[written] = pa.string()
            if format_ in EPOCHS:
                held[written] = pa.float64() if format_ in ("epoch", "epoch-s") else pa.int64()
            else:
                forms[written] = form_of(kind)
    return columns_of_types(held, reading, where, forms)


def read_json(
    path: Path, columns: Sequence[Column], wanted: Sequence[Column], reading: Reading, bad: BadRows
) -> Iterator[pa.RecordBatch]:
    """Rows with the values of some columns; those with a value that cannot be read are skipped, or an error."""
    read = columns if bad.skip else wanted
    held = pa.schema([(each.written, pa.string() if pa.types.is_null(each.held) else each.held) for each in read])
    schema = pa.schema([(each.name, each.kind) for each in wanted])
    for begin, chunk in _lines(path):
        for first, table in _parsed(path, chunk, held, begin, bad):
            arrays, wrong = [], {}
            for place, column in enumerate(wanted):
                texts = table.column(column.written)
                texts = nulled(texts, reading.nulls) if pa.types.is_string(texts.type) else texts
                values = _values(texts, column)
                if values.null_count != texts.null_count and not pa.types.is_null(column.kind):
                    wrong[place] = (texts, wrong_in(texts, values))
                arrays.append(values)
            found = pa.table(arrays, schema=schema)
            if wrong:
                mask = _any([each for _, each in wrong.values()])
                row = int(rows_of(mask)[0])
                place = next(place for place, (_, each) in wrong.items() if each[row].as_py())
                said = wanted[place].expected(wrong[place][0][row].as_py())
                bad.meet(pc.sum(mask).as_py(), BadRow(path, _line(chunk, begin, first + row), f", {said}"))
                found = found.filter(pc.invert(mask))
            yield from found.combine_chunks().to_batches()


def _any(masks: Sequence[Any]) -> Any:
    found = masks[0]
    for each in masks[1:]:
        found = pc.or_(found, each)
    return found


def _values(column: Any, described: Column) -> Any:
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(described.kind):
        return pa.nulls(len(column))
    if described.epoch is not None:
        return times_of(column, described.epoch)
    return column if described.form is None else read_as(column, described.form)


# --- lines ------------------------------------------------------------------------------------------------------------


_MARK_OF_UTF8 = b"\xef\xbb\xbf"
_ARRAY = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*[{\]]")
_OTHER_TYPE = re.compile(r"Column\(/(.+)\) changed from (\w+) to (\w+)")

_UNREADABLE = (pa.ArrowInvalid, UnicodeDecodeError)
"""What is raised where lines are no rows."""


def refuse_array(path: Path) -> NoReturn:
    """A JSON array would be one line, or lines that are no rows."""
    raise DataError(
        f"`{path}` is a JSON array; JSON lines are wanted, an object on each line: "
        f"jq -c '.[]' {path.name} > lines.json makes them"
    )


def refuse_arrays(files: Iterable[Path]) -> None:
    """Look at how files begin."""
    for path in files:
        with readable(path), pa.input_stream(str(path), compression="detect") as file:
            if _ARRAY.match(file.read(1 << 10)):
                refuse_array(path)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """A file in pieces of whole lines, and the number of the first line of each."""
    with pa.input_stream(str(path), compression="detect") as file:
        rest, line, begin = b"", 1, True
        while piece := file.read(BYTES_AT_ONCE):
            if begin and _ARRAY.match(piece):
                refuse_array(path)
            if begin:
                piece = piece.removeprefix(_MARK_OF_UTF8)
            begin = False
            head, newline, tail = piece.rpartition(b"\n")
            if newline:
                whole = rest + head + newline
                if whole.strip():
                    yield line, whole
                line += whole.count(b"\n")
            rest = tail if newline else rest + piece
        if rest.strip():
            yield line, rest + b"\n"


def _line(chunk: bytes, begin: int, row: int) -> int:
    """The line of a row: lines without anything are no rows."""
    full = (number for number, line in enumerate(chunk.split(b"\n")) if line.strip())
    return begin + next((number for place, number in enumerate(full) if place == row), 0)


def _looked_at(path: Path, chunk: bytes, begin: int, reading: Reading) -> tuple[Any, pa.Schema]:
    """What Arrow finds in lines; it takes some texts for times, which here are texts at first."""
    try:
        schema = _parse(chunk).schema
        schema = pa.schema([(each.name, _as_text(each.type)) for each in schema])
        table = _exact(chunk, _read(chunk, schema))
        return table, table.schema
    except _UNREADABLE:
        if reading.bad_rows != "skip":
            _refuse_first(path, chunk, begin)
    lines = [line for line in chunk.split(b"\n") if line.strip()]
    if len(lines) == 1:
        return None, pa.schema([])
    schemas = []
    for half in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
        schemas.append(_looked_at(path, b"\n".join(half) + b"\n", begin, reading)[1])
    schema = unified(schemas, [path], "permissive")
    kept = b"".join(line + b"\n" for line in lines if _fits(line, schema))
    return (_read(kept, schema) if kept else None), schema


def _refuse_first(path: Path, chunk: bytes, begin: int) -> NoReturn:
    """Name the first line that cannot be read: by itself, or beside those that stand before it."""
    lines = [(number, line) for number, line in enumerate(chunk.split(b"\n")) if line.strip()]
    fit, unfit = 0, len(lines)
    while unfit - fit > 1:
        middle = (fit + unfit) // 2
        if _trouble(line for _, line in lines[:middle]) is None:
            fit = middle
        else:
            unfit = middle
    number, line = lines[unfit - 1]
    if _trouble([line]) is not None:
        BadRows().meet(1, BadRow(path, begin + number, *_why(line, pa.schema([]))))
    told = _trouble(line for _, line in lines[:unfit]) or ""
    other = _OTHER_TYPE.search(told)
    said = f"column {other[1].replace('/', '.')}: {other[3]} here, {other[2]} before" if other else told
    raise DataError(f"{path}, line {begin + number}, {said}; all values of a column must be of one type")


def _trouble(lines: Iterable[bytes]) -> str | None:
    """What Arrow says of lines that it cannot read."""
    try:
        _parse(b"".join(line + b"\n" for line in lines))
    except _UNREADABLE as error:
        return str(error)
    return None


_BEYOND_64_BITS = 1 << 63


def _exact(chunk: bytes, table: pa.Table) -> pa.Table:
    """Columns of whole numbers alone, some beyond 64 bits, as decimals: as doubles, different ones would be equal."""
    for place, (name, held) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if not (pa.types.is_floating(held) or pa.types.is_nested(held)):
            continue
        for digits in (20, 38):
            kind = _widened(table.column(place).combine_chunks(), digits)
            if kind == held or _any_large_float(chunk, name):
                break
            with suppress(pa.ArrowInvalid):
                table = _read(chunk, table.schema.set(place, pa.field(name, kind)))
                break
    return table


def _widened(column: Any, digits: int) -> pa.DataType:
    """The type of a column, with decimals for doubles if some are beyond 64 bits."""
    kind = column.type
    if pa.types.is_struct(kind):
        parts = zip(kind, column.flatten(), strict=True)
        return pa.struct([(each.name, _widened(part, digits)) for each, part in parts])
    if pa.types.is_list(kind):
        return pa.list_(_widened(column.flatten(), digits))
    if pa.types.is_floating(kind) and (pc.max(pc.abs(column)).as_py() or 0) >= _BEYOND_64_BITS:
        return pa.decimal128(digits, 0)
    return kind


def _any_large_float(chunk: bytes, name: str) -> bool:
    """Whether a number beyond 64 bits is written as a float, as 1e+20, which Arrow would take for a decimal, too."""

    def large(value: Any) -> bool:
        if isinstance(value, dict | list):
            return any(map(large, value.values() if isinstance(value, dict) else value))
        return isinstance(value, float) and abs(value) >= _BEYOND_64_BITS

    return any(large(json.loads(line).get(name)) for line in chunk.split(b"\n") if line.strip())


def _fits(line: bytes, schema: pa.Schema) -> bool:
    with suppress(*_UNREADABLE):
        _read(line + b"\n", schema)
        return True
    return False


def _as_text(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _as_text(each.type)) for each in kind])
    return kind


def _read(chunk: bytes, schema: pa.Schema) -> pa.Table:
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return _parse(chunk, options).select(schema.names)


def _parse(chunk: bytes, options: Any = None) -> pa.Table:
    """A row of each line that holds anything; an error if one of them is not one object."""
    if not chunk.isascii():
        chunk.decode()
    lines = chunk.count(b"\n")
    if chunk.count(b"\n{") + chunk.startswith(b"{") != lines:
        full = [line for line in chunk.split(b"\n") if line.strip()]
        lines = len(full)
        if not all(line.lstrip().startswith(b"{") for line in full):  # of some, as null, Arrow would die
            raise pa.ArrowInvalid("a line is no object")
    table = pa.json.read_json(pa.BufferReader(chunk), _whole(chunk), options)
    if table.num_rows != lines:
        raise pa.ArrowInvalid("a line is not one object")
    return table


def _parsed(path: Path, chunk: bytes, schema: pa.Schema, begin: int, bad: BadRows) -> Iterator[tuple[int, pa.Table]]:
    """Rows of lines, and the number of the first; lines that are no rows of these columns are found by halving."""
    try:
        yield 0, _read(chunk, schema)
        return
    except _UNREADABLE:
        lines = [(number, line) for number, line in enumerate(chunk.split(b"\n")) if line.strip()]
    yield from _halved(path, lines, 0, schema, begin, bad)


def _halved(
    path: Path, lines: Sequence[tuple[int, bytes]], first: int, schema: pa.Schema, begin: int, bad: BadRows
) -> Iterator[tuple[int, pa.Table]]:
    try:
        yield first, _read(b"".join(line + b"\n" for _, line in lines), schema)
        return
    except _UNREADABLE:
        pass
    if len(lines) == 1:
        number, line = lines[0]
        bad.meet(1, BadRow(path, begin + number, *_why(line, schema)))
        return
    middle = len(lines) // 2
    yield from _halved(path, lines[:middle], first, schema, begin, bad)
    yield from _halved(path, lines[middle:], first + middle, schema, begin, bad)


def _why(line: bytes, schema: pa.Schema) -> tuple[str, str]:
    """What is wrong with a line, that is no object of JSON or has a value of another type, and what can be done."""
    text = line.decode("utf-8", "backslashreplace").strip()
    try:
        line.decode()
        row = json.loads(text)
    except UnicodeDecodeError:
        return f" has bytes that are not UTF-8: {shown(text)}", OF_LINES
    except json.JSONDecodeError as error:
        return f" is no JSON ({error.msg} at sign {error.pos + 1}): {shown(text)}", OF_LINES
    if not isinstance(row, dict):
        return f" is no object of JSON: {shown(text)}", OF_LINES
    for each in schema:
        if each.name in row:
            one = json.dumps({each.name: row[each.name]}).encode()
            if not _fits(one, pa.schema([each])):
                said = json.dumps(row[each.name], ensure_ascii=False)
                return f", column {each.name}: {said} is no {each.type}", OF_LINES
    return f" cannot be read: {shown(text)}", OF_LINES


def _whole(chunk: bytes) -> Any:
    """Read it as one block, however long its lines are."""
    return pa.json.ReadOptions(block_size=len(chunk) + 1)


def unified(schemas: Sequence[pa.Schema], files: Sequence[Path], promote: str = "default") -> pa.Schema:
    """The columns of several files."""
    try:
        return pa.unify_schemas(list(schemas), promote_options=promote)
    except (pa.ArrowException, ValueError) as error:
        raise SchemaError(f"the files, from `{files[0]}` on, are not of one type: {error}") from None
