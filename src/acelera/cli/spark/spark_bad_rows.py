"""Rows of files that Spark cannot read: an error that names the first that is met, or counted and left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acelera.cli.bad_rows import ENDLESS, OF_LINES, OF_VALUES, OF_WIDTHS, tell_skipped
from acelera.cli.progress import Progress
from acelera.cli.reading import Column, Reading
from acelera.cli.spark.spark_lines import DAMAGED, FILE, LINE, well_quoted
from acelera.cli.spark.spark_texts import out_of_range, spark_type, text_of, value_of
from acelera.spark.spark_expressions import quoted

BAD = "_acelera_bad"
"""The column that tells what is wrong with a row; NULL if nothing is."""
_MOST = 200
"""Signs of a line that are shown."""

_OTHER_WIDTH = "values for other than"
_NO_OBJECT = "no JSON with values for"
_NOT_QUOTED = f"{ENDLESS}, or a text behind it"

COUNTED = "bad"
FIRST = "first"


def damage(kind: str, width: int, reading: Reading) -> Any:
    """What is wrong with a line that is no row, after the name of its file; NULL if it is one."""
    return _in_file(_damage(kind, width, reading))


def _damage(kind: str, width: int, reading: Reading) -> Any:
    from pyspark.sql import functions

    line, damaged = functions.col(LINE), functions.col(DAMAGED).isNotNull()
    if kind == "json":
        return functions.when(damaged, _said_of_line(f"{_NO_OBJECT} {width} columns"))
    swallowed = functions.contains(line, functions.lit('"')) & ~line.rlike(well_quoted(reading.delimiter))
    found = functions.when(swallowed, _said_of_line(_NOT_QUOTED))
    return found.when(damaged, _said_of_line(f"{_OTHER_WIDTH} {width} columns"))


def _said_of_line(what: str) -> Any:
    from pyspark.sql import functions

    return functions.concat(functions.lit(f"{what}, in the line: "), functions.substring(LINE, 1, _MOST))


def _in_file(wrong: Any) -> Any:
    from pyspark.sql import functions

    path = functions.replace(functions.col(FILE), functions.lit("+"), functions.lit("%2B"))
    file = functions.url_decode(functions.regexp_replace(path, "^file:/+", "/"))
    return functions.when(wrong.isNotNull(), functions.concat(file, functions.lit(", "), wrong))


def what_is_wrong(columns: Sequence[Column], kind: str, reading: Reading) -> Any:
    """What is wrong with a row, after the name of its file; NULL if nothing is."""
    from pyspark.sql import functions

    found = _damage(kind, len(columns), reading)
    row = _row(columns, reading)
    for each in columns:
        text, name = text_of(each, reading), functions.lit(f"column {each.name}: ")
        shown = functions.concat(name, _shown(text))
        if kind == "csv":
            said = functions.lit(" has bytes that are not of the encoding, or the sign \ufffd that stands for such")
            found = found.when(functions.contains(text, functions.lit("\ufffd")), functions.concat(shown, said))
        if each.form is not None or each.epoch is not None:
            wrong = text.isNotNull() & value_of(text, each).isNull()
            found = found.when(
                wrong, functions.concat(shown, _expected(text, each), functions.lit(", in the row: "), row)
            )
    return _in_file(found)


def _shown(text: Any) -> Any:
    from pyspark.sql import functions

    return functions.concat(functions.lit("'"), functions.substring(text.cast("string"), 1, 60), functions.lit("'"))


def _expected(text: Any, column: Column) -> Any:
    """What is wrong with a value, behind it."""
    from pyspark.sql import functions

    kind = column.form.expected if column.form is not None else f"time in the format {column.epoch}"
    said = functions.lit(f" is no {kind}")
    return said if column.unit is None else functions.coalesce(out_of_range(text, column), said)


def value_or_error(column: Column, reading: Reading) -> Any:
    """The values of a column of parquet; one that cannot be read is an error where it is met."""
    from pyspark.sql import functions

    text = text_of(column, reading)
    value = value_of(text, column)
    if column.form is None and column.epoch is None:
        return value
    said = functions.concat(
        functions.lit(f"acelera.errors.DataError: column {column.name}: "), _shown(text), _expected(text, column)
    )
    wrong = text.isNotNull() & value.isNull()
    return functions.when(wrong, functions.raise_error(said).cast(spark_type(column.kind))).otherwise(value)


def _row(columns: Sequence[Column], reading: Reading) -> Any:
    """The values of a row, as they stood there."""
    from pyspark.sql import functions

    values = [functions.col(quoted(each.written)).cast("string") for each in columns]
    filled = [functions.coalesce(each, functions.lit("")) for each in values]
    return functions.substring(functions.concat_ws(reading.delimiter, *filled), 1, _MOST)


def is_told(frame: Any) -> bool:
    """Whether a frame tells of bad rows."""
    return BAD in frame.columns


def observations() -> list[Any]:
    """What to observe of a frame that tells of bad rows."""
    from pyspark.sql import functions

    bad = functions.col(BAD)
    return [functions.count(bad).alias(COUNTED), functions.first(bad, ignorenulls=True).alias(FIRST)]


def without_bad(frame: Any, reading: Reading) -> Any:
    """The rows that can be read; if others are an error, that is raised where they are met."""
    from pyspark.sql import functions

    if not is_told(frame):
        return frame
    bad = functions.col(BAD)
    if reading.bad_rows != "skip":
        remedy = functions.when(functions.contains(bad, functions.lit(f", {_OTHER_WIDTH} ")), OF_WIDTHS)
        for what in (_NO_OBJECT, _NOT_QUOTED):
            remedy = remedy.when(functions.contains(bad, functions.lit(f", {what}")), OF_LINES)
        said = functions.concat(functions.lit("acelera.errors.DataError: "), bad, remedy.otherwise(OF_VALUES))
        bad = functions.when(bad.isNotNull(), functions.raise_error(said))
    return frame.where(bad.isNull()).drop(BAD)


def tell(skipped: int, example: str | None, progress: Progress, read: int | None) -> None:
    """Say how many rows were skipped, and which was one of them; `read` others were not."""
    tell_skipped(skipped, read, "one of them", example or "", progress)
