"""What `x[P]` says of the event before and of the events so far, by the definition; worked out by hand."""

from typing import Any

import pytest

from acelera import AggregateError
from acelera.language import ast
from acelera.language.aggregates import OVERFLOW
from acelera.language.events import ComplexEvent, Event, complex_event
from acelera.semantics.satisfaction import satisfies

V = ast.Attribute(None, "v")
PREV = ast.Prev(V)
COUNT = ast.Running("count")


def of(function: str, operand: ast.Expression = V, ignore_nulls: bool = False) -> ast.Expression:
    return ast.Running(function, operand, ignore_nulls)


def compared(left: ast.Expression, operator: str, right: Any) -> ast.Expression:
    right = right if isinstance(right, ast.Expression) else ast.Literal(right)
    return ast.Binary(operator, left, right)


def match(*events: tuple[int, Any]) -> ComplexEvent:
    """One that holds these events, each a position and its v, in x."""
    return complex_event(1, 9, {"x": tuple(Event(at, (("v", value),)) for at, value in events)})


def holds(predicate: ast.Expression, *events: tuple[int, Any]) -> bool:
    return satisfies(match(*events), ast.Each("x", predicate))


@pytest.mark.parametrize(
    ("predicate", "values", "expected"),
    [
        # prev: the event of x before; the first has none and is not asked.
        (compared(V, ">", PREV), [1, 2, 3], True),
        (compared(V, ">", PREV), [1, 3, 2], False),
        (compared(V, ">", PREV), [5], True),
        (compared(V, ">", PREV), [], True),
        (compared(V, ">", PREV), [1, None, 3], False),
        (
            compared(compared(V, ">", PREV), "AND", compared(V, ">", 2)),
            [1, 3, 4],
            True,
        ),  # of the first, nothing is asked
        (compared(compared(V, ">", PREV), "AND", compared(V, ">", 2)), [1, 2, 4], False),
        (compared(ast.IsNull(PREV), "AND", compared(V, "=", 2)), [7, 2], False),
        (ast.IsNull(PREV), [None, 2], True),
        (ast.IsNull(PREV), [None, 2, 3], False),
        (compared(compared(V, "-", ast.Prev(compared(V, "*", ast.Literal(2)))), "=", 1), [1, 3, 7], True),
        # count, and aggregates of the events up to this one, which is among them.
        (compared(COUNT, "<=", 2), [9, 9], True),
        (compared(COUNT, "<=", 2), [9, 9, 9], False),
        (compared(COUNT, ">", 1), [9, 9], False),
        (compared(V, "=", of("max")), [1, 1, 4], True),
        (compared(V, "=", of("max")), [1, 4, 3], False),
        (compared(V, ">=", compared(of("avg"), "-", ast.Literal(1))), [4, 2, 2], True),  # averages 4, 3, 8/3
        (compared(V, ">=", compared(of("avg"), "-", ast.Literal(1))), [4, 1, 4], False),  # 1 < 2.5 - 1
        (compared(of("sum"), "<", 7), [1, 2, 3], True),
        (compared(of("sum"), "<", 6), [1, 2, 3], False),
        (compared(of("sum", compared(V, "*", V)), "<=", 14), [1, 2, 3], True),
        (compared(of("sum", compared(V, "*", V)), "<=", 13), [1, 2, 3], False),
        (compared(V, ">", compared(of("first"), "/", ast.Literal(2))), [4, 3, 9], True),
        (compared(V, ">", compared(of("first"), "/", ast.Literal(2))), [4, 9, 2], False),
        (compared(of("last"), "=", V), [4, 9, 2], True),
        # NULL: one missing value makes the aggregate NULL.
        (compared(of("sum"), "<", 9), [1, None, 2], False),
        (compared(of("sum", ignore_nulls=True), "<", 9), [1, None, 2], True),
        (compared(of("count", ignore_nulls=True), "<", 3), [1, None, 2], True),
        # both at once
        (compared(V, ">", compared(PREV, "+", COUNT)), [1, 4, 8], True),  # 4 > 1 + 2, 8 > 4 + 3
        (compared(V, ">", compared(PREV, "+", COUNT)), [1, 4, 7], False),
    ],
)
def test_of_events_one_after_another(predicate: ast.Expression, values: list[Any], expected: bool) -> None:
    assert holds(predicate, *((2 * at + 1, value) for at, value in enumerate(values))) is expected


@pytest.mark.parametrize(
    ("predicate", "events", "expected"),
    [
        # Every event at a position is compared with every one at the last position before it.
        (compared(V, ">", PREV), [(1, 1), (1, 3), (2, 4)], True),
        (compared(V, ">", PREV), [(1, 1), (1, 3), (2, 2)], False),
        (compared(V, ">", PREV), [(1, 1), (3, 2), (3, 1)], False),
        (compared(V, ">", PREV), [(1, 5), (2, 1), (2, 9)], False),
        (compared(V, "<>", PREV), [(1, 7), (1, 7), (2, 8)], True),  # nor with those beside it
        (compared(V, ">", PREV), [(1, 3), (2, 4), (2, 5), (7, 6)], True),
        # So far are all at this position or before.
        (compared(COUNT, ">=", 2), [(1, 0), (1, 0), (2, 0)], True),
        (compared(COUNT, "<>", 2), [(1, 0), (2, 0), (2, 0)], True),
        (compared(of("sum"), "=", 3), [(1, 1), (1, 2)], True),
        (compared(V, "=", of("max")), [(1, 1), (1, 2)], False),
    ],
)
def test_of_several_events_at_one_position(
    predicate: ast.Expression, events: list[tuple[int, Any]], expected: bool
) -> None:
    assert holds(predicate, *events) is expected


def test_an_aggregate_that_fails_is_an_error_where_it_is_asked() -> None:
    large = 2**63 - 1
    with pytest.raises(AggregateError, match="overflow"):
        holds(compared(of("sum"), ">", 0), (1, large), (2, 1))
    assert not holds(compared(of("sum"), "<", 5), (1, large), (2, 1))  # the first event decides
    with pytest.raises(AggregateError, match="overflow"):
        holds(compared(of("max"), ">", 0), (1, OVERFLOW))
    with pytest.raises(AggregateError, match="overflow"):
        holds(compared(PREV, ">", 0), (1, OVERFLOW), (2, 1))
    assert holds(compared(PREV, ">", 0), (1, 1), (2, OVERFLOW))  # which nobody looks at


def test_it_is_of_the_events_of_x_alone() -> None:
    a, b = (Event(at, (("v", value),)) for at, value in ((1, 5), (2, 1)))
    c = complex_event(1, 3, {"x": (a,), "y": (b,), "z": (a, b)})
    rising = compared(V, ">", PREV)
    assert [satisfies(c, ast.Each(name, rising)) for name in ("x", "y", "z")] == [True, True, False]
    both = ast.Both(ast.Each("x", compared(COUNT, "=", 1)), ast.Each("z", compared(COUNT, "<=", 2)))
    assert satisfies(c, both)
