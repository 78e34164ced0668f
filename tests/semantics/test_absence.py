"""UNLESS that speaks of the match, and UNLESS … FOR, by the definition; worked out by hand."""

import re
from datetime import timezone

import pyarrow as pa
import pytest

from cases import read_stream, timestamp
from listed import listed

# --- what speaks of the match -------------------------------------------------------------------------------------

ORDERS = read_stream("""
    type    id    v
    order   1     5
    order   2     1
    cancel  1     3
    order   NULL  9
    ship    2     4
    cancel  2     0
""")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("order AS o ; ship", ["1-5 o1", "2-5 o2", "4-5 o4"]),
        ("(order AS o ; ship) UNLESS cancel", ["4-5 o4"]),
        ("(order AS o ; ship) UNLESS (cancel AS c FILTER c.id = o.id)", ["2-5 o2", "4-5 o4"]),
        ("(order AS o ; ship) UNLESS (cancel AS c FILTER c.id <> o.id)", ["1-5 o1", "4-5 o4"]),
        ("(order AS o ; ship) UNLESS (cancel FILTER cancel.id + 1 = o.id)", ["1-5 o1", "4-5 o4"]),
        # What it asks of its own event alone, before or beside.
        ("(order AS o ; ship) UNLESS (cancel AS c FILTER c.v > 3 AND c.id = o.id)", ["1-5 o1", "2-5 o2", "4-5 o4"]),
        ("(order AS o ; ship) UNLESS (cancel FILTER cancel.v = 3 FILTER cancel.id = o.id)", ["2-5 o2", "4-5 o4"]),
        ("(order AS o ; ship) UNLESS (cancel AS c FILTER c.v > 7 OR c.id = o.id)", ["2-5 o2", "4-5 o4"]),
        # Of the match alone: then any cancel rules it out.
        ("(order AS o ; ship) UNLESS (cancel FILTER o.v > 2)", ["2-5 o2", "4-5 o4"]),
        # Of two variables of the match: 5 and 4, 1 and 4; none is cancelled within 4-5.
        ("(order AS o ; ship AS s) UNLESS (cancel AS c FILTER c.v < o.v + s.v - 1)", ["4-5 o4 s5"]),
        ("(order AS o ; ship AS s) UNLESS (cancel AS c FILTER c.v < o.v + s.v - 2)", ["2-5 o2 s5", "4-5 o4 s5"]),
        # Of any type; the events of the match are looked at as well.
        ("(order AS o ; ship) UNLESS (ANY FILTER ANY.v < o.v)", ["2-5 o2"]),
        ("(order AS o ; ship) UNLESS (ANY FILTER ANY.v <= o.v)", []),
        ("(order AS o ; ship) UNLESS (ANY FILTER ANY.id = o.id)", ["4-5 o4"]),
    ],
)
def test_it_may_speak_of_the_match(formula: str, expected: list[str]) -> None:
    assert shown(formula) == expected


def shown(formula: str, table: pa.Table = ORDERS) -> list[str]:
    """The matches, with the variables that have small letters, as far as they are no types."""
    found = [each.split() for each in listed(f"MATCH {formula}", table)]
    return [" ".join([where, *(each for each in held if re.fullmatch("[a-z][0-9]", each))]) for where, *held in found]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        # Several events of x: one of them is enough.
        ("(A:{2} AS x ; C) UNLESS (B FILTER B.v = x.v)", []),
        ("(A:{2} AS x ; C) UNLESS (B FILTER B.v = x.v - 1)", []),
        ("(A:{2} AS x ; C) UNLESS (B FILTER B.v = x.v - 2)", ["1-4 x1 x2"]),
        # The same event in all conditions: B is (1, 0), the A are (1, 5) and (2, 0).
        ("(A:{2} AS x ; C) UNLESS (B FILTER B.v = x.v AND B.u = x.u)", ["1-4 x1 x2"]),
        ("(A:{2} AS x ; C) UNLESS (B FILTER B.v = x.v FILTER B.u = x.u)", ["1-4 x1 x2"]),
        ("(A:{2} AS x ; C) UNLESS (B FILTER B.v = x.v AND B.u < x.u)", []),
        ("(A AS x ; A AS y ; C) UNLESS (B FILTER B.v = x.v AND B.u = y.u)", []),
        ("(A AS x ; A AS y ; C) UNLESS (B FILTER B.v = y.v)", ["1-4 x1 y2"]),
        # An empty variable offers nothing to choose, but the other side of OR may hold.
        ("(A:{2} AS x ; (D AS y)? ; C) UNLESS (B FILTER B.v = y.v)", ["1-4 x1 x2"]),
        ("(A:{2} AS x ; (D AS y)? ; C) UNLESS (B FILTER B.v = y.v OR B.v = x.v)", []),
        ("(A:{2} AS x ; (D AS y)? ; C) UNLESS (B FILTER B.v = x.v OR B.v = y.v)", []),
        ("(A:{2} AS x ; (D AS y)? ; C) UNLESS (B FILTER B.v = y.v AND B.v = x.v)", ["1-4 x1 x2"]),
        ("(A:{2} AS x ; (D AS y)? ; C) UNLESS (B FILTER B.u = 0 OR B.v = y.v)", []),
        # A name that is bound on the right means what is on the right.
        ("(A AS x ; C) UNLESS (B AS x FILTER x.v = 9)", ["1-4 x1", "2-4 x2"]),
        ("(A AS x ; C) UNLESS (A FILTER A.v > x.v)", ["2-4 x2"]),
        # A variable of the right side that holds nothing asks nothing: then B is forbidden as it is.
        ("(A AS x ; C) UNLESS (D OR B FILTER D.v = x.v)", []),
        ("(A AS x ; C) UNLESS (D OR B FILTER D.v = 7 AND x.u = 5)", ["2-4 x2"]),
        # AGG makes events of the match, too.
        ("(A:{2} AS x ; C AGG m[n <- sum(x.v)]) UNLESS (B FILTER B.v < m.n)", []),
        ("(A:{2} AS x ; C AGG m[n <- sum(x.v)]) UNLESS (B FILTER B.v > m.n)", ["1-4 m4 x1 x2"]),
        # It says nothing of what is left out, and stands where UNLESS may stand.
        ("C ; ((A AS x ; C) UNLESS (B FILTER B.v = x.v))?", ["4-4"]),
        ("((A AS x ; C) UNLESS (B FILTER B.v = x.v)) OR (A AS y ; B)", ["1-3 y1", "2-3 y2", "2-4 x2"]),
        ("(A AS x ; C) UNLESS (B FILTER B.v = x.v) UNLESS (B FILTER B.u = x.u)", []),
        ("((A AS x ; C) UNLESS (B FILTER B.v = x.v)) AS z FILTER z.u = 0", []),
    ],
)
def test_one_choice_of_events_is_enough(formula: str, expected: list[str]) -> None:
    table = read_stream("""
        type  v  u
        A     1  5
        A     2  0
        B     1  0
        C     2  1
    """)
    assert shown(formula, table) == expected


# --- UNLESS … FOR -------------------------------------------------------------------------------------------------

TIMED = read_stream("""
    type  ts:timestamp  v
    A     10:00:00      1
    A     10:00:05      2
    B     10:00:08      1
    A     10:00:20      3
    X     10:00:30      0
""")


def nanoseconds(text: str) -> int:
    return int(timestamp(text).replace(tzinfo=timezone.utc).timestamp()) * 10**9


def told(formula: str, table: pa.Table = TIMED, until: str | None = None) -> list[str]:
    clock = None if until is None else nanoseconds(until)
    return listed(f"MATCH {formula}", table, order_by="ts", until=clock)


@pytest.mark.parametrize(
    ("formula", "until", "expected"),
    [
        ("A UNLESS B FOR 10 SECONDS", None, ["4-4 A4"]),  # 20 + 10 is the last time there is
        ("A UNLESS B FOR 11 SECONDS", None, []),
        ("A UNLESS B FOR 11 SECONDS", "10:00:31", ["4-4 A4"]),
        ("A UNLESS B FOR 2 SECONDS", None, ["1-1 A1", "2-2 A2", "4-4 A4"]),
        ("A UNLESS B FOR 3 SECONDS", None, ["1-1 A1", "4-4 A4"]),  # 5 + 3 is the time of B
        ("A UNLESS B FOR 7 SECONDS", None, ["1-1 A1", "4-4 A4"]),
        ("A UNLESS B FOR 8 SECONDS", None, ["4-4 A4"]),
        # Between start and end as well, but not before the start.
        ("(A ; X) UNLESS B FOR 1 SECONDS", None, []),
        ("(A ; X) UNLESS B FOR 1 SECONDS", "10:00:31", ["4-5 A4 X5"]),
        ("(A ; B) UNLESS A FOR 1 SECONDS", None, []),
        ("B UNLESS A FOR 12 SECONDS", None, []),
        ("B UNLESS A FOR 11 SECONDS", None, ["3-3 B3"]),
        # Of several events: all of them after the start, and the last in time.
        ("B UNLESS (A ; B) FOR 9 SECONDS", None, ["3-3 B3"]),
        ("A UNLESS (A ; A) FOR 9 SECONDS", None, ["2-2 A2", "4-4 A4"]),
        ("A UNLESS (A ; A) FOR 4 SECONDS", None, ["1-1 A1", "2-2 A2", "4-4 A4"]),
        ("A UNLESS B? FOR 10 SECONDS", None, ["4-4 A4"]),
        # Around it: interval and clock stay those of the match.
        ("(A UNLESS B FOR 10 SECONDS) AS x FILTER x.v = 3", None, ["4-4 A4 x4"]),
        ("(A UNLESS B FOR 10 SECONDS) AS x FILTER x.v < 3", None, []),
        ("(A UNLESS B FOR 10 SECONDS) AGG m[n <- count(A)] PROJECT m", None, ["4-4 m4"]),
        ("(A UNLESS B FOR 10 SECONDS) WITHIN 1 EVENTS", None, ["4-4 A4"]),
        # What is forbidden may speak of the match.
        ("A UNLESS (B FILTER B.v = A.v) FOR 10 SECONDS", None, ["2-2 A2", "4-4 A4"]),
        ("A UNLESS (B FILTER B.v < A.v) FOR 10 SECONDS", None, ["1-1 A1", "4-4 A4"]),
        ("A UNLESS (ANY FILTER ANY.v < A.v) FOR 10 SECONDS", None, ["1-1 A1"]),
        ("A UNLESS (ANY FILTER ANY.v < A.v) FOR 9 SECONDS", None, ["1-1 A1", "4-4 A4"]),
        (
            "(A AS x ; A AS y) UNLESS (B FILTER B.v + 1 = y.v) FOR 5 SECONDS",
            None,
            ["1-4 A1 A4 x1 y4", "2-4 A2 A4 x2 y4"],
        ),
    ],
)
def test_absence_afterwards(formula: str, until: str | None, expected: list[str]) -> None:
    assert told(formula, until=until) == expected


KEYS = read_stream("""
    type  ts:timestamp  k
    A     10:00:00      1
    B     10:00:03      2
    A     10:00:04      2
    X     10:01:00      3
""")


def test_the_clock_is_that_of_all_keys_and_absence_that_of_one() -> None:
    assert told("A UNLESS B FOR 56 SECONDS PARTITION BY k", KEYS) == ["1-1 A1", "2-2 A2"]
    assert told("A UNLESS B FOR 57 SECONDS PARTITION BY k", KEYS) == ["1-1 A1"]
    assert told("A UNLESS B FOR 56 SECONDS", KEYS) == ["3-3 A3"]
    assert told("A UNLESS B FOR 56 SECONDS", KEYS.slice(0, 0)) == []


def test_keep_is_of_what_is_told() -> None:
    text = "A+ UNLESS B FOR 10 SECONDS"
    assert told(f"{text} KEEP LONGEST PER START") == ["4-4 A4"]
    text = "A+ UNLESS X FOR 3 SECONDS KEEP LONGEST PER START"
    assert told(text, TIMED.slice(0, 4), until="10:00:22") == ["1-2 A1 A2", "2-2 A2"]
    assert told(text, TIMED.slice(0, 4), until="10:00:23") == ["1-4 A1 A2 A4", "2-4 A2 A4", "4-4 A4"]
