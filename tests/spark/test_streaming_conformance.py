"""The conformance cases as streams: their rows come in several micro-batches, out of order inside the watermark.

A stream takes seconds to start, so only some of the cases run unless ACELERA_SPARK_EXAMPLES is set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from cases import Case, load_cases
from spark.test_conformance import judge, shuffled, with_order
from spark.test_streaming import Files
from tiers import thinned

EVERY = 1 if "ACELERA_SPARK_EXAMPLES" in os.environ else 60


def time_of(case: Case) -> str:
    """The first of the columns that order the stream."""
    order = case.data["order_by"]
    return order if isinstance(order, str) else order[0]


def ordered_by_time(case: Case) -> bool:
    first = time_of(case)
    return first in case.table.column_names and pa.types.is_timestamp(case.table.schema.field(first).type)


CASES = [with_order(case, times=True) for case in load_cases() if "ties" not in case.data]


def run(case: Case, files: Files) -> pa.Table:
    files.time = time_of(case)
    files.put_all(shuffled(in_utc(case.table, files.time)), 2)
    query = ac.query(case.data["query"], bag_union=case.bag_union)
    files.run(query.run(files.frame("1 day", 1), **case.options))
    found = files.found()
    return found.cast(pa.schema([(each.name, without_zone(each.type)) for each in found.schema]))


def in_utc(table: pa.Table, column: str) -> pa.Table:
    """Watermarks are for times with a zone."""
    at = table.column_names.index(column)
    return table.set_column(at, column, table.column(column).cast(pa.timestamp("us", "UTC")))


def without_zone(kind: pa.DataType) -> pa.DataType:
    """The type of the same values in the cases, which have no zone."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_list(kind):
        return pa.list_(without_zone(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, without_zone(each.type)) for each in kind])
    return kind


def chosen() -> list[Any]:
    """Some of the cases, of which the first is always run."""
    some = [case for case in CASES if ordered_by_time(case)][::EVERY]
    return thinned(some, len(some))


@pytest.mark.parametrize("case", chosen(), ids=str)
def test_case(case: Case, spark: Any, tmp_path: Path) -> None:
    judge(case, lambda: run(case, Files(spark, tmp_path)))
