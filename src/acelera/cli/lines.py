"""Rows as lines of JSON."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from collections.abc import Iterator

import pyarrow as pa


def json_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """A line for each row; what is NULL is left out, as Spark does it.

    >>> list(json_lines(pa.RecordBatch.from_pylist([{"a": 1, "b": [1.5]}, {"a": None, "b": []}])))
    ['{"a":1,"b":[1.5]}\\n', '{"b":[]}\\n']
    """
    for row in batch.to_pylist():
        present = {name: _plain(value) for name, value in row.items() if value is not None}
        yield json.dumps(present, ensure_ascii=False, separators=(",", ":")) + "\n"


def _plain(value: object) -> object:
    match value:
        case dict():
            return {name: _plain(item) for name, item in value.items() if item is not None}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime.datetime():
            return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
    return value
