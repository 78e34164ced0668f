"""SQL over attributes: three-valued logic, and no failure on any data."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.errors import Problem
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.events import Moment
from acelera.language.expressions import type_of
from acelera.language.parser import parse_condition
from acelera.language.types import BOOL, FLOAT, INT, STRING, UNKNOWN, Kind, parse_type
from strategies import BARE, expressions

BIG = 2**63 - 1
NAN = math.nan


def value(text: str, **attributes: Any) -> Any:
    condition = parse_condition(f"x[{text}]")
    assert isinstance(condition, ast.Each)
    return evaluate(condition.predicate, lambda node: attributes[node.name])


@pytest.mark.parametrize(
    ("text", "v", "expected"),
    [
        ("v = 1", None, None),
        ("v = NULL", 1, None),
        ("v <> 1", None, None),
        ("v = 1", NAN, None),
        ("v > 1", NAN, None),
        ("NOT v > 1", NAN, None),
        ("v = 1 OR v IS NULL", None, True),
        ("v = 1 AND v IS NULL", None, None),
        ("v = 1 AND FALSE", None, False),
        ("v = 1 OR TRUE", None, True),
        ("NOT v = 1", None, None),
        ("v IS NULL", None, True),
        ("v IS NOT NULL", None, False),
        ("v IS NULL", NAN, False),
        ("v IN (1, 2)", 2, True),
        ("v IN (1, NULL)", 2, None),
        ("v IN (2, NULL)", 2, True),
        ("v NOT IN (1, NULL)", 2, None),
        ("v NOT IN (1, 3)", 2, True),
        ("v BETWEEN 1 AND 3", 2, True),
        ("v NOT BETWEEN 1 AND 3", 4, True),
        ("v BETWEEN NULL AND 3", 4, False),
        ("v BETWEEN NULL AND 3", 2, None),
        ("v LIKE 'a%'", "abc", True),
        ("v LIKE 'a_'", "abc", False),
        ("v LIKE '_b%'", "abc", True),
        ("v NOT LIKE 'a%'", "abc", False),
        ("v LIKE 'a%'", None, None),
        (r"v LIKE '50\%'", "50%", True),
        (r"v LIKE '50\%'", "505", False),
        (r"v LIKE 'a\\b'", "a\\b", True),
        ("v LIKE 'a.c'", "abc", False),
        ("v LIKE 'a%c'", "a\nc", True),
        ("v + 1", BIG, None),
        ("v - 1", -BIG - 1, None),
        ("v * 2", BIG, None),
        ("-v", -BIG - 1, None),
        ("abs(v)", -BIG - 1, None),
        ("v / 0", 1, None),
        ("v / 0.0", 1.0, None),
        ("v % 0", 1, None),
        ("v / 2", 3, 1.5),
        ("v % 3", -7, -1),
        ("v % -3", 7, 1),
        ("v % 3", Decimal("7.5"), Decimal("1.5")),
        ("v % 2", 5.5, 1.5),
        ("v % 2", math.inf, None),
        ("v + 1", Decimal("0.10"), Decimal("1.10")),
        ("v * v", Decimal("1.1"), Decimal("1.21")),
        ("v + 0.5", Decimal("0.25"), 0.75),
        ("v = 0.1", Decimal("0.1"), True),
        ("v = 9007199254740993.0", 9007199254740992, True),
        ("v || 'b'", "a", "ab"),
        ("v || NULL", "a", None),
        ("lower(v)", "AbC", "abc"),
        ("upper(v)", "AbC", "ABC"),
        ("trim(v)", "  a\t ", "a\t"),
        ("length(v)", "né", 2),
        ("floor(v)", -1.5, -2),
        ("ceil(v)", 1e300, None),
        ("floor(v)", NAN, None),
        ("floor(v)", Decimal("1.7"), 1),
        ("sqrt(v)", -1, None),
        ("sqrt(v)", 9, 3.0),
        ("coalesce(v, 5)", None, 5),
        ("nullif(v, 5)", 5, None),
        ("if(v > 1, 'a', 'b')", 2, "a"),
        ("if(v > 1, 'a', 'b')", None, "b"),
        ("if(v > 1, 'a')", 1, None),
        ("nullif(v, NULL)", 5, 5),
        ("CAST(v AS int)", "12 ", 12),
        ("CAST(v AS int)", "12.5", None),
        ("CAST(v AS int)", "99999999999999999999", None),
        ("CAST(v AS int)", -1.9, -1),
        ("CAST(v AS int)", NAN, None),
        ("CAST(v AS int)", True, 1),
        ("CAST(v AS float)", "1e3", 1000.0),
        ("CAST(v AS float)", "nan", None),
        ("CAST(v AS string)", True, "true"),
        ("CAST(v AS string)", 12, "12"),
        ("CAST(v AS bool)", "True", True),
        ("CAST(v AS bool)", "maybe", None),
        ("CAST(v AS int)", None, None),
        ("TIMESTAMP '2024-01-01 00:00:01' - TIMESTAMP '2024-01-01'", None, Moment(1_000_000_000)),
        ("TIMESTAMP '2024-01-01 01:00:00+01:00'", None, Moment(1_704_067_200_000_000_000)),
        ("TIMESTAMP '2024-01-01T00:00:00.5Z'", None, Moment(1_704_067_200_500_000_000)),
        ("TIMESTAMP '2024-01-01' - TIMESTAMP '1700-01-01' > INTERVAL 1 DAYS", None, True),
        ("-v", Decimal("12345678901234567890123456789012345678"), Decimal("-12345678901234567890123456789012345678")),
        (
            "abs(v)",
            Decimal("-12345678901234567890123456789012345678"),
            Decimal("12345678901234567890123456789012345678"),
        ),
        ("DATE '1970-01-02'", None, 1),
        ("INTERVAL 2 MINUTES", None, Moment(120_000_000_000)),
    ],
)
def test_values(text: str, v: Any, expected: Any) -> None:
    found = value(text, v=v)
    assert found == expected
    assert type(found) is type(expected)


KINDS = {
    "i": (INT, st.none() | st.integers(-(2**63), 2**63 - 1)),
    "f": (FLOAT, st.none() | st.floats()),
    "s": (STRING, st.none() | st.text(max_size=3) | st.sampled_from(["12", "true", " 1.5 "])),
    "b": (BOOL, st.none() | st.booleans()),
    "d": (parse_type("decimal(38, 4)"), st.none() | st.decimals(-(10**30), 10**30, places=4)),
}
ATTRIBUTES = st.sampled_from(sorted(KINDS)).map(lambda name: ast.Attribute(None, name))


@pytest.mark.property
@given(expressions(ATTRIBUTES), st.fixed_dictionaries({name: values for name, (_, values) in KINDS.items()}))
def test_what_is_well_typed_never_fails(expression: ast.Expression, row: dict[str, Any]) -> None:
    problems: list[Problem] = []
    found = type_of(expression, lambda node: KINDS[node.name][0], problems.append)
    if problems:
        return
    result = evaluate(expression, lambda node: row[node.name])
    python = {Kind.BOOL: bool, Kind.INT: int, Kind.STRING: str, Kind.FLOAT: float | int, Kind.DECIMAL: Decimal | int}
    if result is not None and found.kind in python:
        assert isinstance(result, python[found.kind])


@pytest.mark.property
@given(expressions(BARE))
def test_without_a_schema_types_are_found_or_refused(expression: ast.Expression) -> None:
    problems: list[Problem] = []
    type_of(expression, lambda node: UNKNOWN, problems.append)
    assert all(problem.message for problem in problems)
