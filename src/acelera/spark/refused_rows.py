"""Rows that a session refuses, refused by the JVM: without a place in the order, that tie, or with texts that are none.

The error stands in the condition that tells matches, so that Spark cannot leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from acelera.language.order_errors import no_place, tie_text
from acelera.language.schema import Schema
from acelera.language.types import Kind
from acelera.tables import unreadable

At = Callable[[int, str], Any]
"""The Spark column of a column of the stream: of a row, or of the row so many places after it in its partition."""


def unless_refused(holds: Any, at: At, columns: Sequence[str], schema: Schema, keys: Sequence[str]) -> Any:
    """A condition on rows, which is an error for one that is refused; `columns` are those that are looked at."""
    from pyspark.sql import functions

    found = functions
    for name in columns:
        if schema.columns[name].kind is Kind.STRING:
            text = unreadable(name, schema.columns[name].arrow, "it holds bytes that are not UTF-8")
            found = found.when(~functions.is_valid_utf8(at(0, name)), _error(text))
    for name in schema.order_by:
        here = at(0, name)
        found = found.when(here.isNull(), _error(str(no_place(None, name, None))))
        if schema.columns[name].kind is Kind.FLOAT:
            found = found.when(functions.isnan(here), _error(str(no_place(None, name, float("nan")))))
    tied = reduce(lambda left, right: left & right, [at(0, name) == at(1, name) for name in schema.order_by])
    return found.when(tied, _tie(at, schema, keys)).otherwise(holds)


def _error(text: str) -> Any:
    from pyspark.sql import functions

    return functions.raise_error(functions.lit(text))


def _tie(at: At, schema: Schema, keys: Sequence[str]) -> Any:
    from pyspark.sql import functions

    names = (*schema.order_by, *keys)
    text = tie_text("two rows", *([_escaped(name) + " = %s" for name in each] for each in (schema.order_by, keys)))
    return functions.raise_error(
        functions.format_string(text, *(_written(at(0, name), schema, name) for name in names))
    )


def _escaped(name: str) -> str:
    return name.replace("%", "%%")


def _written(column: Any, schema: Schema, name: str) -> Any:
    """A value as a person writes it; a time with a zone as it is in the zone of the session."""
    from pyspark.sql import functions

    kind, text = schema.columns[name], functions.coalesce(column.cast("string"), functions.lit("NULL"))
    if kind.kind is Kind.STRING:
        return functions.when(column.isNull(), text).otherwise(
            functions.concat(functions.lit("'"), text, functions.lit("'"))
        )
    return functions.concat(text, functions.lit(" "), functions.current_timezone()) if kind.zoned else text
