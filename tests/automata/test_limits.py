"""Queries that would become too large are refused early, and none is compiled twice."""

from typing import Any

import pytest
from hypothesis import given

import acelera as ac
from acelera import patterns
from acelera.automata import analysis, compilation, limits, parts
from acelera.automata.compilation import compile_formula
from acelera.automata.limits import MOST_TRANSITIONS, states_needed
from acelera.language import ast
from acelera.language.aggregates import aggregate_names
from acelera.language.parser import parse_query
from strategies import formulas

SCHEMA = {"type": str, "v": int}
HUGE = "MATCH " + " ALL ".join(f"T{number}" for number in range(40))
FUNCTIONS = [name for name in aggregate_names() if not name.startswith("bool")]
MADE = ["A" + "".join(f" AGG m[a <- {name}(A.{attribute})]" for name in FUNCTIONS) for attribute in "vw"]
"""Eleven events in one variable, each of which may equal any of eleven others."""
ORS = " AND ".join(f"(a[v > {number}] OR b[v > {number}])" for number in range(40))


def test_it_is_refused_with_a_place_and_a_remedy() -> None:
    with pytest.raises(ac.QueryTooLargeError) as caught:
        ac.query(HUGE).check(SCHEMA)
    problem = caught.value.problems[0]
    assert problem.message == (
        "the query is too large to compile: its automaton would have more than 20,000 transitions, and up to "
        "1,099,511,627,776 states"
    )
    assert problem.hint is not None
    assert problem.hint.startswith("ALL follows its operands in every order")
    assert (caught.value.line, caught.value.column) == (1, 7)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"MATCH A AS a ; B AS b FILTER {ORS}", "each OR of conditions on different variables"),
        ("MATCH " + " AND ".join(["(A+ ; (A OR B+))+ : ANY+"] * 40), "AND multiplies the states of its operands"),
        ("MATCH " + " OR ".join(f"({HUGE.removeprefix('MATCH ')})" for _ in range(2)), "ALL follows its operands"),
        (f"MATCH ({MADE[0]}) AND ({MADE[1]})", "AND multiplies the states of its operands"),
        (f"MATCH C UNLESS (A AS a ; B AS b FILTER {ORS})", "each OR of conditions on different variables"),
    ],
)
def test_whatever_makes_it_large(text: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_TRANSITIONS", 500)
    query = ac.query(text)
    for use in (lambda: query.automaton, query.explain, lambda: query.run([{"type": "A", "v": 1, "w": 1}])):
        with pytest.raises(ac.QueryTooLargeError) as caught:
            use()
        assert str(caught.value.problems[0].hint).startswith(hint)


def test_it_stops_while_it_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the product alone would have 3^40 transitions."""
    built = 0
    explored = compilation.explored

    def counted(begin: Any, end: Any, following: Any) -> Any:
        def seen(state: Any) -> Any:
            nonlocal built
            found = following(state)
            built += len(found)
            return found

        return explored(begin, end, seen)

    monkeypatch.setattr(compilation, "explored", counted)
    with pytest.raises(ac.QueryTooLargeError):
        compile_formula(ac.query(HUGE).ast.formula)
    assert MOST_TRANSITIONS <= built <= 10 * MOST_TRANSITIONS


def test_numbers_beyond_reading_are_cut_short() -> None:
    text = "MATCH " + " ALL ".join(["A"] * 3000)
    problem = limits.too_large(ac.query(text).ast.formula, ac.query(text).ast.formula)
    assert problem.message.endswith("transitions, and more than 10^15 states")


@pytest.mark.property
@given(formulas())
def test_no_automaton_has_more_states_than_told(formula: ast.Formula) -> None:
    assert compile_formula(formula).states <= states_needed(formula)


def test_what_cannot_happen_is_dropped_at_once() -> None:
    """No event has two types: of 3^9 transitions few are left, and no step of the way has more."""
    built = compile_formula(ac.query("MATCH " + " ALL ".join("ABCDEFGHI")).ast.formula)
    assert (built.states, len(built.transitions)) == (2**9, 9 * 2**8 + 2**9 - 2)


def test_nothing_is_compiled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = 0

    def counted(*given: Any) -> Any:
        nonlocal compiled
        compiled += 1
        return compile_formula(*given)

    monkeypatch.setattr(patterns, "compile_formula", counted)
    rows = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]

    def use(text: str) -> int:
        nonlocal compiled
        compiled, query = 0, ac.query(text)
        query.check(SCHEMA)
        query.explain(SCHEMA)
        for method in ("engine", "automaton"):
            assert query.run(rows, method=method).num_rows == 1
        query.resume(query.open(SCHEMA).snapshot())
        assert query.stream(iter([rows])).read_all().num_rows == 1
        assert query.automaton.transitions
        return compiled

    assert use("MATCH A ; B WITHIN 5 EVENTS") == 1
    assert use("MATCH A AS a ; B PROJECT a(v)") == 2, "once without a schema, for explain, and once with it"


def test_analyses_give_up_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT m.k MATCH (A ; B+) AS x AGG m[k <- max(x.v)]"
    rows = [{"type": name, "v": value} for value, name in enumerate("ABB")]
    plain, expected = ac.query(text).explain(SCHEMA), ac.query(text).run(rows)
    monkeypatch.setattr(analysis, "MOST_PAIRS", 0)
    careful = ac.query(text)
    assert "computed from the matches" in plain
    assert "computed from the matches" not in careful.explain(SCHEMA)
    assert not analysis.is_unambiguous(careful.automaton)
    assert careful.run(rows).equals(expected)


def test_pairs_of_states_are_not_followed_for_ever() -> None:
    """Each of 2^8 copies meets each of the others at every event."""
    query = ac.query(
        f"SELECT m.k MATCH (A AS a ; B AS b) AS x FILTER {' AND '.join(ORS.split(' AND ')[:8])} AGG m[k <- max(x.v)]"
    )
    assert not analysis.is_unambiguous(query.automaton)
    assert query.run([{"type": "A", "v": 9}, {"type": "B", "v": 9}]).to_pylist() == [{"m_k": 9}]


def test_not_all_of_a_large_automaton_is_written_out() -> None:
    lines = ac.query("MATCH " + " ALL ".join("ABCDEFGHI")).explain().splitlines()
    assert "  … and 2,314 more, which q.automaton.transitions holds" in lines
    assert len(lines) < 550


def test_a_long_or_is_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One alternative after the other would renumber the first of them again and again."""
    renumbered = 0
    trimmed = parts.trimmed

    def counted(states: int, transitions: Any) -> Any:
        nonlocal renumbered
        renumbered += len(transitions)
        return trimmed(states, transitions)

    monkeypatch.setattr(parts, "trimmed", counted)
    text = "MATCH A FILTER " + " OR ".join(f"A.v = {number}" for number in range(500))
    built = compile_formula(ac.query(text).ast.formula)
    assert len(built.transitions) == 500
    assert 500 <= renumbered <= 2000


def test_optional_steps_are_no_copies_of_each_other() -> None:
    steps = " ; ".join(f"T{number}?" for number in range(20))
    assert compile_formula(parse_query(f"MATCH {steps}").formula).states == 21


@pytest.mark.parametrize("text", ["A{1000}", "A:{1000}", "A{1,1000}", "A{1000,}"])
def test_a_count_has_a_state_for_each_round(text: str) -> None:
    assert compile_formula(parse_query(f"MATCH {text}").formula).states <= 1001 + text.endswith(",}")


def test_a_window_around_everything_is_the_window_of_the_query() -> None:
    assert ac.query("MATCH (A ; B WITHIN 5 EVENTS)") == ac.query("MATCH A ; B WITHIN 5 EVENTS")
