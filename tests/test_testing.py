"""The tester for users' own queries: events as text, matches, partial matches, and why there is none."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from acelera.testing import Tester
from strategies import cases


def shown(listed: object) -> list[str]:
    return [str(each) for each in listed]  # type: ignore[attr-defined]


# --- matches ------------------------------------------------------------------------------------------------------


def test_a_push_gives_the_matches_that_it_ends() -> None:
    t = Tester("MATCH A ; B+ ; C WITHIN 10 EVENTS")
    assert t.push("A B X B") == []
    assert shown(t.push("C")) == [
        "Match(start=1, end=5, A=[1], B=[2], C=[5])",
        "Match(start=1, end=5, A=[1], B=[2, 4], C=[5])",
        "Match(start=1, end=5, A=[1], B=[4], C=[5])",
    ]
    assert len(t.push("C")) == 3
    assert len(t.matches) == 6
    assert t.matches[1]["B"] == [2, 4]


def test_rows_are_those_of_the_query() -> None:
    t = Tester("SELECT A.v, max(B.v) AS hi, end MATCH A ; B+")
    t.push("A(v=1) B(v=3)")
    assert t.rows == [{"A_v": 1, "hi": 3, "end": 2}]
    [match] = t.matches
    assert (match.row, match.positions) == (t.rows[0], {"A": [1], "B": [2]})


@pytest.mark.parametrize("select", ["", "SELECT *", "SELECT start AS `end`", "SELECT B, A.position", "SELECT count(B)"])
def test_rows_are_what_run_gives(select: str) -> None:
    q = ac.query(f"{select} MATCH A ; B")
    t = Tester(q)
    t.push("AABB")
    assert t.rows == q.run([{"type": letter} for letter in "AABB"]).to_pylist()


def test_rows_of_a_summary_are_those_over_all_events_so_far() -> None:
    t = Tester("SUMMARIZE count(*), sum(B.v) AS total MATCH A ; B PARTITION BY k BY k OVER 1 MINUTE", order_by="ts")
    assert t.rows == []
    assert len(t.push("A(k=1)@0s A(k=2)@1s B(k=2, v=5)@2s B(k=1, v=1)@3s")) == 2
    assert [(row["k"], row["count"], row["total"]) for row in t.rows] == [(1, 1, 1), (2, 1, 5)]
    t.push("B(k=1, v=3)@59s B(k=1, v=9)@60s")
    assert [(row["k"], row["count"], row["total"]) for row in t.rows] == [(1, 2, 4), (2, 1, 5)]
    assert len(t.matches) == 4  # of which one is in no window


def test_what_is_wrong_with_a_summary_is_told_at_the_first_push() -> None:
    t = Tester("SUMMARIZE sum(A.s) MATCH A")
    with pytest.raises(ac.QueryCheckError, match="`sum` takes numbers"):
        t.push("A(s='x')")
    unknown = Tester("SUMMARIZE sum(A.v) MATCH A")
    unknown.push("A(w=1)")
    assert unknown.rows == [{"sum_A_v": None}]
    assert "`v` is NULL" in unknown.explain()


def test_made_events_stand_where_their_match_ends() -> None:
    t = Tester("MATCH A ; B+ AGG n[k <- count(B)] PROJECT A, n")
    assert shown(t.push("ABB")) == [
        "Match(start=1, end=2, A=[1], n=[2])",
        "Match(start=1, end=3, A=[1], n=[3])",
        "Match(start=1, end=3, A=[1], n=[3])",
    ]


def test_a_variable_that_holds_nothing_is_not_printed() -> None:
    [match] = Tester("MATCH A OR B").push("B")
    assert (str(match), match["A"]) == ("Match(start=1, end=1, B=[1])", [])


def test_additive_unions_count_an_event_twice() -> None:
    q = "MATCH (A AS x) AS y"
    assert [Tester(q, bag_union=how).push("A")[0]["y"] for how in ("once", "additive")] == [[1], [1, 1]]  # type: ignore[arg-type]
    with pytest.raises(ac.UsageError, match="has its bag_union already"):
        Tester(ac.query(q), bag_union="additive")


def test_queries_of_all_kinds() -> None:
    automaton = ac.Acea.from_cea(
        "p", "q", [("p", "type = 'A'", {"x"}, "w"), ("w", None, (), "w"), ("w", "type = 'B'", (), "q")]
    )
    for query in ("MATCH A AS x ; B", ac.query("MATCH A AS x ; B"), ac.E("A").as_("x").then(ac.E("B")), automaton):
        t = Tester(query)
        [match] = t.push("AXB")
        assert (match.start, match.end, match["x"]) == (1, 3, [1])
    assert shown(t.partial()) == ["from 1: x=[1]; in w, waits for B"]
    assert repr(t) == "<Tester of an automaton of 3 states, 3 transitions, 0 registers: 3 events, 1 match>"


# --- events as text -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["AXB", "A X B", " A  X\nB ", "A() X B( )"])
def test_ways_to_write_events(text: str) -> None:
    assert shown(Tester("MATCH A ; B").push(text)) == ["Match(start=1, end=3, A=[1], B=[3])"]


def test_a_type_of_several_letters_is_one_event() -> None:
    t = Tester("MATCH login ; pay")
    t.push("login")
    t.push("logout")
    assert shown(t.push("pay")) == ["Match(start=1, end=3, login=[1], pay=[3])"]
    assert len(Tester("MATCH Rate:+", schema={"v": int}, event_type="Rate").push("Rate")) == 1


def test_attributes_are_literals() -> None:
    t = Tester("SELECT A.i, A.f, A.s, A.b, A.n, A.`from` MATCH A")
    t.push("""A(i=-1, f=2.5, s='a, (b) \\'c\\'', b=True, n=None, from="x")""")
    assert list(t.rows[0].values()) == [-1, 2.5, "a, (b) 'c'", True, None, "x"]


def test_dicts() -> None:
    t = Tester("SELECT A.v MATCH A")
    t.push([{"type": "A", "v": 1}, {"type": "A"}])
    t.push({"type": "A", "v": 3})
    assert t.rows == [{"A_v": 1}, {"A_v": None}, {"A_v": 3}]
    assert t.push([]) == t.push("") == []
    for other in (3, [3], None):
        with pytest.raises(ac.UsageError, match="a string, a dict or a list of dicts"):
            t.push(other)  # type: ignore[arg-type]


def test_times_are_offsets() -> None:
    t = Tester("SELECT A.ts MATCH A", order_by="ts")
    t.push("A@0s A@250ms A@1.5m A(v=1)@2h A@1d")
    t.push({"type": "A", "ts": datetime(2024, 1, 3)})
    days = ["00:00:00", "00:00:00.250000", "00:01:30", "02:00:00"]
    expected = [f"2024-01-01 {time}" for time in days] + ["2024-01-02 00:00:00", "2024-01-03 00:00:00"]
    assert [str(row["A_ts"]) for row in t.rows] == expected
    with pytest.raises(ac.DataError, match="comes before"):
        t.push("A@0s")
    assert len(t.push("A@3d")) == 1  # what was refused was not read


def test_a_stream_of_one_type() -> None:
    t = Tester("MATCH M:+ FILTER M.v > 1", event_type="M")
    t.push("M(v=2) M(v=1)")
    assert str(t).endswith("from 1: 1 match; M at 2 did not fit, it waited for M, v > 1 (at the next position)")
    assert len(Tester("FROM M MATCH M", type_column=None).push("M(v=1) M(v=2)")) == 2
    with pytest.raises(ac.UsageError, match="all events are of type `M`"):
        t.push("N(v=1)")


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("A B(v=1", 4, "bracket is never closed"),
        ("A(v=1, ", 2, "bracket is never closed"),
        ("A(v=", 2, "bracket is never closed"),
        ("A(v=x) B", 5, "`x` is no literal"),
        ("A(v=[1])", 5, r"`\[1\]` is no literal"),
        ("A(v='x)", 5, "a quote is not closed"),
        ("A(v=1 w=2)", 6, "a comma or a closing bracket"),
        ("A(1)", 3, "here should stand an attribute"),
        ("A(v=1, v=2)", 8, "`v` is given twice"),
        ("A) B", 2, "events stand apart by blanks"),
        ("A(v=1)B(v=2)", 7, "events stand apart by blanks"),
        ("A,B", 2, "events stand apart by blanks"),
        ("A (v=1)", 3, "the type of an event"),
        ("A B@3", 4, "a number and a unit"),
        ("A B@3weeks", 4, "units: ms, s, m, h, d"),
        ("A@soon", 2, "a number and a unit"),
        ("A@99999999d", 2, "beyond the years"),
        ("A(type='B')", 1, "`type` is given twice"),
        ("A(ts=1)@3s", 1, "`ts` is given twice"),
    ],
)
def test_mistakes_have_a_place(text: str, column: int, message: str) -> None:
    with pytest.raises(ac.UsageError, match=message) as raised:
        Tester("MATCH A", order_by="ts").push(text)
    assert f"line 1, column {column}:" in str(raised.value)


def test_times_need_an_order_column() -> None:
    with pytest.raises(ac.UsageError, match="pass order_by"):
        Tester("MATCH A").push("A@0s")


# --- columns ------------------------------------------------------------------------------------------------------


def test_columns_are_those_of_the_first_push() -> None:
    t = Tester("SELECT A.v MATCH A")
    t.push("A(v=1, w='x')")
    t.push("A")
    assert t.rows == [{"A_v": 1}, {"A_v": None}]
    with pytest.raises(ac.SchemaError, match=r"had no column `u`; pass schema="):
        t.push("A(u=1)")
    with pytest.raises(ac.DataError, match=r"`v` is of type int64 since the first push; pass schema="):
        t.push("A(v='x')")
    assert len(t.push("A(v=2)")) == 1


def test_what_the_query_needs_but_events_do_not_have_is_null() -> None:
    t = Tester("SELECT A.u, k MATCH A ; B AGG n[m <- max(B.w)] FILTER A.prise IS NULL PARTITION BY k")
    assert len(t.push("A(price=1) B")) == 1
    assert t.rows == [{"A_u": None, "k": None}]
    assert "`prise` is NULL: the events that were pushed first had no such column; did you mean `price`?" in str(t)
    with pytest.raises(ac.SchemaError, match="had no column `prise`"):
        t.push("A(prise=1)")


def test_what_is_made_is_no_column() -> None:
    t = Tester("SELECT n.m, n.k MATCH A AGG n[m <- max(A.v)] AGG n[k <- count(A)]")
    t.push("A(v=1)")
    assert "NULL" not in str(t)


def test_a_schema_says_it_beforehand() -> None:
    schema = {"type": str, "v": float, "d": "date", "ts": "timestamp[ns]", "m": "decimal(10, 2)"}
    t = Tester("SELECT A.v, A.d, A.m MATCH A", schema=schema, order_by="ts")
    assert str(t) == "no events yet; a match begins with A"
    t.push("A(v=1, d='2024-01-31', m=1.5)@1s")
    assert t.rows == [{"A_v": 1.0, "A_d": date(2024, 1, 31), "A_m": Decimal("1.50")}]
    with pytest.raises(ac.SchemaError, match="the schema has no column `w`"):
        t.push("A(w=1)@2s")
    with pytest.raises(ac.QueryCheckError, match="no event type `B`"):
        Tester("MATCH B", schema={"A": {"v": int}})


# --- partial matches ----------------------------------------------------------------------------------------------


def test_partial_matches_tell_what_they_wait_for() -> None:
    t = Tester("MATCH A ; B+ ; C FILTER C.v > 5 WITHIN 10 EVENTS")
    t.push("A(v=1) B X")
    assert shown(t.partial()) == [
        "from 1: A=[1]; in q1, waits for B",
        "from 1: A=[1], B=[2]; in q2, waits for B or C, v > 5",
    ]
    first, second = t.partial()
    assert (first.start, first["A"], first["B"], first.waits) == (1, [1], [], ("B",))
    assert repr(second) == "Partial(start=1, A=[1], B=[2], state='q2', waits='B or C, v > 5')"


def test_what_has_ended_and_waits() -> None:
    """Of each key, until the clock of the whole stream has passed, and whatever it is compared with."""
    t = Tester(
        "MATCH A AS a UNLESS (C AS c FILTER c.v = a.v) FOR 5 SECONDS PARTITION BY k WITHIN 2 EVENTS", order_by="ts"
    )
    assert t.push("A(v=1, k=1)@0s A(v=2, k=1)@1s A(v=1, k=2)@2s C(v=1, k=1)@3s") == []
    wait = "it is not known yet whether nothing follows in time that rules them out"
    assert t.explain(1).splitlines() == [
        "k = 1: 3 events, no matches",
        f"matches wait that end at 2: {wait}",
        "no partial matches are left; those that began:",
        "  from 1: no matches; nothing of it goes on after 1; what waited of it was dropped at 3",
        "  from 2: no matches; nothing of it goes on after 2; what ended waits",
    ]
    assert t.explain(2).splitlines()[1] == f"matches wait that end at 1: {wait}"
    assert [(match.key, match.start) for match in t.push("X(v=0, k=2)@7s")] == [(1, 2)]
    assert t.explain(1).splitlines()[1:] == [
        "no partial matches are left; those that began:",
        "  from 1: no matches; nothing of it goes on after 1; what waited of it was dropped at 3",
        "  from 2: 1 match; nothing of it goes on after 2",
    ]


def test_what_keep_waits_for() -> None:
    t = Tester("MATCH A+ WITHIN 3 SECONDS KEEP LONGEST PER START", order_by="ts")
    t.push("A@0s A@1s")
    assert "matches wait that end at 2: it is not known yet whether KEEP LONGEST PER START keeps them" in str(t)
    assert len(t.push("X@9s")) == 2
    assert str(t).splitlines()[1:] == [
        "no partial matches are left; those that began:",
        "  from 1: 1 match; nothing of it goes on after 3",
        "  from 2: 1 match; nothing of it goes on after 3",
    ]


@pytest.mark.parametrize(
    ("formula", "stream", "expected"),
    [
        ("A : B", "A", ["B (at the next position)"]),
        ("A:+ ; B", "A", ["A (at the next position)", "B"]),
        ("A : NEXT(B)", "AX", ["B (while type IS NULL OR type <> 'B')"]),
        ("A ALL B", "AX", ["B"]),
        ("A ; (B OR C)", "AX", ["B", "C"]),
        ("A ; ANY", "A", ["any"]),
        ("(A ; B) AS m FILTER m[same(v)]", "A(v=1) X(v=2)", ["B with v = 1"]),
        ("A ; B FILTER A.v < B.v", "A(v=1) B(v=0)", ["B, max_A_1 < min(min_B_2, v) if set"]),
        ("A:+ AS m FILTER m[increasing(v)]", "A(v=1)", ["A, v > prev(v) (at the next position)"]),
        ("A+ AS m FILTER m[increasing(v)]", "A(v=1)", ["A, last_v_1 < v if set"]),
        (
            "A : NEXT(B OR C)",
            "AX",
            [
                "B (while type IS NULL OR type <> 'B' AND type <> 'C')",
                "C (while type IS NULL OR type <> 'B' AND type <> 'C')",
            ],
        ),
    ],
)
def test_what_is_waited_for(formula: str, stream: str, expected: list[str]) -> None:
    t = Tester(f"MATCH {formula}")
    t.push(stream)
    assert [sorted(each.waits) for each in t.partial()] == [expected]


@pytest.mark.parametrize(
    ("formula", "stream", "expected"),
    [
        ("A+ ; B AGG n[m <- max(A.v)] FILTER n.m > 3", "A(v=1) X", ["q1 (m_1 = 1)"]),
        ("A ; B AGG n[m <- max(A.s)] FILTER n.m > 'z'", "A(s='it')", ["q1 (m_1 = 'it')"]),
        ("A ; B AGG n[m <- max(A.f)] FILTER n.m > 3", "A(f=1.5) A", ["q1 (m_1 = 1.5)", "q1 (m_1 = NULL)"]),
        ("A+ ; B AGG n[m <- max(A.v)] PROJECT n FILTER n.m > 3", "A(v=2) A(v=3)", ["q1 (m_1 = 2) or q1 (m_1 = 3)", "q1 (m_1 = 3)"]),
        ("A ; B FILTER A.v < B.v", "A(v=3)", ["q1 (max_A_1 = 3)"]),
        ("A+ ; B FILTER A.s <> B.s", "A(s='x')", ["q1 (all_A_1 = {'x'})"]),
        ("A ; B FILTER A.d < B.d", "A A(d=2)", ["q1 (max_A_1 = NULL)", "q1 (max_A_1 = 2.00)"]),  # min_B_2 is not yet set
        ("A+ ; B FILTER A.d + B.v > 3 AND A.s < B.s", "A(s='x')", ["q1 (all_A_1 = {NULL}, max_A_3 = 'x')"]),
        ("A+ ; B FILTER A.d + A.v * B.v > 3", "A(d=1)", ["q1 (all_A_1 = {(1.00, NULL)})"]),
    ],
)  # fmt: skip
def test_registers_have_values(formula: str, stream: str, expected: list[str]) -> None:
    t = Tester(f"MATCH {formula}", schema={"type": str, "v": int, "f": float, "d": "decimal(10, 2)", "s": str})
    t.push(stream)
    assert [each.state for each in t.partial()] == expected


def test_only_so_many_configurations_are_shown() -> None:
    t = Tester("MATCH A+ ; B AGG n[m <- max(A.v)] PROJECT n FILTER n.m > 3")
    t.push(" ".join(f"A(v={number})" for number in range(9)))
    assert t.partial()[0].state == "q1 (m_1 = 0) or q1 (m_1 = 1) or q1 (m_1 = 2) or q1 (m_1 = 3) or q1 (m_1 = 4) or …"


def test_what_waits_for_the_last_event_matches_with_it() -> None:
    t = Tester("MATCH A ; B+ ; C WITHIN 6 EVENTS")
    t.push("ABXBAB")
    waiting = [{**each.positions, "C": [7]} for each in t.partial() if "C" in each.waits]
    assert waiting == [match.positions for match in t.push("C")]
    assert waiting == [{"A": [5], "B": [6], "C": [7]}]


def test_partial_matches_leave_the_window() -> None:
    t = Tester("MATCH A ; B WITHIN 3 EVENTS")
    t.push("AX")
    assert [each.start for each in t.partial()] == [1]
    t.push("X")  # a B would be the fourth event
    assert t.partial() == []
    timed = Tester("MATCH A ; B PARTITION BY k WITHIN 3 SECONDS", order_by="ts")
    timed.push("A(k=1)@0s A(k=2)@3s")
    assert [each.key for each in timed.partial()] == [1, 2]
    timed.push("X(k=2)@4s")  # time goes on for all keys
    assert [each.key for each in timed.partial()] == [2]


def test_only_so_many_are_listed() -> None:
    t = Tester("MATCH A+ ; B")
    t.push("A" * 60)
    assert (len(t.partial()), t.partial().more) == (20, 2**60 - 1 - 20)
    assert repr(t.partial(limit=1)).endswith(f"] and {2**60 - 2} more")
    assert str(t).endswith(f"  … and {2**60 - 21} more")


def test_partial_matches_of_keys() -> None:
    t = Tester("MATCH A ; B PARTITION BY k, j")
    t.push("A(k=1, j='x') X(k=1, j='x') A(k=1, j='y') X(k=2, j=None)")
    assert [(each.key, each.start) for each in t.partial()] == [((1, "x"), 1), ((1, "y"), 1)]
    assert [each.key for each in t.partial((1, "y"))] == [(1, "y")]
    assert t.partial((2, None)) == t.partial((9, "z")) == []
    with pytest.raises(ac.UsageError, match="a key has a value for each of k, j"):
        t.partial(1)
    with pytest.raises(ac.UsageError, match="a key needs PARTITION BY"):
        Tester("MATCH A").partial(1)


def test_keys_of_time() -> None:
    t = Tester("MATCH A ; B PARTITION BY d")
    day = datetime(2024, 1, 31)
    t.push([{"type": "A", "d": day}, {"type": "X", "d": None}])
    assert [each.key for each in t.partial(day)] == [day]
    assert t.explain(day).startswith("d = 2024-01-31 00:00:00: 1 event, no matches\n1 partial match:")
    assert t.explain((None,)).startswith("d = None: 1 event, no matches\nno partial matches: no event could begin")


# --- why ----------------------------------------------------------------------------------------------------------


def explained(query: str, stream: str, **options: object) -> list[str]:
    t = Tester(query, **options)  # type: ignore[arg-type]
    t.push(stream)
    return t.explain().splitlines()


def test_nothing_was_read() -> None:
    assert str(Tester("MATCH A OR B FILTER A.v > 1")) == "no events yet; a match begins with A, v > 1 or B"


def test_nothing_began() -> None:
    assert explained("MATCH A ; B FILTER A.v > 1", "A(v=1) B(v=2) X") == [
        "3 events, no matches",
        "no partial matches: no event could begin one; that takes A, v > 1, and the events were of type A, B, X",
    ]
    [_, line] = explained("MATCH START(A) ; B", "XAB")
    assert "that takes A, first position, and" in line
    [_, line] = explained("MATCH (A ; B) AS m FILTER m[same(id)]", "A(id=None) B(id=1)")
    assert "that takes A with a value of id, and" in line
    [_, line] = explained("MATCH A ; B FILTER A.v < B.v", "B(v=1)")
    assert "that takes A, and" in line
    [_, line] = explained("MATCH A AND B", "AB")
    assert "that takes what cannot be, as the parts of the query exclude each other, and" in line


def test_what_began_left_the_window() -> None:
    assert explained("MATCH A ; B WITHIN 2 EVENTS", "ABXAXX") == [
        "6 events, 1 match",
        "no partial matches are left; those that began:",
        "  from 1: 1 match; left the window of 2 EVENTS",
        "  from 4: no matches; left the window of 2 EVENTS",
    ]
    [*_, line] = explained("MATCH A ; B WITHIN 1 MINUTE", "A@0s X@61s", order_by="ts")
    assert line == "  from 1: no matches; left the window of 1 MINUTE"


def test_an_event_did_not_fit() -> None:
    assert explained("MATCH A : B : C", "ABXABCAX")[2:] == [
        "  from 1: no matches; X at 3 did not fit, it waited for C (at the next position)",
        "  from 4: 1 match; nothing of it goes on after 6",
        "  from 7: no matches; X at 8 did not fit, it waited for B (at the next position)",
    ]
    [*_, line] = explained("MATCH A : B WITHIN 2 EVENTS", "AX")  # the window alone would have allowed a B there
    assert line == "  from 1: no matches; X at 2 did not fit, it waited for B (at the next position)"


def test_a_guard_has_ruled_it_out() -> None:
    t = Tester("MATCH (A ; C) UNLESS B")
    t.push("AXB")
    assert t.partial() == []
    wanted = "C, start_1 > latest start of guard 1"
    assert str(t).splitlines()[2:] == [f"  from 1: no matches; B at 3 did not fit, it waited for {wanted}"]
    t.push("A")
    assert shown(t.partial()) == [f"from 4: A=[4]; in q1 (start_1 = 4), waits for {wanted}"]


def test_only_the_last_ones_are_explained() -> None:
    lines = explained("MATCH A : B", "A" * 14 + "X")
    assert lines[2].startswith("  from 5: no matches; A at 6 did not fit")
    assert lines[-1] == "  … and 4 before"


def test_keys_are_explained_one_by_one() -> None:
    t = Tester("MATCH A : B PARTITION BY k")
    t.push("A(k='x') A(k='y') B(k='x') X(k='x')")
    assert t.explain("y").splitlines() == [
        "k = 'y': 1 event, no matches",
        "1 partial match:",
        "  from 1: A=[1]; in q1, waits for B (at the next position)",
    ]
    assert t.explain("x").splitlines()[0] == "k = 'x': 3 events, 1 match"
    assert t.explain("x").splitlines()[-1] == "  from 1: 1 match; nothing of it goes on after 2"
    assert t.explain("z") == "k = 'z': no events, no matches"
    assert str(t) == "\n".join([t.explain("x"), t.explain("y")])
    t.push([{"type": "X", "k": str(number)} for number in range(30)])
    assert str(t).endswith("… and 12 more keys")


def test_a_refused_push_changes_nothing() -> None:
    t = Tester("MATCH A ; B PARTITION BY k", order_by="ts")
    t.push("A(k=1)@5s")
    before = str(t)
    with pytest.raises(ac.DataError):
        t.push("A(k=2)@3s")
    assert (str(t), t.explain(2)) == (before, "k = 2: no events, no matches")
    assert len(t.push("B(k=1)@6s")) == 1


# --- any query ----------------------------------------------------------------------------------------------------


@pytest.mark.property
@settings(max_examples=settings().max_examples // 3)  # each pushes event by event
@given(case=cases(), within=st.none() | st.integers(1, 6), key=st.sampled_from([(), ("ok",)]))
def test_every_match_was_partial_before(
    case: tuple[ast.Formula, pa.Table], within: int | None, key: tuple[str, ...]
) -> None:
    formula, table = case
    window = None if within is None else ast.Within(within, "events")
    query = ac.query(ast.Query(formula, partition_by=tuple(map(ast.Key, key)), within=window))
    t = Tester(query, schema=table.schema)
    try:
        for row in table.to_pylist():
            before = [(each.key, each.start, each.positions) for each in t.partial(limit=1000)]
            for match in t.push(row):
                held = {name: [at for at in listed if at < match.end] for name, listed in match.positions.items()}
                assert match.start == match.end or (match.key, match.start, held) in before
    except ac.AggregateError:
        assume(False)
    assert "; \n" not in f"{t}\n"  # whatever became of a match is said
