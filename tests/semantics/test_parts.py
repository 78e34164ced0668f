"""Optional and counted parts, windows on parts and NEXT of a formula, by the definition; worked out by hand."""

import pytest

from listed import listed


def spans(text: str, stream: str) -> list[str]:
    """Where the matches lie, without what they hold."""
    return [match.split()[0] for match in listed(f"MATCH {text}", stream)]


@pytest.mark.parametrize(
    ("formula", "stream", "expected"),
    [
        # What may be left out: with it, and without.
        ("A ; B? ; C", "A B C", ["1-3 A1 B2 C3", "1-3 A1 C3"]),
        ("A : B? : C", "A C C B C", ["1-2 A1 C2"]),
        ("A : B? : C", "A B C", ["1-3 A1 B2 C3"]),
        ("A? ; B", "A B", ["1-2 A1 B2", "2-2 B2"]),
        ("A? : B", "A C B", ["3-3 B3"]),
        ("A ; B?", "A B", ["1-1 A1", "1-2 A1 B2"]),
        ("A? ; B?", "A B", ["1-1 A1", "1-2 A1 B2", "2-2 B2"]),
        # A query never matches nothing.
        ("A?", "A B", ["1-1 A1"]),
        ("A*", "A A", ["1-1 A1", "1-2 A1 A2", "2-2 A2"]),
        ("A?", "B", []),
        # φ* is (φ+)?.
        ("A ; B* ; C", "A B B C", ["1-4 A1 B2 B3 C4", "1-4 A1 B2 C4", "1-4 A1 B3 C4", "1-4 A1 C4"]),
        ("A ; B:* ; C", "A B A B C", ["1-5 A1 B2 C5", "1-5 A1 B4 C5", "1-5 A1 C5", "3-5 A3 B4 C5", "3-5 A3 C5"]),
        ("A : B:* : C", "A B B C", ["1-4 A1 B2 B3 C4"]),
        # + keeps the flag: what is repeated are the matches.
        ("A ; (B?)+ ; C", "A B C", ["1-3 A1 B2 C3", "1-3 A1 C3"]),
        ("A : (B?):+ : C", "A C", ["1-2 A1 C2"]),
        ("(A? ; B?)+", "B A", ["1-1 B1", "1-2 A2 B1", "2-2 A2"]),
    ],
)
def test_optional(formula: str, stream: str, expected: list[str]) -> None:
    assert sorted(listed(f"MATCH {formula}", stream)) == sorted(expected)


@pytest.mark.parametrize(
    ("formula", "stream", "expected"),
    [
        # OR may be empty if either side may, AND if both may.
        ("A ; (B? OR C) ; D", "A C D", ["1-3 A1 C2 D3", "1-3 A1 D3"]),
        ("A ; (B OR C) ; D", "A D", []),
        ("A ; (B? AND B?) ; D", "A B D", ["1-3 A1 B2 D3", "1-3 A1 D3"]),
        ("A ; (B? AND B) ; D", "A B D", ["1-3 A1 B2 D3"]),
        ("A ; (B? AND C?) ; D", "A B C D", ["1-4 A1 D4"]),
        # ALL: both, and each alone if the other may be left out.
        ("A ALL B?", "B A", ["1-2 A2 B1", "2-2 A2"]),
        ("A? ALL B?", "B A", ["1-1 B1", "1-2 A2 B1", "2-2 A2"]),
        ("A ; (B? ALL C?) ; D", "A D", ["1-2 A1 D2"]),
        ("A ; (B ALL C?) ; D", "A D", []),
        # UNLESS: the left side's flag; of the right side only what happens.
        ("A ; (B? UNLESS C) ; D", "A C B D", ["1-4 A1 B3 D4", "1-4 A1 D4"]),
        ("A ; B UNLESS C?", "A B C", ["1-2 A1 B2"]),
        ("A ; B UNLESS C?", "A C B", []),
        # The others pass it on; conditions on empty variables hold.
        ("A ; (B? AS x) ; C", "A B C", ["1-3 A1 B2 C3 x2", "1-3 A1 C3"]),
        ("A ; (B? FILTER B.position < 0) ; C", "A B C", ["1-3 A1 C3"]),
        ("A ; (B? PROJECT B) ; C", "A B C", ["1-3 A1 B2 C3", "1-3 A1 C3"]),
        ("A ; START(B?) ; C", "A B C", ["1-3 A1 C3"]),
        ("A ; STRICT((B ; B)?) ; C", "A B A B C", ["1-5 A1 C5", "3-5 A3 C5"]),
        ("A ; ((B ; B)? WITHIN 2 EVENTS) ; C", "A B A B C", ["1-5 A1 C5", "3-5 A3 C5"]),
    ],
)
def test_what_passes_emptiness_on(formula: str, stream: str, expected: list[str]) -> None:
    assert sorted(listed(f"MATCH {formula}", stream)) == sorted(expected)


@pytest.mark.parametrize(
    ("formula", "stream", "expected"),
    [
        ("A{2}", "A A A", ["1-2 A1 A2", "1-3 A1 A3", "2-3 A2 A3"]),
        ("A:{2}", "A A B A A", ["1-2 A1 A2", "4-5 A4 A5"]),
        ("A{2,3}", "A A A", ["1-2 A1 A2", "1-3 A1 A2 A3", "1-3 A1 A3", "2-3 A2 A3"]),
        ("A{2,}", "A A A", ["1-2 A1 A2", "1-3 A1 A2 A3", "1-3 A1 A3", "2-3 A2 A3"]),
        ("A:{2,}", "A A A B A", ["1-2 A1 A2", "1-3 A1 A2 A3", "2-3 A2 A3"]),
        ("A:{1,2}", "A A A", ["1-1 A1", "1-2 A1 A2", "2-2 A2", "2-3 A2 A3", "3-3 A3"]),
        ("B ; A{0,1} ; B", "B A B", ["1-3 A2 B1 B3", "1-3 B1 B3"]),
        ("B : A:{0,} : B", "B A A B B", ["1-4 A2 A3 B1 B4", "4-5 B4 B5"]),
        ("A{0,2}", "A A", ["1-1 A1", "1-2 A1 A2", "2-2 A2"]),
        # A round that may be empty need not happen.
        ("(A?){2}", "A A", ["1-1 A1", "1-2 A1 A2", "2-2 A2"]),
        ("B ; (A?){2} ; B", "B B", ["1-2 B1 B2"]),
        ("(A?):{2}", "A B A", ["1-1 A1", "3-3 A3"]),
        ("(A:{2}):{2}", "A A A A A", ["1-4 A1 A2 A3 A4", "2-5 A2 A3 A4 A5"]),
        ("(A ; B){2}", "A A B A B", ["1-5 A1 A4 B3 B5", "2-5 A2 A4 B3 B5"]),
        ("A{4}", "A A A", []),
    ],
)
def test_counted(formula: str, stream: str, expected: list[str]) -> None:
    assert sorted(listed(f"MATCH {formula}", stream)) == sorted(expected)


def test_rounds_hold_events_of_their_own() -> None:
    assert listed("MATCH (A AGG m[n <- count(A)]):{2}", "A A") == ["1-2 A1 A2 m1 m2"]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("(A ; B WITHIN 2 EVENTS) ; C", ["1-5", "3-5"]),
        ("(A ; B WITHIN 3 EVENTS) ; C", ["1-5", "3-5"]),
        ("(A ; B WITHIN 4 EVENTS) ; C", ["1-5", "1-5", "3-5"]),
        ("(A ; B WITHIN LESS THAN 4 EVENTS) ; C", ["1-5", "3-5"]),
        ("(A ; B WITHIN LESS THAN 2 EVENTS) ; C", []),
        ("A ; (B ; C WITHIN 2 EVENTS)", ["1-5", "3-5"]),
        # The window is over the interval, not over the events that are held.
        ("(A ; C PROJECT C WITHIN 3 EVENTS)", ["3-5"]),
    ],
)
def test_a_window_on_a_part(formula: str, expected: list[str]) -> None:
    assert spans(formula, "A B A B C") == expected


@pytest.mark.parametrize(
    ("formula", "stream", "expected"),
    [
        # From any place on the first B or C; the interval begins at that place.
        ("A : NEXT(B OR C)", "A D C B", ["1-3 A1 C3"]),
        ("A : NEXT(B OR C)", "A B C", ["1-2 A1 B2"]),
        ("A ; NEXT(B)", "A B D B", ["1-2 A1 B2", "1-4 A1 B4", "1-4 A1 B4"]),
        ("NEXT(B)", "A B", ["1-2 B2", "2-2 B2"]),
        ("NEXT(A AS x OR A AS y)", "C A", ["1-2 A2 x2", "1-2 A2 y2", "2-2 A2 x2", "2-2 A2 y2"]),
        ("A : NEXT(B FILTER B.position > 2)", "A B B B", ["1-3 A1 B3"]),
    ],
)
def test_next_of_a_formula(formula: str, stream: str, expected: list[str]) -> None:
    assert sorted(set(listed(f"MATCH {formula}", stream))) == sorted(set(expected))
