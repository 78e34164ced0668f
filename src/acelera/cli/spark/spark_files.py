"""Files as Spark frames; columns of CSV and JSON get the types that they have in process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from acelera.cli.inputs import Input, Inputs, is_remote
from acelera.cli.text_types import FORMS, IN_TEXTS, chosen
from acelera.spark.spark_expressions import quoted

_CASTS = {"int64": "bigint", "double": "double", "bool": "boolean", "date32[day]": "date", "null": "void"}

_OPTIONS: dict[str, dict[str, str]] = {
    "parquet": {"mergeSchema": "true"},
    "csv": {
        "header": "true",
        "enforceSchema": "false",
        "mode": "FAILFAST",
        "escape": '"',
        "nullValue": "\0",  # so that what is empty in quotes is not NULL
    },
    "json": {"mode": "FAILFAST"},
}

WRITING = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""How values are written as text, so that none is changed."""


@dataclass(frozen=True)
class Layout:
    """How files are read: the schema that Spark reads them with, and the columns of text that are of another type."""

    format: str
    schema: Any
    casts: Mapping[str, str]

    def with_texts(self) -> Layout:
        """The same for files that are yet to come: a column that has had no value so far may hold any text."""
        return replace(self, casts={name: cast for name, cast in self.casts.items() if cast != "void"})

    def frame(self, reader: Any, paths: list[str] | str) -> Any:
        """The files as a frame, of `spark.read` or `spark.readStream`."""
        from pyspark.sql import functions

        options = {name: value for name, value in _OPTIONS[self.format].items() if name != "mergeSchema"}
        frame = reader.schema(self.schema).options(**options).format(self.format).load(paths)
        if not self.casts:
            return frame
        columns = []
        for name in frame.columns:
            column, kind = functions.col(quoted(name)), self.casts.get(name)
            if kind is not None:
                column = (functions.lit(None) if kind == "void" else column.cast(kind)).alias(name)
            columns.append(column)
        return frame.select(*columns)


def place(path: str) -> str:
    """A path that names no file system is one of this machine, whatever Spark takes for its own.

    >>> place("/data/day 1.csv")
    'file:///data/day 1.csv'
    """
    return path if is_remote(path) else f"file://{Path(path).absolute()}"


def pattern(path: str) -> str:
    """The pattern that fits this path alone: Spark reads names of inputs as patterns."""
    return path if is_remote(path) else re.sub(r"[\[\]{}*?\\]", r"\\\g<0>", place(path))


def layout_of(spark: Any, kind: str, paths: list[str], order_by: Sequence[str]) -> Layout:
    """The columns of files; text is read once to find out their types."""
    frame = spark.read.options(**_OPTIONS[kind]).format(kind).load(paths)
    if kind == "parquet":
        return Layout(kind, frame.schema, {})
    texts = [each.name for each in frame.schema.fields if each.dataType.simpleString() == "string"]
    found = _types(frame, texts, list(FORMS) if kind == "csv" else IN_TEXTS, order_by)
    return Layout(kind, frame.schema, {name: _CASTS.get(str(each), "timestamp") for name, each in found.items()})


def _types(
    frame: Any, names: list[str], candidates: Iterable[pa.DataType], order_by: Sequence[str]
) -> dict[str, pa.DataType]:
    """The types of columns of text that are not text, found in one pass over them."""
    from pyspark.sql import functions

    if not names:
        return {}
    kinds = list(candidates)
    asked = []
    for name in names:
        column = functions.col(quoted(name))
        asked.append(functions.count(column) > 0)
        asked += [
            functions.coalesce(functions.bool_and(column.rlike(FORMS[kind])), functions.lit(True)) for kind in kinds
        ]
    answers = list(frame.agg(*asked).collect()[0])
    found = {}
    for index, name in enumerate(names):
        any_value, *fits = answers[index * (len(kinds) + 1) : (index + 1) * (len(kinds) + 1)]
        kind = chosen([kind for kind, holds in zip(kinds, fits, strict=True) if holds], any_value, name in order_by)
        if kind != pa.string():
            found[name] = kind
    return found


def frames_of(spark: Any, inputs: Inputs, order_by: Sequence[str]) -> dict[str | None, Any]:
    """The frame of each event type; under None if there is but one stream."""
    return {name: _frame(spark, inputs.format, parts, order_by) for name, parts in inputs.by_type.items()}


def _frame(spark: Any, kind: str, parts: tuple[Input, ...], order_by: Sequence[str]) -> Any:
    paths = [pattern(each.path) for each in parts]
    return layout_of(spark, kind, paths, order_by).frame(spark.read, paths)
