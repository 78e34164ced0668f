"""All ways to run a summary agree, and what makes two results the same."""

import math
import os

import pyarrow as pa
import pytest
from hypothesis import given, settings

from summaries.strategies import SummaryCase, long_cases, rare_cases, same, short_cases
from summaries.test_cases import METHODS

OTHERS = [method for method in METHODS if method != "semantics"]
QUICK = [method for method in METHODS if method not in ("semantics", "automaton")]
"""The ways that need not list matches."""


@pytest.mark.property
@pytest.mark.parametrize("method", OTHERS)
@given(case=short_cases())
def test_all_agree_with_the_meaning(method: str, case: SummaryCase) -> None:
    assert same(case.run("semantics"), case.run(method))


@pytest.mark.property
@pytest.mark.parametrize("method", OTHERS)
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "40")))
@given(case=rare_cases())
def test_all_agree_with_the_meaning_on_long_streams_with_few_matches(method: str, case: SummaryCase) -> None:
    assert same(case.run("semantics"), case.run(method))


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "40")))
@given(case=long_cases())
def test_all_agree_with_the_automaton_on_long_streams(case: SummaryCase) -> None:
    expected = case.run("automaton")
    for method in QUICK:
        assert same(expected, case.run(method))


def column(*values: object) -> pa.Table:
    return pa.table({"x": pa.array(values)})


def test_results_are_the_same_up_to_rounding() -> None:
    assert same(column(0.1 + 0.2, math.nan, None), column(0.3, math.nan, None))
    assert not same(column(0.3), column(0.3001))
    assert not same(column(0.3, math.nan), column(0.3, None))
    assert not same(column(1, 2), column(2, 1))
    assert not same(column(1), column(1, 1))
    assert not same(column(1), column(1.0))
    assert same("an aggregate failed", "an aggregate failed")
    assert not same("an aggregate failed", column(1))
