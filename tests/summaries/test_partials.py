"""Totals that several workers have found of groups, merged, are those that one finds alone."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.machines.reachable import reachable_sets
from acelera.engine.positions import distances_matter
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.storage import growing
from acelera.engine.summaries import adaptive_summarizer, summary_choice
from acelera.engine.summaries.matrices import matrix
from acelera.engine.summaries.rows import ResultRows
from acelera.engine.summaries.stretches import MOST_SETS, Slice
from acelera.engine.window import window_of
from acelera.language import ast
from acelera.language.schema import schema_of
from acelera.spark.slices import Slices, WindowSlices
from acelera.spark.summary_shares import Shares, batch_shares
from summaries.strategies import SummaryCase, long_cases, rare_cases, same, short_cases

EXAMPLES = settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "30")))


def compiled(case: SummaryCase) -> CompiledQuery:
    return case.query()._compiled(schema_of(case.table.schema).ordered_by(case.order_by))


def in_order(table: pa.Table, query: CompiledQuery) -> pa.Table:
    if not query.schema.order_by:
        return table
    indices = sorted_indices(order_columns(table, query.schema, None))
    return table if indices is None else table.take(pa.array(indices))


def merged(query: CompiledQuery, tables: list[pa.Table]) -> pa.Table | str:
    """What sessions that read a table each find together."""
    try:
        return merged_parts(query, [(table, None) for table in tables])
    except ac.AggregateError:
        return "an aggregate failed"


def merged_parts(query: CompiledQuery, parts: list[tuple[pa.Table, Slice | None]]) -> pa.Table:
    merging = query.summarizing().merging()
    for table, part in parts:
        for rows in found_in(query, table, part, partial=True):
            merging.add(rows)
    return pa.Table.from_batches([merging.rows()])


def found_in(query: CompiledQuery, table: pa.Table, part: Slice | None, partial: bool) -> list[pa.RecordBatch]:
    """The rows of a session that reads a table in two pieces."""
    session = query.open_summary("keep", partial=partial)
    if part is not None:
        session.cut(part)
    found: list[pa.RecordBatch] = []
    for piece in (table.slice(0, table.num_rows // 2), table.slice(table.num_rows // 2)):
        found += session.stream(piece)
    return [*found, *(page.rows for page in session.rest())]


def by_value(asked: bool) -> AbstractContextManager[Any]:
    """If it is asked for, all summaries run value by value, even those that need not."""
    return patch.object(summary_choice, "_layout", lambda *_, **__: "it is asked for") if asked else nullcontext()


@pytest.mark.property
@EXAMPLES
@pytest.mark.parametrize("value_by_value", [False, True])
@given(case=st.one_of(short_cases(), long_cases()), workers=st.integers(1, 3))
def test_what_workers_find_of_keys_is_merged(case: SummaryCase, workers: int, value_by_value: bool) -> None:
    expected = case.run("engine")
    with by_value(value_by_value):
        assert same(found_of_keys(case, workers), expected)


def found_of_keys(case: SummaryCase, workers: int) -> pa.Table | str:
    """What workers find that read some keys each."""
    query = compiled(case)
    table = in_order(case.table, query)
    keys = [key.name for key in case.tree.partition_by]
    rows = list(zip(*(table.column(name).to_pylist() for name in keys), strict=True)) if keys else [()] * len(table)
    shares = [
        [at for at, row in enumerate(rows) if crc32(repr(row).encode()) % workers == number]
        for number in range(workers)
    ]
    return merged(query, [table.take(pa.array(share, pa.int64())) for share in shares])


@pytest.mark.property
@EXAMPLES
@pytest.mark.parametrize("value_by_value", [False, True])
@given(
    case=st.one_of(short_cases(), long_cases()),
    window=st.integers(1, 9),
    longer=st.integers(1, 30),
    nodes=st.sampled_from([-1, 20, 10**9]),
)
def test_what_slices_find_is_merged(
    case: SummaryCase, window: int, longer: int, nodes: int, value_by_value: bool
) -> None:
    """Slices overlap by WITHIN, and a match counts in the one it starts in."""
    case = timed(case, within=ast.Within(window, "seconds"))
    query = compiled(case)
    assume(not distances_matter(query.checked, query.plan))
    expected = case.run("engine")
    with by_value(value_by_value), matrices_after(nodes):
        try:
            found: pa.Table | str = found_in_slices(compiled(case), in_order(case.table, query), longer)
        except ac.AggregateError:
            found = "an aggregate failed"
    assert same(found, expected)


def found_in_slices(query: CompiledQuery, table: pa.Table, longer: int) -> pa.Table:
    """What slices of time find that are so much longer than WITHIN."""
    moments = table.column("ts").cast(pa.int64()).to_numpy()
    width = window_of(query.checked.clauses.within, query.schema).width
    assert width is not None
    slices = Slices(int(moments.min()), width + longer, width)
    own = (moments - slices.begin) // slices.length
    beyond = moments - slices.begin - own * slices.length
    rows = [np.flatnonzero((own == n) | ((own == n + 1) & (beyond <= width))) for n in range(own.max() + 1)]
    return merged_parts(query, [(table.take(pa.array(each)), slices.part(n)) for n, each in enumerate(rows)])


@contextmanager
def matrices_after(nodes: int) -> Iterator[None]:
    """WITHIN turns to matrices after so many nodes."""
    with (
        patch.object(adaptive_summarizer, "NODES_PER_EVENT", 0),
        patch.object(adaptive_summarizer, "AT_FIRST", nodes),
    ):
        yield


def test_events_of_a_slice_stand_where_they_stood_when_matrices_take_over() -> None:
    query = ac.query("SUMMARIZE first(b.v) AS first, last(b.v) AS last MATCH A ; B AS b WITHIN 4 SECONDS")
    table = pa.table({"type": list("AAABB"), "v": range(5), "ts": pa.array([1, 3, 5, 6, 7], pa.timestamp("s"))})
    with matrices_after(-1):
        found = found_in_slices(query._compiled(schema_of(table.schema).ordered_by("ts")), table, 1)
    assert found.to_pylist() == [{"first": 3, "last": 4}]


@pytest.mark.property
@EXAMPLES
@pytest.mark.parametrize("value_by_value", [False, True])
@given(
    case=st.one_of(short_cases(), long_cases()),
    over=st.builds(ast.Over, st.integers(1, 9), st.just("seconds"), st.integers(1, 9), st.just("seconds")),
    more=st.integers(0, 3),
)
def test_each_window_is_complete_in_a_slice(case: SummaryCase, over: ast.Over, more: int, value_by_value: bool) -> None:
    """Slices of time between windows: nothing is merged."""
    case = timed(case, over=over)
    query = compiled(case)
    assume(not distances_matter(query.checked, query.plan))
    expected, table, spans = case.run("engine"), in_order(case.table, query), query.summarizing().spans
    assert spans is not None
    moments = table.column("ts").cast(pa.int64()).to_numpy()
    first = int((moments.min() - spans.length) // spans.every + 1)
    slices = WindowSlices(spans, first, -(-spans.length // spans.every) + more)
    newest, oldest = moments // spans.every, (moments - spans.length) // spans.every + 1
    own, other = (newest - first) // slices.windows, (oldest - first) // slices.windows
    rows = [np.flatnonzero((own == n) | ((own == n + 1) & (other < own))) for n in range(own.max() + 1)]
    with by_value(value_by_value):
        query = compiled(case)
        try:
            batches = [
                batch
                for n, each in enumerate(rows)
                for batch in found_in(query, table.take(pa.array(each)), slices.part(n), partial=False)
            ]
            whole = pa.Table.from_batches(batches, query.result_schema)
            found: pa.Table | str = ResultRows(query.checked.summary, spans).in_order(whole)  # type: ignore[arg-type]
        except ac.AggregateError:
            found = "an aggregate failed"
    assert same(found, expected)


def timed(case: SummaryCase, within: ast.Within | None = None, over: ast.Over | None = None) -> SummaryCase:
    """The same over time, without partitions and positions, and with a limit or windows."""
    plain = unbounded(case)
    assert plain.tree.summary is not None
    summary = replace(plain.tree.summary, over=over)
    return replace(plain, tree=replace(plain.tree, within=within, summary=summary), order_by="ts")


@pytest.mark.property
@EXAMPLES
@given(
    case=st.one_of(short_cases(), long_cases(), rare_cases()),
    cuts=st.lists(st.integers(0, 300), max_size=4),
    slack=st.sampled_from([growing.SLACK, -(10**9)]),
)
def test_matrices_of_stretches_are_multiplied(case: SummaryCase, cuts: list[int], slack: int) -> None:
    """Whatever comes into a stretch: nothing is known of it but where it is in the stream."""
    case = unbounded(case)
    with patch.object(growing, "SLACK", slack):  # what nothing refers to may be forgotten after a batch
        found = chained(case, cuts)
    assume(found is not None)
    assert same(found, case.run("engine"))  # type: ignore[arg-type]


def unbounded(case: SummaryCase) -> SummaryCase:
    """The same without anything that a stretch cannot have: partitions, windows, and positions."""
    summary = case.tree.summary
    assert summary is not None
    by = tuple(key for key in summary.by if not isinstance(key, ast.SelectVariable) and not is_position(key))
    tree = replace(case.tree, partition_by=(), within=None, summary=ast.Summary(summary.items, by))
    return replace(case, tree=tree)


def is_position(key: ast.GroupKey) -> bool:
    return isinstance(key, ast.SelectBound) and not key.bound.endswith("time")


def chained(case: SummaryCase, cuts: list[int]) -> pa.Table | str | None:
    """The stream read in stretches; None if it cannot be."""
    query = compiled(case)
    reachable = reachable_sets(query.plan, MOST_SETS)
    if reachable is None or query.plan.split_by or distances_matter(query.checked, query.plan):
        return None
    table = in_order(case.table, query)
    assume(not isinstance(query.summarizing().layout, str))
    chaining = query.summarizing().chaining()
    bounds = sorted({0, table.num_rows, *(min(cut, table.num_rows) for cut in cuts)})
    for number, (begin, end) in enumerate(pairwise(bounds)):
        session = query.open_stretch(reachable, ties="keep")
        session.cut(Slice(number))
        middle = (begin + end) // 2
        list(session.stream(table.slice(begin, middle - begin)))
        list(session.stream(table.slice(middle, end - middle)))
        chaining.add(matrix(session.summarizer, number))
    try:
        return pa.Table.from_batches([chaining.rows()])
    except ac.AggregateError:
        return "an aggregate failed"


# --- states of one's own ------------------------------------------------------------------------------------------


def shared(items: str, rest: str) -> Shares:
    schema = schema_of({"type": str, "v": int, "k": int, "s": str, "ts": "timestamp[us]"}).ordered_by("ts")
    query = ac.query(f"SUMMARIZE {items} {rest}")._compiled(schema)
    return batch_shares(query, distances_matter(query.checked, query.plan))


def test_how_the_work_is_shared_out_value_by_value() -> None:
    by_key = shared("product(A.v)", "MATCH A ; B PARTITION BY k BY A.s")
    assert (by_key.cut, by_key.keys, by_key.merged) == ("keys", ("k",), True)
    assert "merged in a second step: states of totals, value by value, travel" in by_key.lines()[-1]
    assert shared("product(A.v)", "MATCH A ; B PARTITION BY k BY k").merged is False
    assert shared("product(A.v)", "MATCH A ; B WITHIN 5 SECONDS").cut == "starts"
    assert shared("product(A.v)", "MATCH A ; B OVER 5 SECONDS EVERY 2 SECONDS").cut == "windows"
    assert shared("product(A.v)", "MATCH (A ; B) AS x FILTER x[same(s)]").keys == ("s",)
    assert shared("product(A.v), first(A.v)", "MATCH (A ; B) AS x FILTER x[same(s)]").cut == "whole"
    assert shared("product(A.v)", "MATCH A ; B").cut == "whole"


def test_states_that_cannot_travel_stay_in_one_task() -> None:
    ac.aggregate("odd", lift=lambda v: complex(v), combine=lambda a, b: a + b, identity=0j, finish=lambda s: s.real)
    for rest in ("MATCH A PARTITION BY k", "MATCH A ; B WITHIN 5 SECONDS", "MATCH (A ; B) AS x FILTER x[same(s)]"):
        found = shared("count(*), odd(A.v)", rest)
        assert (found.cut, found.keys, found.merged) == ("whole", (), False)
        assert "states of odd(A.v) are no data that could be sent" in found.lines()[0]
    assert shared("odd(A.v)", "MATCH A PARTITION BY k BY k").cut == "keys"
    assert shared("odd(A.v)", "MATCH A OVER 5 SECONDS").cut == "windows"


def test_a_state_that_turns_out_not_to_be_data_is_an_error() -> None:
    ac.aggregate("wrong", lift=lambda v: (complex(v),), combine=lambda a, b: a + b, identity=(), finish=len)
    query = ac.query("SUMMARIZE count(*), wrong(A.v) AS n MATCH A PARTITION BY k")._compiled(
        schema_of({"type": str, "v": int, "k": int})
    )
    table = pa.table({"type": ["A"], "v": [1], "k": [2]})
    with pytest.raises(ac.AggregateError, match=r"a state of it is no data that could be sent: \(\(1\+0j\),\); make"):
        merged_parts(query, [(table, None)])
