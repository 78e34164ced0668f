"""Programs on which the engine and the meaning once differed: who was right, worked out from the contract's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from acelera.language.events import Moment
from acelera.language.types import INT
from acelera.trepl.checker import check
from acelera.trepl.history import Change, Fired
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Relation
from acelera.trepl.semantics import fired
from trepl.engine_runs import forgetful as forgetful
from trepl.engine_runs import run_engine
from trepl.machine_runs import run_plainly
from trepl.streams import TIMESTAMP

RELATIONS = {name: Relation({"k": INT, "v": INT}) for name in "abc"}

CASES: dict[str, tuple[str, str, list[str]]] = {
    "a star whose body is tested goes on only if the test holds": (
        "monitor a; R: * (a(X), X.k = First(X.k)) -> write(X.k);",
        "a1 / a1 / a2",
        ["1: 1", "2: 1", "3: 2"],
    ),
    "any with a test begins before the first stage": (
        "monitor a; R: (* (any, 1 = 1), a(X)) -> write(X.k);",
        "a1 / a2",
        ["1: 1", "2: 2"],
    ),
    "a star that any begins: the run of one key keeps that of another from beginning": (
        "monitor a; R: * (any, a(X, X.k = First(X.k))) -> write(X.k);",
        "a1 / a1 / a2 / a2",
        ["1: 1", "2: 1"],
    ),
    "any with a test that does not hold": ("monitor a; R: (any, 1 = 0, a(X)) -> write(X.k);", "a1 / a2", []),
    "the first of one of two, of which one is a first": (
        "monitor a, b; R: first({first(a), b}) -> write(1);",
        "a1 / b1",
        ["1: 1"],
    ),
    "the first time that it is not the first": (
        "monitor a; R: first(!first(a)) -> write(1);",
        "a1 / a1 / a1",
        ["2: 1"],
    ),
    "an aggregate of what a star binds in first": (
        "monitor a, b; R: * {first(a(X)), b(Y)} -> write(1); S: * (first(a(X)), Max(X.k) = X.k) -> write(Max(X.k));",
        "b1 / a1 a2 / a3",
        ["1: 1", "2: 1", "2: 1", "2: 2"],
    ),
    "a star after a sequence that ends in any does not stand after any itself": (
        "monitor a, b; R: ([a(X), any], * b(Y)) -> write(X.k, Count(Y));",
        "a1 / b1 / b1 / b1",
        ["3: 1 1", "4: 1 2"],
    ),
    "nor one after either of two that do": (
        "monitor a, b; R: ({(a, any), (b, any)}, * b(Y)) -> write(Count(Y));",
        "a1 / b1 / b1 / b1",
        ["3: 1", "4: 2"],
    ),
    "a star in a star after any": (
        "monitor a, b; R: (any, * (* a(X), b(Y, Y.k = Count(X)))) -> write(Y.k);",
        "a1 / a1 / b1 b2",
        ["3: 1", "3: 2"],
    ),
    "the current event is no first one to what guards compare": (
        "monitor a, b, c; R: * (a(X), * b(Y, Y.k = First(X.k)), c) -> write(X.k);",
        "a1 / b1 a2 / b1 / c",
        ["4: 1"],
    ),
    "what can never be satisfied": ("monitor a; R: (!any & a(X)) -> write(X.k, X.v);", "a1 / a1", []),
    "what is computed of different values may be the same": (
        "monitor a; R: a(X) -> write(nullif(X.k, X.v), 1);",
        "a11 a22 a12",
        ["1: 1 1", "1: None 1"],
    ),
    "a key of an event that is never made": (
        """Begin Module M monitor a; derived d(k); R: a(X) -> write(X.k); End Module.
           Begin Module N monitor M.d, a partition by k; R: a(X) -> write(X.k); End Module.""",
        "a1 / a2",
        ["1: 1", "1: 1", "1: 2", "2: 2"],
    ),
}
"""A program, what happens (stages are parted by `/`, `a12` is an insert into a with k = 1, v = 2), and what fires."""


def history(text: str) -> list[Change]:
    found = []
    for stage, events in enumerate(text.split("/"), 1):
        for relation, *cells in events.split():
            row = dict(zip("kv", (None if each == "-" else int(each) for each in (*cells, "-")), strict=False))
            found.append(Change(relation, "insert", None, row, stage, Moment(stage * 10**9)))
    return found


def told(rows: Iterable[Fired]) -> list[str]:
    return sorted(f"{each.stage}: {' '.join(map(str, each.arguments))}" for each in rows)


@pytest.mark.parametrize("name", CASES)
def test_meaning_machines_and_engine(name: str) -> None:
    text, happened, expected = CASES[name]
    program = check(parse(text).program, RELATIONS, TIMESTAMP).program
    assert told(fired(program, history(happened))) == expected
    assert told(set(run_plainly(program, history(happened)))) == expected
    assert told(run_engine(program, history(happened))) == expected


@pytest.mark.usefixtures("forgetful")
def test_who_waits_is_not_forgotten_if_times_do_not_order_stages() -> None:
    """Instants may be timestamps, but others than those of events."""
    text = "monitor a, b; R: [a(X), b(Y, Y.Timestamp - X.Timestamp <= INTERVAL 1 SECONDS)] -> write(Y.k);"
    program = check(parse(text).program, RELATIONS, TIMESTAMP).program
    changes = [
        replace(each, instant=Moment(stage * 10**9), timestamp=Moment(seconds * 10**9))
        for stage, (each, seconds) in enumerate(zip(history("a1 / b2 / b3"), (5, 9, 5), strict=True), 1)
    ]
    assert told(fired(program, changes)) == ["3: 3"]
    assert told(run_engine(program, changes, [1, 2])) == ["3: 3"]
