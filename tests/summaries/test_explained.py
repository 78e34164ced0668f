"""What explain() says of a summary, beside what a session of it does."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Any

import pytest

import acelera as ac

START = datetime.datetime(2024, 1, 1)
SCHEMA = {"type": str, "k": str, "v": int, "ts": "timestamp"}


def events(number: int, first: int = 0) -> list[dict[str, Any]]:
    """A and B by turns, one a second, of three keys and four values."""
    return [
        {"type": "AB"[at % 2], "k": "xyz"[at // 2 % 3], "v": at % 4, "ts": START + datetime.timedelta(seconds=at)}
        for at in range(first, first + number)
    ]


def told(query: ac.Query, what: str) -> str:
    return next(line for line in query.explain().splitlines() if line.startswith(f"  {what}: ")).split(": ", 1)[1]


@pytest.mark.parametrize(
    ("text", "says", "after"),
    [
        ("MATCH A ; B BY end", "each is given at once", 2),
        ("MATCH A ; B BY end OVER 4 EVENTS EVERY 2 EVENTS", "each is given at once", 2),
        ("MATCH A ; B BY end_time", "each is given when a later time comes", 3),
        ("MATCH A ; B PARTITION BY k BY end_time OVER 1 MINUTE", "each is given when a later time comes", 3),
        ("MATCH A ; B OVER 10 SECONDS EVERY 5 SECONDS", "each is given when its window is over", 6),
        ("MATCH A ; B PARTITION BY k BY end OVER 10 SECONDS", "each is given when its window is over", 11),
        ("MATCH A ; B OVER 4 EVENTS", "each is given when its partition has come to the end of the window", 4),
        (
            "MATCH A ; B PARTITION BY k OVER 2 EVENTS",
            "given at the end of the stream, since positions are those of each partition; with k in BY they come before",
            None,
        ),
        (
            "MATCH A ; B BY B.k",
            "given at the end of the stream, since any event may add to any of them; with OVER or BY end_time they come "
            "before",
            None,
        ),
    ],
)
def test_when_rows_are_given(text: str, says: str, after: int | None) -> None:
    """`after` is the number of events after which the first row comes, None if it comes at the end."""
    query = ac.query(f"SUMMARIZE count(*) {text}")
    assert told(query, "rows") == says
    session = query.open(SCHEMA, order_by="ts")
    came = [number for number, event in enumerate(events(24), 1) if session.push([event]).num_rows]
    assert (came[0] if came else None) == after
    assert session.finish().num_rows or came


@pytest.mark.parametrize(
    ("text", "says", "grows"),
    [
        (
            "MATCH A ; B PARTITION BY k BY k, A.v",
            "does not grow with the stream: numbers for each state of the automaton and key of PARTITION BY and value of "
            "A.v, to which partial matches are added",
            False,
        ),
        (
            "MATCH A+ BY end",
            "does not grow with the stream: numbers for each state of the automaton, to which partial matches are added",
            False,
        ),
        (
            "MATCH A ; B BY start",
            "can grow with the stream: BY start tells partial matches apart; WITHIN or OVER would bound it",
            True,
        ),
        (
            "MATCH A+ AS x FILTER x[increasing(v)]",
            "grows with the number of different values in registers, not with that of partial matches",
            False,  # there are two values
        ),
        ("MATCH A ; B WITHIN 5 SECONDS BY end", "bounded by the window", False),
        ("MATCH A : B", "bounded: no match reads more than 2 events", False),
    ],
)
def test_how_much_is_kept(text: str, says: str, grows: bool) -> None:
    query = ac.query(f"SUMMARIZE log2_count(*) {text}")
    assert told(query, "state") == says
    session, sizes = query.open(SCHEMA, order_by="ts"), []
    for first in range(0, 1200, 240):
        session.push(events(240, first))
        sizes.append(len(session.snapshot()))
    if grows:
        assert all(right > left + 1000 for left, right in pairwise(sizes))
    else:
        assert max(sizes) < min(sizes) + 500
