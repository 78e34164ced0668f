"""Files as Spark frames; columns of CSV and JSON get the types that they have in process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from acelera.cli.csv_texts import as_texts
from acelera.cli.inputs import Input, Inputs, is_remote
from acelera.cli.json_files import refuse_arrays, said_columns
from acelera.cli.reading import Column, Reading, columns_of_csv, columns_of_types, with_times
from acelera.cli.spark.spark_bad_rows import BAD, damage, value_or_error, what_is_wrong, without_bad
from acelera.cli.spark.spark_lines import DAMAGED, JSON, CsvLines, JsonLines, csv_lines_of, folders_of
from acelera.cli.spark.spark_texts import nulled, spark_type, text_of, value_of
from acelera.cli.text_types import IN_TEXTS, Form, chosen, form_of, guessed
from acelera.spark.schemas import arrow_schema
from acelera.spark.spark_expressions import quoted

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
    """How files are read: their columns, and what was said of them; `schema` is that of parquet or JSON, as Spark finds
    it.
    """

    format: str
    columns: tuple[Column, ...]
    reading: Reading
    schema: Any = None
    lines: CsvLines | JsonLines | None = None

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
        assert self.lines is not None
        columns = [replace(each, written=self.lines.places[each.written]) for each in self.columns]
        values = [value_of(text_of(each, self.reading), each).alias(each.name) for each in columns]
        wrong = what_is_wrong(columns, self.format, self.reading)
        return self.lines.rows(reader, paths).select(*values, wrong.alias(BAD))


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
    parts: Sequence[Input],
    reading: Reading,
    event_type: str | None = None,
    kept: Any = None,
    watched: bool = False,
) -> Layout:
    """The columns of files; text is read once to find out the types that are not said.

    `kept` is the schema of parquet or JSON, if it was found earlier, when texts had the types that `reading` says.
    If files are `watched`, others will come.
    """
    paths = [pattern(each.path) for each in parts]
    where = f" in `{paths[0].removeprefix('file://')}`"
    if kind == "parquet":
        schema = kept or spark.read.options(mergeSchema="true").parquet(*paths).schema
        columns = columns_of_types(_held(spark, schema), reading, where, {})
        return Layout(kind, tuple(columns), reading, schema)
    if kind == "csv":
        return _layout_of_csv(spark, parts, paths, reading, event_type, watched)
    refuse_arrays(file for each in parts for file in each.files)
    return _layout_of_json(spark, paths, reading, event_type, kept)


def _layout_of_csv(
    spark: Any, parts: Sequence[Input], paths: list[str], reading: Reading, event_type: str | None, watched: bool
) -> Layout:
    lines = csv_lines_of(spark, parts, paths, reading, watched)
    names, where = list(lines.places), f" in `{paths[0].removeprefix('file://')}`"

    def guess(wanted: Sequence[str]) -> dict[str, tuple[pa.DataType, Form | None]]:
        texts = _readable(lines.rows(spark.read, paths), "csv", len(lines.names), reading)
        found = _types(texts, [lines.places[name] for name in wanted], guessed(reading.decimal), reading)
        return {name: found[lines.places[name]] for name in wanted}

    return Layout("csv", tuple(columns_of_csv(names, reading, event_type, where, guess)), reading, None, lines)


def _layout_of_json(spark: Any, paths: list[str], reading: Reading, event_type: str | None, kept: Any) -> Layout:
    from pyspark.sql.types import StringType, StructField, StructType

    folders, where = folders_of(spark, paths), f" in `{paths[0].removeprefix('file://')}`"
    said = said_columns(reading, event_type, where) if kept is None else None
    if said is not None:
        said = [_read_exactly(each) for each in said]
        fields = [
            StructField(each.written, StringType() if pa.types.is_null(each.held) else spark_type(each.held))
            for each in said
        ]
        return Layout("json", tuple(said), reading, None, JsonLines(StructType(fields), folders))
    schema = kept
    if schema is None:
        schema = spark.read.options(**JSON).json(paths).schema
        schema = StructType([each for each in schema.fields if each.name != DAMAGED])
    lines, held = JsonLines(schema, folders), _held(spark, schema)
    texts_in = [name for name, each in held.items() if pa.types.is_string(each)]
    forms: dict[str, Form | None] = {}
    if kept is None:
        texts = _readable(lines.rows(spark.read, paths), "json", len(held), reading)
        for name, (kind, form) in _types(texts, texts_in, list(IN_TEXTS), reading).items():
            if pa.types.is_null(kind):
                held[name] = kind
            else:
                forms[name] = form
    else:
        types = reading.named_by_schema(event_type)
        forms = {name: form_of(types.get(reading.renamed.get(name, name), held[name])) for name in texts_in}
    return Layout("json", tuple(columns_of_types(held, reading, where, forms)), reading, schema, lines)


def _read_exactly(column: Column) -> Column:
    """A column of JSON; its decimals are read as texts, since Spark would round those that have too many digits."""
    if not pa.types.is_decimal(column.held):
        return column
    return replace(column, held=pa.string(), form=form_of(column.held))


def _held(spark: Any, schema: Any) -> dict[str, pa.DataType]:
    """The columns of a schema of Spark that Arrow can hold."""
    return {each.name: each.type for each in arrow_schema(spark.createDataFrame([], schema))}


def _readable(rows: Any, kind: str, width: int, reading: Reading) -> Any:
    """Rows of lines that are rows; others are left out, or an error."""
    return without_bad(rows.select("*", damage(kind, width, reading).alias(BAD)), reading)


def _types(
    frame: Any, names: Sequence[str], candidates: Sequence[Form], reading: Reading
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
        found[name] = chosen(forms, any_value)
    return found


def settled(layouts: Sequence[Layout], order_by: Sequence[str]) -> list[Layout]:
    """The layouts of all event types, in which is known what orders the stream."""
    found = with_times([each.columns for each in layouts], order_by, layouts[0].format)
    return [replace(each, columns=tuple(columns)) for each, columns in zip(layouts, found, strict=True)]


def frames_of(
    spark: Any, inputs: Inputs, order_by: Sequence[str], reading: Reading | None = None
) -> dict[str | None, Any]:
    """The frame of each event type, with the column BAD if rows may be bad; under None if there is but one stream."""
    by_type, reading = inputs.by_type, reading or Reading()
    layouts = [layout_of(spark, inputs.format, parts, reading, name) for name, parts in by_type.items()]
    reading.refuse_unknown(each.columns for each in layouts)
    return {
        name: layout.frame(spark.read, [pattern(each.path) for each in parts])
        for (name, parts), layout in zip(by_type.items(), settled(layouts, order_by), strict=True)
    }
