"""Lines of CSV and JSON on Spark, and the values in them as they are held there.

Spark reads lines, and the values are parsed out of them as a whole: so it is known of every line what it is, whichever
columns a query uses.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from acelera.cli.csv_bytes import warn_of_delimiter
from acelera.cli.csv_files import common_header
from acelera.cli.inputs import Input
from acelera.cli.reading import Reading
from acelera.errors import DataError
from acelera.language.schema import refuse_repeated
from acelera.spark.spark_expressions import quoted

LINE = "_acelera_line"
"""The column for the text of a line."""
FILE = "_acelera_file"
"""The column for the name of its file."""
DAMAGED = "_acelera_damaged"
"""The column for the text of a line that is no row; NULL if it is one."""

_ROW = "_acelera_row"

_NEVER = "\uffff"
"""A sign of no text."""

_WHOLE_LINES = {"sep": "\ufffe", "quote": _NEVER, "nullValue": _NEVER}
"""Options for CSV whose only column is the line: so Spark decodes lines, and leaves out those of names."""

_CSV = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": DAMAGED,
    "columnPruning": "false",  # else it does not tell rows with too few or too many values
    "escape": '"',
    "nullValue": _NEVER,  # so that what is empty in quotes is not NULL
}
JSON = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": DAMAGED, "allowSingleQuotes": "false"}

_CHARSETS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "iso8859-1": "ISO-8859-1",
    "ascii": "US-ASCII",
    "cp1252": "windows-1252",
    "iso8859-15": "ISO-8859-15",
    "cp1250": "windows-1250",
    "iso8859-2": "ISO-8859-2",
    "cp1251": "windows-1251",
}
"""How Java calls what Python decodes, of those whose lines end as in ASCII."""


@dataclass(frozen=True)
class CsvLines:
    """How lines of CSV are read: the names of their columns, and those of folders that are named key=value.

    `names_line` is the line of names that each file must begin with, if Spark is to look; None if there is none, or all
    files have been looked at.
    """

    names: tuple[str, ...]
    folders: tuple[str, ...]
    names_line: str | None
    reading: Reading

    @property
    def places(self) -> dict[str, str]:
        """What the columns are called in rows: their names may be alike for Spark, or none."""
        return {name: f"_{place}" for place, name in enumerate(self.names)} | {name: name for name in self.folders}

    def rows(self, reader: Any, paths: list[str] | str) -> Any:
        """The values as texts, beside lines, files and what is damaged, of `spark.read` or `spark.readStream`."""
        from pyspark.sql import functions

        lines = _whole_lines(reader, paths, self.reading, self.names_line, not self.reading.header, self.folders)
        fields = ", ".join(f"{each} string" for each in (*(self.places[name] for name in self.names), DAMAGED))
        options = {**_CSV, "sep": self.reading.delimiter.replace("\\", r"\\")}  # which Spark reads as an escape
        row = functions.from_csv(LINE, fields, options).alias(_ROW)
        return lines.select("*", row).select(LINE, FILE, *map(quoted, self.folders), f"{_ROW}.*")


@dataclass(frozen=True)
class JsonLines:
    """How lines of JSON are read: the schema of their objects, and the names of folders that are named key=value."""

    schema: Any
    folders: tuple[str, ...]

    @property
    def places(self) -> dict[str, str]:
        """What the columns are called in rows."""
        return {each.name: each.name for each in self.schema.fields}

    def rows(self, reader: Any, paths: list[str] | str) -> Any:
        """The values of objects, beside lines, files and what is damaged, of `spark.read` or `spark.readStream`.

        Each line is read within an array, which holds something else than one object if the line does.
        """
        from pyspark.sql import functions
        from pyspark.sql.types import ArrayType, StringType, StructField, StructType

        of_folders = [each for each in self.schema.fields if each.name in self.folders]
        objects = StructType([each for each in self.schema.fields if each.name not in self.folders])
        lines = reader.schema(StructType([StructField(LINE, StringType()), *of_folders])).text(paths)
        lines = lines.where(functions.col(LINE).rlike(r"\S")).select("*", _file())
        within = functions.concat(functions.lit('{"rows":['), LINE, functions.lit("]}"))
        array = StructType([StructField("rows", ArrayType(objects)), StructField(DAMAGED, StringType())])
        row = functions.col(_ROW)
        found = row["rows"]
        first = functions.get(found, functions.lit(0))
        fits = row[DAMAGED].isNull() & (functions.size(found) == 1) & first.isNotNull()
        fits = fits & functions.is_valid_utf8(functions.col(LINE))
        damaged = functions.when(~functions.coalesce(fits, functions.lit(False)), functions.col(LINE))
        return lines.select("*", functions.from_json(within, array, JSON).alias(_ROW)).select(
            LINE,
            FILE,
            *(quoted(each.name) for each in of_folders),
            *(first.getField(each.name).alias(each.name) for each in objects.fields),
            damaged.alias(DAMAGED),
        )


def csv_lines_of(spark: Any, parts: Sequence[Input], paths: list[str], reading: Reading, watched: bool) -> CsvLines:
    """Look at the lines of names; Spark does so as it reads if files are elsewhere, or more are to come."""
    charset(reading.encoding)
    folders, where = folders_of(spark, paths), paths[0].removeprefix("file://")
    if reading.header:
        refuse_repeated(reading.header, f" in `{where}`")
        return CsvLines(reading.header, folders, None, reading)
    here = [file for each in parts for file in each.files]
    names = common_header(here, reading) if here else []
    if here and not watched:
        return CsvLines(tuple(names), folders, None, reading)
    first = _whole_lines(spark.read, paths, reading, None, False, folders).first()
    if first is None:
        raise DataError(f"`{where}` is empty: CSV begins with a line of names")
    if not here:
        names = next(csv.reader([first[LINE]], delimiter=reading.delimiter))
        warn_of_delimiter(names, reading, where)
        refuse_repeated(names, f" in `{where}`")
        for name in names:
            if "\ufffd" in name:
                raise DataError(
                    f"the column `{name}` in `{where}` has bytes that are not {reading.encoding}; say what it is "
                    "written in, as --encoding latin-1"
                )
    return CsvLines(tuple(names), folders, first[LINE], reading)


def _whole_lines(
    reader: Any, paths: list[str] | str, reading: Reading, names_line: str | None, header: bool, folders: Sequence[str]
) -> Any:
    from pyspark.sql import functions
    from pyspark.sql.types import StringType, StructField, StructType

    name = LINE if names_line is None else names_line
    options = {
        **_WHOLE_LINES,
        "header": str(header).lower(),
        "enforceSchema": str(names_line is None).lower(),
        "encoding": charset(reading.encoding),
    }
    schema = StructType([StructField(each, StringType()) for each in (name, *folders)])
    frame = reader.schema(schema).options(**options).format("csv").load(paths)
    return frame.select(functions.col(quoted(name)).alias(LINE), _file(), *map(quoted, folders))


def folders_of(spark: Any, paths: list[str]) -> tuple[str, ...]:
    """The names of folders that are named key=value, which are columns."""
    return tuple(spark.read.text(paths).columns[1:])


def _file() -> Any:
    from pyspark.sql import functions

    return functions.col("_metadata.file_path").alias(FILE)


def well_quoted(delimiter: str) -> str:
    """The pattern, of Java, of lines in which a quote that begins a value has its end where the value ends.

    Nothing in it is tried twice, so long lines are no trouble.
    """
    sign = re.escape(delimiter)
    value = rf'(?:"[^"]*+(?:""[^"]*+)*+"|[^"{sign}][^{sign}]*+)?+'
    return rf"^{value}(?:{sign}{value})*+\z"


def charset(encoding: str) -> str:
    """How Java calls an encoding, in whose bytes Spark can find the ends of lines."""
    found = _CHARSETS.get(codecs.lookup(encoding).name)
    if found is None:
        raise click.UsageError(
            f"--encoding {encoding}: Spark finds no lines in files that are written so; make them UTF-8, as with "
            "iconv, or add --in-process"
        )
    return found
