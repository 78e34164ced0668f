"""Types of attributes: what the language can do with a value, and the Arrow type it has in tables."""

from __future__ import annotations

import datetime
import decimal
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from acelera.errors import SchemaError


class Kind(enum.Enum):
    """What can be done with a value."""

    UNKNOWN = "unknown"  # the schema is not known (yet): fits everything
    NULL = "NULL"
    BOOL = "boolean"
    INT = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DATE = "date"
    DURATION = "duration"
    OPAQUE = "opaque"  # can be carried and tested for NULL, nothing else


@dataclass(frozen=True)
class Type:
    """A kind of value and the Arrow type that holds it."""

    kind: Kind
    arrow: pa.DataType = field(compare=False)

    def __str__(self) -> str:
        return self.kind.value if self.kind in (Kind.UNKNOWN, Kind.NULL) else str(self.arrow)

    @property
    def zoned(self) -> bool:
        """Whether this is a timestamp with a time zone."""
        return self.kind is Kind.TIMESTAMP and self.arrow.tz is not None

    @property
    def vague(self) -> bool:
        """Whether nothing can be said against this type."""
        return self.kind in (Kind.UNKNOWN, Kind.NULL)


UNKNOWN = Type(Kind.UNKNOWN, pa.null())
NULL = Type(Kind.NULL, pa.null())
BOOL = Type(Kind.BOOL, pa.bool_())
INT = Type(Kind.INT, pa.int64())
FLOAT = Type(Kind.FLOAT, pa.float64())
STRING = Type(Kind.STRING, pa.string())
DATE = Type(Kind.DATE, pa.date32())
DURATION = Type(Kind.DURATION, pa.duration("ns"))

NUMBERS = frozenset({Kind.INT, Kind.FLOAT, Kind.DECIMAL})
ORDERED = NUMBERS | {Kind.STRING, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION}


def from_arrow(arrow: pa.DataType) -> Type:
    """The type of a column of an Arrow table."""
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return from_arrow(arrow.value_type)
    kind = next((kind for test, kind in _BY_ARROW if test(arrow)), Kind.OPAQUE)
    return Type(kind, arrow)


def _is_integer(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow)) and not pa.types.is_uint64(arrow)


def _is_string(arrow: pa.DataType) -> bool:
    return any(test(arrow) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


_BY_ARROW = (
    (_is_integer, Kind.INT),
    (pa.types.is_floating, Kind.FLOAT),
    (_is_string, Kind.STRING),
    (pa.types.is_boolean, Kind.BOOL),
    (pa.types.is_timestamp, Kind.TIMESTAMP),
    (pa.types.is_date, Kind.DATE),
    (pa.types.is_duration, Kind.DURATION),
    (pa.types.is_decimal, Kind.DECIMAL),
    (pa.types.is_null, Kind.NULL),
)

_BY_NAME: dict[str, pa.DataType] = {
    "int": pa.int64(),
    "integer": pa.int64(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "float": pa.float64(),
    "double": pa.float64(),
    "str": pa.string(),
    "string": pa.string(),
    "varchar": pa.string(),
    "bool": pa.bool_(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "duration": pa.duration("us"),
    "binary": pa.binary(),
}

_BY_PYTHON: dict[object, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    datetime.datetime: pa.timestamp("us"),
    datetime.date: pa.date32(),
    datetime.timedelta: pa.duration("us"),
    decimal.Decimal: pa.decimal128(38, 18),
    bytes: pa.binary(),
}


def parse_type(described: object) -> Type:
    """A type from an Arrow type, a Python type or a name such as `int`, `float64`, `timestamp[us, tz=UTC]`; that of a
    struct from a mapping of its fields.
    """
    if isinstance(described, Type):
        return described
    if isinstance(described, pa.DataType):
        return from_arrow(described)
    if isinstance(described, Mapping):
        odd = [name for name in described if not isinstance(name, str) or not name]
        if odd:
            raise SchemaError(f"{odd[0]!r} is not a name; fields are named by strings")
        return from_arrow(pa.struct([(name, parse_type(kind).arrow) for name, kind in described.items()]))
    if isinstance(described, type) and described in _BY_PYTHON:
        return from_arrow(_BY_PYTHON[described])
    if isinstance(described, str):
        arrow = _named(described.strip().lower(), described.strip())
        if arrow is not None:
            return from_arrow(arrow)
    names = ", ".join(["int", "float", "string", "bool", "timestamp", "date", "duration", "decimal(10, 2)"])
    raise SchemaError(f"{described!r} is not a type; types are written like {names}, or as Arrow types")


def _named(lowered: str, text: str) -> pa.DataType | None:
    if lowered in _BY_NAME:
        return _BY_NAME[lowered]
    if match := re.fullmatch(r"decimal(?:128)?\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", lowered):
        precision, scale = int(match[1]), int(match[2])
        return pa.decimal128(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
    if match := re.fullmatch(r"timestamp\[(s|ms|us|ns)\s*(?:,\s*tz\s*=\s*([\w/+:-]+))?\s*\]", text, re.IGNORECASE):
        return pa.timestamp(match[1].lower(), match[2])
    if match := re.fullmatch(r"duration\[(s|ms|us|ns)\]", lowered):
        return pa.duration(match[1])
    try:
        return pa.type_for_alias(lowered)
    except ValueError:
        return None


def unify(left: Type, right: Type) -> Type | None:
    """The type that holds values of both, or None if there is none."""
    if left.vague:
        return right
    if right.vague or left.arrow == right.arrow:
        return left
    kinds = {left.kind, right.kind}
    if kinds == {Kind.INT}:
        return INT
    if kinds <= {Kind.INT, Kind.FLOAT} or kinds == {Kind.DECIMAL, Kind.FLOAT}:
        return FLOAT
    if kinds == {Kind.STRING}:
        return STRING
    if kinds <= {Kind.DECIMAL, Kind.INT}:
        return unify_decimals(left, right)
    if kinds == {Kind.TIMESTAMP} and left.zoned == right.zoned:
        return Type(Kind.TIMESTAMP, pa.timestamp(finer_unit(left, right), left.arrow.tz))
    if kinds == {Kind.DURATION}:
        return duration(finer_unit(left, right))
    if kinds == {Kind.DATE}:
        return DATE
    return None


def unify_decimals(left: Type, right: Type) -> Type:
    """A decimal that holds values of both; a whole number is one without a fraction."""
    scales = [scale_of(each) for each in (left, right)]
    return Type(Kind.DECIMAL, pa.decimal128(38, max(scales)))


def scale_of(given: Type) -> int:
    """Digits after the point."""
    return int(given.arrow.scale) if given.kind is Kind.DECIMAL else 0


def finer_unit(left: Type, right: Type) -> str:
    """The unit that can tell the times and durations of both."""
    return max((str(left.arrow.unit), str(right.arrow.unit)), key=_UNITS.index)


def unit_of(nanoseconds: int) -> str:
    """The coarsest unit that can tell a time."""
    return next(unit for unit, digits in zip(_UNITS, (9, 6, 3, 0), strict=True) if nanoseconds % 10**digits == 0)


def duration(unit: str) -> Type:
    """Durations in a unit."""
    return Type(Kind.DURATION, pa.duration(unit))


_UNITS = ["s", "ms", "us", "ns"]
