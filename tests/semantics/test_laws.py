"""Laws that follow from the definitions; the judge must keep them on any formula and stream."""

from collections.abc import Callable
from typing import Any

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
Rows = list[dict[str, Any]]
SMALL = formulas(depth=2)
STREAMS = streams(5).map(lambda table: to_rows(table, SCHEMA))  # once: what is only carried equals itself alone


def meaning(formula: ast.Formula, rows: Rows) -> set[ComplexEvent]:
    found = partitions(rows, SCHEMA, ast.Query(formula), "error")
    events = found[0].events if found else []
    return {c.without_origins() for c in denotation(formula, Stream(events, schema=SCHEMA))}


Infix = Callable[[Any, Any], ast.Formula]


@pytest.mark.parametrize("operator", [ast.Then, ast.Contiguous, ast.Or, ast.And])
@FEWER
@given(one=SMALL, two=SMALL, three=SMALL, rows=STREAMS)
def test_associative(operator: Infix, one: ast.Formula, two: ast.Formula, three: ast.Formula, rows: Rows) -> None:
    left = operator(operator(one, two), three)
    right = operator(one, operator(two, three))
    assert meaning(left, rows) == meaning(right, rows)


@pytest.mark.parametrize("operator", [ast.Or, ast.And, ast.All])
@FEWER
@given(one=SMALL, two=SMALL, rows=STREAMS)
def test_commutative(operator: Infix, one: ast.Formula, two: ast.Formula, rows: Rows) -> None:
    assert meaning(operator(one, two), rows) == meaning(operator(two, one), rows)


@pytest.mark.parametrize("operator", [ast.Then, ast.Contiguous, ast.All])
@FEWER
@given(one=SMALL, two=SMALL, three=SMALL, rows=STREAMS)
def test_distributes_over_or(
    operator: Infix, one: ast.Formula, two: ast.Formula, three: ast.Formula, rows: Rows
) -> None:
    whole = meaning(operator(one, ast.Or(two, three)), rows)
    assert whole == meaning(ast.Or(operator(one, two), operator(one, three)), rows)


@pytest.mark.parametrize("iteration", [ast.Iteration, ast.ContiguousIteration])
@FEWER
@given(one=SMALL, rows=STREAMS)
def test_iteration_is_the_fixed_point(iteration: Callable[[Any], ast.Formula], one: ast.Formula, rows: Rows) -> None:
    then = ast.Then if iteration is ast.Iteration else ast.Contiguous
    assert meaning(iteration(one), rows) == meaning(ast.Or(one, then(one, iteration(one))), rows)
    assert meaning(iteration(iteration(one)), rows) == meaning(iteration(one), rows)


@FEWER
@given(one=SMALL, two=SMALL, rows=STREAMS)
def test_unless_and_start_and_strict_only_remove(one: ast.Formula, two: ast.Formula, rows: Rows) -> None:
    whole = meaning(one, rows)
    assert meaning(ast.Unless(one, two), rows) <= whole
    assert meaning(ast.Start(one), rows) == {c for c in whole if c.start == 1}
    assert meaning(ast.Strict(one), rows) <= whole
    assert meaning(ast.Unless(one, one), rows) == set()
    assert meaning(ast.And(one, one), rows) == whole
    assert meaning(ast.And(one, two), rows) == whole & meaning(two, rows)
    assert meaning(ast.Contiguous(one, two), rows) <= meaning(ast.Then(one, two), rows)


@pytest.mark.parametrize("sequence", [ast.Then, ast.Contiguous, ast.All])
@FEWER
@given(one=SMALL, two=SMALL, rows=STREAMS)
def test_what_is_optional_is_there_or_not(sequence: Infix, one: ast.Formula, two: ast.Formula, rows: Rows) -> None:
    both = sequence(one, two)
    assert meaning(sequence(one, ast.Optional(two)), rows) == meaning(ast.Or(one, both), rows)
    assert meaning(sequence(ast.Optional(one), two), rows) == meaning(ast.Or(two, both), rows)
    either = ast.Or(ast.Or(one, two), both)
    assert meaning(sequence(ast.Optional(one), ast.Optional(two)), rows) == meaning(either, rows)


@pytest.mark.parametrize("contiguous", [False, True])
@FEWER
@given(one=SMALL, rows=STREAMS)
def test_counts_can_be_spelt_out(contiguous: bool, one: ast.Formula, rows: Rows) -> None:
    sequence, iteration = (ast.Contiguous, ast.ContiguousIteration) if contiguous else (ast.Then, ast.Iteration)
    twice = sequence(one, one)
    thrice = sequence(twice, one)
    assert meaning(ast.Repeated(one, 2, 2, contiguous), rows) == meaning(twice, rows)
    assert meaning(ast.Repeated(one, 2, 3, contiguous), rows) == meaning(ast.Or(twice, thrice), rows)
    assert meaning(ast.Repeated(one, 3, None, contiguous), rows) == meaning(sequence(twice, iteration(one)), rows)
    assert meaning(ast.Repeated(one, 1, None, contiguous), rows) == meaning(iteration(one), rows)
    some = ast.Optional(ast.Or(one, twice))
    assert meaning(sequence(some, ast.EventType("A")), rows) == meaning(
        sequence(ast.Repeated(one, 0, 2, contiguous), ast.EventType("A")), rows
    )


@FEWER
@given(one=SMALL, two=SMALL, three=SMALL, rows=STREAMS)
def test_unless_one_or_the_other(one: ast.Formula, two: ast.Formula, three: ast.Formula, rows: Rows) -> None:
    neither = ast.Unless(ast.Unless(one, two), three)
    assert meaning(ast.Unless(one, ast.Or(two, three)), rows) == meaning(neither, rows)


@FEWER
@given(one=SMALL, rows=STREAMS)
def test_a_window_over_all_allows_all(one: ast.Formula, rows: Rows) -> None:
    assert meaning(ast.Windowed(one, ast.Within(5, "events")), rows) == meaning(one, rows)
    single = {c for c in meaning(one, rows) if c.start == c.end}
    assert meaning(ast.Windowed(one, ast.Within(2, "events", less_than=True)), rows) == single


@FEWER
@given(rows=STREAMS)
def test_next_is_what_its_text_says(rows: Rows) -> None:
    """π_R((X⊕ : R) FILTER X[type ≠ R]) OR R, with the contiguous iteration that the text means."""
    other = ast.As(ast.AnyEvent(), "X")
    kind = ast.Attribute(None, "type")
    differs = ast.Binary("OR", ast.IsNull(kind), ast.Binary("<>", kind, ast.Literal("A")))
    not_r = ast.Filter(other, ast.Each("X", differs))
    skipping = ast.Contiguous(ast.ContiguousIteration(not_r), ast.EventType("A"))
    defined = ast.Or(ast.Project(skipping, False, (ast.Kept("A"),)), ast.EventType("A"))
    assert meaning(ast.Next(ast.EventType("A")), rows) == meaning(defined, rows)
