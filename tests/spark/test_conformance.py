"""Conformance cases on Spark: all, under both readings of bag union, if ACELERA_SPARK_EXAMPLES is set; else one of them.

Rows of a frame have no order of their own, so a case that has no `order_by` gets a column to be ordered by: a time for
one reading of bag union, a number for the other. So most cases run in both ways: with a time, rows that do not matter
are dropped and the stream is cut into slices.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from cases import Case, actual, expected, load_cases, timestamp
from tiers import thinned


def chosen() -> list[Case]:
    """The cases that run: all of them in process, where they take no time, some of them here; of a case for both
    readings one and then, of the next, the other.
    """
    cases = load_cases()
    if "ACELERA_SPARK_EXAMPLES" in os.environ:
        return cases
    both = [case for case in cases if "bag_union" not in case.data]
    left_out = {str(case) for number, case in enumerate(both) if (number // 2 + number) % 2}
    return [case for case in cases if str(case) not in left_out]


ORDER = "n_"
"""The column that is added; no case has one of this name."""


def with_order(case: Case, times: bool) -> Case:
    """The same case with an order that a frame can have: times, if they are asked for and change nothing."""
    if "order_by" in case.data:
        return case
    table, query = case.table, case.data["query"]
    times = times and "rows" not in case.data and "time" not in f"{query}{table.column_names}"
    header, *lines = [line for line in case.data["stream"].strip().splitlines() if line.strip()]
    begin = timestamp("00:00:00")
    cells = [(begin + datetime.timedelta(seconds=n)).isoformat() if times else n for n in range(1, len(lines) + 1)]
    header = f"{header} {ORDER}:{'timestamp' if times else 'int'}"
    stream = "\n".join([header, *(f"{line} {cell}" for line, cell in zip(lines, cells, strict=True))])
    return replace(case, data={**case.data, "stream": stream, "order_by": ORDER})


def shuffled(table: pa.Table) -> pa.Table:
    """The same rows in another order: a frame promises none."""
    return table.take(pa.array([*range(1, table.num_rows, 2), *range(0, table.num_rows, 2)], pa.int64()))


def without_order(value: Any) -> Any:
    """A result without the column that was added."""
    if isinstance(value, list):
        return [without_order(each) for each in value]
    if isinstance(value, dict):
        return {name: without_order(each) for name, each in value.items() if name != ORDER}
    return value


def run(case: Case, to_frame: Callable[[pa.Table], Any]) -> pa.Table:
    query = ac.query(case.data["query"], bag_union=case.bag_union)
    result = query.run(to_frame(shuffled(case.table)), **case.options).toArrow()
    assert result.schema.equals(result_schema(query, case)), "the schema is not that of the run in this process"
    return result


def result_schema(query: ac.Query, case: Case) -> pa.Schema:
    options = {name: value for name, value in case.options.items() if name != "ties"}
    return query.check(case.table.schema, **options)


@pytest.mark.parametrize("case", thinned(chosen(), 20), ids=str)
def test_case(case: Case, to_frame: Callable[[pa.Table], Any]) -> None:
    if case.data.get("ties") == "keep":
        pytest.skip("ties='keep' is refused: rows of a frame have no order of arrival")
    case = with_order(case, times=case.bag_union == "once")
    judge(case, lambda: run(case, to_frame))


def judge(case: Case, run: Callable[[], pa.Table]) -> None:
    """Compare what a run of a case with an order gives with what the case says."""
    if "error" in case.data:
        with pytest.raises(Exception, match=case.data["error"]):
            run()
        return
    try:
        result = run()
    except ac.UsageError as error:
        if "which Spark does not tell apart" not in str(error):
            raise
        pytest.skip("two columns of the result differ only in case, which is refused")
    if "rows" in case.data:
        result = pa.Table.from_pylist(without_order(result.to_pylist())) if result.num_rows else result
    assert actual(case, result) == expected(case)
