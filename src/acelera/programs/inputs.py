"""What comes in: tables of any kind become events by label, with their times in ticks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.algebra.names import BEGIN, END
from acelera.errors import DataError, SchemaError, UsageError, did_you_mean
from acelera.language.schema import refuse_repeated
from acelera.programs.announcement import Announced
from acelera.programs.columns import fits, plain, plain_column
from acelera.programs.times import Ticks, ticks_of
from acelera.tables import refuse_bad_text, to_arrow

Places = npt.NDArray[np.int64]
"""Rows of a table, from 0."""

Counts = Mapping[str, int]
"""How many rows there were, by label; under no label, of the table for all of them."""

AT_ONCE = "rows that end at the same time must come in one push, as what follows from them is told then"


@dataclass(frozen=True)
class Given:
    """Events that came in: those that matter by label, with the columns of their data, then `#begin` and `#end`.

    `first` and `last` are the smallest and the greatest end of all events, also of those that no rule asks for; None
    if there are no events. `rows` tells how many rows there were.
    """

    tables: Mapping[str, pa.Table]
    first: int | None = None
    last: int | None = None
    rows: Counts = field(default_factory=dict)


@dataclass(frozen=True)
class Due:
    """When events may end: after one tick and by another, where these are known; and what to do if one comes late."""

    after: int | None = None
    by: int | None = None
    hint: str = AT_ONCE


def read(announced: Announced, data: object, due: Due | None = None, before: Counts | None = None) -> Given:
    """The events of a table, or of a table for each label. Rows are counted on from those `before`."""
    tables: dict[str, pa.Table] = {}
    ends: list[Ticks] = []
    counts = dict(before or {})
    for rows in _sources(announced, data, counts):
        begin, end = _times(announced, rows, due or Due())
        ends.append(end)
        for label, places in _by_label(announced, rows):
            _refuse_long(announced, rows, label, (begin[places], end[places]), places)
            columns = _data(announced, rows, label, places)
            tables[label] = pa.table({**columns, BEGIN: begin[places], END: end[places]})
        counts[rows.label] = rows.before + len(end)
    first = min((int(each.min()) for each in ends if len(each)), default=None)
    last = max((int(each.max()) for each in ends if len(each)), default=None)
    return Given(tables, first, last, counts)


@dataclass(frozen=True)
class _Rows:
    """A table, its label (none if a column tells it), and how many rows came before it.

    Where rows are dicts they are `loose`: what a dict lacks is NULL.
    """

    table: pa.Table
    label: str
    before: int
    loose: bool

    @property
    def numbers(self) -> Places:
        """The rows' numbers for people."""
        return np.arange(self.before + 1, self.before + self.table.num_rows + 1)

    def called(self, place: int) -> str:
        """What people call a row."""
        return f"row {self.before + place + 1}" + (f" of `{self.label}`" if self.label else "")


def _sources(announced: Announced, data: object, before: Counts) -> Iterator[_Rows]:
    for label, each in data.items() if isinstance(data, Mapping) else [("", data)]:
        if label and announced.others is not None and label not in {*announced.labels, *announced.others}:
            known = sorted({*announced.labels, *announced.others})
            raise SchemaError(f"the label `{label}` was not announced{did_you_mean(label, known)}")
        loose = isinstance(each, list | tuple)
        if not (loose and not each):
            table = to_arrow(each)
            refuse_repeated(table.column_names, f" in `{label}`" if label else "")
            yield _Rows(table, label, before.get(label, 0), loose)


# --- times --------------------------------------------------------------------------------------------------------


def _times(announced: Announced, rows: _Rows, due: Due) -> tuple[Ticks, Ticks]:
    how, kind = announced.how, announced.kind
    columns = [_column(rows, name) for name in (how.begin, how.end)]
    begin = ticks_of(columns[0], how.begin, kind, rows.called)
    end = begin if how.points else ticks_of(columns[1], how.end, kind, rows.called)
    for place in np.flatnonzero(begin > end)[:1]:
        low, high = kind.said(begin[place]), kind.said(end[place])
        raise DataError(
            f"{rows.called(place)} ends before it begins: `{how.begin}` is {low}, `{how.end}` is {high}; mend it where "
            "it is made"
        )
    if due.after is not None:
        for place in np.flatnonzero(end <= due.after)[:1]:
            raise DataError(
                f"{rows.called(place)} comes too late: it ends at {kind.said(end[place])}, and the stream has come to "
                f"{kind.said(due.after)}; {due.hint}"
            )
    if due.by is not None:
        for place in np.flatnonzero(end > due.by)[:1]:
            raise DataError(
                f"{rows.called(place)} ends at {kind.said(end[place])}, after now={kind.said(due.by)}; push it when it "
                "has ended, or leave now out"
            )
    return begin, end


def _refuse_long(announced: Announced, rows: _Rows, label: str, times: tuple[Ticks, Ticks], places: Places) -> None:
    """Events last no longer than was said of them."""
    longest, (begin, end) = announced.longest.get(label, np.inf), times
    for place in np.flatnonzero(end - begin > longest)[:1]:
        kind = announced.kind
        low, high = kind.said(begin[place]), kind.said(end[place])
        raise DataError(
            f"{rows.called(places[place])} lasts from {low} to {high}, longer than longest="
            f"{{{label!r}: {announced.how.longest[label]!r}}} says; say a longer one"
        )


# --- labels and data ----------------------------------------------------------------------------------------------


def _by_label(announced: Announced, rows: _Rows) -> Iterator[tuple[str, Places]]:
    """The labels that matter, each with its rows."""
    if rows.label:
        if rows.label in announced.labels:
            yield rows.label, np.arange(rows.table.num_rows)
        return
    name = announced.how.type_column
    types = plain_column(_column(rows, name))
    if types.null_count:
        place = int(np.flatnonzero(types.is_null().to_numpy())[0])
        raise DataError(f"{rows.called(place)} has no label: `{name}` is NULL")
    if not pa.types.is_string(types.type):
        raise SchemaError(f"the column `{name}` is {types.type}, but labels are texts; name another with type_column=…")
    refuse_bad_text(pa.table({name: types}), rows.numbers)
    for label in types.unique().to_pylist():
        if label in announced.labels or label in announced.made:
            places = np.flatnonzero(pc.equal(types, label).to_numpy())
            if label not in announced.labels:
                raise DataError(
                    f"{rows.called(places[0])} is of the label `{label}`, which rules make; what comes in under it "
                    "must be announced: give a mapping of labels to tables or schemas"
                )
            yield label, places


def _data(announced: Announced, rows: _Rows, label: str, places: Places) -> dict[str, pa.ChunkedArray]:
    """The columns of a label, of the types that were announced."""
    if rows.loose:
        _refuse_unknown(announced, rows, label, places)
    columns = {each.name: _conformed(rows, each) for each in announced.labels[label]}
    refuse_bad_text(pa.table(columns), rows.numbers)
    if len(places) == rows.table.num_rows:
        return columns
    chosen = pa.array(places)
    return {name: column.take(chosen) for name, column in columns.items()}


def _column(rows: _Rows, name: str) -> pa.ChunkedArray:
    names = rows.table.column_names
    if name not in names:
        where = f" of `{rows.label}`" if rows.label else ""
        raise SchemaError(f"there is no column `{name}` in this table{where}{did_you_mean(name, names)}")
    return rows.table.column(name)


def _conformed(rows: _Rows, wanted: pa.Field) -> pa.ChunkedArray:
    if rows.loose and wanted.name not in rows.table.column_names:
        return pa.chunked_array([pa.nulls(rows.table.num_rows, wanted.type)])
    column = _column(rows, wanted.name)
    if not fits(plain(column.type), wanted.type):
        raise SchemaError(
            f"the column `{wanted.name}` is {column.type} in this table, but {wanted.type} in the stream; cast it"
        )
    try:
        return plain_column(column, wanted.type)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise SchemaError(
            f"the column `{wanted.name}` is {column.type} in this table, but {wanted.type} in the stream: {error}"
        ) from None


def _refuse_unknown(announced: Announced, rows: _Rows, label: str, places: Places) -> None:
    """A dict may lack something, so what is misspelt in it would not be missed."""
    how, known = announced.how, announced.labels[label].names
    apart = {*known, *how.times, *(() if rows.label else (how.type_column,))}
    for name in rows.table.column_names:
        if name not in apart:
            there = rows.table.column(name).is_valid().to_numpy()[places]
            for place in np.flatnonzero(there)[:1]:
                raise UsageError(
                    f"{rows.called(places[place])} has `{name}`, but the events of `{label}` were announced without"
                    f"{did_you_mean(name, known)}"
                )
