"""Whatever the text: a tree, or an error that says where. Never another exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from acelera.language.parser import parse_query
from acelera.language.printer import print_query
from cases import load_cases
from tiers import slow

SUMMARIES = (
    "SUMMARIZE count(*), sum(x.price) / count(*) AS mean MATCH A AS x PARTITION BY k BY k, x.v OVER 5 minutes HAVING mean > 1",
    "SUMMARIZE log2_count(*) AS n, avg(B.price IGNORE NULLS) MATCH A ; B+ OVER 9 EVENTS EVERY 3 EVENTS",
    "SUMMARIZE coalesce(max(A.price), 0) AS high MATCH A+ FILTER A.price > 1 WITHIN 5 EVENTS BY end AS e HAVING e > 2",
)
QUERIES = [*sorted({case.data["query"] for case in load_cases()}), *SUMMARIES * 20]
TOKENS = (
    "SELECT SUMMARIZE FROM MATCH PARTITION BY WITHIN OVER EVERY HAVING AS FILTER PROJECT AGG OR AND ALL UNLESS ANY NOT IS IN BETWEEN LIKE NULL "
    "TRUE FALSE IGNORE NULLS KEEP LONGEST SHORTEST PER APART FOR LESS THAN end START( STRICT( NEXT( CAST( TIMESTAMP DATE INTERVAL EVENTS minutes same increasing prev count "
    "sum log2_count abs if DISTINCT A B x y price 1 2.5 1e9 'a' '2024-01-01' `q` * , . ; : :+ :* :{ { } {2} {1,3} {2,} + - / % || = <> < <= > >= <- ( ) [ ] -- ' ` "
    '" \\ { ? ! \n \t ſ é 🦊 \x00'
).split(" ")


def accept_or_refuse(text: str) -> None:
    try:
        query = parse_query(text)
    except ac.AceleraError as error:
        assert isinstance(error, ac.QueryError)
        assert error.line >= 1 and error.column >= 1
        assert str(error).startswith(f"line {error.line}, column {error.column}: ")
        return
    assert parse_query(print_query(query)) == query
    try:
        ac.query(text)
    except ac.QueryCheckError as error:
        assert error.line >= 1 and error.column >= 1


@pytest.mark.property
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
def test_random_tokens(text: str) -> None:
    accept_or_refuse(f"MATCH {text}")
    accept_or_refuse(text)


@pytest.mark.property
@given(st.text(max_size=40))
def test_random_texts(text: str) -> None:
    accept_or_refuse(text)


@pytest.mark.property
@given(
    st.sampled_from(QUERIES),
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 3), st.sampled_from(TOKENS) | st.text(max_size=2)), max_size=4
    ),
)
def test_mutated_queries(text: str, changes: list[tuple[int, int, str]]) -> None:
    for place, removed, inserted in changes:
        place %= len(text) + 1
        text = text[:place] + inserted + text[place + removed :]
    accept_or_refuse(text)


DEEP = 500


@pytest.mark.parametrize(
    ("formula", "matches"),
    [
        ("(" * DEEP + "A" + ")" * DEEP, 1),
        ("START(" * DEEP + "A" + ")" * DEEP, 1),
        ("A ; (" * DEEP + "A" + ")" * DEEP, 0),
        ("A" + " ; A" * DEEP, 0),
        ("A" + " OR B" * DEEP, 1),
        ("A" + "+" * DEEP, 1),
        ("A" + " AS x" * DEEP, 1),
        ("A" + " FILTER A.v = 1" * DEEP, 1),
        ("(" * DEEP + "A" + " AGG m[c <- count(A)])" * DEEP, 1),
        slow("A AGG y0[a <- sum(A.v)]" + "".join(f" AGG y{i + 1}[a <- sum(y{i}.a)]" for i in range(DEEP)), 1),
        ("A FILTER A[" + "(" * DEEP + "v" + ")" * DEEP + " = 1]", 1),
        ("A FILTER A[" + "NOT " * DEEP + "v = 1]", 1),
        ("A FILTER A[" + "- " * DEEP + "v = 1]", 1),
        ("A FILTER A[" + "abs(" * DEEP + "v" + ")" * DEEP + " = 1]", 1),
        ("A FILTER A[v" + " + 1" * DEEP + " = 1]", 0),
        ("A FILTER " + "(" * DEEP + "A.v = 1" + " AND A.v = 1)" * DEEP, 1),
    ],
    ids=lambda given: str(given)[:20],
)
def test_nesting_has_no_limit(formula: str, matches: int) -> None:
    query = ac.query(f"MATCH {formula}")
    assert ac.query(str(query)) == query
    assert hash(query) == hash(ac.query(str(query)))
    rows = [{"type": "A", "v": 1}]
    assert query.check({"type": str, "v": int}) is not None
    assert query.run(rows).num_rows == matches
    if " ; A" not in formula and "A ; (" not in formula:  # long sequences take their time to compile
        assert query.run(rows, method="automaton").num_rows == matches


def test_a_very_long_text_is_refused_in_good_time() -> None:
    accept_or_refuse("MATCH " + "( " * 20_000)
    accept_or_refuse("MATCH A " + "+ " * 20_000 + ",")
