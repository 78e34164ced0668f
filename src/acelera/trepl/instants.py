"""Instants: what orders changes, one value or several of which the first that differs counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.errors import UsageError
from acelera.programs.times import TimeKind

Instant = tuple[Any, ...]
"""Scalars of Arrow, one for each column of the instant."""


def is_before(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Whether instants come before others; each side is columns or scalars."""
    pairs = list(zip(left, right, strict=True))
    later = pc.less(*pairs[-1])
    return reduce(lambda rest, pair: pc.or_(pc.less(*pair), pc.and_(pc.equal(*pair), rest)), pairs[-2::-1], later)


def later(one: Instant | None, other: Instant | None) -> Instant | None:
    """The later one, of those that there are."""
    if one is None or other is None:
        return one or other
    return other if is_before(one, other).as_py() else one


def latest(tables: Iterable[pa.Table], names: Sequence[str]) -> Instant | None:
    """The last instant of some rows."""
    parts = [table.select(names) for table in tables if table.num_rows]
    if not parts:
        return None
    rows, found = pa.concat_tables(parts), []
    for name in names:
        column = rows.column(name)
        found.append(pc.max(column))
        rows = rows.filter(pc.equal(column, found[-1]))
    return tuple(found)


def columns(table: pa.Table, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """The columns of the instant."""
    return [table.column(name) for name in names]


def said_instant(instant: Sequence[Any]) -> str:
    """An instant as people read it.

    >>> said_instant((pa.scalar(7), pa.scalar("tx")))
    '7, tx'
    """
    return ", ".join(map(str, instant))


def instant_of(now: object, kinds: Sequence[pa.DataType]) -> Instant:
    """The instant that a user says: one value, or as many as there are columns.

    >>> said_instant(instant_of((7, "tx"), [pa.int64(), pa.string()]))
    '7, tx'
    """
    values = tuple(now) if isinstance(now, tuple | list) else (now,)
    if len(values) != len(kinds):
        shown = ", ".join(map(str, kinds))
        raise UsageError(f"now={now!r} is no instant of these changes, which are ordered by {len(kinds)} ({shown})")
    return tuple(_scalar(value, kind) for value, kind in zip(values, kinds, strict=True))


def _scalar(value: object, kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(kind):
        ticks = TimeKind(pa.timestamp("us", kind.tz)).tick_of(value)
        return pa.scalar(ticks, pa.int64()).cast(pa.timestamp("us", kind.tz)).cast(kind)
    if pa.types.is_integer(kind):
        return pa.scalar(TimeKind(pa.int64()).tick_of(value), pa.int64()).cast(kind)
    try:
        found = pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError):
        raise UsageError(f"now={value!r} is no {kind}, which the instants of these changes are") from None
    if not found.is_valid:
        raise UsageError("now=None is no instant; give the last one of which no more changes come")
    return found
