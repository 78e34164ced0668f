"""Types of columns that are written as text, in CSV and JSON: the same rules in process and on Spark.

A column has the first of these types that all its values have the form of: int64, double, boolean, date, timestamp (in
UTC, where it names no zone of its own); otherwise it is text. Without a single value it has no type at all, and can be
compared with anything; a column that orders the stream is then one of timestamps. In JSON, only texts are looked at,
for dates and timestamps. The forms are regular expressions that mean the same to Arrow and to Java.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.errors import DataError

_DAY = r"\d{4}-\d{2}-\d{2}"
_ZONE = r"(Z|[+-]\d{2}:\d{2})"
_WHOLE = r"-?(0|[1-9]\d{0,17})"  # codes such as 007 stay texts

INSTANT = pa.timestamp("us", "UTC")

FORMS: dict[pa.DataType, str] = {
    pa.int64(): f"^{_WHOLE}$",
    pa.float64(): rf"^({_WHOLE}(\.\d*)?([eE][+-]?\d+)?|-?\.\d+([eE][+-]?\d+)?|(?i:nan|-?inf(inity)?))$",
    pa.bool_(): "^([tT]rue|TRUE|[fF]alse|FALSE)$",
    pa.date32(): f"^{_DAY}$",
    INSTANT: rf"^{_DAY}([T ]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,6}})?)?{_ZONE}?)?$",
}
"""The form of the values of each type, narrow types first."""

IN_TEXTS = (pa.date32(), INSTANT)
"""The types that JSON writes as text."""


def narrowed(column: Any, candidates: Iterable[pa.DataType]) -> list[pa.DataType]:
    """The types among the candidates whose form all values of a column of text have."""
    return [kind for kind in candidates if pc.all(pc.match_substring_regex(column, FORMS[kind]), min_count=0).as_py()]


def chosen(candidates: Sequence[pa.DataType], any_value: bool, orders: bool) -> pa.DataType:
    """The type of a column, of which it is known whether it has any value, and whether it orders the stream."""
    if not any_value:
        return INSTANT if orders else pa.null()
    return candidates[0] if candidates else pa.string()


def read_as(column: Any, kind: pa.DataType, name: str) -> Any:
    """The values of a column of text."""
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    try:
        return _instants(column) if kind == INSTANT else column.cast(kind)
    except pa.ArrowException as error:
        raise DataError(f"the column `{name}` has the form of {kind}, but a value is wrong: {error}") from None


def _instants(column: Any) -> Any:
    """Times that name their zone as they are; the others are in UTC."""
    zoned = pc.match_substring_regex(column, f"{_DAY}.*{_ZONE}$")
    nothing = pa.scalar(None, pa.string())
    with_zone = pc.if_else(zoned, column, nothing).cast(INSTANT)
    without = pc.if_else(zoned, nothing, column).cast(pa.timestamp("us"))
    return pc.coalesce(with_zone, pc.assume_timezone(without, "UTC"))
