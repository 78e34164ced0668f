"""Tests of one event as Spark columns, for what means the same in the JVM as in the definition.

Where Spark would differ (NaN is larger than all numbers and equal to itself, an overflow is an error), the column says
it as the language means it; what cannot be said exactly is not translated, and is tested in Python.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.engine.frames import attribute_type, column_of
from acelera.engine.predicates.letters import over_columns
from acelera.language import ast
from acelera.language.evaluation import constant
from acelera.language.expressions import type_of
from acelera.language.lowering import Table, UnsupportedError, links
from acelera.language.schema import Schema
from acelera.language.types import BOOL, UNKNOWN, Kind, Type
from acelera.spark.spark_like import like

_COMPARED = {Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL, Kind.TIMESTAMP, Kind.DATE, Kind.DECIMAL}
_LARGEST_EXACT_DECIMAL = 18
_DEEPEST = 50  # Spark follows an expression by recursion, and its stack ends somewhere above 100
_LACKING = "Spark does not compute this as the language means it"


class _Asked(NamedTuple):
    """What Spark is asked for: an operation, and the types of its operands."""

    node: ast.Expression
    types: Sequence[Type]
    schema: Schema


@dataclass(frozen=True)
class _How:
    """How an operation is said: `kind` is the type of its result, or refuses it; `column` makes the column.

    The first needs no Spark, so that one can ask beforehand what will be said.
    """

    kind: Callable[[_Asked], Type]
    column: Callable[[_Asked, Sequence[Any]], Any]


def to_column(test: Term, schema: Schema) -> Any | None:
    """A column that is true where the test holds and false everywhere else; None if it cannot be said exactly."""
    from pyspark.sql import functions

    def combine(node: ast.Expression, made: Sequence[tuple[Type, Any]]) -> tuple[Type, Any]:
        how, asked = SPARK.how(node), _Asked(node, [kind for kind, _ in made], schema)
        return how.kind(asked), how.column(asked, [column for _, column in made])

    try:
        _, column = ast.fold(_lowered(test), combine, links)
    except UnsupportedError:
        return None
    return functions.coalesce(column, functions.lit(False))


class JvmTests:
    """Tests of one event as columns, each made once."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._columns: dict[Term, Any | None] = {}

    def column(self, test: Term) -> Any | None:
        """The column of a test; None if it cannot be said exactly."""
        if test not in self._columns:
            self._columns[test] = to_column(test, self._schema)
        return self._columns[test]


def refusal(test: Term, schema: Schema) -> str | None:
    """Why a test cannot be said to Spark, in words; None if it can. Spark need not run for it."""

    def combine(node: ast.Expression, types: Sequence[Type]) -> Type:
        return SPARK.how(node).kind(_Asked(node, types, schema))

    try:
        ast.fold(_lowered(test), combine, links)
    except UnsupportedError as error:
        return str(error)
    return None


def _lowered(test: Term) -> ast.Expression:
    """The expression of a test in the core."""
    if not isinstance(test, Sql) or not all(isinstance(term, Attr | Const) for _, term in test.leaves):
        raise UnsupportedError("this is no expression over columns")
    expression = over_columns(test)
    if ast.fold(expression, _depth, links) > _DEEPEST:
        raise UnsupportedError("this is too deep for Spark")
    return SPARK.lowered(expression)


def _depth(_: ast.Expression, depths: Sequence[int]) -> int:
    return 1 + max(depths, default=0)


# --- constants and columns ----------------------------------------------------------------------------------------


def _literal_type(asked: _Asked) -> Type:
    assert isinstance(asked.node, ast.Literal)
    value = asked.node.value
    if type(value) not in (bool, int, float, str):
        raise UnsupportedError(_LACKING)
    if isinstance(value, str):
        _refuse_unsendable(value)
    return _constant_type(asked)


def _constant_type(asked: _Asked) -> Type:
    found = type_of(asked.node, lambda _: UNKNOWN, lambda _: None)
    if found.vague:
        raise UnsupportedError(_LACKING)
    return found


def _refuse_unsendable(text: str) -> None:
    """Refuse a text that does not reach the JVM as it is."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise UnsupportedError("a text that does not reach the JVM as it is")


def _literal(asked: _Asked, _: Sequence[Any]) -> Any:
    from pyspark.sql import functions

    assert isinstance(asked.node, ast.Literal)
    value = asked.node.value
    return functions.lit(value).cast("bigint") if type(value) is int else functions.lit(value)


def _date_type(asked: _Asked) -> Type:
    if constant(asked.node) is None:
        raise UnsupportedError(_LACKING)
    return _constant_type(asked)


def _date(asked: _Asked, _: Sequence[Any]) -> Any:
    from pyspark.sql import functions

    return functions.date_add(functions.lit("1970-01-01").cast("date"), int(constant(asked.node)))


def _timestamp_type(asked: _Asked) -> Type:
    _instant(asked.node)
    return _constant_type(asked)


def _timestamp(asked: _Asked, _: Sequence[Any]) -> Any:
    from pyspark.sql import functions

    text = _instant(asked.node).isoformat(sep=" ", timespec="microseconds")
    if _constant_type(asked).zoned:
        return functions.lit(f"{text}+00:00").cast("timestamp")
    return functions.lit(text).cast("timestamp_ntz")


def _instant(node: ast.Expression) -> datetime.datetime:
    """A constant time, by the clock of UTC if it has a zone."""
    moment = constant(node)
    if moment is None or moment % 1000:
        raise UnsupportedError("Spark's times are in microseconds")
    try:
        return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(moment) // 1000)
    except OverflowError:
        raise UnsupportedError("a time after the year 9999, or before the first") from None


def _attribute_type(asked: _Asked) -> Type:
    assert isinstance(asked.node, ast.Attribute)
    name, schema = asked.node.name, asked.schema
    column = column_of(name, schema)
    only = column is None and name == "type" and bool(schema.event_types)
    if not only and (column is None or schema.columns[column].kind not in _COMPARED):
        raise UnsupportedError(_LACKING)
    return attribute_type(name, schema)


def _attribute(asked: _Asked, _: Sequence[Any]) -> Any:
    from pyspark.sql import functions

    assert isinstance(asked.node, ast.Attribute)
    column = column_of(asked.node.name, asked.schema)
    if column is None:  # the type of events that are all of one type
        return functions.lit(next(iter(asked.schema.event_types or ())))
    found = functions.col(quoted(column))
    if asked.schema.columns[column].kind is Kind.STRING:
        return found.cast("string")  # Spark would compare by the column's collation, or as CHAR(n): without blanks
    return found


# --- comparisons --------------------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _comparison_type(asked: _Asked) -> Type:
    kinds = {given.kind for given in asked.types}
    if Kind.DECIMAL in kinds and any(_digits(given) > _LARGEST_EXACT_DECIMAL for given in asked.types):
        raise UnsupportedError(f"decimals of more than {_LARGEST_EXACT_DECIMAL} digits")
    floats = Kind.FLOAT in kinds and kinds <= {Kind.FLOAT, Kind.INT, Kind.DECIMAL}
    if not (floats or kinds <= {Kind.INT, Kind.DECIMAL} or (len(kinds) == 1 and kinds <= _COMPARED)):
        raise UnsupportedError(_LACKING)
    return BOOL


def _digits(given: Type) -> int:
    return int(given.arrow.precision) if given.kind is Kind.DECIMAL else 0


def _comparison(asked: _Asked, made: Sequence[Any]) -> Any:
    """A comparison in which NaN is NULL."""
    from pyspark.sql import functions

    assert isinstance(asked.node, ast.Binary)
    compare = _COMPARISONS[asked.node.operator]
    if all(given.kind is not Kind.FLOAT for given in asked.types):
        return compare(*made)
    left, right = (column.cast("double") for column in made)
    return functions.when(~(functions.isnan(left) | functions.isnan(right)), compare(left, right))


# --- what is true or false ----------------------------------------------------------------------------------------


def _truth(_: _Asked) -> Type:
    return BOOL


def _not(_: _Asked, made: Sequence[Any]) -> Any:
    return ~made[0]


def _and(_: _Asked, made: Sequence[Any]) -> Any:
    return _joined(made, operator.and_)


def _or(_: _Asked, made: Sequence[Any]) -> Any:
    return _joined(made, operator.or_)


def _joined(parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """All parts together, in a tree that is as low as it can be: a chain of a thousand would be too deep for Spark."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(_joined(parts[:middle], join), _joined(parts[middle:], join))


def _is_null(_: _Asked, made: Sequence[Any]) -> Any:
    return made[0].isNull()


def _like_type(asked: _Asked) -> Type:
    assert isinstance(asked.node, ast.Like)
    _refuse_unsendable(asked.node.pattern)
    return BOOL


def _like(asked: _Asked, made: Sequence[Any]) -> Any:
    assert isinstance(asked.node, ast.Like)
    return like(made[0], asked.node.pattern)


SPARK: Table[_How] = Table(
    {
        "LITERAL": _How(_literal_type, _literal),
        "TIMESTAMP": _How(_timestamp_type, _timestamp),
        "DATE": _How(_date_type, _date),
        "ATTRIBUTE": _How(_attribute_type, _attribute),
        "NOT": _How(_truth, _not),
        "AND": _How(_truth, _and),
        "OR": _How(_truth, _or),
        **dict.fromkeys(_COMPARISONS, _How(_comparison_type, _comparison)),
        "IS NULL": _How(_truth, _is_null),
        "LIKE": _How(_like_type, _like),
    },
    _LACKING,
)


# --- columns ------------------------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    """A column by its name, whatever the name is."""
    return "`" + name.replace("`", "``") + "`"


def ticks_of(column: Any, zoned: bool) -> Any:
    """A time in microseconds.

    A time without a zone is taken apart by the clock: a difference would go through the zone of the session, in which
    some times do not exist.
    """
    from pyspark.sql import functions

    if zoned:
        return functions.unix_micros(column)
    days = functions.date_diff(column.cast("date"), functions.lit("1970-01-01").cast("date")).cast("bigint")
    minutes = (days * 24 + functions.hour(column)) * 60 + functions.minute(column)
    seconds = functions.extract(functions.lit("SECOND"), column)  # with a fraction, as a decimal
    return minutes * 60_000_000 + (seconds * 1_000_000).cast("bigint")
