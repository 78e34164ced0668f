"""The star: the table of the contract, section 4.5, and what its decisions come to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.trepl.history import Change
from trepl.judging import ins, letters, stages, told, upd
from trepl.programs import EXAMPLES


def closings(**prices: list[int | None]) -> list[Change]:
    """The closing prices of each stock from stage 1 on; the first of a list is what came before, None is no closing."""
    return [
        upd("stock_closing", stage, ID=stock, Price=(list(filter(None, those[:stage]))[-1], price))
        for stock, those in prices.items()
        for stage, price in enumerate(those)
        if stage and price is not None
    ]


# --- the examples of the paper ----------------------------------------------------------------------------------------


def counted(text: str, head: str = "Y.Price") -> str:
    return text.replace(f"{head})", f"{head}, Count(Y.ID))")


def test_example_4_each_stock_has_a_run_of_its_own() -> None:
    history = closings(A=[10, 13, 14, 15, 1], B=[10, 10, 20, 21, 1])
    assert told(EXAMPLES["4"], history) == [(2, "A", 14), (3, "A", 15), (3, "B", 21)]


def test_example_4_with_count_and_a_second_raise() -> None:
    history = closings(A=[10, 13, 14, 18, 19])
    assert told(counted(EXAMPLES["4"]), history) == [(2, "A", 14, 1), (3, "A", 18, 2), (4, "A", 19, 1), (4, "A", 19, 3)]


def test_example_6_a_new_maximum_since_each_raise() -> None:
    assert told(EXAMPLES["6"], closings(IBM=[80, 100, 200, 110, 140, 145])) == [(2, "IBM", 200), (5, "IBM", 145)]


PHASES = EXAMPLES["7"].replace("30", "3").replace("Day", "Second")
"""Example 7 with closings that are a second apart, for phases of three."""


@pytest.mark.parametrize("other", [[30, 29, 28, 27, 26, 25, 24, 23], [30, 31, 32, 33, 34, 35, 36, 37]])
def test_example_7_phases_are_maximal_whatever_another_stock_does(other: list[int | None]) -> None:
    history = closings(A=[10, 10, 11, 12, 11, 12, 13, 12], B=other)
    assert told(PHASES, history) == [(4, "A", 1, 3), (7, "A", 4, 6)]


def test_example_7_by_every_instance_has_parts_of_phases() -> None:
    history = closings(A=[10, 10, 11, 12, 13, 12])
    assert told(PHASES.replace("* st_cl", "*: st_cl"), history) == [(5, "A", 1, 4), (5, "A", 2, 4)]


def test_example_8_a_window_begins_each_day_from_the_very_first() -> None:
    text = EXAMPLES["8"].replace("X.Name", "X.ID").replace("X.Day, ", "")
    expected = [(5, "IBM", 3.0), (6, "IBM", 4.0), (7, "IBM", 5.0)]
    assert told(text, closings(IBM=[9, 1, 2, 3, 4, 5, 6, 7])) == expected


def test_example_9_each_month_begins_where_the_one_before_it_ends() -> None:
    days = ["2023-11-20", "2023-12-01", "2023-12-31", "2024-01-05", "2024-01-06", "2024-02-01"]
    history = [
        ins("stock_tick", day, ID="A", Price=price) for day, price in zip(days, [1, 2, 4, 10, 20, 7], strict=True)
    ]
    assert told(EXAMPLES["9"], history) == [(4, "A", 12, 2023, 3.0), (6, "A", 1, 2024, 15.0)]


EXAMPLE_13 = """
monitor update(stock_closing) as st_cl
R: (st_cl(X, X.ID = 'IBM', X.Price > 50), {} st_cl(Y, Y.ID = 'IBM', Y.Price > 40), Y.Price = Max(Y.Price))
-> write(Y.Price)
"""


@pytest.mark.parametrize(
    ("star", "expected"),
    [("*", [(2, 55), (3, 58), (5, 70), (8, 51)]), ("*:", [(2, 55), (3, 58), (4, 41), (5, 70), (8, 51)])],
)
def test_example_13_begins_once(star: str, expected: list[tuple[int, int]]) -> None:
    assert told(EXAMPLE_13.format(star), closings(IBM=[1, 60, 55, 58, 41, 70, 39, 52, 51])) == expected


def test_example_14_a_star_in_a_star_for_each_beginning() -> None:
    text = """monitor ins(A), ins(B), ins(C), ins(D)
    R: (ins(A(X)), *(*ins(B(Y)), ins(C(Z), Z.k = X.k)), ins(D(V), V.k = X.k)) -> write(X.k)"""
    happened = ["A1", "B0", "B0", "C1 A2", "B0", "C1 C2", "D1 D2"]
    assert told(text, letters(happened)) == [(7, 1), (7, 2)]


# --- example 4 is example 5 ---------------------------------------------------------------------------------------------

PRICES = st.lists(st.none() | st.integers(8, 15), min_size=1, max_size=8).map(lambda those: [10, *those])


@pytest.mark.property
@given(PRICES, PRICES)
def test_a_star_is_its_recursion_written_out(one: list[int | None], other: list[int | None]) -> None:
    history = closings(A=one, B=other)
    if history:
        unfolded = EXAMPLES["5 with Count"].replace("Y.Price > X.First", "Y.Price >= X.First")
        assert told(EXAMPLES["4"], history) == told(EXAMPLES["5"], history)
        assert told(counted(EXAMPLES["4"]), history) == told(unfolded, history)


# --- the guard ----------------------------------------------------------------------------------------------------------


def abc(goal: str, head: str) -> str:
    return f"monitor a, b, c; R: {goal} -> write({head})"


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        # nothing looks at X: the second a begins nothing while the first run goes on
        ("(a(X), *b(Y))", [(2, 1, 1), (3, 1, 2), (5, 1, 3)]),
        ("(a(X), *:b(Y))", [(2, 1, 1), (3, 1, 2), (5, 1, 3), (5, 2, 1)]),
        # a condition that looks at X tells the beginnings apart, wherever after the beginning of the star it stands
        ("(a(X), *b(Y, Y.k >= X.k))", [(2, 1, 1), (3, 1, 2), (5, 1, 3), (5, 2, 1)]),
        ("(a(X), *b(Y), Y.k >= X.k)", [(2, 1, 1), (3, 1, 2), (5, 1, 3), (5, 2, 1)]),
    ],
)
def test_what_looks_the_same_begins_once(goal: str, expected: list[Any]) -> None:
    history = [ins("a", 1, k=1), ins("b", 2, k=9), ins("b", 3, k=9), ins("a", 3, k=2), ins("b", 5, k=9)]
    got = told(abc(goal, "X.k, Count(Y)"), history)
    assert got == [(stage if stage < 5 else 4, *rest) for stage, *rest in expected]


def test_null_is_the_same_as_null() -> None:
    history = [ins("a", 1, k=None), ins("b", 2, k=1), ins("a", 2, k=None), ins("b", 3, k=1)]
    text = abc("(a(X), *b(Y), coalesce(X.k, Y.k) = 1)", "Count(Y)")
    assert told(text, history) == [(2, 1), (3, 2)]
    other = [ins("a", 2, k=1) if each.relation == "a" and each.instant == 2 * 10**9 else each for each in history]
    assert told(text, other) == [(2, 1), (3, 1), (3, 2)]


def test_only_the_event_that_extends_an_instance_begins_none() -> None:
    history = [ins("a", 1, k=1), ins("a", 1, k=2), ins("a", 2, k=1), ins("a", 2, k=3)]
    text = abc("*a(X, X.k = First(X.k))", "X.k, Count(X)")
    assert told(text, history) == [(1, 1, 1), (1, 2, 1), (2, 1, 2), (2, 3, 1)]


def test_a_star_goes_on_with_each_of_several_events() -> None:
    history = [ins("a", 1, k=1), ins("a", 2, k=2), ins("a", 2, k=3)]
    assert told(abc("*a(X)", "Sum(X.k), First(X.k)"), history) == [(1, 1, 1), (2, 3, 1), (2, 4, 1)]


def test_the_event_that_ends_a_run_begins_the_next() -> None:
    history = [ins("a", stage, k=k) for stage, k in enumerate([1, 1, 2, 2, 1], 1)]
    text = abc("*a(X, X.k = Last(X.k))", "X.k, Count(X)")
    assert told(text, history) == [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2), (5, 1, 1)]


def test_a_star_of_absence_takes_no_event() -> None:
    history = letters(["a1", "c0", "a2", "c0", "b1 b2"])
    text = abc("(a(X), *!b(U, U.k = X.k), b(Y, Y.k = X.k))", "X.k")
    assert told(text, history) == [(5, 1), (5, 2)]
    unconditioned = abc("(a(X), *!b, b(Y))", "X.k, Y.k")
    assert told(unconditioned, history) == [(5, 1, 1), (5, 1, 2)]


def test_an_end_is_said_by_the_next_goal() -> None:
    history = letters(["a1", "a2", "b1", "a3", "c1"])
    assert told(abc("(*a(X), !a)", "Count(X), X.k"), history) == [(3, 2, 2), (5, 1, 3)]


def test_directly_after_any_a_star_always_begins() -> None:
    history = letters(["a1", "a2", "a3"])
    assert told(abc("(any, *a(X))", "Count(X)"), history) == [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)]
    assert told(abc("(any, 1 = 1, *a(X))", "Count(X)"), history) == [(1, 1), (2, 2), (3, 3)]
    assert told(abc("[any, *a(X)]", "Count(X)"), history) == [(1, 1), (2, 2), (3, 3)]


def test_all_prefixes_wait() -> None:
    history = letters(["a1", "a2", "c0", "b0"])
    assert told(abc("[*a(X), b(Y)]", "Count(X), X.k"), history) == [(4, 1, 1), (4, 2, 2)]


def test_a_test_right_after_a_point_belongs_to_it() -> None:
    """What begins and what goes on is asked with it, as if it stood in the event."""
    history = [ins("a", stage, k=k) for stage, k in enumerate([1, 2, 1, 5], 1)]
    inside, after = "*a(X, X.k > Last(X.k))", "*(a(X), X.k > Last(X.k))"
    expected = [(1, 1), (2, 2), (3, 1), (4, 2)]
    assert told(abc(inside, "Count(X)"), history) == expected == told(abc(after, "Count(X)"), history)


# --- stars of sequences, stars in stars -----------------------------------------------------------------------------------


def test_a_round_may_take_several_stages() -> None:
    history = letters(["a1", "b1", "a2", "b2", "a3", "c0"])
    text = abc("*(a(X), b(Y, Y.k = X.k))", "Count(X), Sum(Y.k), X.k, First(X.k)")
    assert told(text, history) == [(2, 1, 1, 1, 1), (4, 2, 3, 2, 1)]


def test_last_is_of_the_round_before_also_in_later_goals_of_the_body() -> None:
    text = abc("*(a(X), b(Y, Y.k >= Last(X.k)))", "Count(X)")
    assert told(text, letters(["a1", "b0", "a2", "b1"])) == [(2, 1), (4, 2)]


def test_what_extends_an_instance_begins_none_even_if_the_round_fails_later() -> None:
    text = abc("*(a(X), b(Y, Y.k >= Last(X.k)))", "Count(X)")
    assert told(text, letters(["a1", "b0", "a2", "b0", "a3", "b2"])) == [(2, 1), (6, 1)]


def test_a_star_inside_a_star_begins_anew_in_each_round() -> None:
    history = letters(["b1", "b2", "c0", "b3", "c0"])
    text = abc("*(*b(Y), c(Z, Z.k < Count(Y)))", "Count(Z), Sum(Z.k)")
    assert told(text, history) == [(3, 1, 0), (5, 2, 0)]


def test_an_aggregate_of_an_inner_star_is_seen_in_its_round() -> None:
    history = letters(["b1", "b2", "c2", "b3", "c1"])
    exact = abc("*(*b(Y), c(Z, Z.k = Count(Y)))", "Count(Z)")
    assert told(exact, history) == [(3, 1), (5, 2)]


def test_inner_stars_are_told_apart_by_what_the_outer_round_holds() -> None:
    history = letters(["a1", "b1", "b2 a2", "b3", "c0"])
    text = abc("*(a(X), *b(Y, Y.k > X.k), c(Z))", "Count(X), X.k")
    assert told(text, history) == [(5, 1, 2)]
    both = letters(["a0", "b1", "b2 a1", "b3", "c0"])
    assert told(text, both) == [(5, 1, 0), (5, 1, 1)]


# --- aggregates ------------------------------------------------------------------------------------------------------------


def test_aggregates_with_and_without_the_current_event() -> None:
    history = letters(["a1", "a2", "a3", "a4"])
    assert stages(abc("*a(X, Count(X) <= 2)", "X.k"), history) == [1, 2, 3, 4]
    assert told(abc("*a(X, Sum(X.k) <= 3)", "Sum(X.k), Count(X)"), history) == [(1, 1, 1), (2, 3, 2), (3, 3, 1)]
    assert told(abc("*a(X, X.k = First(X.k) + 1)", "X.k, Count(X)"), history) == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 1),
        (4, 4, 2),
    ]
    assert told(abc("(*a(X), X.k = Last(X.k), X.k > First(X.k))", "X.k"), history) == [(2, 2), (3, 3), (4, 4)]


def test_whole_conjuncts_are_left_out_in_the_first_round() -> None:
    history = letters(["a1", "a2", "a1"])
    negated = abc("*a(X, NOT (X.k <= Last(X.k)), X.k > 0)", "Count(X)")
    either = abc("*a(X, X.k > Last(X.k) OR X.k > 100)", "Count(X)")
    assert told(negated, history) == told(either, history) == [(1, 1), (2, 2), (3, 1)]
    kept = abc("*a(X, X.k > Last(X.k) AND X.k > 1)", "Count(X)")
    assert told(kept, history) == [(2, 1)]


def test_aggregates_leave_nulls_out_but_first_and_last_do_not() -> None:
    history = letters(["a", "a3", "a", "a5"])
    head = "Count(X), Count(X.k), Sum(X.k), Avg(X.k), Min(X.k), Max(X.k), First(X.k), Last(X.k)"
    assert told(abc("*a(X)", head), history) == [
        (1, 1, 0, None, None, None, None, None, None),
        (2, 2, 1, 3, 3.0, 3, 3, None, 3),
        (3, 3, 1, 3, 3.0, 3, 3, None, None),
        (4, 4, 2, 8, 4.0, 3, 5, None, 5),
    ]


def test_an_aggregate_of_an_expression() -> None:
    history = letters(["a1", "a2"])
    assert told(abc("*a(X)", "Sum(X.k * 10 + 1), Max(-X.k)"), history) == [(1, 11, -1), (2, 32, -1)]


def test_aggregates_of_a_star_are_seen_by_the_next_one() -> None:
    history = letters(["a1", "a3", "b2", "b3", "c0"])
    text = abc("(*a(X), *b(Y, Y.k < Max(X.k)))", "Max(X.k), Y.k")
    assert told(text, history) == [(3, 3, 2)]


def test_beginnings_differ_by_aggregates_that_are_looked_at() -> None:
    """Both prefixes of the first star are followed by the second: `wait` keeps them, and Count tells them apart."""
    history = letters(["a1", "a1", "b1", "b1"])
    assert told(abc("[*a(X), *b(Y, Y.k <= Count(X))]", "Count(X), Count(Y)"), history) == [
        (3, 1, 1),
        (3, 2, 1),
        (4, 1, 2),
        (4, 2, 2),
    ]
    # where nothing looks, they enter together: each begins, as none is active yet, and each goes on
    assert told(abc("[*a(X), *b(Y)]", "Count(X), Count(Y)"), history) == [(3, 1, 1), (3, 2, 1), (4, 1, 2), (4, 2, 2)]
