"""How much work it is to list matches: counted, never timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.nodes.arena import Arena, Listed, Tree
from acelera.engine.nodes.listing import in_order_of_start
from acelera.engine.nodes.unions import CHAIN, STEPS_LEFT, UNION
from acelera.engine.session.session import Session

QUERIES = [
    "(A OR (B ; C)) ; D",
    "(A OR (B ; C) OR (C ; B)) ; D",
    "(A OR (B ; C+)) ; D",
    "A ; B+ ; D",
    "(A OR B) ; (C OR (B ; A)) ; D",
    "((A : B) OR (B ; C) OR (A ; C)) ; D",
    "(A OR (B AS b ; C AS c FILTER b.v = c.v)) ; D",
    "(A OR ((B AS b ; C AS c) UNLESS A FILTER b.v <= c.v)) ; D",
    "(A OR (B AS b ; C AS c FILTER b.d * 1 = c.d * 1)) ; D",  # value by value
]


def adversarial(size: int) -> str:
    """Much that is old and joined again and again, then much that asks for what is new."""
    return "B" + "X" * (size // 20) + "A" + "C" * (size // 2) + "D" * (size // 10)


def random(size: int, *weights: float) -> str:
    """Events of the types A, B, C, D, X at random."""
    return "".join(np.random.default_rng(2).choice(list("ABCDX"), size, p=weights))


STREAMS = {
    "old starts that go on for long": (adversarial(600), 313),
    "again and again": (adversarial(200) * 4, 105),
    "starts of many ages": ("BXBXBX" * 10 + "A" + "CX" * 60 + "D" * 40 + "A" + "C" * 40 + "D" * 40, 170),
    "few starts": (random(700, 0.01, 0.02, 0.3, 0.1, 0.57), 60),
    "any": (random(300, 0.1, 0.1, 0.1, 0.05, 0.65), 25),
}
"""Types of events, and a window."""


def table_of(types: str) -> pa.Table:
    """Events of these types, with values of which some are equal."""
    values = np.random.default_rng(5).integers(0, 30, len(types))
    return pa.table({"type": list(types), "v": values, "d": pa.array(values).cast(pa.decimal128(21, 2))})


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the matches that are listed: what they mark, and that they begin."""
    found: list[int] = []
    listing = Arena.listed

    def listed(self: Arena, as_tree: bool) -> Iterator[Listed | Tree]:
        for each in listing(self, as_tree):
            found.append(len(each) + len(each.marks))
            yield each

    monkeypatch.setattr(Arena, "listed", listed)
    return found


def held(session: Session) -> list[int]:
    """The nodes that the only key holds."""
    return [each.node for each in session.matcher.machine.waiting(0)]


def assert_in_order(session: Session) -> None:
    """What `nodes` promises of all unions that are there."""
    arena = session.matcher.machine.arena
    mark, left, right, newest, _ = (each[: arena.size].tolist() for each in arena.arrays)
    steps: list[int] = []
    for node in range(arena.size):
        if mark[node] not in (UNION, CHAIN):
            steps.append(0)
            continue
        assert newest[node] == newest[left[node]] >= newest[right[node]]
        assert max(left[node], right[node]) < node
        steps.append(steps[left[node]] + 1)
    assert max(steps, default=0) <= STEPS_LEFT
    assert all(steps[node] <= 1 for node in held(session))


@pytest.mark.parametrize(("types", "window"), STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("formula", QUERIES)
def test_nothing_that_has_left_the_window_is_walked_through(
    formula: str, types: str, window: int, sizes: list[int]
) -> None:
    table = table_of(types)
    window = min(window, 12) if "+" in formula else window  # or there are too many matches
    session = ac.query(f"SELECT * MATCH {formula} WITHIN {window} EVENTS").open(table.schema)
    for at, batch in enumerate(table.to_batches(max_chunksize=97)):
        session.push(batch)
        assert_in_order(session)
        if at % 3 == 2:
            session.compact()
            assert_in_order(session)
    assert session.matcher.machine.arena.steps <= (STEPS_LEFT + 1) * sum(sizes)


def test_matches_of_lists_that_are_joined_are_right() -> None:
    """Against the automaton, where lists have several elements and lose some of them."""
    for types in ("BXBXBXA" + "CXX" * 12 + "D" * 6, "BBXXAACCXXBBCCXXAACCDDD" * 3):
        table = table_of(types)
        for formula in QUERIES:
            for window in (9, 23):
                query = ac.query(f"MATCH {formula} WITHIN {min(window, 12) if '+' in formula else window} EVENTS")
                found, expected = (_rows(query.run(table, method=method)) for method in ("engine", "automaton"))
                assert found == expected, (types, formula, window)


def _rows(table: pa.Table) -> list[Any]:
    return sorted(map(repr, table.to_pylist()))


RISING = "MATCH R:+ AS r FILTER r[increasing(v)] AGG n[k <- count(r)] FILTER n.k >= 3"


@pytest.mark.parametrize(
    ("text", "at_most"),
    [
        (f"SELECT start, end, n.k {RISING}", 3),  # what is made, the row that it belongs to, and the beginning
        (f"SELECT start, end {RISING}", 1),
        ("SELECT start, end MATCH R:+", 1),
        ("SELECT a.v, c.v MATCH R AS a : R:+ AS b : R AS c", 3),
        ("SELECT start, end MATCH R:+ AS r AGG n[k <- count(r), m <- max(r.v)]", 1),  # a fold that nobody asks for
        ("SELECT start, end, n.k, n.m MATCH R:+ AS r AGG n[k <- count(r), m <- max(r.v)]", 3),  # what matches share
        ("SELECT start, end, sum(r.v) AS s, first(r.v) AS f MATCH R:+ AS r", 3),
    ],
)
def test_what_is_not_shown_is_not_walked_through(text: str, at_most: int, sizes: list[int]) -> None:
    """Matches of up to 100 events, each of which differs from others in one event."""
    table = pa.table({"type": ["R"] * 100, "v": list(range(100))})
    query = ac.query(text)
    session = query.open(table.schema)
    found = session.push(table)
    assert sum(sizes) <= at_most * found.num_rows
    assert session.matcher.machine.arena.steps <= (STEPS_LEFT + 1) * sum(sizes)
    few = table.slice(0, 12)
    assert query.run(few).to_pylist() == query.run(few, method="automaton").to_pylist()


def test_matches_that_differ_in_what_is_not_shown_are_different() -> None:
    table = table_of("ABABCABC")
    for formula in ("(A AS x OR A AS y) ; C", "A ; B+ ; C", "(A AS x ; B) OR (A ; B AS y)", "A ; (B OR B AS z)+ ; C"):
        query = ac.query(f"SELECT start, end MATCH {formula}")
        assert query.run(table).to_pylist() == query.run(table, method="automaton").to_pylist()


def test_failures_that_are_not_shown_are_errors() -> None:
    table = pa.table({"type": ["A", "A", "B"], "v": [2**62, 2**62, 1]})
    for text in ("AGG m[s <- sum(a.v)]", "AGG m[s <- sum(a.v), n <- count(a)] FILTER m.n > 1"):
        with pytest.raises(ac.AggregateError, match="integer overflow"):
            ac.query(f"SELECT start, end MATCH A+ AS a ; B {text}").run(table)


@pytest.mark.parametrize("spread", [1, 10, 10**6])
def test_matches_that_end_together_are_in_order_of_their_starts(spread: int) -> None:
    """Whether starts lie close together or far apart; equal ones stay as they are."""
    rng = np.random.default_rng(spread)
    for size in (0, 1, 2, 3, 17, 300):
        ends = np.sort(rng.integers(0, 4, size)).astype(np.int32)
        starts = (rng.integers(0, 40, size) * spread).astype(np.int32)
        assert in_order_of_start(starts, ends).tolist() == np.lexsort((starts, ends)).tolist()
