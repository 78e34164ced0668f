"""Both judges give the same summaries, and what makes two results the same."""

import math
import os

import pyarrow as pa
import pytest
from hypothesis import given, settings

from summaries.strategies import SummaryCase, rare_cases, same, short_cases


@pytest.mark.property
@given(case=short_cases())
def test_judges_agree(case: SummaryCase) -> None:
    assert same(case.run("semantics"), case.run("automaton"))


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "30")))
@given(case=rare_cases())
def test_judges_agree_on_long_streams_with_few_matches(case: SummaryCase) -> None:
    assert same(case.run("semantics"), case.run("automaton"))


def column(*values: object, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


def test_results_are_the_same_up_to_rounding() -> None:
    assert same(column(0.1 + 0.2, math.nan, None), column(0.3, math.nan, None))
    assert not same(column(0.3), column(0.3001))
    assert not same(column(0.3, math.nan), column(0.3, None))
    assert not same(column(1, 2), column(2, 1))
    assert not same(column(1), column(1, 1))
    assert not same(column(1), column(1.0))
    assert same("an aggregate failed", "an aggregate failed")
    assert not same("an aggregate failed", column(1))
