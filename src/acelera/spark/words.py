"""Tests of one event as the bits of words, and what a row must satisfy to matter, made by the JVM.

The JVM compiles no method of more than 8,000 bytes, and Spark makes one method of all that is asked of a row. So what
is asked there is kept small: tests of one column are found by halves, and rows are only dropped by what queries that
are alike ask for in common, the least of their thresholds. What is left is told apart in workers.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from acelera.automata.terms import Term
from acelera.engine.comparisons import Comparison, Stretches, comparison_of
from acelera.engine.shared_tests import PER_WORD
from acelera.language import ast
from acelera.language.schema import Schema
from acelera.language.types import Kind
from acelera.spark.spark_expressions import joined, lowered, quoted, to_column

MOST_ASKED = 48
"""So many comparisons with constants are made of a row by the JVM for words, and so many to drop it."""

Test = tuple[Term, Schema]


def size_of(test: Test) -> int:
    """How much a test asks of the JVM: the operations it consists of, beside the columns and constants."""
    compared = comparison_of(*test)
    if compared is not None:
        return len(compared.constants)
    nodes = list(ast.walk(lowered(test[0])))
    return max(1, sum(not isinstance(node, ast.Attribute | ast.Literal) for node in nodes))


def words_of(tests: Sequence[Test]) -> list[Any]:
    """The words of some tests, which Spark can say."""
    begins = range(0, len(tests), PER_WORD)
    return [_word(tests[begin : begin + PER_WORD]) for begin in begins]


def _word(tests: Sequence[Test]) -> Any:
    """Tests as the bits of one number."""
    by_column: dict[str, list[tuple[int, Comparison]]] = {}
    parts = []
    for bit, (test, schema) in enumerate(tests):
        compared = comparison_of(test, schema)
        if compared is None:
            parts.append(_bits(to_column(test, schema), 1 << bit))
        else:
            by_column.setdefault(compared.column, []).append((bit, compared))
    schema = tests[0][1]
    parts += [_tree(schema.columns[name].kind, name, Stretches.of(asked)) for name, asked in by_column.items()]
    return joined(parts, lambda one, two: one.bitwiseOR(two))


def _bits(condition: Any, bits: int) -> Any:
    from pyspark.sql import functions

    return functions.when(condition, _number(bits)).otherwise(_number(0))


def _number(bits: int) -> Any:
    from pyspark.sql import functions

    return functions.lit(bits).cast("bigint")


def _tree(kind: Kind, name: str, stretches: Stretches) -> Any:
    """The bits of the tests that hold for a value: none for NULL and NaN."""
    from pyspark.sql import functions

    column, (constants, bits) = functions.col(quoted(name)), (stretches.constants, stretches.bits)
    value, known = column.cast(_CASTS[kind]), column.isNotNull()
    if kind is Kind.FLOAT:
        known = known & ~functions.isnan(value)

    def below(first: int, end: int) -> Any:
        """The bits of a value between the constants before the first and from the end on."""
        if first == end:
            return _number(bits[2 * first])
        middle = (first + end) // 2
        constant = functions.lit(constants[middle]).cast(_CASTS[kind])
        before, here, behind = below(first, middle), bits[2 * middle + 1], below(middle + 1, end)
        if here == bits[2 * middle]:
            return functions.when(value <= constant, before).otherwise(behind)
        if here == bits[2 * middle + 2]:
            return functions.when(value < constant, before).otherwise(behind)
        return functions.when(value < constant, before).when(value == constant, _number(here)).otherwise(behind)

    return functions.when(known, below(0, len(constants))).otherwise(_number(0))


_CASTS = {Kind.STRING: "string", Kind.INT: "bigint", Kind.FLOAT: "double"}

# --- what drops rows ----------------------------------------------------------------------------------------------


def relevant(reactions: Sequence[Sequence[Test]]) -> Any | None:
    """What every row satisfies that satisfies one of these conjunctions, and few others; None if that is too much.

    Of conjunctions that ask the same of the same columns, but for the constants, the weakest constants are asked for.
    """
    from pyspark.sql import functions

    if not reactions:
        return functions.lit(False)
    for kept in (_all, _compares, _of_equality):
        merged: dict[frozenset[object], list[Sequence[Test]]] = {}
        for tests in ([test for test in each if kept(test)] for each in reactions):
            merged.setdefault(frozenset(map(_shape, tests)), []).append(tests)
        if frozenset() not in merged and sum(map(_size, merged.values())) <= MOST_ASKED:
            return joined([joined(list(_weakest(each)), operator.and_) for each in merged.values()], operator.or_)
    return None


def _all(test: Test) -> bool:
    return True


def _compares(test: Test) -> bool:
    """Whether a test is quickly made, and merged with those of others."""
    return comparison_of(*test) is not None


def _of_equality(test: Test) -> bool:
    """Whether a test asks for one value of a column, as for the type of an event."""
    compared = comparison_of(*test)
    return compared is not None and compared.operator == "="


def _shape(test: Test) -> object:
    """What tests have in common that can be asked as one."""
    compared = comparison_of(*test)
    return test[0] if compared is None or compared.operator == "<>" else (compared.column, compared.operator)


def _size(alike: Sequence[Sequence[Test]]) -> int:
    """How much a row is asked for some conjunctions of one shape."""
    tests = {_shape(test): test for test in alike[0]}.values()
    return sum(1 if _of_equality(test) else size_of(test) for test in tests)  # values are looked up in a set


def _weakest(alike: Sequence[Sequence[Test]]) -> Iterator[Any]:
    """For each of the tests that conjunctions of one shape have, what all of them imply."""
    by_shape: dict[object, list[Test]] = {}
    for tests in alike:
        for shape, test in {_shape(test): test for test in tests}.items():
            by_shape.setdefault(shape, []).append(test)
    for tests in by_shape.values():
        compared = [(comparison_of(*test), test) for test in tests]
        first = compared[0][0]
        if first is None or first.operator == "<>":
            yield to_column(*tests[0])
        elif first.operator == "=":
            constants = {constant for each, _ in compared if each is not None for constant in each.constants}
            yield _one_of(first.column, constants, tests[0])
        else:
            yield to_column(*reduce(_weaker, tests))


def _weaker(one: Test, two: Test) -> Test:
    left, right = comparison_of(*one), comparison_of(*two)
    assert left is not None and right is not None
    if left.operator in (">", ">="):
        return one if left.constant <= right.constant else two
    return one if left.constant >= right.constant else two


def _one_of(name: str, constants: set[Any], test: Test) -> Any:
    from pyspark.sql import functions

    if len(constants) == 1:
        return to_column(*test)
    kind = test[1].columns[name].kind
    found = functions.col(quoted(name)).cast(_CASTS[kind]).isin(sorted(constants))
    return functions.coalesce(found, functions.lit(False))
