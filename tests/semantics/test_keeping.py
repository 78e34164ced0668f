"""KEEP by the definition; worked out by hand."""

import pyarrow as pa
import pytest

import acelera as ac
from acelera.language import ast
from acelera.language.events import ComplexEvent, Event, complex_event
from acelera.semantics.keeping import in_order, kept
from listed import listed


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        # A at 1, 2, 5, B at 3, 4, 6: all pairs of an A and a later B are matches.
        ("LONGEST PER START", ["1-6", "2-6", "5-6"]),
        ("SHORTEST PER START", ["1-3", "2-3", "5-6"]),
        ("LONGEST PER END", ["1-3", "1-4", "1-6"]),
        ("SHORTEST PER END", ["2-3", "2-4", "5-6"]),
        ("LONGEST APART", ["1-6"]),
        ("SHORTEST APART", ["2-3", "5-6"]),
        ("ALL APART", ["1-3", "2-3", "5-6"]),
        ("ANY 1 PER START", ["1-3", "2-3", "5-6"]),
        ("ANY 2 PER START", ["1-3", "2-3", "1-4", "2-4", "5-6"]),
        ("ANY 1 PER END", ["1-3", "1-4", "1-6"]),
        ("ANY 2 PER END", ["1-3", "2-3", "1-4", "2-4", "1-6", "2-6"]),
        ("ANY 9 PER END", ["1-3", "2-3", "1-4", "2-4", "1-6", "2-6", "5-6"]),
    ],
)
def test_each_kind_and_scope(keep: str, expected: list[str]) -> None:
    found = listed(f"MATCH A ; B KEEP {keep}", "A A B B A B")
    assert [match.split()[0] for match in found] == expected


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("LONGEST APART", ["1-2", "3-5", "7-7"]),
        ("SHORTEST APART", ["1-1", "2-2", "3-3", "4-4", "5-5", "7-7"]),
        ("ALL APART", ["1-1", "2-2", "3-3", "4-4", "5-5", "7-7"]),
    ],
)
def test_apart_goes_on_behind_the_end(keep: str, expected: list[str]) -> None:
    # Runs of up to three A in 1 … 5, 7 that do not go on from 2 to 3.
    formula = "(A:{1,3} FILTER A.position <> 3) OR (A:{1,3} FILTER A.position > 2)"
    found = listed(f"MATCH {formula} KEEP {keep}", "A A A A A B A")
    assert [match.split()[0] for match in found] == expected


def test_shortest_apart_takes_the_end_first() -> None:
    # 1-5 starts first, 2-3 ends first; behind 3 there is only 4-6.
    formula = "(A ; E) OR (B ; C) OR (D ; F)"
    assert listed(f"MATCH {formula} KEEP SHORTEST APART", "A B C D E F") == ["2-3 B2 C3", "4-6 D4 F6"]
    assert listed(f"MATCH {formula} KEEP LONGEST APART", "A B C D E F") == ["1-5 A1 E5"]
    assert listed(f"MATCH {formula} KEEP ALL APART", "A B C D E F") == ["2-3 B2 C3", "4-6 D4 F6"]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        # Of {1}, {2}, {3}, {1, 2}, {1, 3}, {2, 3} and {1, 2, 3} as the A of a match.
        ("LONGEST PER START", ["1-3 A1 A2 A3", "2-3 A2 A3", "3-3 A3"]),
        ("LONGEST PER END", ["1-1 A1", "1-2 A1 A2", "1-3 A1 A2 A3"]),
        ("LONGEST APART", ["1-3 A1 A2 A3"]),
        ("SHORTEST PER START", ["1-1 A1", "2-2 A2", "3-3 A3"]),
        ("ANY 2 PER START", ["1-1 A1", "1-2 A1 A2", "2-2 A2", "2-3 A2 A3", "3-3 A3"]),
        ("ANY 3 PER START", ["1-1 A1", "1-2 A1 A2", "1-3 A1 A2 A3", "2-2 A2", "2-3 A2 A3", "3-3 A3"]),
        ("ANY 2 PER END", ["1-1 A1", "1-2 A1 A2", "2-2 A2", "1-3 A1 A2 A3", "1-3 A1 A3"]),
    ],
)
def test_of_several_the_first_marks_come_first(keep: str, expected: list[str]) -> None:
    assert sorted(listed(f"MATCH A+ KEEP {keep}", "A A A")) == sorted(expected)


def test_variables_count_in_order_of_appearance() -> None:
    assert listed("MATCH A AS x OR A AS b KEEP ANY 1 PER START", "A") == ["1-1 A1 x1"]
    assert listed("MATCH A AS b OR A AS x KEEP ANY 1 PER START", "A") == ["1-1 A1 b1"]
    # z appears first, though no match holds it.
    text = "MATCH (A ; C ; C AS z) OR (A AS y) OR (A AS z) KEEP LONGEST PER START"
    assert listed(text, "A") == ["1-1 A1 z1"]


def test_positions_come_before_variables() -> None:
    # {(1, A), (3, C)} and {(1, A), (2, C), …}: a C at 2 comes before one at 3.
    text = "MATCH (A ; B ; D) OR (A ; C ; D) KEEP LONGEST PER START"
    assert listed(text, "A C B D") == ["1-4 A1 C2 D4"]
    assert listed(text, "A B C D") == ["1-4 A1 B2 D4"]


def test_with_the_same_marks_the_first_start_comes_first() -> None:
    assert listed("MATCH NEXT(B) KEEP ANY 1 PER END", "A B") == ["1-2 B2"]
    assert listed("MATCH NEXT(B) KEEP ANY 2 PER END", "C A B") == ["1-3 B3", "2-3 B3"]
    assert listed("MATCH NEXT(B) KEEP SHORTEST PER END", "A B") == ["2-2 B2"]


def made(start: int, end: int, **bags: list[tuple[int, int]]) -> ComplexEvent:
    """A complex event whose bags hold events with a position and a value."""
    held = {name: tuple(Event(at, (("v", value),)) for at, value in events) for name, events in bags.items()}
    return complex_event(start, end, held)


def test_the_order_is_one_of_all_matches() -> None:
    order = [
        made(1, 3),
        made(1, 3, x=[(1, 0)]),
        made(1, 3, x=[(1, 0), (1, 1), (3, 0)], y=[(2, 0)]),  # more events at the first mark
        made(1, 3, x=[(1, 0), (3, 0), (3, 1)], y=[(2, 0)]),  # more at the last one
        made(1, 3, x=[(1, 0), (3, 0)], y=[(2, 0)]),
        made(1, 3, x=[(1, 0), (3, 1)], y=[(2, 0)]),  # written after the one before
        made(1, 3, y=[(1, 0), (2, 0)], x=[(3, 0)]),
        made(1, 3, x=[(1, 9), (3, 0)]),
        made(1, 3, x=[(2, 0)]),
        made(2, 3, x=[(2, 0)]),
    ]
    assert in_order(order[::-1], ["x", "y"]) == order
    assert in_order(order[3:] + order[:3], ["x", "y"]) == order
    assert kept(ast.Keep("any", "end", 3), order[::-1], ["x", "y"]) == order[:3]


def test_within_comes_before_keep() -> None:
    assert listed("MATCH A ; B WITHIN 3 EVENTS KEEP LONGEST PER START", "A B B B") == ["1-3 A1 B3"]
    assert listed("MATCH A ; B WITHIN 2 EVENTS KEEP LONGEST APART", "A C B A B") == ["4-5 A4 B5"]


KEYS = pa.table({"type": ["A", "A", "B", "B", "B"], "k": [1, 2, 1, 2, 1]})


def test_partitions_keep_matches_of_their_own() -> None:
    # Positions are those of the partition: k = 1 is A B B, k = 2 is A B.
    assert listed("MATCH A ; B PARTITION BY k KEEP SHORTEST APART", KEYS) == ["1-2 A1 B2", "1-2 A1 B2"]
    assert listed("MATCH A ; B PARTITION BY k KEEP LONGEST APART", KEYS) == ["1-2 A1 B2", "1-3 A1 B3"]
    assert listed("MATCH A ; B KEEP LONGEST APART", KEYS) == ["1-5 A1 B5"]


def test_summaries_do_not_look_at_one_match() -> None:
    text = "SUMMARIZE count(*) AS n MATCH A ; B KEEP LONGEST PER START"
    with pytest.raises(ac.QueryCheckError, match="KEEP looks at matches one by one, and SUMMARIZE adds them up"):
        ac.query(text)
