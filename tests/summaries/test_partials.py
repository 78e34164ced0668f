"""Totals that several workers have found of groups, merged, are those that one finds alone."""

from dataclasses import replace
from itertools import pairwise
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.machines.reachable import reachable_sets
from acelera.engine.positions import distances_matter
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.summaries.matrices import matrix
from acelera.engine.summaries.stretches import MOST_SETS, Slice
from acelera.language import ast
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import schema_of
from summaries.strategies import SummaryCase, long_cases, rare_cases, same, short_cases


def compiled(case: SummaryCase) -> CompiledQuery:
    return case.query()._compiled(schema_of(case.table.schema).ordered_by(case.order_by))


def in_order(table: pa.Table, query: CompiledQuery) -> pa.Table:
    if not query.schema.order_by:
        return table
    indices = sorted_indices(order_columns(table, query.schema, None))
    return table if indices is None else table.take(pa.array(indices))


def merged(query: CompiledQuery, tables: list[pa.Table]) -> pa.Table | str:
    """What sessions that read a table each find together."""
    assume(not isinstance(query.summarizing().layout, str))  # states of Python's are not merged
    merging = query.summarizing().merging()
    for table in tables:
        session = query.open_summary("keep", partial=True)
        for piece in (table.slice(0, table.num_rows // 2), table.slice(table.num_rows // 2)):
            for batch in session.stream(piece):
                merging.add(batch)
        for page in session.rest():
            merging.add(page.rows)
    try:
        return pa.Table.from_batches([merging.rows()])
    except ac.AggregateError:
        return "an aggregate failed"


@pytest.mark.property
@given(case=st.one_of(short_cases(), long_cases()), workers=st.integers(1, 3))
def test_what_workers_find_of_keys_is_merged(case: SummaryCase, workers: int) -> None:
    query = compiled(case)
    table = in_order(case.table, query)
    keys = [key.name for key in case.tree.partition_by]
    rows = list(zip(*(table.column(name).to_pylist() for name in keys), strict=True)) if keys else [()] * len(table)
    shares = [
        [at for at, row in enumerate(rows) if crc32(repr(row).encode()) % workers == number]
        for number in range(workers)
    ]
    try:
        found = merged(query, [table.take(pa.array(share, pa.int64())) for share in shares])
    except UnsupportedError:
        assume(False)
    assert same(found, case.run("engine"))


@pytest.mark.property
@given(case=st.one_of(short_cases(), long_cases(), rare_cases()), cuts=st.lists(st.integers(0, 300), max_size=4))
def test_matrices_of_stretches_are_multiplied(case: SummaryCase, cuts: list[int]) -> None:
    """Whatever comes into a stretch: nothing is known of it but where it is in the stream."""
    case = unbounded(case)
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
        list(session.stream(table.slice(begin, end - begin)))
        chaining.add(matrix(session.summarizer, number))
    try:
        return pa.Table.from_batches([chaining.rows()])
    except ac.AggregateError:
        return "an aggregate failed"
