"""Files as Spark frames; columns of CSV and JSON get the types that they have in process."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from acelera.cli.csv_bytes import warn_of_delimiter
from acelera.cli.csv_texts import as_texts
from acelera.cli.inputs import Inputs, is_remote
from acelera.cli.json_files import refuse_arrays, said_columns
from acelera.cli.reading import Column, Reading, columns_of_csv, columns_of_types
from acelera.cli.spark.spark_bad_rows import BAD, DAMAGED, damage, value_or_error, what_is_wrong, with_file, without_bad
from acelera.cli.spark.spark_texts import nulled, spark_type, text_of, value_of
from acelera.cli.text_types import IN_TEXTS, Form, chosen, form_of, guessed
from acelera.errors import DataError
from acelera.spark.schemas import arrow_schema
from acelera.spark.spark_expressions import quoted

_CSV = {
    "header": "true",
    "enforceSchema": "false",
    "columnPruning": "false",  # else it does not tell rows with too few or too many values
    "escape": '"',
    "nullValue": "\0",  # so that what is empty in quotes is not NULL
}
_PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": DAMAGED}

_CHARSETS = {
    "utf-8": "UTF-8",
    "iso8859-1": "ISO-8859-1",
    "ascii": "US-ASCII",
    "cp1252": "windows-1252",
    "iso8859-15": "ISO-8859-15",
    "cp1250": "windows-1250",
    "iso8859-2": "ISO-8859-2",
    "cp1251": "windows-1251",
}
"""How Java calls what Python decodes, of those whose lines end as in ASCII."""

WRITING = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""How values are written as text, so that none is changed."""


def written_as(frame: Any, kind: str) -> Any:
    """A result as it is written to files of a format: of CSV, with the texts that it has in process."""
    if kind != "csv":
        return frame
    return frame.mapInArrow(_texts_of, ", ".join(f"{quoted(name)} string" for name in frame.columns))


def _texts_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(as_texts, batches)


@dataclass(frozen=True)
class Layout:
    """How files are read: their columns, and what was said of them."""

    format: str
    columns: tuple[Column, ...]
    reading: Reading
    schema: Any = None

    def with_texts(self) -> Layout:
        """The same for files that are yet to come: a column that has had no value so far may hold any text.

        What is known of the values that are there says nothing of those to come.
        """
        columns = []
        for each in self.columns:
            if pa.types.is_null(each.kind):
                each = replace(each, kind=pa.string(), held=pa.string())
            elif each.form is not None:
                each = replace(each, form=replace(each.form, checked=False))
            columns.append(each)
        return replace(self, columns=tuple(columns))

    def frame(self, reader: Any, paths: list[str] | str) -> Any:
        """The files as a frame, of `spark.read` or `spark.readStream`; with the column BAD if rows may be bad."""
        if self.format == "parquet":
            frame = reader.schema(self.schema).parquet(*([paths] if isinstance(paths, str) else paths))
            return frame.select(*(value_or_error(each, self.reading).alias(each.name) for each in self.columns))
        options = {**_options(self.format, self.reading), **_PERMISSIVE}
        frame = reader.schema(self._schema()).options(**options).format(self.format).load(paths)
        values = [self._value(each).alias(each.name) for each in self.columns]
        wrong = what_is_wrong(self.columns, self.format, self.reading)
        return with_file(frame).select(*values, wrong.alias(BAD))

    def _schema(self) -> Any:
        """The columns as they are held in files, and what is damaged."""
        from pyspark.sql.types import StringType, StructField, StructType

        if self.schema is not None:
            return StructType([*self.schema.fields, StructField(DAMAGED, StringType())])
        fields = [
            StructField(each.written, StringType() if pa.types.is_null(each.held) else spark_type(each.held))
            for each in self.columns
        ]
        return StructType([*fields, StructField(DAMAGED, StringType())])

    def _value(self, column: Column) -> Any:
        return value_of(text_of(column, self.reading), column)


def _options(kind: str, reading: Reading) -> dict[str, str]:
    if kind != "csv":
        return {}
    found = {**_CSV, "sep": reading.delimiter}
    if reading.header:
        found["header"] = "false"
    if not reading.is_utf8:
        found["encoding"] = charset(reading.encoding)
    return found


def charset(encoding: str) -> str:
    """How Java calls an encoding, in whose bytes Spark can find the ends of lines."""
    found = _CHARSETS.get(codecs.lookup(encoding).name)
    if found is None:
        raise click.UsageError(
            f"--encoding {encoding}: Spark finds no lines in files that are written so; make them UTF-8, as with "
            "iconv, or add --in-process"
        )
    return found


def place(path: str) -> str:
    """A path that names no file system is one of this machine, whatever Spark takes for its own.

    >>> place("/data/day 1.csv")
    'file:///data/day 1.csv'
    """
    return path if is_remote(path) else f"file://{Path(path).absolute()}"


def pattern(path: str) -> str:
    """The pattern that fits this path alone: Spark reads names of inputs as patterns."""
    return path if is_remote(path) else re.sub(r"[\[\]{}*?\\]", r"\\\g<0>", place(path))


def layout_of(
    spark: Any,
    kind: str,
    paths: list[str],
    order_by: Sequence[str],
    reading: Reading,
    event_type: str | None = None,
    kept: Any = None,
) -> Layout:
    """The columns of files; text is read once to find out the types that are not said.

    `kept` is the schema of parquet or JSON, if it was found earlier, when texts had the types that `reading` says.
    """
    where = f" in `{paths[0].removeprefix('file://')}`"
    if kind == "parquet":
        schema = kept or spark.read.options(mergeSchema="true").parquet(*paths).schema
        columns = columns_of_types(_held(spark, schema), reading, where, {})
        return Layout(kind, tuple(columns), reading, schema)
    if kind == "csv":
        names = list(reading.header) or spark.read.options(**_options(kind, reading)).csv(paths).columns
        warn_of_delimiter(names, reading, paths[0].removeprefix("file://"))
        for name in names:
            if "\ufffd" in name:
                raise DataError(
                    f"the column `{name}`{where} has bytes that are not {reading.encoding}; say what it is written in, "
                    "as --encoding latin-1"
                )
        texts = _texts(spark, paths, names, reading)
        guess = lambda wanted: _types(texts, wanted, guessed(reading.decimal), order_by, reading)  # noqa: E731
        return Layout(kind, tuple(columns_of_csv(names, reading, event_type, where, guess)), reading)
    if kept is not None:
        held, types = _held(spark, kept), reading.named_by_schema(event_type)
        kinds = {name: types.get(reading.renamed.get(name, name), held[name]) for name in held}
        forms = {name: form_of(each) for name, each in kinds.items() if pa.types.is_string(held[name])}
        return Layout(kind, tuple(columns_of_types(held, reading, where, forms)), reading, kept)
    said = said_columns(reading, event_type, where)
    if said is not None:
        return Layout(kind, tuple(said), reading)
    frame = spark.read.options(
        mode="PERMISSIVE" if reading.bad_rows == "skip" else "FAILFAST", columnNameOfCorruptRecord=DAMAGED
    ).json(paths)
    held = {each.name: each.type for each in arrow_schema(frame.drop(DAMAGED))}
    texts_in = [name for name, each in held.items() if pa.types.is_string(each)]
    types = _types(frame, texts_in, list(IN_TEXTS), order_by, reading)
    held.update({name: pa.null() for name, (found_kind, _) in types.items() if pa.types.is_null(found_kind)})
    forms = {name: form for name, (_, form) in types.items() if form is not None}
    schema = frame.drop(DAMAGED).schema
    return Layout(kind, tuple(columns_of_types(held, reading, where, forms)), reading, schema)


def _held(spark: Any, schema: Any) -> dict[str, pa.DataType]:
    """The columns of a schema of Spark that Arrow can hold."""
    return {each.name: each.type for each in arrow_schema(spark.createDataFrame([], schema))}


def _texts(spark: Any, paths: list[str], names: Sequence[str], reading: Reading) -> Any:
    """Rows of CSV as text; those that have too few or too many values are left out, or an error."""
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(name, StringType()) for name in (*names, DAMAGED)])
    frame = spark.read.schema(schema).options(**_options("csv", reading), **_PERMISSIVE).csv(paths)
    wrong = damage("csv", len(names)).alias(BAD)
    return without_bad(with_file(frame).select(*(quoted(name) for name in names), wrong), reading)


def _types(
    frame: Any, names: Sequence[str], candidates: Sequence[Form], order_by: Sequence[str], reading: Reading
) -> dict[str, tuple[pa.DataType, Form | None]]:
    """The types of columns of text, found in one pass over them."""
    from pyspark.sql import functions

    if not names:
        return {}
    asked = []
    for name in names:
        column = nulled(functions.col(quoted(name)), reading.nulls)
        asked.append(functions.count(column) > 0)
        asked += [
            functions.coalesce(functions.bool_and(column.rlike(form.pattern)), functions.lit(True))
            for form in candidates
        ]
    answers = list(frame.agg(*asked).collect()[0])
    found = {}
    for index, name in enumerate(names):
        any_value, *fits = answers[index * (len(candidates) + 1) : (index + 1) * (len(candidates) + 1)]
        forms = [form for form, holds in zip(candidates, fits, strict=True) if holds]
        found[name] = chosen(forms, any_value, reading.renamed.get(name, name) in order_by)
    return found


def frames_of(
    spark: Any, inputs: Inputs, order_by: Sequence[str], reading: Reading | None = None
) -> dict[str | None, Any]:
    """The frame of each event type, with the column BAD if rows may be bad; under None if there is but one stream."""
    found, reading = {}, reading or Reading()
    for name, parts in inputs.by_type.items():
        paths = [pattern(each.path) for each in parts]
        if inputs.format == "json":
            refuse_arrays(file for each in parts for file in each.files)
        found[name] = layout_of(spark, inputs.format, paths, order_by, reading, name).frame(spark.read, paths)
    return found
