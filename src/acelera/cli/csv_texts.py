"""Rows as CSV: the same texts in process and on Spark.

Every value becomes a text here, on Spark in its workers; then it stands in quotes if it must.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_MUST_BE_QUOTED = r"""[",\r\n]|^\z"""
_MUST_BE_QUOTED_FIRST = rf"{_MUST_BE_QUOTED}|^#"
"""Spark takes a line that begins so for a comment, so it quotes what would begin it."""


def as_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values as they stand in CSV, without quotes. In a single column, NULL is an empty text: an empty line is no row.

    >>> as_texts(pa.RecordBatch.from_pylist([{"a": 100.0, "b": True}, {"a": float("nan"), "b": None}])).to_pylist()
    [{'a': '100.0', 'b': 'true'}, {'a': 'NaN', 'b': None}]
    """
    texts = [_text(each) for each in batch.columns]
    if len(texts) == 1:
        texts = [pc.coalesce(texts[0], "")]
    return pa.RecordBatch.from_arrays(texts, names=batch.schema.names)


def _text(column: Any) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _text(column.dictionary_decode())
    if pa.types.is_floating(kind):
        return _of_floats(column.cast(pa.float32()) if pa.types.is_float16(kind) else column)
    if pa.types.is_timestamp(kind):
        return _of_times(column)
    return column.cast(pa.string())


def _of_floats(column: Any) -> Any:
    """The shortest text that is read as the same number, and as one that is not whole."""
    text = column.cast(pa.string())
    text = pc.replace_substring_regex(text, r"^(-?\d+)\z", r"\1.0")
    text = pc.replace_substring_regex(text, r"^-?nan\z", "NaN")
    return pc.replace_substring_regex(text, r"inf\z", "Infinity")


def _of_times(column: Any) -> Any:
    """As 2024-01-31T10:00:00.000000, with Z if it is a moment: then in UTC."""
    zone, unit = column.type.tz, "ns" if column.type.unit == "ns" else "us"
    plain = column.cast(pa.timestamp(column.type.unit, None if zone is None else "UTC")).cast(pa.timestamp(unit))
    text = pc.replace_substring(plain.cast(pa.string()), " ", "T", max_replacements=1)
    return text if zone is None else pc.binary_join_element_wise(text, "Z", "")


def csv_header(schema: pa.Schema) -> str:
    """The line of names."""
    return _line_of([pa.array([name]) for name in schema.names])[0]


def csv_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """A line for each row; NULL is nothing, and a text without signs is a pair of quotes."""
    yield from _line_of(as_texts(batch).columns)


def _line_of(texts: Sequence[Any]) -> list[str]:
    patterns = [_MUST_BE_QUOTED_FIRST] + [_MUST_BE_QUOTED] * (len(texts) - 1)
    columns = [pc.coalesce(_quoted(text, pattern), "") for text, pattern in zip(texts, patterns, strict=True)]
    return [f"{line}\n" for line in pc.binary_join_element_wise(*columns, ",").to_pylist()]


def _quoted(text: Any, pattern: str) -> Any:
    inner = pc.replace_substring(text, '"', '""')
    return pc.if_else(pc.match_substring_regex(text, pattern), pc.binary_join_element_wise('"', inner, '"', ""), text)
