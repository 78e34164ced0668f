"""Bounds of times: what follows from what is said, and that nothing is dropped that could still matter."""

from __future__ import annotations

import itertools
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.algebra.bounds import InconsistentError, NetworkBuilder, comes_last, kept_until
from acelera.algebra.intervals import RELATIONS, TIMERS, Point, orders

EVENTS = ("i", "j", "k")
Times = dict[str, tuple[int, int]]

HOLDS = {
    "before": lambda a, b: a[1] < b[0],
    "meets": lambda a, b: a[1] == b[0],
    "overlaps": lambda a, b: a[0] < b[0] < a[1] < b[1],
    "during": lambda a, b: b[0] < a[0] and a[1] < b[1],
    "starts": lambda a, b: a[0] == b[0] and a[1] < b[1],
    "finishes": lambda a, b: b[0] < a[0] and a[1] == b[1],
    "equals": lambda a, b: a == b,
    "after": lambda a, b: b[1] < a[0],
    "met-by": lambda a, b: b[1] == a[0],
    "overlapped-by": lambda a, b: b[0] < a[0] < b[1] < a[1],
    "contains": lambda a, b: a[0] < b[0] and b[1] < a[1],
    "started-by": lambda a, b: a[0] == b[0] and b[1] < a[1],
    "finished-by": lambda a, b: a[0] < b[0] and a[1] == b[1],
    "simultaneous": lambda a, b: a == b,
}


def point(times: Times, which: Point) -> int:
    return times[which.identifier][which.end == "end"]


def held(times: Times, relation: str) -> bool:
    return all(
        point(times, each.earlier) < point(times, each.later) + each.may_be_one for each in orders("i", relation, "j")
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_relations_are_allens(relation: str) -> None:
    intervals = [(b, e) for b in range(5) for e in range(b, 5)]
    for one, two in itertools.product(intervals, repeat=2):
        assert held({"i": one, "j": two}, relation) == HOLDS[relation](one, two)


def test_exactly_one_relation_holds_of_proper_intervals() -> None:
    proper = [(b, e) for b in range(6) for e in range(b + 1, 6)]
    for one, two in itertools.product(proper, repeat=2):
        assert sum(held({"i": one, "j": two}, relation) for relation in RELATIONS if relation != "simultaneous") == 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("from-end", (20, 23)),
        ("from-end-backward", (17, 20)),
        ("from-start", (10, 13)),
        ("from-start-backward", (7, 10)),
        ("extend", (10, 23)),
        ("shorten", (10, 17)),
        ("extend-begin", (7, 20)),
        ("shorten-begin", (13, 20)),
        ("shift-forward", (13, 23)),
        ("shift-backward", (7, 17)),
    ],
)
def test_timers(kind: str, expected: tuple[int, int]) -> None:
    anchor = {"begin": 10, "end": 20}
    begin, end = (anchor[shift.end] + 3 * shift.direction for shift in TIMERS[kind])
    assert (begin, end) == expected


# --- networks -----------------------------------------------------------------------------------------------------


@st.composite
def said(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """What a rule may say of three events."""
    two = st.lists(st.sampled_from(EVENTS), min_size=2, max_size=2, unique=True)
    relation = st.tuples(st.just("relation"), two, st.sampled_from(RELATIONS))
    within = st.tuples(st.just("within"), st.lists(st.sampled_from(EVENTS), min_size=2, unique=True), st.integers(0, 5))
    lasting = st.tuples(st.just("longest"), st.sampled_from(EVENTS), st.integers(0, 3))
    timer = st.tuples(st.just("timer"), two, st.sampled_from(list(TIMERS)), st.integers(0, 4))
    return draw(st.lists(st.one_of(relation, within, lasting, timer), max_size=4))


def network_of(conditions: list[tuple[Any, ...]]) -> Any:
    builder = NetworkBuilder()
    for each in EVENTS:
        builder.event(each)
    for kind, *said_of in conditions:
        if kind == "relation":
            builder.ordered(orders(said_of[0][0], said_of[1], said_of[0][1]))
        elif kind == "within":
            builder.within(said_of[0], said_of[1])
        elif kind == "longest":
            builder.event(said_of[0], said_of[1])
        else:
            builder.timer(said_of[0][0], said_of[1], said_of[0][1], said_of[2])
    return builder.network()


def satisfied(conditions: list[tuple[Any, ...]], times: Times) -> bool:
    for kind, *said_of in conditions:
        if kind == "relation":
            ok = HOLDS[said_of[1]](times[said_of[0][0]], times[said_of[0][1]])
        elif kind == "within":
            ok = max(times[each][1] for each in said_of[0]) - min(times[each][0] for each in said_of[0]) <= said_of[1]
        elif kind == "longest":
            ok = times[said_of[0]][1] - times[said_of[0]][0] <= said_of[1]
        else:
            anchor = dict(zip(("begin", "end"), times[said_of[0][1]], strict=True))
            ok = times[said_of[0][0]] == tuple(anchor[s.end] + said_of[2] * s.direction for s in TIMERS[said_of[1]])
        if not ok:
            return False
    return True


INTERVALS = [(b, e) for b in range(5) for e in range(b, 5)]


@pytest.mark.property
@given(said())
def test_closed_bounds_hold_and_are_the_least(conditions: list[tuple[Any, ...]]) -> None:
    """Every solution satisfies them; what has none is inconsistent, or its solutions are longer than those tried."""
    network = network_of(conditions)
    solutions = [
        times
        for one in itertools.product(INTERVALS, repeat=3)
        if satisfied(conditions, times := dict(zip(EVENTS, one, strict=True)))
    ]
    try:
        closed = network.closed
    except InconsistentError:
        assert not solutions
        return
    for times in solutions:
        for (left, right), bound in closed.items():
            assert point(times, left) - point(times, right) <= bound
        until = kept_until(network, ["i"], ["j", "k"])
        own = {Point("i", end): point(times, Point("i", end)) for end in ("begin", "end")}
        assert max(times["j"][1], times["k"][1]) <= until.at(own)
        if comes_last(network, ["i"], ["j", "k"]):
            assert max(times["j"][1], times["k"][1]) <= times["i"][1]


def test_the_fire_alarm() -> None:
    """Smoke before a temperature, within a minute: smoke is kept for a minute, a temperature not at all."""
    builder = NetworkBuilder()
    builder.event("s", 0)
    builder.event("t", 0)
    builder.ordered(orders("s", "before", "t"))
    builder.within(["s", "t"], 60)
    network = builder.network()
    until = kept_until(network, ["s"], ["t"])
    assert until.at({Point("s", "begin"): 100, Point("s", "end"): 100}) == 160
    assert comes_last(network, ["t"], ["s"]) and not comes_last(network, ["s"], ["t"])
    assert network.longest(["s", "t"]) == 60


def test_what_nothing_bounds_is_kept_for_ever() -> None:
    builder = NetworkBuilder()
    builder.event("a")
    builder.event("b")
    builder.ordered(orders("a", "before", "b"))
    until = kept_until(builder.network(), ["a"], ["b"])
    assert until.for_ever == ["b"] and until.at({Point("a", "begin"): 1, Point("a", "end"): 1}) == inf


def test_times_that_cannot_be() -> None:
    builder = NetworkBuilder()
    builder.event("a")
    builder.event("b")
    builder.ordered([*orders("a", "before", "b"), *orders("b", "before", "a")])
    with pytest.raises(InconsistentError):
        assert builder.network().closed
