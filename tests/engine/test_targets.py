"""Every operation of the core is in the table of a target, or refused by it in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from acelera.automata.terms import Attr, Sql
from acelera.engine.predicates.arrow_expressions import ARROW, translated
from acelera.engine.registers.code import Input
from acelera.engine.registers.sql_instructions import INSTRUCTIONS, push_expression
from acelera.engine.registers.writer import Pushed, Writer
from acelera.language import ast
from acelera.language.lowering import COMPOSED, OPERATIONS, Table, UnsupportedError, operation_of
from acelera.language.parser import parse_expression
from acelera.language.schema import schema_of
from acelera.language.types import Kind
from acelera.spark.spark_expressions import SPARK, refusal

SCHEMA = schema_of(
    pa.schema(
        {
            "i": pa.int64(),
            "f": pa.float64(),
            "s": pa.string(),
            "b": pa.bool_(),
            "t": pa.timestamp("us"),
            "e": pa.duration("us"),
            "k": pa.date32(),
            "n": pa.decimal128(9, 2),
            "type": pa.string(),
        }
    )
)
SAMPLES = {
    "LITERAL": "i = 1",
    "TIMESTAMP": "t < TIMESTAMP '2024-01-31'",
    "DATE": "k = DATE '2024-01-31'",
    "INTERVAL": "e > INTERVAL 5 MINUTES",
    "ATTRIBUTE": "i = f",
    "NOT": "NOT b",
    "AND": "b AND i = 1",
    "OR": "b OR i = 1",
    **{symbol: f"f {symbol} 1.5" for symbol in ("=", "<>", "<", "<=", ">", ">=")},
    "IS NULL": "(f > 1) IS NULL",
    "LIKE": "s LIKE 'a%b'",
    "BETWEEN": "i BETWEEN 1 AND f",
    "IN": "i IN (1, 2, f)",
    "NEGATIVE": "-f > 0",
    **{symbol: f"f {symbol} 2 > i" for symbol in "+-*/%"},
    "||": "s || 'x' = 'ax'",
    **{function: f"{function}(f) > 1" for function in ("abs", "floor", "ceil", "sqrt")},
    **{function: f"{function}(s) = 'a'" for function in ("lower", "upper", "trim")},
    "length": "length(s) = 1",
    "coalesce": "coalesce(i, 1, 2) = 1",
    "nullif": "nullif(i, 1) = 2",
    "if": "if(b, i, 3) = 1",
    "CAST AS int": "CAST(f AS int) = 1",
    "CAST AS float": "CAST(i AS float) = 1.5",
    "CAST AS string": "CAST(i AS string) = '1'",
    "CAST AS bool": "CAST(s AS bool)",
}
"""A predicate for each operation, of types that every target does that does the operation."""


def to_arrow(expression: ast.Expression) -> None:
    translated(ARROW.lowered(expression), SCHEMA.columns)


def to_instructions(expression: ast.Expression) -> None:
    writer = Writer("us")

    def attribute(node: ast.Attribute) -> Pushed:
        given = SCHEMA.columns[node.name]
        timed = given.kind in (Kind.TIMESTAMP, Kind.DURATION)
        return writer.input(Input(Attr(node.name), given.kind), given.arrow.unit if timed else None)

    assert push_expression(expression, writer, attribute).kind is Kind.BOOL


def to_spark(expression: ast.Expression) -> None:
    leaves = {(node.variable, node.name): Attr(node.name) for node in ast.walk(expression) if is_attribute(node)}
    refused = refusal(Sql(expression, tuple(leaves.items())), SCHEMA)
    if refused is not None:
        raise UnsupportedError(refused)


def is_attribute(node: ast.Expression) -> bool:
    return isinstance(node, ast.Attribute)


TARGETS: dict[str, tuple[Table[Any], Callable[[ast.Expression], None]]] = {
    "Arrow": (ARROW, to_arrow),
    "instructions": (INSTRUCTIONS, to_instructions),
    "Spark": (SPARK, to_spark),
}


def test_all_operations_have_a_sample() -> None:
    assert set(SAMPLES) == set(OPERATIONS)
    samples = [list(ast.walk(parse_expression(text))) for text in SAMPLES.values()]
    for operation, nodes in zip(SAMPLES, samples, strict=True):
        assert operation in map(operation_of, nodes)
    known = {type(node) for nodes in samples for node in nodes}
    kinds = {kind for kind in ast.Expression.__subclasses__() if kind.__module__ == ast.Attribute.__module__}
    # These stand in SUMMARIZE, inside x[…] and in items of SELECT alone: when they are computed with, they are columns.
    assert known == kinds - {ast.Total, ast.Prev, ast.Running, ast.Aggregation, ast.Bound}


@pytest.mark.parametrize("target", TARGETS)
def test_tables_speak_of_nothing_else(target: str) -> None:
    table, _ = TARGETS[target]
    assert set(table.entries) <= set(OPERATIONS)


@pytest.mark.parametrize("operation", SAMPLES)
@pytest.mark.parametrize("target", TARGETS)
def test_an_operation_is_in_the_table_or_refused(target: str, operation: str) -> None:
    table, say = TARGETS[target]
    expression = parse_expression(SAMPLES[operation])
    if all(known in table.entries or known in COMPOSED for known in map(operation_of, ast.walk(expression))):
        say(expression)
        return
    with pytest.raises(UnsupportedError, match=table.lacking):
        say(expression)


@pytest.mark.parametrize("text", ["n + 1 > 2", "nullif(s, 'a') = 'b'", "CAST(s AS int) = i"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_refused_is_told_in_words(target: str, text: str) -> None:
    _, say = TARGETS[target]
    with pytest.raises(UnsupportedError, match=r"\w+ \w+"):
        say(parse_expression(text))


def test_why_spark_refuses() -> None:
    def why(text: str) -> str | None:
        expression = parse_expression(text)
        leaves = {
            (None, node.name): Attr(node.name) for node in ast.walk(expression) if isinstance(node, ast.Attribute)
        }
        return refusal(Sql(expression, tuple(leaves.items())), SCHEMA)

    assert why("i IN (1, 2)") is None
    assert why("t = TIMESTAMP '2024-01-31 00:00:00.000000001'") == "Spark's times are in microseconds"
    assert why("s = 'a\0b'") == "a text that does not reach the JVM as it is"
    assert why("NOT " * 60 + "b") == "this is too deep for Spark"
    assert why("abs(i) = 1") == "Spark does not compute this as the language means it"
