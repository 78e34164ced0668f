"""Laws that follow from the definitions; the judge must keep them on any formula and stream."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from acelera.language import ast
from acelera.language.events import ComplexEvent
from acelera.semantics.formulas import Stream, denotation
from acelera.semantics.queries import partitions
from acelera.tables import to_rows
from strategies import SCHEMA, formulas, streams

pytestmark = pytest.mark.property

FEWER = settings(max_examples=max(1, settings().max_examples // 2))  # each law is tried for several operators
SMALL = formulas(depth=2)
STREAMS = streams(5)


def meaning(formula: ast.Formula, table: pa.Table) -> set[ComplexEvent]:
    found = partitions(to_rows(table, SCHEMA), SCHEMA, ast.Query(formula), "error")
    events = found[0].events if found else []
    return {c.without_origins() for c in denotation(formula, Stream(events))}


Infix = Callable[[Any, Any], ast.Formula]


@pytest.mark.parametrize("operator", [ast.Then, ast.Contiguous, ast.Or, ast.And])
@FEWER
@given(one=SMALL, two=SMALL, three=SMALL, table=STREAMS)
def test_associative(operator: Infix, one: ast.Formula, two: ast.Formula, three: ast.Formula, table: pa.Table) -> None:
    left = operator(operator(one, two), three)
    right = operator(one, operator(two, three))
    assert meaning(left, table) == meaning(right, table)


@pytest.mark.parametrize("operator", [ast.Or, ast.And, ast.All])
@FEWER
@given(one=SMALL, two=SMALL, table=STREAMS)
def test_commutative(operator: Infix, one: ast.Formula, two: ast.Formula, table: pa.Table) -> None:
    assert meaning(operator(one, two), table) == meaning(operator(two, one), table)


@pytest.mark.parametrize("operator", [ast.Then, ast.Contiguous, ast.All])
@FEWER
@given(one=SMALL, two=SMALL, three=SMALL, table=STREAMS)
def test_distributes_over_or(
    operator: Infix, one: ast.Formula, two: ast.Formula, three: ast.Formula, table: pa.Table
) -> None:
    whole = meaning(operator(one, ast.Or(two, three)), table)
    assert whole == meaning(ast.Or(operator(one, two), operator(one, three)), table)


@pytest.mark.parametrize("iteration", [ast.Iteration, ast.ContiguousIteration])
@FEWER
@given(one=SMALL, table=STREAMS)
def test_iteration_is_the_fixed_point(
    iteration: Callable[[Any], ast.Formula], one: ast.Formula, table: pa.Table
) -> None:
    then = ast.Then if iteration is ast.Iteration else ast.Contiguous
    assert meaning(iteration(one), table) == meaning(ast.Or(one, then(one, iteration(one))), table)
    assert meaning(iteration(iteration(one)), table) == meaning(iteration(one), table)


@FEWER
@given(one=SMALL, two=SMALL, table=STREAMS)
def test_unless_and_start_and_strict_only_remove(one: ast.Formula, two: ast.Formula, table: pa.Table) -> None:
    whole = meaning(one, table)
    assert meaning(ast.Unless(one, two), table) <= whole
    assert meaning(ast.Start(one), table) == {c for c in whole if c.start == 1}
    assert meaning(ast.Strict(one), table) <= whole
    assert meaning(ast.Unless(one, one), table) == set()
    assert meaning(ast.And(one, one), table) == whole
    assert meaning(ast.And(one, two), table) == whole & meaning(two, table)
    assert meaning(ast.Contiguous(one, two), table) <= meaning(ast.Then(one, two), table)


@pytest.mark.parametrize("sequence", [ast.Then, ast.Contiguous, ast.All])
@FEWER
@given(one=SMALL, two=SMALL, table=STREAMS)
def test_what_is_optional_is_there_or_not(sequence: Infix, one: ast.Formula, two: ast.Formula, table: pa.Table) -> None:
    both = sequence(one, two)
    assert meaning(sequence(one, ast.Optional(two)), table) == meaning(ast.Or(one, both), table)
    assert meaning(sequence(ast.Optional(one), two), table) == meaning(ast.Or(two, both), table)
    either = ast.Or(ast.Or(one, two), both)
    assert meaning(sequence(ast.Optional(one), ast.Optional(two)), table) == meaning(either, table)


@pytest.mark.parametrize("contiguous", [False, True])
@FEWER
@given(one=SMALL, table=STREAMS)
def test_counts_can_be_spelt_out(contiguous: bool, one: ast.Formula, table: pa.Table) -> None:
    sequence, iteration = (ast.Contiguous, ast.ContiguousIteration) if contiguous else (ast.Then, ast.Iteration)
    twice = sequence(one, one)
    thrice = sequence(twice, one)
    assert meaning(ast.Repeated(one, 2, 2, contiguous), table) == meaning(twice, table)
    assert meaning(ast.Repeated(one, 2, 3, contiguous), table) == meaning(ast.Or(twice, thrice), table)
    assert meaning(ast.Repeated(one, 3, None, contiguous), table) == meaning(sequence(twice, iteration(one)), table)
    assert meaning(ast.Repeated(one, 1, None, contiguous), table) == meaning(iteration(one), table)
    some = ast.Optional(ast.Or(one, twice))
    assert meaning(sequence(some, ast.EventType("A")), table) == meaning(
        sequence(ast.Repeated(one, 0, 2, contiguous), ast.EventType("A")), table
    )


@FEWER
@given(one=SMALL, two=SMALL, three=SMALL, table=STREAMS)
def test_unless_one_or_the_other(one: ast.Formula, two: ast.Formula, three: ast.Formula, table: pa.Table) -> None:
    neither = ast.Unless(ast.Unless(one, two), three)
    assert meaning(ast.Unless(one, ast.Or(two, three)), table) == meaning(neither, table)


@FEWER
@given(one=SMALL, table=STREAMS)
def test_a_window_over_all_allows_all(one: ast.Formula, table: pa.Table) -> None:
    assert meaning(ast.Windowed(one, ast.Within(5, "events")), table) == meaning(one, table)
    single = {c for c in meaning(one, table) if c.start == c.end}
    assert meaning(ast.Windowed(one, ast.Within(2, "events", less_than=True)), table) == single


@FEWER
@given(table=STREAMS)
def test_next_is_what_its_text_says(table: pa.Table) -> None:
    """π_R((X⊕ : R) FILTER X[type ≠ R]) OR R, with the contiguous iteration that the text means."""
    other = ast.As(ast.AnyEvent(), "X")
    kind = ast.Attribute(None, "type")
    differs = ast.Binary("OR", ast.IsNull(kind), ast.Binary("<>", kind, ast.Literal("A")))
    not_r = ast.Filter(other, ast.Each("X", differs))
    skipping = ast.Contiguous(ast.ContiguousIteration(not_r), ast.EventType("A"))
    defined = ast.Or(ast.Project(skipping, False, (ast.Kept("A"),)), ast.EventType("A"))
    assert meaning(ast.Next(ast.EventType("A")), table) == meaning(defined, table)
