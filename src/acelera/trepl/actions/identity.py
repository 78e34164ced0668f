"""Which row is which: a hash of all that makes it this row, the same in every process and with every version.

Values are written in one way, whatever holds them: numbers by value, timestamps and durations in nanoseconds, dates in
days; NULL is a value, there is one NaN and one zero. Each value is a letter for its kind, the number of its bytes, a
colon and the bytes, so that no two lists of values are written alike. To change this is to do everything again.
"""

from __future__ import annotations

import datetime
import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from acelera.language.events import Opaque
from acelera.language.types import Kind, from_arrow
from acelera.programs.columns import plain_column
from acelera.tables import plain_values

_VERSION = b"acelera action 1"


def identities(
    program: str,
    place: tuple[str, str, int],
    key: Sequence[pa.ChunkedArray],
    instant: Sequence[pa.ChunkedArray],
    arguments: Sequence[pa.ChunkedArray],
) -> list[str]:
    """The identity of each row of an action; its place is module, rule and number, `program` stands for the text."""
    module, rule, action = place
    before = _VERSION + _text(program) + _text(module)
    between = _text(rule) + _integer(action)
    rows = len(instant[0])
    columns = zip(_lists(key, rows), _lists(instant, rows), _lists(arguments, rows), strict=True)
    return [hashlib.sha256(before + k + between + i + a).hexdigest() for k, i, a in columns]


def encoded(column: pa.ChunkedArray) -> list[bytes]:
    """The values of a column, each written in the one way.

    >>> encoded(pa.chunked_array([["a", None]]))
    [b's1:a', b'n0:']
    """
    plain = plain_column(column)
    kind = from_arrow(plain.type)
    write = _WRITERS[kind.kind]
    return [_NULL if value is None else write(value) for value in plain_values(plain, kind)]


def _lists(columns: Sequence[pa.ChunkedArray], rows: int) -> list[bytes]:
    """The values of each row as a list."""
    if not columns:
        return [_list([])] * rows
    return [_list(values) for values in zip(*map(encoded, columns), strict=True)]


# --- single values ------------------------------------------------------------------------------------------------


def _written(letter: bytes, content: bytes) -> bytes:
    return b"%s%d:%s" % (letter, len(content), content)


_NULL = _written(b"n", b"")


def _text(value: str) -> bytes:
    return _written(b"s", value.encode("utf-8", "surrogatepass"))


def _integer(value: int, letter: bytes = b"i") -> bytes:
    return _written(letter, b"%d" % value)


def _float(value: float) -> bytes:
    return _written(b"f", b"nan" if value != value else struct.pack(">d", value + 0.0))


def _decimal(value: Decimal) -> bytes:
    if not value.is_finite():
        return _written(b"d", str(value).encode())
    sign, digits, exponent = value.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    if not significant.strip("0"):
        return _written(b"d", b"0")
    shifted = int(exponent) + len(digits) - len(significant)
    return _written(b"d", f"{'-' if sign else ''}{significant.lstrip('0')}e{shifted}".encode())


def _list(values: Sequence[bytes]) -> bytes:
    return _written(b"l", b"".join(values))


def _any(value: object) -> bytes:
    """A value that queries only carry: told by what Python makes of it."""
    match value:
        case Opaque():
            return _any(value.value)
        case None:
            return _NULL
        case bool():
            return _written(b"b", b"%d" % value)
        case int():
            return _integer(value)
        case float():
            return _float(value)
        case Decimal():
            return _decimal(value)
        case str():
            return _text(value)
        case bytes():
            return _written(b"x", value)
        case Mapping():
            return _written(b"m", b"".join(_any(name) + _any(item) for name, item in sorted(value.items())))
        case Sequence():
            return _list([_any(item) for item in value])
        case datetime.date() | datetime.time() | datetime.timedelta():
            return _written(b"o", str(value).encode())
    raise AssertionError(f"Arrow gives no {type(value).__name__}")


_WRITERS: dict[Kind, Callable[[Any], bytes]] = {
    Kind.NULL: _any,
    Kind.BOOL: _any,
    Kind.INT: _integer,
    Kind.FLOAT: _float,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _text,
    Kind.TIMESTAMP: lambda value: _integer(value, b"t"),
    Kind.DURATION: lambda value: _integer(value, b"u"),
    Kind.DATE: lambda value: _integer(value, b"a"),
    Kind.OPAQUE: _any,
}
