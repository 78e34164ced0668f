"""Predicates by column give what the definition gives value by value."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.engine.predicates import masks as columns
from acelera.engine.predicates.masks import is_columnar, predicate_mask
from acelera.errors import Problem
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.expressions import type_of
from acelera.language.parser import parse_expression
from acelera.language.types import Kind, from_arrow
from acelera.tables import plain_values
from strategies import expressions

NAN, INF = float("nan"), float("inf")
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [-2, 0, 1, 2, 2**31 - 1, -(2**31)]),
    "u": (pa.uint8(), [0, 1, 255]),
    "l": (pa.int64(), [0, 1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "f": (pa.float64(), [0.0, -0.0, 1.5, NAN, INF, -INF, -1.0, 2.0**53, 1e308]),
    "g": (pa.float32(), [0.0, 1.5, NAN, 0.1, -2.0]),
    "n": (pa.decimal128(10, 2), ["0.00", "1.50", "-9.99", "2.00", "99999999.99"]),
    "m": (pa.decimal128(38, 0), ["0", "2", "99999999999999999999999999999999999999"]),
    "s": (pa.string(), ["", "a", "ab", "a%b", "A", "É", "ß", "a\nb", "_", "a\\b", " a ", "𝄞", "é\0b"]),
    "r": (pa.large_string(), ["", "a", "ab", "b"]),
    "d": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "ab"]),
    "b": (pa.bool_(), [True, False]),
    "t": (pa.timestamp("us"), [0, 1_700_000_000_000_000, -(10**17), 10**17]),
    "v": (pa.timestamp("ns"), [0, 1_700_000_000_000_000_001]),
    "e": (pa.duration("ms"), [0, 1, -86_400_000, 10**18]),
    "k": (pa.date32(), [0, 19_700, -1]),
    "o": (pa.list_(pa.int8()), [[], [1]]),
    "z": (pa.null(), []),
}
TYPES = {name: from_arrow(kind) for name, (kind, _) in COLUMNS.items()}


# --- any batch ----------------------------------------------------------------------------------------------------


def array(name: str, values: list[Any]) -> Any:
    kind = COLUMNS[name][0]
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array(values, pa.string()).cast(kind)
    return pa.array(values, kind)


def as_dictionary(column: Any) -> Any:
    return column if pa.types.is_nested(column.type) or pa.types.is_null(column.type) else column.dictionary_encode()


SHAPES: list[Callable[[Any], Any]] = [
    lambda column: column,
    lambda column: pa.concat_arrays([column, column, column])[len(column) : 2 * len(column)],
    lambda column: pa.chunked_array([column[:2], column[2:2], column[2:]], column.type),
    as_dictionary,
    lambda column: as_dictionary(pa.concat_arrays([column, column]))[len(column) :],
    lambda column: pa.chunked_array([as_dictionary(column[:3]), as_dictionary(column[3:])]),
]
"""The same column as an array, a part of a longer one, in chunks, as a dictionary."""


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    size = draw(st.integers(0, 12))
    chosen = draw(st.randoms(use_true_random=False))
    made = {}
    for name, (_, values) in COLUMNS.items():
        column = array(name, [chosen.choice([None, *values]) for _ in range(size)])
        made[name] = chosen.choice(SHAPES)(column) if chosen.random() < 0.6 else column
    return made


def every_value(*names: str) -> dict[str, Any]:
    """A batch with all combinations of the values of these columns, and NULL."""
    rows = list(itertools.product(*([None, *COLUMNS[name][1]] for name in names)))
    return {name: array(name, [row[index] for row in rows]) for index, name in enumerate(names)}


# --- any predicate ------------------------------------------------------------------------------------------------


def literals(*values: Any) -> st.SearchStrategy[ast.Expression]:
    return st.sampled_from(values).map(ast.Literal)


def attributes(names: str) -> st.SearchStrategy[ast.Expression]:
    return st.sampled_from(names).map(lambda name: ast.Attribute(None, name))


def binary(operators: str, inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    return st.builds(ast.Binary, st.sampled_from(operators.split()), inner, inner)


def call(functions: str, inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    return st.builds(lambda name, *given: ast.Call(name, given), st.sampled_from(functions.split()), inner)


def chosen(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    condition = st.builds(ast.Binary, st.sampled_from(["<", "="]), inner, inner)
    both, one = st.tuples(condition, inner, inner), st.tuples(condition, inner)
    return (both | one).map(lambda given: ast.Call("if", given))


def coalesce(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    return st.lists(inner, min_size=1, max_size=3).map(lambda given: ast.Call("coalesce", tuple(given)))


TEXTS = st.recursive(
    attributes("sssdr") | literals("", "a", "É", "a\nb", "%", "𝄞"),
    lambda inner: st.one_of(call("lower upper trim", inner), binary("||", inner), coalesce(inner), chosen(inner)),
    max_leaves=2,
)
NUMBERS = st.recursive(
    attributes("iulfgnm") | literals(0, 1, -2, 300, 2**53, 2**63 - 1, 0.0, 1.5, -1e308, 9007199254740992.0),
    lambda inner: st.one_of(
        binary("+ - * /", inner),
        binary("+ - * /", inner),
        call("abs floor sqrt", inner),
        call("length", TEXTS),
        coalesce(inner),
        chosen(inner),
        inner.map(lambda operand: ast.Unary("-", operand)),
        st.builds(ast.Cast, inner, st.sampled_from(["int", "float"])),
    ),
    max_leaves=3,
)
SPANS = attributes("e") | st.builds(ast.Interval, st.sampled_from([0, 1, 10**6]), st.sampled_from(list(ast.UNITS)))
MOMENTS = st.recursive(
    attributes("tv")
    | st.sampled_from(["1970-01-01", "2023-11-14 22:13:20.000000001", "9999-12-31"]).map(ast.Timestamp),
    lambda inner: st.builds(ast.Binary, st.sampled_from("+-"), inner, SPANS),
    max_leaves=2,
)
DURATIONS = st.one_of(
    SPANS,
    binary("+ -", SPANS),
    st.builds(ast.Binary, st.just("-"), MOMENTS, MOMENTS),
    st.builds(ast.Binary, st.just("*"), SPANS, attributes("iul")),
    call("abs", SPANS),
    SPANS.map(lambda operand: ast.Unary("-", operand)),
)
DAYS = attributes("k") | st.sampled_from(["1970-01-01", "2023-12-09"]).map(ast.Date)
PATTERNS = st.text("ab%_\\É\n.*(𝄞\0", max_size=4).filter(lambda text: (len(text) - len(text.rstrip("\\"))) % 2 == 0)


def comparisons(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    items = st.lists(inner | literals(None), min_size=1, max_size=3) | st.lists(inner, min_size=5, max_size=6)
    return st.one_of(
        binary("= <> < <= > >=", inner),
        binary("= <> < <= > >=", inner),
        st.builds(ast.In, inner, items.map(tuple), st.booleans()),
        st.builds(ast.Between, inner, inner, inner | literals(None), st.booleans()),
        st.builds(ast.IsNull, inner, st.booleans()),
    )


PREDICATES = st.recursive(
    st.one_of(
        attributes("b"),
        literals(True, False, None),
        *(comparisons(inner) for inner in (NUMBERS, NUMBERS, TEXTS, MOMENTS, DURATIONS, DAYS)),
        st.builds(ast.Like, TEXTS, PATTERNS, st.booleans()),
        st.builds(ast.IsNull, attributes("ozb"), st.booleans()),
        binary("= < <>", attributes("zi")),
    ),
    lambda inner: st.one_of(
        binary("AND OR", inner),
        binary("AND OR", inner),
        inner.map(lambda operand: ast.Unary("NOT", operand)),
        binary("= <>", inner),
        st.builds(ast.IsNull, inner, st.booleans()),
        st.builds(ast.In, inner, st.tuples(inner), st.booleans()),
        coalesce(inner),
    ),
    max_leaves=4,
)


# --- against the definition ---------------------------------------------------------------------------------------


def check(predicate: ast.Expression, batch: dict[str, Any]) -> bool:
    """Compare with the definition; False if the predicate is not a correct one."""
    problems: list[Problem] = []
    found = type_of(predicate, lambda node: TYPES[node.name], problems.append)
    if problems or (found.kind is not Kind.BOOL and not found.vague):
        return False
    length = len(next(iter(batch.values())))
    values = [plain_values(column.cast(COLUMNS[name][0]), TYPES[name]) for name, column in batch.items()]
    rows = [dict(zip(batch, row, strict=True)) for row in zip(*values, strict=True)]
    expected = [evaluate(predicate, lambda node, row=row: row[node.name]) is True for row in rows]
    mask = predicate_mask(predicate, TYPES)(batch, length)
    assert mask.dtype == np.bool_
    assert mask.tolist() == expected
    return True


@pytest.mark.property
@given(PREDICATES, batches())
def test_masks_are_what_the_definition_says(predicate: ast.Expression, batch: dict[str, Any]) -> None:
    check(predicate, batch)


@pytest.mark.property
@given(expressions(attributes("".join(COLUMNS))), batches())
def test_so_are_those_of_any_expression(predicate: ast.Expression, batch: dict[str, Any]) -> None:
    check(predicate, batch)


@pytest.mark.property
@given(PATTERNS, st.lists(st.none() | st.text("ab%_\\É\n.*(𝄞\0", max_size=5), max_size=8), st.booleans())
def test_like(pattern: str, texts: list[str | None], negated: bool) -> None:
    like = ast.Like(ast.Attribute(None, "s"), pattern, negated)
    assert is_columnar(like, TYPES)
    assert check(like, {"s": pa.array(texts, pa.string())})


BY_COLUMN = """
    i = 1 | i < f | l = f | l > 9007199254740992.0 | l <> 9007199254740992.0 | l = 9007199254740993 | u > 1 | u = 300 | u <> -1
    f = f | f <> f | f <> 1.5 | NOT f > 1 | NOT f = 1.5 | NOT f <> 1.5 | NOT (f > 1 AND f < 2) | NOT NOT f > 1
    (f > 1) IS NULL | (f > 1) IS NOT NULL | (f > 1) = (g > 1) | b = (f <> 1.5) | NOT (f > 1) IS NULL
    f BETWEEN 0 AND 1.5 | f NOT BETWEEN 0 AND 1.5 | i BETWEEN NULL AND 0 | i NOT BETWEEN NULL AND 0
    (f NOT BETWEEN 0 AND 1) IS NULL | f IN (0, 1.5) | f NOT IN (0, 1.5) | (f NOT IN (0, 1)) IS NULL
    i NOT IN (1, 2) | i IN (1, NULL) | i NOT IN (1, NULL) | i IN (1, 2, 3, 4, 5) | i NOT IN (1, 2, 3, 4, 5)
    u IN (1, 2, 300, 4, 5) | i IN (0, 1.5, 2, 3, 4) | i IN (1, 2, 3, 4, NULL) | i NOT IN (1, 2, 3, 4, NULL) | i IN (u, l, 7)
    s IN ('a', 'ab', '_', '', 'x') | s NOT IN ('a', 'ab', '_', '', 'x') | r IN ('a', 'ab', '_', '', 'x') | s IN ('a', r)
    s < 'b' | s >= 'É' | s = r | s < r | d IN ('a', 'x') | d <> 'a' | d = s | d = 'a' OR d = 'b' | d = 'a' OR d IS NULL
    s LIKE 'a%' | s LIKE '%b' | s LIKE '%' | s LIKE '' | s LIKE '%%b%%' | s LIKE 'a_b' | s LIKE '_' | s NOT LIKE '_'
    s LIKE 'a\\%b' | s LIKE 'a\\\\%' | s LIKE '\\a%' | s LIKE '%\\b' | s LIKE 'a\\\\b' | s LIKE 'É' | r LIKE 'a%' | d LIKE '%b'
    b | NOT b | b = TRUE | b <> b | b AND NOT b | b OR NOT b | b AND TRUE | b OR NULL | TRUE | FALSE | NOT NULL | 1 < 2
    t > TIMESTAMP '2023-01-01' | t - TIMESTAMP '2023-01-01' > INTERVAL 5 DAYS | t < TIMESTAMP '9999-12-31' | t = v | t + e > v
    v = TIMESTAMP '2023-11-14 22:13:20.000000001' | e > INTERVAL 0 SECONDS | e * 2 > INTERVAL 1 DAYS | -e = INTERVAL 1 DAYS
    abs(e) >= INTERVAL 1 DAYS | k > DATE '2020-01-01' | k = k | k IN (DATE '1970-01-01', NULL)
    i IS NULL OR s IS NOT NULL | o IS NULL | z IS NULL | z = 1 | z = 1 OR i = 1 | n IS NULL | NOT (i = 1 OR s = 'a')
    i + 1 > 2 | l + 1 > 0 | l - 1 < 0 | l * 2 > 0 | -l > 0 | -i < 1 | abs(l) > 1 | i * i * i > 0 | u - 1 < 0 | (l + 1) IS NULL
    f * 2 > i | f - i < 0 | f + g > 1 | -f > 0 | abs(f) = 1 | i / 0 > 1 | 1 / i > 0 | (1 / f) IS NULL | l / 3 > f | f / f = 1
    n > 1 | n = 2 | n < l | n <> m | n BETWEEN 0 AND 2 | m > 9 | n IN (2, 3)
    length(s) > 1 | length(r) = 1 | s || 'x' = 'ax' | lower(s) = 'a' | upper(s) = 'SS' | upper(d) = 'AB' | trim(s) = 'a'
    coalesce(i, 5) = 5 | coalesce(i, u, l) = 1 | coalesce(f, 0.0) = 0 | coalesce(s, 'a') = 'a' | coalesce(b, TRUE)
    if(b, i) = 1 | if(i > 1, s, 'a') = 'a' | if(b, t) > TIMESTAMP '2023-01-01' | if(f > 1, b, TRUE) | if(b, 1, 2) = 2
    NOT coalesce(b, FALSE) | CAST(i AS float) > 0.5 | CAST(l AS float) = 9007199254740992.0 | i = 1 AND s = 'a' OR b
"""
BY_VALUE = """
    n = 1.5 | n + 1 > 2 | CAST(s AS int) > 1 | i % 2 = 1 | floor(f) = 1 | sqrt(f) > 1 | nullif(i, 1) = 2 | e / e = 1
    coalesce(i, 1.5) = l | i = 1 AND floor(f) = 1 | floor(f) = 1 AND i > 0 AND b | i = 1 OR CAST(s AS int) = 1
    lower(CAST(i AS string)) = '1' | NOT CAST(s AS bool)
"""


def listed(text: str) -> list[str]:
    return [case.strip() for line in text.strip().splitlines() for case in line.split(" | ")]


@pytest.mark.parametrize("text", listed(BY_COLUMN) + listed(BY_VALUE))
def test_typical_predicates(text: str) -> None:
    predicate = parse_expression(text)
    names = sorted({node.name for node in ast.walk(predicate) if isinstance(node, ast.Attribute)} or {"i"})
    batch = every_value(*names)
    assert check(predicate, batch)
    for shape in SHAPES:
        assert check(predicate, {name: shape(column) for name, column in batch.items()})


def test_what_runs_by_column() -> None:
    for text in listed(BY_COLUMN):
        assert is_columnar(parse_expression(text), TYPES), text
    for text in listed(BY_VALUE):
        assert not is_columnar(parse_expression(text), TYPES), text


# --- how it is done -----------------------------------------------------------------------------------------------


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[ast.Expression]:
    """What is evaluated value by value."""
    seen: list[ast.Expression] = []

    def counted(expression: ast.Expression, lookup: Any) -> Any:
        if any(isinstance(node, ast.Attribute) for node in ast.walk(expression)):
            seen.append(expression)
        return evaluate(expression, lookup)

    monkeypatch.setattr(columns, "evaluate", counted)
    return seen


def mask_of(text: str, **given: Any) -> list[bool]:
    length = len(next(iter(given.values())))
    return predicate_mask(parse_expression(text), TYPES)(given, length).tolist()


def test_an_overflow_is_found_by_value_and_only_then(evaluated: list[ast.Expression]) -> None:
    assert mask_of("l + 1 > 0", l=pa.array([1, -5, None])) == [True, False, False]
    assert not evaluated
    assert mask_of("l + 1 > 0", l=pa.array([1, 2**63 - 1])) == [True, False]
    assert len(evaluated) == 2


def test_large_integers_are_rounded_as_python_does(evaluated: list[ast.Expression]) -> None:
    assert mask_of("l = 9007199254740992.0", l=pa.array([2**53 + 1, 2**53 + 2, 2**53 - 1])) == [True, False, False]
    assert mask_of("l = f", l=pa.array([2**63 - 1, 2**53 + 3]), f=pa.array([2.0**63, 2.0**53 + 2])) == [True, False]
    assert not evaluated


def test_letters_that_arrow_would_change_otherwise(evaluated: list[ast.Expression]) -> None:
    assert mask_of("upper(s) = 'SS'", s=pa.array(["ss", None, ""])) == [True, False, False]
    assert not evaluated
    assert mask_of("upper(s) = 'SS'", s=pa.array(["ss", "ß"])) == [True, True]
    assert mask_of("lower(s) = 'ας'", s=pa.array(["ΑΣ", "ας"])) == [True, True]
    assert len(evaluated) == 4


def test_equal_rows_are_evaluated_once(evaluated: list[ast.Expression]) -> None:
    texts, numbers = pa.array(["1", "2", None, "1"] * 25), pa.array([1, 1, 1, 1] * 25, pa.int32())
    assert mask_of("CAST(s AS int) = i", s=texts, i=numbers) == [True, False, False, True] * 25
    assert len(evaluated) == 3


def test_a_dictionary_is_evaluated_once_for_each_of_its_values(evaluated: list[ast.Expression]) -> None:
    column = pa.array(["1", "2", None, "1"] * 25).dictionary_encode()
    assert mask_of("CAST(d AS int) = 1 OR d IS NULL", d=column) == [True, False, True, True] * 25
    assert len(evaluated) == 3  # both values and NULL


def test_a_dictionary_may_hold_null_and_repeat_itself() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 0], pa.uint64()), pa.array(["a", None, "a"]))
    assert mask_of("d = 'a'", d=column) == [True, False, True, False, True]
    assert mask_of("d IS NULL", d=column) == [False, True, False, True, False]
    full = pa.DictionaryArray.from_arrays(pa.array([*range(128), None, 5], pa.int8()), pa.array(map(str, range(128))))
    assert mask_of("d IS NULL OR d = '127'", d=full) == [False] * 127 + [True, True, False]


def test_values_are_looked_at_only_where_the_rest_holds(evaluated: list[ast.Expression]) -> None:
    numbers, texts = pa.array(range(10), pa.int32()), pa.array([str(number) for number in range(10)])
    assert mask_of("CAST(s AS int) > 4 AND i > 7", s=texts, i=numbers) == [False] * 8 + [True] * 2
    assert len(evaluated) == 2


def test_a_part_that_is_used_twice_is_exact_where_it_must_be() -> None:
    above = parse_expression("f > 1")
    column = {"f": pa.array([NAN, 2.0, None])}
    for predicate in (ast.Binary("OR", above, ast.IsNull(above)), ast.Binary("AND", ast.IsNull(above), above)):
        assert check(predicate, column)


def test_times_too_far_for_nanoseconds() -> None:
    column = array("t", [253_402_300_799_000_000, 0, None])  # the end of the year 9999
    assert mask_of("t > TIMESTAMP '2300-01-01'", t=column) == [True, False, False]
    assert mask_of("t > TIMESTAMP '2300-01-01 00:00:00.000000001'", t=column) == [True, False, False]
    assert mask_of("t = v", t=column, v=array("v", [0, 0, 0])) == [False, True, False]


def test_half_of_a_surrogate_pair() -> None:
    half, text = ast.Literal("\ud800"), ast.Attribute(None, "s")
    for predicate in (ast.Binary("=", text, half), ast.Like(text, "\ud800%"), ast.In(text, (half,) * 9)):
        assert not is_columnar(predicate, TYPES)
        assert check(predicate, {"s": pa.array(["a", None])})


def test_other_kinds_of_text_and_numbers() -> None:
    for kind in (pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.large_string())):
        mask = predicate_mask(parse_expression("s LIKE 'a_' AND s <> 'ac'"), {"s": from_arrow(kind)})
        assert mask({"s": pa.array(["ab", "b", None, "ac"]).cast(kind)}, 4).tolist() == [True, False, False, False]
    mask = predicate_mask(parse_expression("h > 0.5"), {"h": from_arrow(pa.float16())})
    assert mask({"h": pa.array(np.array([0.5, 1, NAN], np.float16))}, 3).tolist() == [False, True, False]


def test_deep_nesting() -> None:
    one, attribute = ast.Literal(1), ast.Attribute(None, "i")
    total: ast.Expression = attribute
    test: ast.Expression = ast.Binary("=", attribute, one)
    for _ in range(3_000):
        total = ast.Binary("+", total, one)
        test = ast.Binary("OR", ast.Unary("NOT", test), ast.Binary("=", ast.Attribute(None, "l"), one))
    batch = {"i": pa.array([1, 2, None], pa.int32()), "l": pa.array([0, 1, 2])}
    assert check(ast.Binary(">", total, ast.Literal(3_001)), batch)
    assert check(test, batch)


def test_no_rows() -> None:
    for text in ("i = 1", "i % 2 = 1", "TRUE", "d = 'a'", "i = 1 AND i % 2 = 1"):
        empty: dict[str, Any] = {name: pa.array([], COLUMNS[name][0]) for name in "id"}
        assert predicate_mask(parse_expression(text), TYPES)(empty, 0).tolist() == []
        chunked = {name: pa.chunked_array([], column.type) for name, column in empty.items()}
        assert predicate_mask(parse_expression(text), TYPES)(chunked, 0).tolist() == []
