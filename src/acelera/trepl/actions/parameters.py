"""Values as drivers take them: what Python has for each type, and texts where SQLite has none."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from acelera.errors import DataError
from acelera.language.events import Opaque
from acelera.language.types import Kind, from_arrow
from acelera.programs.columns import plain_column
from acelera.tables import plain_values
from acelera.trepl.actions.shown_values import decimal_text, duration_text, fraction_text

_EPOCH = datetime.datetime(1970, 1, 1)


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python has them; of times what is smaller than a microsecond is cut off.

    A timestamp that has a time zone gets UTC.
    """
    plain = plain_column(column)
    kind = from_arrow(plain.type)
    values = plain_values(plain, kind)
    try:
        match kind.kind:
            case Kind.TIMESTAMP:
                return [None if value is None else _moment(value, kind.zoned) for value in values]
            case Kind.DURATION:
                return [None if value is None else datetime.timedelta(microseconds=value // 1000) for value in values]
            case Kind.DATE:
                return [None if value is None else _EPOCH.date() + datetime.timedelta(days=value) for value in values]
    except OverflowError:
        raise DataError(f"a {kind.kind.value} lies before the year 1 or after 9999, which Python cannot hold") from None
    return [value.value if isinstance(value, Opaque) else value for value in values]


def _moment(nanoseconds: int, zoned: bool) -> datetime.datetime:
    moment = _EPOCH + datetime.timedelta(microseconds=nanoseconds // 1000)
    return moment.replace(tzinfo=datetime.timezone.utc) if zoned else moment


def for_sqlite(value: Any) -> Any:
    """A value that SQLite can hold: times (in UTC) and decimals are texts, as in messages.

    >>> for_sqlite(datetime.datetime(1996, 8, 21, 9, 13, 27)), for_sqlite(Decimal("1.50")), for_sqlite(2)
    ('1996-08-21 09:13:27', '1.50', 2)
    """
    match value:
        case datetime.datetime():
            whole = value.replace(tzinfo=None, microsecond=0)
            return f"{whole}{fraction_text(value.microsecond * 1000)}"
        case datetime.timedelta():
            return duration_text(value // datetime.timedelta(microseconds=1) * 1000)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Decimal():
            return decimal_text(value)
    return value
