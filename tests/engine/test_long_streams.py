"""Long streams: what is forgotten, moved and numbered anew on the way changes no match."""

import itertools
import os
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.nodes import arena, starts
from acelera.engine.session import session
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import checked_query, long_cases, unordered

OPTIONS: dict[str, Any] = {"order_by": "ts", "ties": "keep"}


def shown(tables: list[pa.Table]) -> list[str]:
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def places(tables: list[pa.Table]) -> list[Any]:
    return [row for table in tables for row in table.select(["end_time", "start_time"]).to_pylist()]


def outcome(query: ac.Query, table: pa.Table, method: str) -> Any:
    """Rows and their order, or that an aggregate failed."""
    try:
        result = query.run(table, method=method, **OPTIONS)
    except ac.AggregateError as error:
        return str(error)
    return result.schema, shown([result]), places([result])


def in_pieces(query: ac.Query, table: pa.Table, cuts: list[int], resumed: list[bool]) -> Any:
    """The same by a session that is cut into batches, some of which go on from a snapshot."""
    running, found = query.open(table.schema, **OPTIONS), []
    try:
        for (begin, end), again in zip(itertools.pairwise(cuts), resumed, strict=True):
            found.append(running.push(table.slice(begin, end - begin)))
            if again:
                running = query.resume(running.snapshot())
    except ac.AggregateError as error:
        return str(error)
    return running.schema, shown(found), places(found)


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "12")))
@given(case=long_cases(), data=st.data())
def test_engine_and_automaton_agree_on_long_streams(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    tree, table = case
    query = checked_query(tree, table, data.draw(st.sampled_from(["once", "once", "additive"])), "ts")
    expected = outcome(query, table, "automaton")
    assert outcome(query, table, "engine") == expected
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=8))})
    resumed = data.draw(st.lists(st.booleans(), min_size=len(cuts) - 1, max_size=len(cuts) - 1))
    made = arena.Arena.__init__
    with (  # so little room that all is emptied and enlarged again and again
        patch.object(arena.Arena, "__init__", lambda self: made(self, nodes=64, hits=16)),
        patch.object(starts.NewestStarts.__init__, "__defaults__", (16,)),
        patch.object(arena, "LISTED_MATCHES", 16),
        patch.object(session, "ROWS_AT_ONCE", data.draw(st.sampled_from([10, 64, 1_000]))),
        patch.object(growing, "SLACK", data.draw(st.sampled_from([0, 20, 1_000]))),
    ):
        assert in_pieces(query, table, cuts, resumed) == expected
