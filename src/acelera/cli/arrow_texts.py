"""Columns of text as values, in Arrow: what has not the form of its type is NULL, and told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.cli.epochs import AFTER_LAST, FIRST, a_second
from acelera.cli.text_types import INSTANT, ZONE, Form

EPOCH_SCALES = {
    "epoch": (10**6, 1),
    "epoch-s": (10**6, 1),
    "epoch-ms": (10**3, 1),
    "epoch-us": (1, 1),
    "epoch-ns": (1, 10**3),
}
"""By what a number since 1970 is multiplied and divided to be one of microseconds."""


def narrowed(column: Any, candidates: Iterable[Form]) -> list[Form]:
    """The forms among the candidates that all values of a column of text have."""
    return [form for form in candidates if pc.all(pc.match_substring_regex(column, form.pattern), min_count=0).as_py()]


def decoded(column: Any) -> Any:
    """Bytes as text; what is not UTF-8 is NULL."""
    return _or_null(column, lambda part: part.cast(pa.string()), pa.string())


def without(column: Any, sign: str) -> Any:
    """A column of text in which those that hold a sign are NULL."""
    return pc.if_else(pc.match_substring(column, sign), pa.scalar(None, pa.string()), column)


def nulled(column: Any, nulls: Sequence[str]) -> Any:
    """A column of text in which some texts are NULL."""
    if not nulls:
        return column
    return pc.if_else(pc.is_in(column, pa.array(nulls, pa.string())), pa.scalar(None, pa.string()), column)


def read_as(column: Any, form: Form) -> Any:
    """The values of a column of text; NULL also where it has not the form, or is no value, as the 30th of February."""
    if not form.checked:
        fits = pc.match_substring_regex(column, form.pattern)
        if not pc.all(fits, min_count=0).as_py():
            column = pc.if_else(fits, column, pa.scalar(None, pa.string()))
    for pattern, new in form.steps:
        column = pc.replace_substring_regex(column, pattern, new)
    return _within_years(_or_null(column, lambda part: _cast(part, form), form.kind))


def _cast(column: Any, form: Form) -> Any:
    if form.epoch:
        return column.cast(pa.int64()).cast(form.kind)
    if pa.types.is_timestamp(form.kind) and form.kind.tz is not None:
        return _instants(column, form.kind)
    return column.cast(form.kind)


def _instants(column: Any, kind: pa.DataType) -> Any:
    """Times that name their zone as they are; the others are in UTC."""
    zoned = pc.match_substring_regex(column, rf"[T ].*{ZONE}\z")
    nothing = pa.scalar(None, pa.string())
    with_zone = pc.if_else(zoned, column, nothing).cast(pa.timestamp(kind.unit, "UTC"))
    without = pc.if_else(zoned, nothing, column).cast(pa.timestamp(kind.unit))
    return pc.coalesce(with_zone, pc.assume_timezone(without, "UTC")).cast(kind)


def times_of(column: Any, written: str) -> Any:
    """Numbers since 1970 as times; NULL also before the year 1 and after 9999."""
    by, through = EPOCH_SCALES[written]
    column = _between(column, FIRST * a_second(written), AFTER_LAST * a_second(written))
    if pa.types.is_floating(column.type):
        micros = pc.floor(pc.add(pc.multiply(column.cast(pa.float64()), by / through), 0.5))
    else:
        micros = pc.divide(pc.multiply_checked(column.cast(pa.int64()), by), through)
    return micros.cast(pa.int64()).cast(INSTANT)


_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _within_years(column: Any) -> Any:
    """Times of which those before the year 1 and after 9999 are NULL."""
    if pa.types.is_timestamp(column.type):
        unit = _A_SECOND[column.type.unit]
        return _between(column.cast(pa.int64()), FIRST * unit, AFTER_LAST * unit).cast(column.type)
    if pa.types.is_date32(column.type):
        return _between(column.cast(pa.int32()), FIRST // 86_400, AFTER_LAST // 86_400).cast(column.type)
    return column


def _between(column: Any, least: float, after: float) -> Any:
    """Numbers of which those that are less than the least, or not before the end, are NULL."""
    if pa.types.is_floating(column.type):
        least, after = float(least), float(after)
    else:
        column = column if column.type == pa.int32() else column.cast(pa.int64())
        least, after = max(least, -(1 << 63)), min(after, (1 << 63) - 1)
        ends = pc.min_max(column)
        if not ends["min"].is_valid or (least <= ends["min"].as_py() and ends["max"].as_py() < after):
            return column
    fits = pc.and_(pc.greater_equal(column, least), pc.less(column, after))
    return pc.if_else(fits, column, pa.scalar(None, column.type))


def _or_null(column: Any, convert: Callable[[Any], Any], kind: pa.DataType) -> Any:
    """A column converted; a value that cannot be is found by halving, and NULL."""
    try:
        return convert(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(column) == 1:
            return pa.nulls(1, kind)
    middle = len(column) // 2
    halves = [_or_null(part, convert, kind) for part in (column[:middle], column[middle:])]
    return pa.concat_arrays(halves)


def wrong_in(before: Any, after: Any) -> Any:
    """Which values were there before and are not any more."""
    return pc.and_(pc.is_valid(before), pc.is_null(after))


def rows_of(mask: Any) -> Any:
    """The numbers of the rows for which a mask holds."""
    return np.flatnonzero(np.asarray(mask))
