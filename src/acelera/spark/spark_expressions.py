"""Expressions as Spark columns, for what means the same in the JVM as in the definition: tests of one event, and more.


Where Spark would differ (NaN is larger than all numbers and equal to itself, an overflow is an error), the column says
it as the language means it; what cannot be said exactly is not translated, and is computed in Python.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.engine.frames import attribute_type, column_of
from acelera.engine.predicates.letters import over_columns
from acelera.language import ast
from acelera.language.evaluation import constant
from acelera.language.expressions import type_of
from acelera.language.lowering import Table, UnsupportedError, links
from acelera.language.schema import Schema
from acelera.language.types import BOOL, FLOAT, INT, UNKNOWN, Kind, Type
from acelera.spark.spark_like import like

_COMPARED = {Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL, Kind.TIMESTAMP, Kind.DATE, Kind.DECIMAL}
_LARGEST_EXACT_DECIMAL = 18
_DEEPEST = 50  # Spark follows an expression by recursion, and its stack ends somewhere above 100
_LACKING = "Spark does not compute this as the language means it"


ColumnOf = Callable[[ast.Attribute, str], Any]
"""The Spark column of an attribute that comes from a column of the stream."""


class _Asked(NamedTuple):
    """What Spark is asked for: an operation, and the types of its operands."""

    node: ast.Expression
    types: Sequence[Type]
    schema: Schema
    column_of: ColumnOf


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

    try:
        column = column_of_expression(_over_columns(test), schema, _as_it_is)
    except UnsupportedError:
        return None
    return functions.coalesce(column, functions.lit(False))


def column_of_expression(expression: ast.Expression, schema: Schema, column_of: ColumnOf) -> Any:
    """An expression as a column, from the columns of its attributes; an UnsupportedError if it cannot be said."""

    def combine(node: ast.Expression, made: Sequence[tuple[Type, Any]]) -> tuple[Type, Any]:
        how, asked = SPARK.how(node), _Asked(node, [kind for kind, _ in made], schema, column_of)
        return how.kind(asked), how.column(asked, [column for _, column in made])

    return ast.fold(_lowered(expression), combine, links)[1]


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


MOST_TESTS = 62
"""How many tests go into the bits of one number."""


def letter_column(asked: Sequence[Term], tests: JvmTests) -> Any:
    """The tests that hold, as the bits of one number."""
    from pyspark.sql import functions

    bits = []
    for bit, test in enumerate(asked):
        column = tests.column(test)
        assert column is not None
        bits.append(
            functions.when(column, functions.lit(1 << bit).cast("bigint")).otherwise(functions.lit(0).cast("bigint"))
        )
    return reduce(lambda left, right: left.bitwiseOR(right), bits)


def refusal(test: Term, schema: Schema) -> str | None:
    """Why a test cannot be said to Spark, in words; None if it can. Spark need not run for it."""

    try:
        check_expression(_over_columns(test), schema)
    except UnsupportedError as error:
        return str(error)
    return None


def check_expression(expression: ast.Expression, schema: Schema) -> Type:
    """The type of an expression that can be said to Spark; an UnsupportedError tells in words why it cannot."""

    def combine(node: ast.Expression, types: Sequence[Type]) -> Type:
        return SPARK.how(node).kind(_Asked(node, types, schema, _as_it_is))

    return ast.fold(_lowered(expression), combine, links)


def lowered(test: Term) -> ast.Expression:
    """The expression of a test in the core."""
    return _lowered(_over_columns(test))


def _over_columns(test: Term) -> ast.Expression:
    """The expression of a test."""
    if not isinstance(test, Sql) or not all(isinstance(term, Attr | Const) for _, term in test.leaves):
        raise UnsupportedError("this is no expression over columns")
    return over_columns(test)


def _as_it_is(_: ast.Attribute, name: str) -> Any:
    """A column by its name."""
    from pyspark.sql import functions

    return functions.col(quoted(name))


def _lowered(expression: ast.Expression) -> ast.Expression:
    """An expression in the core."""
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
    found = asked.column_of(asked.node, column)
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


def _only_type(node: ast.Expression, schema: Schema) -> ast.Expression:
    """An operand; the type of events that are all of one type is a text."""
    only = isinstance(node, ast.Attribute) and node.name == "type" and column_of("type", schema) is None
    return ast.Literal(next(iter(schema.event_types or ()), None)) if only else node


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
    left_node, right_node = (_only_type(each, asked.schema) for each in (asked.node.left, asked.node.right))
    if left_node == right_node:  # Spark would warn of it; it is the same for all values that are any
        known = made[0].isNotNull()
        if asked.types[0].kind is Kind.FLOAT:
            known &= ~functions.isnan(made[0])
        return functions.when(known, functions.lit(compare(0, 0)))
    if all(given.kind is not Kind.FLOAT for given in asked.types):
        return compare(*made)
    left, right = (column.cast("double") for column in made)
    return functions.when(~(functions.isnan(left) | functions.isnan(right)), compare(left, right))


# --- arithmetic ---------------------------------------------------------------------------------------------------

_WHOLE = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
"""The functions of Spark for whole numbers: what does not fit into 64 bits is NULL."""

_FLOATING: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _number_type(asked: _Asked) -> Type:
    """Whole numbers stay so; with a float among them, all are floats."""
    kinds = {given.kind for given in asked.types}
    if not kinds <= {Kind.INT, Kind.FLOAT}:
        raise UnsupportedError(_LACKING)
    return FLOAT if Kind.FLOAT in kinds else INT


def _arithmetic(asked: _Asked, made: Sequence[Any]) -> Any:
    from pyspark.sql import functions

    assert isinstance(asked.node, ast.Binary)
    if _number_type(asked) is FLOAT:
        return _FLOATING[asked.node.operator](*(column.cast("double") for column in made))
    return getattr(functions, _WHOLE[asked.node.operator])(*(column.cast("bigint") for column in made))


def _negative(asked: _Asked, made: Sequence[Any]) -> Any:
    from pyspark.sql import functions

    return (
        -made[0].cast("double")
        if _number_type(asked) is FLOAT
        else functions.try_subtract(functions.lit(0).cast("bigint"), made[0].cast("bigint"))
    )


def _quotient_type(asked: _Asked) -> Type:
    _number_type(asked)
    return FLOAT


def _quotient(_: _Asked, made: Sequence[Any]) -> Any:
    """Nothing divides by zero."""
    from pyspark.sql import functions

    return functions.try_divide(*(column.cast("double") for column in made))


# --- what is true or false ----------------------------------------------------------------------------------------


def _truth(_: _Asked) -> Type:
    return BOOL


def _not(_: _Asked, made: Sequence[Any]) -> Any:
    return ~made[0]


def _and(_: _Asked, made: Sequence[Any]) -> Any:
    return joined(made, operator.and_)


def _or(_: _Asked, made: Sequence[Any]) -> Any:
    return joined(made, operator.or_)


def joined(parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """All parts together, in a tree that is as low as it can be: a chain of a thousand would be too deep for Spark."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(joined(parts[:middle], join), joined(parts[middle:], join))


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
        **dict.fromkeys(_WHOLE, _How(_number_type, _arithmetic)),
        "/": _How(_quotient_type, _quotient),
        "NEGATIVE": _How(_number_type, _negative),
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
