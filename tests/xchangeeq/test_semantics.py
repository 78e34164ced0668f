"""The declarative semantics, definition by definition (contract, sections 3 and 4)."""

import datetime
import math
from fractions import Fraction
from typing import Any

import pytest

from acelera.errors import AggregateError, DataError, QueryCheckError, UsageError
from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.semantics.fixpoint import strata
from acelera.xchangeeq.semantics.normal_form import normal_form
from acelera.xchangeeq.semantics.timers import Timer, relative
from acelera.xchangeeq.semantics.truth import holds
from acelera.xchangeeq.terms import Event
from xchangeeq.building import (
    DAY,
    HOUR,
    MINUTE,
    V,
    absent,
    agg,
    allen,
    collect,
    compare,
    derived,
    dur,
    ev,
    every,
    h,
    on,
    program,
    q,
    rule,
    timer,
    within,
    x,
)

# --- normal form, traces, intervals -------------------------------------------------------------------------------


def test_or_is_multiplied_out_with_the_conditions_around_it() -> None:
    either = ast.Where(ast.OneOf((on("i", q("a", v=V("X"))), on("i", q("b", v=V("X"))))), (compare(x("X"), ">", 1),))
    both = ast.AllOf((either, ast.OneOf((on("j", q("c")), on(None, q("d"))))))
    found = normal_form(program(ast.Rule(h("r"), both)))
    assert [[each.identifier for each in one.literals if isinstance(each, ast.Event)] for one in found] == [
        ["i", "j"],
        ["i", "#1"],
        ["i", "j"],
        ["i", "#1"],
    ]
    assert all(len(one.conditions) == 1 for one in found)
    events = [ev("a", 1, v=2), ev("b", 2, v=1), ev("b", 3, v=5), ev("d", 9)]
    assert derived(ast.Rule(h("r"), both), events) == {ev("r", 1, 9), ev("r", 3, 9)}


def test_a_condition_inside_or_concerns_its_alternative_alone() -> None:
    few = ast.Where(on("i", q("a", v=V("X"))), (compare(x("X"), ">", 1),))
    body = ast.OneOf((few, on("i", q("b", v=V("X")))))
    assert derived(ast.Rule(h("r", v=x("X")), body), [ev("a", 1, v=1), ev("b", 1, v=0)]) == {ev("r", 1, v=0)}


def test_a_trace_need_not_be_injective() -> None:
    one = rule(h("r", v=x("X"), w=x("Y")), on("i", q("a", v=V("X"))), on("j", q("a", v=V("Y"))))
    assert derived(one, [ev("a", 1, v=1), ev("a", 2, v=2)]) == {
        ev("r", 1, 1, v=1, w=1),
        ev("r", 1, 2, v=1, w=2),
        ev("r", 1, 2, v=2, w=1),
        ev("r", 2, 2, v=2, w=2),
    }


def test_slip_7_and_covers_both_intervals() -> None:
    one = rule(h("r"), on(None, q("a")), on(None, q("b")))
    assert derived(one, [ev("a", 1, 2), ev("b", 5, 6)]) == {ev("r", 1, 6)}


def test_a_variable_in_two_literals_has_equal_values() -> None:
    one = rule(h("r", v=x("X")), on(None, q("a", v=V("X"))), on(None, q("b", v=V("X"))))
    assert derived(one, [ev("a", 1, v=1), ev("b", 2, v=1.0), ev("b", 3, v="1")]) == {ev("r", 1, 2, v=1)}


def test_an_event_gives_a_substitution_for_each_way_to_match_it() -> None:
    one = rule(h("r", v=x("X")), on(None, q("a", v=V("X"))))
    assert derived(one, [ev("a", 1, v=[1, 2, 1])]) == {ev("r", 1, v=1), ev("r", 1, v=2)}


# --- windows ------------------------------------------------------------------------------------------------------

ABSENT = rule(h("r"), on("a", q("a")), timer("i", "from-end", "a", "10 s"), absent("i", q("b")))


@pytest.mark.parametrize("b", [(10, 10), (20, 20), (12, 15), (10, 20)])
def test_slip_2_any_event_within_the_window_counts_against_not(b: tuple[int, int]) -> None:
    assert derived(ABSENT, [ev("a", 5, 10), ev("b", *b)]) == set()


@pytest.mark.parametrize("b", [(9, 12), (19, 21), (1, 30), (21, 21), (9, 9)])
def test_slip_3_not_holds_over_the_whole_window(b: tuple[int, int]) -> None:
    assert derived(ABSENT, [ev("a", 5, 10), ev("b", *b)]) == {ev("r", 5, 20)}


def test_slip_3_a_window_may_end_after_all_events() -> None:
    assert derived(ABSENT, [ev("a", 5, 10)]) == {ev("r", 5, 20)}


def test_slip_4_a_window_before_its_anchor() -> None:
    one = rule(h("r"), on("a", q("a")), timer("i", "from-start-backward", "a", "10 s"), absent("i", q("b")))
    assert derived(one, [ev("a", 20, 25), ev("a", 30, 31), ev("b", 15)]) == {ev("r", 20, 31)}


COLLECT = rule(
    h("r", s=x("S"), n=agg("count", "T")),
    on("a", q("a", s=V("S"))),
    timer("i", "from-end-backward", "a", "10 s"),
    collect("i", q("b", s=V("S"), v=V("T"))),
)


def test_slip_5_collect_has_the_same_substitution() -> None:
    events = [ev("a", 10, s=1), ev("b", 5, s=1, v=7), ev("b", 6, s=2, v=8), ev("b", 7, s=1, v=9)]
    assert derived(COLLECT, events) == {ev("r", 0, 10, s=1, n=2)}


def test_collect_of_nothing_gives_nothing() -> None:
    assert derived(COLLECT, [ev("a", 10, s=1), ev("b", 11, s=1, v=7)]) == set()


def test_slip_1_what_is_collected_lies_within_the_interval() -> None:
    one = rule(h("r", every(h("v", x("T")))), on("w", q("w")), collect("w", q("b", v=V("T"))))
    assert derived(one, [ev("w", 5, 9), ev("b", 6, 7, v=2), ev("b", 5, 9, v=1), ev("b", 4, 6, v=3)]) == {
        ev("r", 5, 9, v=[1, 2])
    }


def test_choice_b_a_point_lies_in_its_own_windows() -> None:
    one = rule(h("r"), on("a", q("a")), timer("i", "from-end", "a", "10 s"), absent("i", q("a")))
    assert derived(one, [ev("a", 5, 6)]) == {ev("r", 5, 16)}
    assert derived(one, [ev("a", 6)]) == set()


def test_a_window_may_be_an_event() -> None:
    one = rule(h("r", v=x("X")), on("w", q("w", v=V("X"))), absent("w", q("b", v=V("X"))))
    assert derived(one, [ev("w", 1, 9, v=1), ev("w", 1, 9, v=2), ev("b", 5, v=2)]) == {ev("r", 1, 9, v=1)}


# --- timers -------------------------------------------------------------------------------------------------------

RELATIVE = {
    "from-end": (20, 24),
    "from-end-backward": (16, 20),
    "from-start": (10, 14),
    "from-start-backward": (6, 10),
    "extend": (10, 24),
    "shorten": (10, 16),
    "extend-begin": (6, 20),
    "shorten-begin": (14, 20),
    "shift-forward": (14, 24),
    "shift-backward": (6, 16),
}


@pytest.mark.parametrize("kind", ast.RELATIVE)
def test_relative_timers(kind: str) -> None:
    begin, end = RELATIVE[kind]
    assert relative(kind, 10, 20, 4) == Timer(begin, end)
    # points at all times tell which the window holds; the rule's interval covers the anchor as well
    one = rule(
        h("r", every(h("at", x("T")))), on("a", q("a")), timer("i", kind, "a", "4 s"), collect("i", q("b", at=V("T")))
    )
    events = [ev("a", 10, 20), *(ev("b", at, at=at) for at in range(30))]
    assert derived(one, events) == {ev("r", min(10, begin), max(20, end), at=list(range(begin, end + 1)))}


@pytest.mark.parametrize("kind", ["shorten", "shorten-begin"])
def test_a_timer_that_is_no_interval_does_not_happen(kind: str) -> None:
    one = rule(h("r"), on("a", q("a")), timer("i", kind, "a", "4 s"))
    assert derived(one, [ev("a", 1, 4), ev("a", 2, 6)]) == {ev("r", 2, 6)}


def test_timers_of_timers_in_any_order() -> None:
    one = rule(h("r"), timer("k", "shift-forward", "i", "1 s"), timer("i", "from-end", "a", "10 s"), on("a", q("a")))
    assert derived(one, [ev("a", 3, 5)]) == {ev("r", 3, 16)}


def test_durations_are_exact() -> None:
    one = rule(h("r"), on("a", q("a")), timer("i", "from-end", "a", "1 min 30 s"))
    assert derived(one, [ev("a", 0)], tick=1) == {ev("r", 0, 90_000_000)}
    assert derived(one, [ev("a", 0)], tick=MINUTE) == {ev("r", 0, Fraction(3, 2))}


def hours(text: str) -> int:
    at = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) // 3600


def absolute(label: str, first: str, last: str, **given: Any) -> set[tuple[int, int]]:
    found = derived(rule(h("r"), on("d", q(label, **given))), [ev("a", hours(first)), ev("a", hours(last))], tick=HOUR)
    return {(int(each.begin), int(each.end)) for each in found}


def points(*texts: str) -> set[tuple[int, int]]:
    return {(hours(each), hours(each)) for each in texts}


def test_a_time_of_every_day_between_the_ends_of_base_events() -> None:
    found = absolute("timer:datetime", "2008-07-30T16:00", "2008-08-01T15:00", time="16:00")
    assert found == points("2008-07-30T16:00", "2008-07-31T16:00")


def test_a_time_of_one_day() -> None:
    found = absolute("timer:datetime", "2008-07-01", "2008-08-30", time="16:00", date="2008-07-31")
    assert found == points("2008-07-31T16:00")


def test_a_time_of_a_weekday() -> None:
    found = absolute("timer:datetime", "2008-07-01", "2008-07-31", time="08:00", weekday="Mon")
    assert found == points("2008-07-07T08", "2008-07-14T08", "2008-07-21T08", "2008-07-28T08")


def test_a_time_of_a_day_of_each_month_and_of_a_month() -> None:
    assert absolute("timer:datetime", "2008-01-01", "2008-05-01", time="00:00", day=31) == points(
        "2008-01-31", "2008-03-31"
    )
    assert absolute("timer:datetime", "2007-01-01", "2009-01-01", time="00:00", day=31, month=3) == points(
        "2007-03-31", "2008-03-31"
    )


def test_a_time_in_a_timezone_follows_its_clocks() -> None:
    found = absolute("timer:datetime", "2008-03-29T00", "2008-03-30T23", time="12:00", timezone="Europe/Berlin")
    assert found == points("2008-03-29T11", "2008-03-30T10")


def test_a_whole_day() -> None:
    found = absolute("timer:date", "2008-07-30T05", "2008-08-01T22", weekday="Thu")
    assert found == {(hours("2008-07-31T00"), hours("2008-07-31T23"))}
    found = absolute("timer:date", "2008-07-30T05", "2008-08-01T22")  # the day of the last event is not over
    assert found == {(hours(day), hours(day) + 23) for day in ("2008-07-30", "2008-07-31")}


def test_a_day_on_which_clocks_change() -> None:
    found = absolute("timer:date", "2008-03-29", "2008-04-02", date="2008-03-30", timezone="Europe/Berlin")
    assert found == {(hours("2008-03-29T23"), hours("2008-03-30T21"))}  # of 23 hours


def test_timer_datetime_needs_a_time() -> None:
    with pytest.raises(UsageError, match="needs a time"):
        absolute("timer:datetime", "2008-03-29", "2008-04-02", weekday="Mon")


def test_periodic_timers_end_between_the_ends_of_base_events() -> None:
    one = rule(h("r"), ast.PeriodicTimer("w", dur("10 s")))
    assert derived(one, [ev("a", -15), ev("a", 19)]) == {
        ev("r", -20, -11),
        ev("r", -10, -1),
        ev("r", 0, 9),
        ev("r", 10, 19),
    }
    assert derived(one, [ev("a", 0, 9), ev("a", 3, 18)]) == {ev("r", 0, 9)}
    assert derived(one, []) == set()


# --- conditions ---------------------------------------------------------------------------------------------------

PROPER = (3, 6)
ALLEN = {
    "before": (7, 9),
    "meets": (6, 9),
    "overlaps": (5, 9),
    "during": (2, 7),
    "starts": (3, 9),
    "finishes": (1, 6),
    "equals": (3, 6),
    "after": (1, 2),
    "met-by": (1, 3),
    "overlapped-by": (1, 5),
    "contains": (4, 5),
    "started-by": (3, 5),
    "finished-by": (4, 6),
}


@pytest.mark.parametrize("relation", ALLEN)
def test_of_allens_relations_exactly_one_holds_between_proper_intervals(relation: str) -> None:
    j = ALLEN[relation]
    assert [each for each in ALLEN if holds(each, Timer(*PROPER), Timer(*j))] == [relation]
    one = rule(h("r"), on("i", q("a")), on("j", q("b")), where=[allen(f"i {relation} j")])
    assert derived(one, [ev("a", *PROPER), ev("b", *j)]) == {ev("r", min(3, j[0]), max(6, j[1]))}


@pytest.mark.parametrize(
    ("i", "j", "relations"),
    [
        ((3, 3), (3, 5), {"meets", "starts"}),
        ((5, 5), (3, 5), {"met-by", "finishes"}),
        ((3, 5), (3, 3), {"met-by", "started-by"}),
        ((3, 5), (5, 5), {"meets", "finished-by"}),
        ((4, 4), (3, 5), {"during"}),
        ((3, 3), (3, 3), {"meets", "met-by", "equals"}),
        ((3, 3), (4, 4), {"before"}),
        ((4, 4), (3, 3), {"after"}),
    ],
)
def test_of_points_several_relations_may_hold(i: tuple[int, int], j: tuple[int, int], relations: set[str]) -> None:
    assert {each for each in ALLEN if holds(each, Timer(*i), Timer(*j))} == relations


def conditional(*conditions: ast.Condition) -> ast.Rule:
    query = q("a", ast.Optional(q("u", V("U"))), v=V("X"))
    return rule(h("r", v=x("X")), on("i", query), where=list(conditions))


def kept(condition: ast.Condition) -> list[Any]:
    events = [ev("a", 1, v=1), ev("a", 1, v=2, u=5), ev("a", 1, v=3, u=0)]
    found = derived(conditional(condition), events)
    return sorted(number for number in (1, 2, 3) if ev("r", 1, v=number) in found)


U, X = x("U"), x("X")


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (compare(X, "<", 2), [1]),
        (compare(X, "<=", 2), [1, 2]),
        (compare(X, "=", 2.0), [2]),
        (compare(X, "!=", 2), [1, 3]),
        (compare(X, ">", 2), [3]),
        (compare(X, ">=", 2), [2, 3]),
        (compare(X, "=", "2"), []),
        (compare(X, "!=", "2"), [1, 2, 3]),
        (compare(U, "=", 5), [2]),
        (compare(U, "!=", 5), [3]),
        (ast.Not(compare(U, "=", 5)), [3]),  # not of what is unknown is unknown
        (compare(U, "=", U), [2, 3]),
        (ast.Either((compare(U, "=", 5), compare(X, "=", 1))), [1, 2]),
        (ast.Both((compare(U, ">", -1), compare(X, ">", 0))), [2, 3]),
        (ast.Not(ast.Both((compare(U, "=", 5), compare(X, "=", 2)))), [1, 3]),  # unknown and false is false
        (compare(ast.Arithmetic("/", X, U), ">", 0), [2]),  # by zero: unbound
        (compare(ast.Arithmetic("/", X, ast.Literal(2)), "=", 0.5), [1]),
        (compare(ast.Arithmetic("*", X, ast.Arithmetic("+", X, ast.Literal(1))), "=", 6), [2]),
        (compare(ast.Negative(X), "<", ast.Arithmetic("-", ast.Literal(0), ast.Literal(2))), [3]),
        (compare(ast.Call("coalesce", (U, ast.Literal(7))), "=", 7), [1]),
        (compare(ast.Call("abs", (ast.Negative(X),)), "=", X), [1, 2, 3]),
        (compare(ast.Call("floor", (ast.Arithmetic("/", X, ast.Literal(2)),)), "=", 1), [2, 3]),
        (compare(ast.Call("ceil", (ast.Arithmetic("/", X, ast.Literal(2)),)), "=", 1), [1, 2]),
        (compare(ast.Call("length", (ast.Call("upper", (ast.Literal("ab"),)),)), "=", X), [2]),
        (compare(ast.Call("lower", (ast.Literal("Ab"),)), "=", "ab"), [1, 2, 3]),
    ],
)
def test_conditions_on_values(condition: ast.Condition, wanted: list[int]) -> None:
    assert kept(condition) == wanted


def test_nan_equals_nan_and_is_the_greatest_number() -> None:
    events = [ev("a", 1, v=math.nan), ev("a", 1, v=1)]
    assert derived(conditional(compare(X, "=", X)), events) == {ev("r", 1, v=math.nan), ev("r", 1, v=1)}
    assert derived(conditional(compare(X, ">", 10**9)), events) == {ev("r", 1, v=math.nan)}


def test_a_number_and_a_string_cannot_be_compared_by_size() -> None:
    with pytest.raises(DataError, match="a number and a string are compared"):
        derived(conditional(compare(X, "<", "2")), [ev("a", 1, v=1)])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (ast.Arithmetic("+", X, X), 2**62),
        (ast.Negative(X), -(2**63)),
        (ast.Call("abs", (X,)), -(2**63)),
        (ast.Call("floor", (X,)), 1e300),
    ],
)
def test_arithmetic_that_leaves_64_bits(expression: ast.Expression, value: float) -> None:
    with pytest.raises(DataError, match="integer overflow"):
        derived(conditional(compare(expression, ">", 0)), [ev("a", 1, v=value)])


def test_within_and_apart_by() -> None:
    literals = [on("i", q("a")), on("j", q("b"))]
    near = rule(h("r"), *literals, where=[within("i j", "10 s")])
    assert derived(near, [ev("a", 1, 5), ev("b", 9, 11), ev("b", 9, 12)]) == {ev("r", 1, 11)}
    apart = rule(h("r"), *literals, where=[ast.ApartBy(("i", "j"), dur("4 s"))])
    events = [ev("a", 11, 15), ev("b", 19, 20), ev("b", 18, 20), ev("b", 1, 7), ev("b", 1, 8), ev("b", 12, 13)]
    assert derived(apart, events) == {ev("r", 11, 20), ev("r", 1, 15)}
    assert derived(apart, [ev("a", 11, 15), ev("b", 18, 20), ev("b", 1, 8)]) == set()


# --- construction -------------------------------------------------------------------------------------------------


def collected(head: ast.Construct, events: list[Event], **options: Any) -> set[Event]:
    """Rows r { g, v, o } of a window that is the event w."""
    query = ast.Labelled("b", tuple(ast.Optional(q(each, V(each.upper()))) for each in ("g", "v", "o")))
    return derived(rule(head, on("w", q("w")), collect("w", query)), [ev("w", 0, 100), *events], **options)


ROWS = [ev("b", 1, g="x", v=10), ev("b", 2, g="x", v=10), ev("b", 3, g="y", v=30), ev("b", 4, g="y", v=20)]


def test_a_head_without_all_makes_a_term_for_each_value() -> None:
    assert collected(h("r", g=x("G")), ROWS) == {ev("r", 0, 100, g="x"), ev("r", 0, 100, g="y")}


def test_all_gives_each_value_once_in_order() -> None:
    assert collected(h("r", every(h("v", x("V")))), ROWS) == {ev("r", 0, 100, v=[10, 20, 30])}


def test_all_within_a_group() -> None:
    assert collected(h("r", every(h("v", x("V"))), g=x("G")), ROWS) == {
        ev("r", 0, 100, g="x", v=[10]),
        ev("r", 0, 100, g="y", v=[20, 30]),
    }


def test_all_with_group_by_and_order_by() -> None:
    rows = [ev("b", 1, g="x", v=1, o=2), ev("b", 1, g="y", v=1, o=1), ev("b", 1, g="z", v=0, o=2)]
    assert collected(h("r", every(h("v", x("V")), group_by="G")), rows) == {ev("r", 0, 100, v=[0, 1, 1])}
    assert collected(h("r", every(h("v", x("V")), order_by="-O")), rows[1:]) == {ev("r", 0, 100, v=[0, 1])}
    assert collected(h("r", every(h("g", x("G")), order_by="-O G")), rows) == {ev("r", 0, 100, g=["x", "z", "y"])}
    assert collected(h("r", every(h("g", x("G")), order_by="O -G")), rows) == {ev("r", 0, 100, g=["y", "z", "x"])}


def test_what_is_unbound_comes_first_in_order_by() -> None:
    rows = [ev("b", 1, g="x", o=2), ev("b", 1, g="y")]
    assert collected(h("r", every(h("g", x("G")), order_by="O")), rows) == {ev("r", 0, 100, g=["y", "x"])}
    assert collected(h("r", every(h("g", x("G")), order_by="-O")), rows) == {ev("r", 0, 100, g=["x", "y"])}


def test_an_instance_with_several_values_to_sort_by_stands_where_the_first_of_them_does() -> None:
    rows = [ev("b", 1, g="x", o=1), ev("b", 1, g="x", o=9), ev("b", 1, g="y", o=5)]
    assert collected(h("r", every(h("g", x("G")), order_by="O")), rows) == {ev("r", 0, 100, g=["x", "y"])}
    assert collected(h("r", every(h("g", x("G")), order_by="-O")), rows) == {ev("r", 0, 100, g=["x", "y"])}


def test_nested_all() -> None:
    inner = h("group", h("name", x("G")), every(h("v", x("V"))), h("n", agg("count", "V")))
    assert collected(h("r", every(inner)), ROWS) == {
        ev("r", 0, 100, group=[{"name": "x", "v": [10], "n": 2}, {"name": "y", "v": [20, 30], "n": 2}])
    }


def test_a_child_of_which_nothing_is_there_is_left_out() -> None:
    head = h("r", h("u", h("w", x("O"))), every(h("o", x("O"))), v=x("V"), s=agg("sum", "O"), n=agg("count", "O"))
    assert collected(head, [ev("b", 1, v=1)]) == {ev("r", 0, 100, v=1, n=0)}


@pytest.mark.parametrize(
    ("function", "nodes", "letter"),
    [("count", 4, 3), ("sum", 70, 60), ("avg", 17.5, 20.0), ("min", 10, 10), ("max", 30, 30)],
)
def test_choice_a_aggregates_over_nodes_and_by_the_letter(function: str, nodes: float, letter: float) -> None:
    head = h("r", v=agg(function, "V"))
    assert collected(head, ROWS) == {ev("r", 0, 100, v=nodes)}
    assert collected(head, ROWS, aggregates="set") == {ev("r", 0, 100, v=letter)}


def test_aggregates_with_group_by() -> None:
    head = h("r", v=agg("sum", "V", "G"))
    rows = [*ROWS, ev("b", 5, g="y", v=10)]
    assert collected(head, rows) == {ev("r", 0, 100, v=80)}
    assert collected(head, rows, aggregates="set") == {ev("r", 0, 100, v=70)}  # x 10, y 10, y 20, y 30


def test_aggregates_of_expressions() -> None:
    head = h("r", v=agg("sum", ast.Arithmetic("*", x("V"), x("O"))))
    rows = [ev("b", 1, v=2, o=3), ev("b", 2, v=2, o=3), ev("b", 3, v=3, o=2), ev("b", 4, v=1)]
    assert collected(head, rows) == {ev("r", 0, 100, v=18)}
    assert collected(head, rows, aggregates="set") == {ev("r", 0, 100, v=12)}


def test_nodes_of_one_array_are_counted_each() -> None:
    one = rule(h("r", n=agg("count", "V"), s=agg("sum", "V")), on("a", q("a", v=V("V"))))
    assert derived(one, [ev("a", 1, v=[1, 1, 2])]) == {ev("r", 1, n=3, s=4)}
    assert derived(one, [ev("a", 1, v=[1, 1, 2])], aggregates="set") == {ev("r", 1, n=2, s=3)}


def test_two_collects_do_not_multiply_each_others_sums() -> None:
    one = rule(
        h("r", a=agg("sum", "A"), b=agg("sum", "B")),
        on("w", q("w")),
        collect("w", q("a", v=V("A"))),
        collect("w", q("b", v=V("B"))),
    )
    events = [ev("w", 0, 9), ev("a", 1, v=1), ev("a", 2, v=1), ev("b", 1, v=5), ev("b", 2, v=5), ev("b", 3, v=5)]
    assert derived(one, events) == {ev("r", 0, 9, a=2, b=15)}


def test_events_can_be_counted_by_their_terms() -> None:
    one = rule(h("r", n=agg("count", "E")), on("w", q("w")), collect("w", V("E", q("a"))))
    assert derived(one, [ev("w", 0, 9), ev("a", 1), ev("a", 2), ev("a", 1)]) == {ev("r", 0, 9, n=2)}  # one event twice


def test_sums_of_integers_that_leave_64_bits() -> None:
    rows = [ev("b", 1, v=2**62), ev("b", 2, v=2**62)]
    with pytest.raises(AggregateError, match="integer overflow"):
        collected(h("r", s=agg("sum", "V")), rows)
    assert collected(h("r", s=agg("avg", "V")), rows) == {ev("r", 0, 100, s=float(2**62))}
    assert collected(h("r", s=agg("sum", "V")), [*rows, ev("b", 3, v=-1)]) == {ev("r", 0, 100, s=2**63 - 1)}


def test_sums_of_floats() -> None:
    rows = [ev("b", at, v=value) for at, value in enumerate([1e16, 1.0, -1e16, 1])]
    assert collected(h("r", s=agg("sum", "V")), rows) == {ev("r", 0, 100, s=2.0)}


def test_heads_compute() -> None:
    one = rule(h("r", v=ast.Arithmetic("+", x("X"), ast.Literal(1)), c="text"), on(None, q("a", v=V("X"))))
    assert derived(one, [ev("a", 1, v=1)]) == {ev("r", 1, v=2, c="text")}


def test_a_whole_term_can_be_passed_on() -> None:
    one = rule(h("r", x("T")), on(None, q("a", V("T", q("s")))))
    assert derived(one, [ev("a", 1, s={"k": 1})]) == {ev("r", 1, s={"k": 1})}


def test_columns_of_derived_events_stand_in_the_order_in_which_heads_write_them() -> None:
    rules = [
        rule(h("d", v=1, w=2), on(None, q("a"))),
        rule(h("d", w=3, v=4), on(None, q("b"))),
        rule(h("r", v=x("V")), on(None, q("d", q("v", V("V")), q("w"), brackets="["))),
    ]
    assert derived(program(*rules), [ev("a", 1), ev("b", 2)]) >= {ev("r", 1, v=1), ev("r", 2, v=4)}


# --- strata and the fixpoint --------------------------------------------------------------------------------------


def levels(*rules: ast.Rule) -> list[int]:
    return strata(normal_form(program(*rules)))


def passed(head: str, body: str) -> ast.Rule:
    return rule(h(head), on(None, q(body)))


def test_strata_count_the_strict_edges() -> None:
    negation = rule(h("n"), on("i", q("a")), absent("i", q("d")))
    grouping = rule(h("g", every(h("v", x("X")))), on("i", q("n", v=V("X"))))
    temporal = rule(h("t"), on("i", q("g")), timer("k", "extend", "i", "1 s"), timer("l", "extend", "k", "1 s"))
    assert levels(temporal, passed("p", "t"), grouping, negation, passed("d", "a"), passed("a", "d")) == [
        3,
        3,
        2,
        1,
        0,
        0,
    ]


def test_any_label_and_desc_query_all_rules() -> None:
    for query in (q(None), ast.Descendant(q("d")), V("X")):
        assert levels(rule(h("n"), on("i", q("a")), on("j", query)), passed("d", "a")) == [0, 0]
        with pytest.raises(QueryCheckError, match="n depends on itself through negation"):
            levels(rule(h("n"), on("i", q("a")), absent("i", query)))


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (rule(h("n"), on("i", q("a")), absent("i", q("d"))), "negation"),
        (rule(h("n", every(h("v", x("X")))), on("i", q("d", v=V("X")))), "grouping"),
        (rule(h("n"), on("i", q("d")), timer("k", "extend", "i", "1 s")), "the timer k"),
    ],
)
def test_no_cycle_has_a_strict_edge(one: ast.Rule, reason: str) -> None:
    with pytest.raises(QueryCheckError, match=f"not stratifiable: n depends on itself through {reason}"):
        levels(passed("d", "e"), passed("e", "n"), one)


def test_slip_6_what_is_negated_is_derived_before() -> None:
    lonely = rule(h("lonely", v=x("X")), on("w", q("w", v=V("X"))), absent("w", q("d", v=V("X"))))
    chained = [rule(h("d", v=x("X")), on(None, q("c", v=V("X")))), rule(h("c", v=x("X")), on(None, q("b", v=V("X"))))]
    events = [ev("w", 0, 9, v=1), ev("w", 0, 9, v=2), ev("b", 5, v=1)]
    assert derived(program(lonely, *chained), events) == {ev("c", 5, v=1), ev("d", 5, v=1), ev("lonely", 0, 9, v=2)}


def test_grouping_sees_all_that_is_derived() -> None:
    total = rule(h("total", n=agg("count", "E")), on("w", q("w")), collect("w", V("E", q("d"))))
    events = [ev("w", 0, 9), ev("a", 1), ev("b", 2), ev("d", 3)]
    found = derived(program(total, passed("d", "a"), passed("d", "e"), passed("e", "b")), events)
    assert ev("total", 0, 9, n=3) in found  # base events may have the label of derived ones
    assert {each for each in found if each.label == "d"} == {ev("d", 1), ev("d", 2)}


def test_derived_events_that_equal_base_events_are_not_given() -> None:
    assert derived(passed("d", "a"), [ev("a", 1), ev("a", 2), ev("d", 1)]) == {ev("d", 2)}


def test_an_anchor_may_be_derived() -> None:
    late = rule(h("late"), on("i", q("d")), timer("k", "from-end", "i", "5 s"), absent("k", q("b")))
    assert derived(program(late, passed("d", "a")), [ev("a", 1), ev("a", 4), ev("b", 8)]) == {
        ev("d", 1),
        ev("d", 4),
        ev("late", 1, 6),
    }


def test_transitive_closure() -> None:
    step = rule(
        h("path", a=x("A"), b=x("C")), on("i", q("path", a=V("A"), b=V("B"))), on("j", q("edge", a=V("B"), b=V("C")))
    )
    first = rule(h("path", a=x("A"), b=x("B")), on(None, q("edge", a=V("A"), b=V("B"))))
    edges = [ev("edge", 0, a=one, b=other) for one, other in [("x", "y"), ("y", "z"), ("z", "x")]]
    assert derived(program(step, first), edges) == {ev("path", 0, a=one, b=other) for one in "xyz" for other in "xyz"}


# --- what is refused ----------------------------------------------------------------------------------------------


def test_identifiers_that_are_not_there_or_there_twice() -> None:
    with pytest.raises(QueryCheckError, match="no event k"):
        derived(rule(h("r"), on("i", q("a")), timer("t", "extend", "k", "1 s")), [])
    with pytest.raises(QueryCheckError, match="no event k"):
        derived(rule(h("r"), on("i", q("a")), where=[allen("i before k")]), [ev("a", 1)])
    with pytest.raises(QueryCheckError, match="event identifier i is used twice"):
        derived(rule(h("r"), on("i", q("a")), on("i", q("b"))), [])


def test_unknown_reading_of_aggregates() -> None:
    with pytest.raises(UsageError, match="one of 'nodes', 'set'"):
        derive(program(), [], aggregates="bag")


def test_days_as_units() -> None:
    one = rule(h("r"), on("a", q("a")), timer("i", "from-end", "a", "2 week"))
    assert derived(one, [ev("a", 1)], tick=DAY) == {ev("r", 1, 15)}
