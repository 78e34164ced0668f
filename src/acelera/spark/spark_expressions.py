"""Tests of one event as Spark columns, for what means the same in the JVM as in the definition.

Where Spark would differ (NaN is larger than all numbers and equal to itself, an overflow is an error), the column says
it as the language means it; what cannot be said exactly is not translated, and is tested in Python.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Sequence
from typing import Any

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.engine.frames import attribute_type, column_of
from acelera.engine.predicates.letters import over_columns
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.expressions import type_of
from acelera.language.like import WILD, parts_of, split
from acelera.language.schema import Schema
from acelera.language.tree import children
from acelera.language.types import Kind, Type

_COMPARED = {Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL, Kind.TIMESTAMP, Kind.DATE, Kind.DECIMAL}
_LARGEST_EXACT_DECIMAL = 18
_DEEPEST = 50  # Spark follows an expression by recursion, and its stack ends somewhere above 100


class UntranslatableError(Exception):
    """Spark does not compute this as the language means it."""


def to_column(test: Term, schema: Schema) -> Any | None:
    """A column that is true where the test holds and false everywhere else; None if it cannot be said exactly."""
    from pyspark.sql import functions

    if not isinstance(test, Sql) or not all(isinstance(term, Attr | Const) for _, term in test.leaves):
        return None
    expression = over_columns(test)
    if ast.fold(expression, lambda _, depths: 1 + max(depths, default=0), _operands) > _DEEPEST:
        return None
    try:
        column = ast.fold(expression, _Translation(schema).translate, _operands)
    except UntranslatableError:
        return None
    return functions.coalesce(column, functions.lit(False))


class _Translation:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def type_of(self, node: ast.Expression) -> Type:
        return type_of(node, lambda attribute: attribute_type(attribute.name, self.schema), lambda _: None)

    def translate(self, node: ast.Expression, made: Sequence[Any]) -> Any:
        from pyspark.sql import functions

        match node:
            case ast.Literal(value):
                return self._literal(value)
            case ast.Timestamp():
                return self._timestamp(node)
            case ast.Date():
                days = evaluate(node, _no_attributes)
                if days is None:
                    raise UntranslatableError
                return functions.date_add(functions.lit("1970-01-01").cast("date"), int(days))
            case ast.Attribute(_, name):
                return self._attribute(name)
            case ast.Unary("NOT", _):
                return ~made[0]
            case ast.Binary("AND", _, _):
                return _joined(made, operator.and_)
            case ast.Binary("OR", _, _):
                return _joined(made, operator.or_)
            case ast.Binary(symbol, left, right) if symbol in ("=", "<>", "<", "<=", ">", ">="):
                return self._compare(symbol, (made[0], self.type_of(left)), (made[1], self.type_of(right)))
            case ast.IsNull(_, negated):
                return made[0].isNotNull() if negated else made[0].isNull()
            case ast.Between(operand, low, high, negated):
                given = (made[0], self.type_of(operand))
                above = self._compare(">=", given, (made[1], self.type_of(low)))
                inside = above & self._compare("<=", given, (made[2], self.type_of(high)))
                return ~inside if negated else inside
            case ast.In(operand, items, negated):
                given = (made[0], self.type_of(operand))
                found = [
                    self._compare("=", given, (each, self.type_of(item)))
                    for each, item in zip(made[1:], items, strict=True)
                ]
                together = _joined(found, operator.or_)
                return ~together if negated else together
            case ast.Like(_, pattern, negated):
                like = _like(made[0], _sendable(pattern))
                return ~like if negated else like
        raise UntranslatableError

    def _literal(self, value: Any) -> Any:
        from pyspark.sql import functions

        if value is None:
            raise UntranslatableError
        if isinstance(value, str):
            return functions.lit(_sendable(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return functions.lit(value).cast("bigint")
        return functions.lit(value)

    def _timestamp(self, node: ast.Timestamp) -> Any:
        from pyspark.sql import functions

        moment = evaluate(node, _no_attributes)
        if moment is None or moment % 1000:
            raise UntranslatableError
        try:
            instant = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(moment) // 1000)
        except OverflowError:
            raise UntranslatableError from None
        text = instant.isoformat(sep=" ", timespec="microseconds")
        if self.type_of(node).zoned:
            return functions.lit(f"{text}+00:00").cast("timestamp")
        return functions.lit(text).cast("timestamp_ntz")

    def _attribute(self, name: str) -> Any:
        from pyspark.sql import functions

        column = column_of(name, self.schema)
        if column is None and name == "type" and self.schema.event_types:
            return functions.lit(next(iter(self.schema.event_types)))
        if column is None or self.schema.columns[column].kind not in _COMPARED:
            raise UntranslatableError
        found = functions.col(quoted(column))
        if self.schema.columns[column].kind is Kind.STRING:
            return found.cast("string")  # Spark would compare by the column's collation, or as CHAR(n): without blanks
        return found

    def _compare(self, symbol: str, left: tuple[Any, Type], right: tuple[Any, Type]) -> Any:
        """A comparison in which NaN is NULL."""
        from pyspark.sql import functions

        kinds = {left[1].kind, right[1].kind}
        one, two = left[0], right[0]
        if Kind.DECIMAL in kinds and any(_digits(each) > _LARGEST_EXACT_DECIMAL for each in (left[1], right[1])):
            raise UntranslatableError
        if Kind.FLOAT in kinds and kinds <= {Kind.FLOAT, Kind.INT, Kind.DECIMAL}:
            one, two = one.cast("double"), two.cast("double")
        elif not (kinds <= {Kind.INT, Kind.DECIMAL} or (len(kinds) == 1 and kinds <= _COMPARED)):
            raise UntranslatableError
        tests = {
            "=": lambda: one == two,
            "<>": lambda: one != two,
            "<": lambda: one < two,
            "<=": lambda: one <= two,
            ">": lambda: one > two,
            ">=": lambda: one >= two,
        }
        found = tests[symbol]()
        if Kind.FLOAT not in kinds:
            return found
        unknown = functions.isnan(one) | functions.isnan(two)
        return functions.when(~unknown, found)


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


def _sendable(text: str) -> str:
    """A text that reaches the JVM as it is."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise UntranslatableError
    return text


# --- long conditions ----------------------------------------------------------------------------------------------


def _operands(node: ast.Expression) -> Sequence[ast.Expression]:
    """What a node is made of; all links of a chain of AND, or of OR, at once."""
    if not isinstance(node, ast.Binary) or node.operator not in ("AND", "OR"):
        return children(node)
    links: list[ast.Expression] = []
    todo: list[ast.Expression] = [node.right, node.left]
    while todo:
        link = todo.pop()
        if isinstance(link, ast.Binary) and link.operator == node.operator:
            todo += [link.right, link.left]
        else:
            links.append(link)
    return links


def _joined(parts: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """All parts together, in a tree that is as low as it can be: a chain of a thousand would be too deep for Spark."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(_joined(parts[:middle], join), _joined(parts[middle:], join))


def _digits(kind: Type) -> int:
    return int(kind.arrow.precision) if kind.kind is Kind.DECIMAL else 0


def _like(column: Any, pattern: str) -> Any:
    """LIKE. Java's regular expressions, which are behind Spark's, would try every way to divide a text among several
    `%`; here each segment is taken where it first occurs, for good, as `language.like` does.
    """
    first, *others = (_regex(each) for each in split(pattern))
    if len(others) < 2 or not (first or others[-1] or others[1:-1]):  # which Spark knows how to push into files
        return column.like(_spark_pattern(pattern))
    taken = "".join(f"(?>.*?{segment})" for segment in others[:-1] if segment)
    return column.rlike(f"(?s)\\A{first}{taken}.*{others[-1]}\\z")


def _regex(parts: Sequence[str]) -> str:
    return "".join("." if part == "_" else f"\\x{{{ord(part[-1]):x}}}" for part in parts)


def _spark_pattern(pattern: str) -> str:
    """A pattern for LIKE, in which Spark lets a backslash stand only before %, _ and itself."""
    return "".join(part if part in WILD else _escaped(part[-1]) for part in parts_of(pattern))


def _escaped(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def _no_attributes(node: ast.Attribute) -> Any:
    raise AssertionError(f"a constant has no attribute {node.name}")
