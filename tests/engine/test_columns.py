"""Predicates by column give what the definition gives value by value."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import expressions

from acelera.engine.columns import is_columnar, predicate_mask
from acelera.errors import Problem
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.expressions import type_of
from acelera.language.parser import parse_expression
from acelera.language.types import Kind, from_arrow
from acelera.tables import plain_values

COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int32(), st.integers(-3, 3)),
    "l": (pa.int64(), st.sampled_from([0, 1, 2**53 + 1, 2**63 - 1, -(2**63)])),
    "f": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), -1.0, 9007199254740993.0])),
    "s": (pa.string(), st.sampled_from(["", "a", "ab", "a%b", "A", "é", "a\nb", "_", "a\\b"])),
    "d": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b"])),
    "b": (pa.bool_(), st.booleans()),
    "t": (pa.timestamp("us"), st.sampled_from([0, 1_700_000_000_000_000, -(10**17), 10**17])),
    "n": (pa.decimal128(10, 2), st.decimals(-9, 9, places=2)),
}
TYPES = {name: from_arrow(kind) for name, (kind, _) in COLUMNS.items()}
ATTRIBUTES = st.sampled_from(sorted(COLUMNS)).map(lambda name: ast.Attribute(None, name))


@st.composite
def batches(draw: st.DrawFn) -> dict[str, pa.Array]:
    size = draw(st.integers(0, 6))
    return {
        name: pa.array(draw(st.lists(st.none() | values, min_size=size, max_size=size)), kind)
        for name, (kind, values) in COLUMNS.items()
    }


@pytest.mark.property
@given(expressions(ATTRIBUTES), batches())
def test_masks_are_what_the_definition_says(predicate: ast.Expression, batch: dict[str, pa.Array]) -> None:
    check(predicate, batch)


@pytest.mark.property
@given(
    st.sampled_from(
        "i = 1 | i < f | l = f | l > 9007199254740992.0 | f = f | f <> 1.5 | NOT f > 1 | f BETWEEN 0 AND 1.5 | f IN (0, 1.5) | s LIKE 'a%' | s LIKE '%b' |"
        " s LIKE 'a_b' | s NOT LIKE '_' | s LIKE 'a\\%b' | s < 'b' | s = d | d IN ('a', 'x') | d <> 'a' | b | NOT b | b = TRUE | b <> b |"
        " t > TIMESTAMP '2023-01-01' | t - TIMESTAMP '2023-01-01' > INTERVAL 5 DAYS | i IS NULL OR s IS NOT NULL | i NOT IN (1, 2) |"
        " i + 1 > 2 | l + 1 > 0 | f * 2 > i | f - i < 0 | i / 0 > 1 | n > 1 | n = 1.5 | length(s) > 1 | s || 'x' = 'ax' | lower(s) = 'a' |"
        " i NOT BETWEEN 0 AND 2 | coalesce(i, 5) = 5 | CAST(s AS int) > 1 | i % 2 = 1 | TRUE | i = 1 AND s = 'a' OR b".split(
            " | "
        )
    ),
    batches(),
)
def test_typical_predicates(text: str, batch: dict[str, pa.Array]) -> None:
    assert check(parse_expression(text.strip(" |")), batch)


def check(predicate: ast.Expression, batch: dict[str, pa.Array]) -> bool:
    problems: list[Problem] = []
    found = type_of(predicate, lambda node: TYPES[node.name], problems.append)
    if problems or found.kind is not Kind.BOOL:
        return False
    length = len(batch["i"])
    rows = [
        dict(zip(COLUMNS, values, strict=True))
        for values in zip(*(plain_values(batch[name], TYPES[name]) for name in COLUMNS), strict=True)
    ]
    expected = [evaluate(predicate, lambda node, row=row: row[node.name]) is True for row in rows]
    mask = predicate_mask(predicate, TYPES)(batch, length)
    assert mask.dtype == np.bool_
    assert mask.tolist() == expected
    return True


def test_what_runs_by_column() -> None:
    assert is_columnar(
        parse_expression("i > 1 AND s LIKE 'a%' OR f BETWEEN 1 AND 2 AND b AND t > TIMESTAMP '2024-01-01'"), TYPES
    )
    assert not is_columnar(parse_expression("i + 1 > 2"), TYPES)  # an overflow would have to be NULL
