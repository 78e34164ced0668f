"""KEEP: the engine keeps what the judges keep, for any formula, window, keys, cuts into batches and snapshots."""

import itertools
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.keeping import chosen, waiting
from acelera.engine.nodes import arena, starts
from acelera.engine.session import session
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import KEPT_MATCHES, bindings_of, checked_query, crowded_cases, keyed_cases, long_cases, unordered

TIMED: dict[str, Any] = {"order_by": "ts", "ties": "keep"}

BOUNDS = (ast.SelectBound("start"), ast.SelectBound("end"))


def shown(tables: list[pa.Table]) -> list[str]:
    """All rows, in no order."""
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def outcome(query: ac.Query, table: pa.Table, method: str, **options: Any) -> Any:
    """The rows of the result, and their order, or the error."""
    try:
        result = query.run(table, method=method, **options)
    except ac.AggregateError as error:
        return str(error)
    return shown([result]), result.select(["end", "start"]).to_pylist() if "end" in result.column_names else None


def drawn(data: st.DataObject, tree: ast.Query) -> ast.Query:
    """The query with a KEEP, and now and then with little that is shown."""
    tree = replace(tree, keep=data.draw(KEPT_MATCHES))
    bindings = bindings_of(tree.formula)
    names = bindings.bound() if bindings is not None else []
    if data.draw(st.booleans()):
        return tree
    some = data.draw(st.lists(st.sampled_from(names), max_size=1)) if names else []
    return replace(tree, select=(*BOUNDS, *(ast.SelectVariable(name) for name in some)))


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=keyed_cases(), data=st.data())
def test_all_methods_keep_the_same(bag_union: Any, case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query = checked_query(drawn(data, case[0]), case[1], bag_union)
    expected = outcome(query, case[1], "semantics")
    assert outcome(query, case[1], "automaton") == expected
    assert outcome(query, case[1], "engine") == expected


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 10))  # each of them takes the automaton a while
@given(case=crowded_cases(), data=st.data())
def test_engine_and_automaton_keep_the_same_of_many(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query = checked_query(drawn(data, case[0]), case[1], "once")
    assert outcome(query, case[1], "engine") == outcome(query, case[1], "automaton")


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 8))
@given(case=long_cases(), data=st.data())
def test_sessions_keep_the_same(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    """However a stream is cut, wherever it is taken up again, and how often nodes, rows and keys are forgotten."""
    tree, table = drawn(data, case[0]), case[1]
    query = checked_query(tree, table, data.draw(st.sampled_from(["once", "once", "additive"])), "ts")
    expected = outcome(query, table, "automaton", **TIMED)
    assert outcome(query, table, "engine", **TIMED) == expected
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=8))})
    made = arena.Arena.__init__
    with (  # so little room that all is emptied and enlarged again and again
        patch.object(arena.Arena, "__init__", lambda self: made(self, nodes=64, hits=16)),
        patch.object(starts.NewestStarts.__init__, "__defaults__", (16,)),
        patch.object(arena, "LISTED_MATCHES", 16),
        patch.object(chosen, "LISTED_MATCHES", data.draw(st.sampled_from([1, 16]))),
        patch.object(chosen, "LISTED_MARKS", data.draw(st.sampled_from([1, 16]))),
        patch.object(waiting, "STEPS_AT_ONCE", data.draw(st.sampled_from([1, 10_000]))),
        patch.object(waiting, "STEPS_PER_EVENT", 1),
        patch.object(session, "ROWS_AT_ONCE", data.draw(st.sampled_from([10, 64, 1_000]))),
        patch.object(growing, "SLACK", data.draw(st.sampled_from([0, 20, 1_000]))),
    ):
        running, found, settled = query.open(table.schema, **TIMED), [], 0
        try:
            for begin, end in itertools.pairwise(cuts):
                found.append(running.push(table.slice(begin, end - begin)))
                assert settled <= running.settled <= running.events
                settled = running.settled
                if data.draw(st.booleans()):
                    running = query.resume(running.snapshot())
            found.append(running.finish())
        except ac.AggregateError as error:
            assert str(error) == expected
            return
    assert shown(found) == expected[0]


# --- what is dropped is not listed --------------------------------------------------------------------------------

SIZE = 20_000
ALONE = [(at, at) for at in range(1, SIZE + 1)]
KEPT = {
    "LONGEST PER START": [(start, SIZE) for start, _ in ALONE],
    "SHORTEST PER START": ALONE,
    "LONGEST PER END": [(1, end) for end, _ in ALONE],
    "SHORTEST PER END": ALONE,
    "LONGEST APART": [(1, SIZE)],
    "SHORTEST APART": ALONE,
    "ALL APART": ALONE,
}
"""Of the matches of A+ over as many events, which are 2 to the power of that."""


@pytest.mark.parametrize("keep", KEPT)
def test_nothing_is_listed_that_is_dropped(keep: str) -> None:
    table = pa.table({"type": ["A"] * SIZE})
    found = ac.query(f"SELECT start, end MATCH A+ KEEP {keep}").run(table)
    assert list(zip(found["start"].to_pylist(), found["end"].to_pylist(), strict=True)) == KEPT[keep]


@pytest.mark.parametrize("scope", ["START", "END"])
def test_any_looks_at_no_more_than_it_is_asked_for(scope: str) -> None:
    table = pa.table({"type": ["A"] * 200})
    found = ac.query(f"SELECT start, end, A.position AS at MATCH A+ KEEP ANY 2 PER {scope}").run(table).to_pylist()
    if scope == "START":
        expected = [[at] for at in range(1, 201)] + [[at, at + 1] for at in range(1, 200)]
    else:
        expected = [list(range(1, end + 1)) for end in range(1, 201)]
        expected += [[2]] + [[*range(1, end - 1), end] for end in range(3, 201)]
    assert sorted(row["at"] for row in found) == sorted(expected)


def test_of_variables_that_share_positions_the_first_is_taken() -> None:
    """A choice at each event, and one way to mark the events that are first."""
    table = pa.table({"type": ["A"] * 300 + ["B"]})
    query = "SELECT start, end, count(x) AS x, count(y) AS y MATCH (A AS y OR A AS x)+ ; B KEEP LONGEST PER START"
    found = ac.query(query).run(table).to_pylist()
    assert [(row["start"], row["x"], row["y"]) for row in found] == [(start, 0, 301 - start) for start in range(1, 301)]
