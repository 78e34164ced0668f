"""Summaries are those of the matches that SELECT lists, computed here in yet another way."""

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

import acelera as ac
from acelera.language import ast
from summaries.strategies import SummaryCase, long_cases, short_cases

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "40"))
COUNT = ast.SummaryItem(ast.Total("count"), "n")


def listed(case: SummaryCase, *items: ast.SelectItem) -> list[dict[str, Any]]:
    """The matches, each with where it starts and ends; a case where one of them fails is left out."""
    bounds = ["start", "end", *(["start_time", "end_time"] if case.order_by else [])]
    tree = replace(case.tree, select=(*map(ast.SelectBound, bounds), *items), summary=None)
    return numbers(found(replace(case, tree=tree)))


def found(case: SummaryCase) -> pa.Table:
    result = case.run("automaton")
    assume(not isinstance(result, str))
    assert isinstance(result, pa.Table)
    return result


def numbers(result: pa.Table) -> list[dict[str, Any]]:
    """The rows, times in nanoseconds."""
    factors = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    columns = {}
    for field, column in zip(result.schema, result.columns, strict=True):
        timed = pa.types.is_timestamp(field.type)
        values = (column.cast(pa.int64()) if timed else column).to_pylist()
        columns[field.name] = [value * factors[field.type.unit] for value in values] if timed else values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def summarized(case: SummaryCase, summary: ast.Summary) -> list[dict[str, Any]]:
    return numbers(found(replace(case, tree=replace(case.tree, summary=summary))))


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(case=short_cases() | long_cases())
def test_the_count_is_that_of_the_listed_matches(case: SummaryCase) -> None:
    rows = listed(case)
    assert summarized(case, ast.Summary((COUNT,))) == ([{"n": len(rows)}] if rows else [])
    by = summarized(case, ast.Summary((COUNT,), (ast.SelectBound("start"), ast.SelectBound("end"))))
    assert Counter({(row["start"], row["end"]): row["n"] for row in by}) == Counter(
        (row["start"], row["end"]) for row in rows
    )


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(case=short_cases())
def test_totals_are_those_of_the_listed_events(case: SummaryCase) -> None:
    query = case.query()
    names = [name for name, held in query.variables.items() if held != "none"]
    schema = ac.query(ast.Query(case.tree.formula), bag_union=case.bag_union).check(case.table.schema).names
    variables = [name for name in names if name in schema]
    assume(variables)
    for variable in variables[:2]:
        rows = listed(case, ast.SelectAttribute(variable, "position", "held"))
        held = [row["held"] if isinstance(row["held"], list) else [row["held"]] for row in rows]
        values = [value for each in held for value in each]
        items = [("count", None), ("sum", "position"), ("min", "position"), ("max", "position")]
        named = tuple(
            ast.SummaryItem(ast.Total(function, variable, attribute), f"i{number}")
            for number, (function, attribute) in enumerate(items)
        )
        expected = [len(values), sum(values), min(values, default=None), max(values, default=None)]
        found_rows = summarized(case, ast.Summary(named))
        assert [list(row.values()) for row in found_rows] == ([expected] if rows else [])


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(case=short_cases() | long_cases())
def test_a_match_is_in_the_windows_that_hold_it(case: SummaryCase) -> None:
    over = case.tree.summary.over if case.tree.summary is not None else None
    assume(over is not None)
    assert over is not None
    timed = over.unit != "events"
    length = over.amount * ast.UNITS.get(over.unit, 1)
    every = length if over.every is None else over.every * ast.UNITS.get(over.every_unit or over.unit, 1)
    expected: Counter[tuple[int, int]] = Counter()
    for row in listed(case):
        first, last = (row["start_time"], row["end_time"]) if timed else (row["start"], row["end"])
        begin = (first - length) // every * every - every if timed else 1
        while begin <= first:
            end = begin + length if timed else begin + length - 1
            if last < end or (last == end and not timed):
                expected[begin, end] += 1
            begin += every
    rows = summarized(case, ast.Summary((COUNT,), (), over))
    assert [((row["window_start"], row["window_end"]), row["n"]) for row in rows] == sorted(expected.items())
