"""Totals that several workers have found of groups, merged, are those that one finds alone."""

from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import schema_of
from summaries.strategies import SummaryCase, long_cases, same, short_cases


def compiled(case: SummaryCase) -> CompiledQuery:
    return case.query()._compiled(schema_of(case.table.schema).ordered_by(case.order_by))


def in_order(table: pa.Table, query: CompiledQuery) -> pa.Table:
    if not query.schema.order_by:
        return table
    indices = sorted_indices(order_columns(table, query.schema, None))
    return table if indices is None else table.take(pa.array(indices))


def merged(query: CompiledQuery, tables: list[pa.Table]) -> pa.Table | str:
    """What sessions that read a table each find together."""
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
    shares = [[at for at, row in enumerate(rows) if crc32(repr(row).encode()) % workers == number] for number in range(workers)]
    try:
        found = merged(query, [table.take(pa.array(share, pa.int64())) for share in shares])
    except UnsupportedError:
        assume(False)
    assert same(found, case.run("engine"))
