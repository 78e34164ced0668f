"""Normalized changes of Arrow tables; what is wrong with a row is told with its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc.layout import CALLED, INSTANT, SKIPPED, Clock, Layout, Operations, Side, no_values, said
from acelera.cdc.message_tables import refuse_tables
from acelera.cdc.rows import Numbers, Rows
from acelera.errors import DataError, SchemaError
from acelera.language.types import from_arrow
from acelera.programs.columns import plain_column
from acelera.programs.times import UNITS, TimeKind, kind_of, ticks_of
from acelera.tables import refuse_bad_text

Kinds = npt.NDArray[np.int8]

_UNKNOWN = -2
_INT64 = TimeKind(pa.int64())


def normalize(layout: Layout, rows: Rows, granularity: str) -> tuple[pa.Table, Numbers]:
    """Normalized changes, and the numbers of the rows that they come from."""
    schema = layout.schema(granularity)
    rows = _of_one_table(layout, rows)
    kinds = _kinds(layout.operations, rows)
    counted = kinds != SKIPPED
    if not counted.all():
        rows, kinds = rows.take(counted), kinds[counted]
    for prefix, side in layout.sides.items():
        _refuse_lacking(side, prefix, rows, kinds)
    time = _times(layout.clock, rows)
    instants = [
        time if path == layout.clock.path else _instant(rows, path, kind)
        for path, kind in layout.instant(granularity).items()
    ]
    columns = [pa.chunked_array([kinds]), *instants, time]
    for side in layout.sides.values():
        columns += _values(layout, side, rows, kinds)
    table = pa.table(columns, schema=schema)
    refuse_bad_text(table, rows.numbers)
    return table, rows.numbers


def _of_one_table(layout: Layout, rows: Rows) -> Rows:
    """The rows that count."""
    if layout.tables is None:
        return rows
    names = rows.column(layout.tables, pa.string())
    messages = names if layout.operations is None else names.filter(rows.raw(layout.operations.path).is_valid())
    refuse_tables(messages.unique().to_pylist(), layout.table, rows.whole)
    return rows if layout.table is None else rows.take(pc.equal(names, layout.table).fill_null(False).to_numpy())


# --- kinds ------------------------------------------------------------------------------------------------------------


def _kinds(operations: Operations | None, rows: Rows) -> Kinds:
    """The kind of change that each row is."""
    if operations is None:
        return np.zeros(len(rows.numbers), np.int8)
    codes = plain_column(rows.raw(operations.path))
    if not (pa.types.is_string(codes.type) or pa.types.is_null(codes.type)):
        raise SchemaError(
            f"the column `{said(operations.path)}` is {codes.type}, but it tells the kind of a change by a text, such "
            f"as {operations.known}"
        )
    codes = codes.cast(pa.string())
    kinds = _kinds_of_letters(operations, codes)
    if kinds is None:
        refuse_bad_text(pa.table({said(operations.path): codes}), rows.numbers)
        asked = pc.utf8_lower(codes) if operations.any_case else codes
        found = pc.index_in(asked, pa.array(list(operations.kinds), pa.string())).fill_null(-1).to_numpy()
        kinds = np.array([*operations.kinds.values(), _UNKNOWN], np.int8)[found]
    if operations.tombstones is not None:
        kinds[_tombstones(operations, rows, codes)] = operations.tombstones
    for place in np.flatnonzero(kinds == _UNKNOWN)[:1]:
        _refuse(operations, rows, codes, int(place))
    return kinds


def _kinds_of_letters(operations: Operations, codes: pa.ChunkedArray) -> Kinds | None:
    """The same where each code is one letter, as most are: a letter is its byte. None if some are not."""
    known = {code: kind for code, kind in operations.kinds.items() if len(code) == 1}
    if operations.any_case:
        known |= {code.upper(): kind for code, kind in known.items()}
    of_bytes = np.full(256, _UNKNOWN, np.int8)
    for code, kind in known.items():
        of_bytes[ord(code)] = kind
    found = []
    for chunk in codes.chunks:
        _, offsets, data = chunk.buffers()
        at = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        if chunk.null_count or at[-1] - at[0] != len(chunk) or (at[1:] - at[:-1] != 1).any():
            return None
        found.append(of_bytes[np.frombuffer(data, np.uint8)[at[0] : at[-1]]])
    kinds: Kinds = np.concatenate([np.zeros(0, np.int8), *found])
    return None if (kinds == _UNKNOWN).any() else kinds


def _tombstones(operations: Operations, rows: Rows, codes: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = codes.is_null().to_numpy()
    for path in operations.values:
        found = found & rows.raw(path).is_null().to_numpy()
    return found


def _refuse(operations: Operations, rows: Rows, codes: pa.ChunkedArray, place: int) -> None:
    """A row that is no change is an error."""
    code, name, row = codes[place].as_py(), said(operations.path), rows.called(place)
    if code is None and operations.values and _tombstones(operations, rows, codes)[place]:
        raise DataError(f"{row} is a tombstone, which tells of no change; pass tombstones='skip' to leave those out")
    if code is None:
        raise DataError(f"{row} has no kind of change: `{name}` is NULL")
    if code in operations.refused:
        raise DataError(f"{row}: `{name}` is {code!r}, {operations.refused[code]}")
    raise DataError(f"{row}: `{name}` is {code!r}, which is no kind of change; it is one of {operations.known}")


# --- times ------------------------------------------------------------------------------------------------------------


def _times(clock: Clock, rows: Rows) -> pa.ChunkedArray:
    """When each change happened."""
    column, name = rows.raw(clock.path), said(clock.path)
    given = clock.kind if clock.unit is None else _INT64
    if not pa.types.is_null(column.type):
        _refuse_other_kind(given, column.type, name)
    ticks = ticks_of(column, name, given, rows.called)
    if clock.unit is not None:
        factor = UNITS[clock.unit]
        most = np.iinfo(np.int64).max // factor
        for place in np.flatnonzero((ticks > most) | (ticks < -most))[:1]:
            raise DataError(
                f"{rows.called(place)}: `{name}` is {ticks[place]}, which is too large for time_unit={clock.unit!r}"
            )
        ticks = ticks * factor
    return pa.chunked_array([pa.array(ticks).cast(clock.kind.arrow)])


def _refuse_other_kind(kind: TimeKind, found: pa.DataType, name: str) -> None:
    """Times of later rows are like those before: integers, or timestamps with or without a zone."""
    other = kind_of({f"the column `{name}`": found}, None)
    if from_arrow(other.arrow).kind is not from_arrow(kind.arrow).kind or _zoned(other) != _zoned(kind):
        raise SchemaError(f"the column `{name}` is {found} in these rows, but {kind.arrow} before; cast it")


def _zoned(kind: TimeKind) -> bool:
    return from_arrow(kind.arrow).zoned


def _instant(rows: Rows, path: tuple[str, ...], kind: pa.DataType) -> pa.ChunkedArray:
    column = rows.column(path, kind)
    for place in np.flatnonzero(column.is_null().to_numpy())[:1] if column.null_count else ():
        raise DataError(
            f"{rows.called(place)} has no instant: `{said(path)}` is NULL; name columns that are never NULL with "
            "order_by=…"
        )
    return column


def refuse_ties(table: pa.Table, numbers: Numbers, names: list[str]) -> None:
    """No two operations are of one instant; `names` are the columns of the instant for people."""
    columns = [f"{INSTANT}{place}" for place in range(len(names))]
    rows = table.select(columns).append_column("#row", pa.array(numbers))
    groups = rows.group_by(columns).aggregate([("#row", "min"), ("#row", "max")])
    tied = groups.filter(pc.not_equal(groups["#row_min"], groups["#row_max"])).sort_by("#row_min").slice(0, 1)
    for group in tied.to_pylist():
        values = ", ".join(f"{name} = {group[column]}" for name, column in zip(names, columns, strict=True))
        raise DataError(
            f"rows {group['#row_min']} and {group['#row_max']} are of one instant: both have {values}, but with "
            "granularity='operation' each operation has its own. Add a column to order_by that tells them apart"
        )


# --- values -----------------------------------------------------------------------------------------------------------


def _are(kinds: Kinds, wanted: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Whether changes are of some kinds."""
    found = np.zeros(len(kinds), np.bool_)
    for each in wanted:
        found |= kinds == each
    return found


def _refuse_lacking(side: Side, prefix: str, rows: Rows, kinds: Kinds) -> None:
    """Changes have the row that their kind demands."""
    lacking = _are(kinds, side.demanded)
    if side.row is not None and lacking.any():
        lacking &= rows.raw(side.row).is_null().to_numpy()
    for place in np.flatnonzero(lacking)[:1]:
        raise DataError(f"{rows.called(place)} is {CALLED[kinds[place]]}, {no_values(side, prefix)}")


def _values(layout: Layout, side: Side, rows: Rows, kinds: Kinds) -> list[pa.ChunkedArray]:
    """The columns of a side; changes that have none of its values have NULL."""
    lacking = ~_are(kinds, side.kinds)
    found = [rows.column(side.paths.get(name), kind) for name, kind in layout.attributes.items()]
    if not lacking.any():
        return found
    places = pa.array(np.arange(len(kinds)), mask=lacking)
    return [column.take(places) for column in found]
