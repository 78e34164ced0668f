"""Predicates mean the same in the JVM as in the definition, for every value that may be taken otherwise."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acelera.automata.terms import Attr, Sql
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.expressions import check_predicate
from acelera.language.parser import parse_expression
from acelera.language.schema import Schema, schema_of
from acelera.spark.spark_expressions import to_column
from acelera.tables import plain_values
from tiers import slow

NAN, INF = float("nan"), float("inf")
INTS = [0, 1, -1, 2, 2**31 - 1, -(2**31)]
LONGS = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63 - 512]
FLOATS = [0.0, -0.0, 1.5, 1.0, NAN, INF, -INF, 0.1, 2.0**53, 2.0**63, 5e-324, 1e308]
TEXTS = [
    *("", " ", "a", "a ", "a  ", " a", "A", "ab", "a\tb", "a\nb", "a\r\n", "\n", "é", "e\u0301", "ß", "İ", "𝄞", "a𝄞b", "\ufeffa"),
    *("%", "_", "a%b", "a_b", "50%", "\\", "a\\b", "\\%", "'", "it's", '"', "`", "' OR '1'='1", "${x}", "a\0b", "\0", "null", "NULL"),
]  # fmt: skip
TIMES = [
    *("1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1900-01-01 00:00:00", "1582-10-10 00:00:00"),
    *("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2024-03-31 01:00:00", "2024-03-31 02:30:00"),
    *("2024-03-10 02:30:00", "2024-10-27 02:30:00", "2024-11-03 01:30:00", "2024-11-03 06:30:00", "1883-11-18 12:00:00"),
]  # fmt: skip
DAYS = ["1970-01-01", "1969-12-31", "1900-02-28", "1582-10-10", "0001-01-01", "9999-12-31", "2024-02-29"]

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [0, 1, -1, 127, -128]),
    "int": (pa.int32(), INTS),
    "long": (pa.int64(), LONGS),
    "float": (pa.float32(), [0.0, -0.0, 1.5, NAN, INF, 0.1]),
    "double": (pa.float64(), FLOATS),
    "decimal": (pa.decimal128(9, 2), [Decimal(text) for text in ("0.00", "1.50", "-1.00", "0.10", "2.00", "9999999.99")]),
    "fine": (pa.decimal128(18, 18), [Decimal(text) for text in ("0", "0.1", "-0.1", "0.999999999999999999")]),
    "whole": (pa.decimal128(18, 0), [Decimal(text) for text in ("0", "1", "-1", "9007199254740993", "999999999999999999")]),
    "huge": (pa.decimal128(38, 0), [Decimal(text) for text in ("0", "1", "9" * 38)]),
    "text": (pa.string(), TEXTS),
    "bool": (pa.bool_(), [True, False]),
    "time": (pa.timestamp("us"), [datetime.datetime.fromisoformat(text) for text in TIMES]),
    "zoned": (pa.timestamp("us", "UTC"), [datetime.datetime.fromisoformat(f"{text}+00:00") for text in TIMES]),
    "date": (pa.date32(), [datetime.date.fromisoformat(text) for text in DAYS]),
}  # fmt: skip

COLUMNS = {
    "type": "text", "tiny": "int8", "i": "int", "j": "int", "l": "long", "k": "long", "g": "float", "f": "double",
    "h": "double", "n": "decimal", "m": "fine", "w": "whole", "x": "huge", "s": "text", "r": "text", "b": "bool",
    "c": "bool", "t": "time", "u": "time", "z": "zoned", "y": "zoned", "d": "date", "e": "date",
    # Names that SQL would take otherwise.
    "select": "text", "order": "int", "a.b": "text", "a b": "int", "tick`ed": "text", 'quo"ted': "int", "it's": "int",
    "f`) = 1 OR (`f": "double", "Ünï": "int", "a": "int", "*": "int", "t.*": "int", "lit(1)": "int", "-- x": "int",
}  # fmt: skip
"""The columns of the table, each of a kind."""

ROWS = 500
AT_ONCE = 150
"""How many predicates are computed by one job: Spark's time grows with their square."""


def table() -> pa.Table:
    """Rows in which values of all columns meet by chance, always the same ones."""
    chosen = random.Random(7)
    columns = {}
    for name, kind in COLUMNS.items():
        arrow, values = KINDS[kind]
        columns[name] = pa.array([chosen.choice([None, *values]) for _ in range(ROWS)], arrow)
    return pa.table(columns)


# --- predicates ---------------------------------------------------------------------------------------------------

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")

PAIRS = """
    i j | i l | tiny i | tiny l | l k | l f | i f | g f | f h | h f | f g | n m | n w | m w | n l | n i | m l | w l | n f | w f | m g
    s r | t u | z y | d e | i 1 | l 1 | l 9223372036854775807 | l -9223372036854775808 | l 9007199254740993 | i 9223372036854775807
    tiny 128 | tiny -129 | i 1.5 | l 9007199254740992.0 | l 9223372036854775807.0 | i 1e308 | f 0 | f 0.0 | f -0.0 | f 1 | f 1.5 | f 0.1
    f 9007199254740993 | g 0.1 | g 1.5 | g 0 | f 1.7976931348623157e308 | f 5e-324 | n 0.1 | n 1.5 | n 2 | m 0.1 | m 0 | w 9007199254740993 | w 9007199254740992.0
    s 'a' | s 'a ' | s '' | s ' ' | s 'A' | s 'é' | s '𝄞' | s 'it''s' | s '''' | s '"' | s '`' | s '\\' | s '\\%' | s ''' OR ''1''=''1'
    s '${x}' | s 'null' | s '; DROP TABLE t --' | s '\ufeffa'
    t TIMESTAMP '1970-01-01' | t TIMESTAMP '2024-03-31 02:30:00' | t TIMESTAMP '1969-12-31 23:59:59.999999' | t TIMESTAMP '0001-01-01'
    t TIMESTAMP '9999-12-31 23:59:59.999999' | t TIMESTAMP '2024-11-03 01:30:00' | t TIMESTAMP '1582-10-10 00:00:00'
    z TIMESTAMP '1970-01-01Z' | z TIMESTAMP '2024-03-31 02:30:00Z' | z TIMESTAMP '2024-11-03 01:30:00-05:00' | z TIMESTAMP '1900-01-01Z'
    z TIMESTAMP '9999-12-31 23:59:59.999999Z' | z TIMESTAMP '0001-01-01Z' | z TIMESTAMP '1883-11-18 12:00:00+00:00'
    z TIMESTAMP '2024-03-31 01:00:00+05:30' | d DATE '1970-01-01' | d DATE '9999-12-31' | d DATE '0001-01-01' | d DATE '1582-10-10'
    d DATE '1900-02-28' | 1 i | 1.5 f | 'a' s | 1 2 | `select` `a.b` | `order` `a b` | `tick``ed` 'a' | `quo"ted` `it's`
    `f``) = 1 OR (``f` f | `Ünï` a | `*` `t.*` | `lit(1)` 1 | `-- x` 1 | `select` 'select' | `a.b` `tick``ed`
"""

OTHERS = """
    b | NOT b | NOT NOT b | b = TRUE | b <> c | b = c | b <> FALSE | TRUE | FALSE | NOT TRUE | b AND c | b OR c | NOT (b AND c) | NOT (b OR c)
    b AND TRUE | b OR FALSE | b AND FALSE | b OR TRUE | b AND NOT b | (b AND c) IS NULL | (b OR c) IS NULL | (NOT b) IS NULL
    (b AND c) = (b OR c) | (i = 1) = (f > 1) | (f > 1) <> b | NOT ((f > 1) = b) | ((f > 1) = b) IS NULL
    i IS NULL | f IS NULL | f IS NOT NULL | s IS NULL | s IS NOT NULL | t IS NULL | z IS NULL | d IS NULL | n IS NULL | b IS NULL
    `tick``ed` IS NULL | `a.b` IS NOT NULL | `select` IS NULL | (f = f) IS NULL | (f <> f) IS NOT NULL | (i = j) IS NULL | (1 = 1) IS NULL
    i IN (1, 2) | i NOT IN (1, 2) | i IN (1.5, 1) | l IN (1, 9223372036854775807) | f IN (0, 1.5) | f NOT IN (0, 1.5) | f IN (h, g, 1)
    f NOT IN (h, 0) | (f NOT IN (0, 1)) IS NULL | (f IN (h, 0)) IS NULL | i IN (j, l, 7) | (i IN (j, 1)) IS NULL | n IN (0.1, 2) | n NOT IN (m, w)
    s IN ('a', 'a ', '''') | s NOT IN ('a', '\\', '') | s IN ('a', r) | s NOT IN (r, `select`) | (s IN (r, 'a')) IS NULL
    t IN (u, TIMESTAMP '1970-01-01') | z NOT IN (TIMESTAMP '1970-01-01Z', y) | d IN (DATE '1970-01-01', e) | b IN (TRUE, c) | b NOT IN (c)
    i BETWEEN 0 AND 2 | i NOT BETWEEN 0 AND 2 | i BETWEEN j AND l | i NOT BETWEEN j AND l | (i BETWEEN j AND l) IS NULL | i BETWEEN 2 AND 0
    f BETWEEN 0 AND 1.5 | f NOT BETWEEN 0 AND 1.5 | f BETWEEN g AND h | f NOT BETWEEN g AND h | (f BETWEEN g AND h) IS NULL | f BETWEEN -1.7976931348623157e308 AND 1e308
    s BETWEEN 'a' AND 'b' | s NOT BETWEEN r AND 'b' | t BETWEEN TIMESTAMP '1900-01-01' AND u | z BETWEEN y AND TIMESTAMP '2024-11-03 06:30:00Z'
    d BETWEEN DATE '1900-01-01' AND e | n BETWEEN 0 AND 1.5 | n BETWEEN m AND w | NOT (i = 1 OR f > 1) | NOT (i = 1 AND f > 1)
    i = 1 OR f > 1 | i = 1 AND f > 1 OR s = 'a' | NOT (f > 1 AND f < 2) | NOT f > 1 | NOT f = f | NOT NOT f > 1 | f = f OR f IS NULL
    type = 'a' | type IN ('a', 'A') | time > TIMESTAMP '1970-01-01' | time = t
    i + 1 > 2 | l + 1 > 0 | l + k > 0 | l - k < 0 | l * k = 1 | l * l > 0 | tiny + i = 0 | tiny * tiny > 127 | i * i > 4294967295 | (l + k) IS NULL
    (l - k) IS NULL | (l * k) IS NULL | -i > 0 | -l < 0 | (-l) IS NULL | -tiny = 128 | f + h > 1 | f - f = 0 | f * 0 = 0 | g + 0.1 > 0.2 | l + f > 0
    (f - h) IS NULL | -f < 0 | -f = f | f / h > 1 | i / j = 1 | l / 3 > 1.5 | (f / 0) IS NULL | (i / j) IS NULL | i / 0 = 1 | 1 / f < 0
    i + j BETWEEN 0 AND 2 | (i + 1) * 2 - j >= l | i + j IN (l, 2) | (f + h) * g = f * g + h * g | l * 1.0 = k | l * 2 = k + k
    f = f | f <> f | f <= f | f < f | NOT f >= f | l = l | l <> l | s = s | s > s | (s = s) IS NULL | (f >= f) IS NULL | b = b | t = t | 1 = 1 | 2 <> 2
"""

PATTERNS = r"""
    a% | %a | %b% | % | %% | a_ | _ | __ | a_b | a%b | _% | \% | \_ | \\ | %\% | %\%% | a\%b | a\_b | \\\% | \\% | %\\% | a\\b | \a% | a.b | .* | [a]
    %a%b | a%b% | %a%_b | %a%% | a%%b | %\%%_% | _%_% | %_%_%_ | %a%𝄞% | a%𝄞%b | %é%% | %\_%b | %a%\% | %_b%
    (a) | a\nb | ^a$ | ' | it's | " | ` | é | É | 𝄞 | a𝄞b | a_b% | __b | %  | a  |  % | 50\% | ${x} | ' OR '1'='1 | \' | \"
"""  # one more is the empty one


def listed(text: str, separator: str = " | ") -> list[str]:
    return [case for line in text.strip("\n").splitlines() for case in line.removeprefix("    ").split(separator)]


def predicates() -> list[str]:
    found = []
    for pair in listed(PAIRS):
        one, two = split(pair.strip())
        found += [f"{one} {operator} {two}" for operator in OPERATORS]
        found += [f"NOT {one} = {two}", f"NOT {one} < {two}", f"({one} <= {two}) IS NULL"]
    found += [each.strip() for each in listed(OTHERS)]
    for pattern in ["", "\n", "a\nb", "%\n%", *listed(PATTERNS)]:
        literal = pattern.replace("'", "''")
        found += [f"s LIKE '{literal}'", f"s NOT LIKE '{literal}'"]
    found += ["s = 'a\nb'", "s < '\n'", "s IN ('\n', 'a\r\n')"]
    return [*found, "`tick``ed` LIKE 'a%'", "NOT s LIKE 'a%'", "(s LIKE 'a') IS NULL", "s LIKE 'a%' OR s IS NULL"]


def split(pair: str) -> tuple[str, str]:
    """Two operands with a blank between them; the left one has none in it unless it is quoted."""
    match = re.fullmatch(r"(`(?:[^`]|``)+`|\S+) (.+)", pair)
    assert match is not None, pair
    return match[1], match[2]


LEFT_TO_PYTHON = """
    i % 2 = 1 | n + 1 > 2 | abs(i) = 1 | length(s) = 1 | lower(s) = 'a' | trim(s) = 'a' | s || 'x' = 'ax' | CAST(s AS int) = 1
    coalesce(i, 1) = 1 | i IN (1, NULL) | i BETWEEN NULL AND 3 | x = 1 | x > n | x < f | position = 1 | s = 'a\0b' | b AND NULL
    t > TIMESTAMP '2024-01-01 00:00:00.000000001' | t - u > INTERVAL 1 DAYS
"""


def term(predicate: ast.Expression) -> Sql:
    attributes = [node for node in ast.walk(predicate) if isinstance(node, ast.Attribute)]
    return Sql(predicate, tuple({(each.variable, each.name): Attr(each.name) for each in attributes}.items()))


def checked(text: str, schema: Schema) -> ast.Expression:
    """A predicate that the language allows."""
    predicate = parse_expression(text)
    problems: list[Any] = []
    types = {**schema.columns, "time": schema.columns["t"], "position": schema.columns["l"]}
    check_predicate(predicate, lambda node: types[node.name], problems.append)
    assert not problems, f"{text}: {problems}"
    return predicate


def definition(predicate: ast.Expression, rows: list[dict[str, Any]]) -> list[bool]:
    """Whether it holds for each row; rows that are alike in all that it looks at are computed once."""
    names = sorted({node.name for node in ast.walk(predicate) if isinstance(node, ast.Attribute)})
    known: dict[str, bool] = {}
    held = []
    for row in rows:
        alike = repr([row[name] for name in names])
        if alike not in known:
            known[alike] = evaluate(predicate, lambda node, row=row: row[node.name]) is True
        held.append(known[alike])
    return held


@pytest.fixture(scope="module")
def nasty() -> tuple[pa.Table, Schema, list[dict[str, Any]]]:
    made = table()
    schema = schema_of(made.schema).ordered_by("t")
    columns = {name: plain_values(made.column(name), kind) for name, kind in schema.columns.items()}
    columns["time"] = columns["t"]
    return made, schema, [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


# --- against the definition ---------------------------------------------------------------------------------------

MODES = {
    "as it is": {},
    "otherwise": {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # interpreted rather than compiled
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.parser.escapedStringLiterals": "true",
    },
}


@pytest.fixture(scope="module")
def expected(nasty: Any) -> dict[str, list[bool]]:
    """What the definition says of each predicate."""
    _, schema, rows = nasty
    return {text: definition(checked(text, schema), rows) for text in predicates()}


@pytest.mark.parametrize(("mode", "every"), [("as it is", 5), slow("as it is", 1), slow("otherwise", 1)])
def test_the_jvm_computes_what_the_definition_says(
    mode: str,
    every: int,
    nasty: Any,
    expected: dict[str, list[bool]],
    to_frame: Callable[[pa.Table], Any],
    conf: Callable[[str, str], None],
) -> None:
    made, schema, rows = nasty
    for name, value in MODES[mode].items():
        conf(name, value)
    frame, found = to_frame(made), {}
    columns = {text: to_column(term(parse_expression(text)), schema) for text in list(expected)[::every]}
    assert not [text for text, column in columns.items() if column is None], "these are not translated"
    for begin in range(0, len(columns), AT_ONCE):
        some = list(columns.items())[begin : begin + AT_ONCE]
        result = frame.select(*(column.alias(str(number)) for number, (_, column) in enumerate(some))).toArrow()
        found |= {text: result.column(number).to_pylist() for number, (text, _) in enumerate(some)}
    wrong = []
    for text in columns:
        held = expected[text]
        differing = [row for row in range(ROWS) if found[text][row] is not held[row]]
        if differing:
            first = differing[0]
            sample = {
                node.name: rows[first][node.name]
                for node in ast.walk(parse_expression(text))
                if isinstance(node, ast.Attribute)
            }
            wrong.append(f"{text}: {found[text][first]} for {sample}, and {len(differing)} rows in all")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", [each.strip() for each in listed(LEFT_TO_PYTHON)])
def test_what_is_left_to_python(text: str, nasty: Any, spark: Any) -> None:
    _, schema, _ = nasty
    assert to_column(term(checked(text, schema)), schema) is None


def test_filters_are_the_same_as_columns(nasty: Any, to_frame: Callable[[pa.Table], Any]) -> None:
    """Spark rewrites conditions of a filter more than columns: it knows that NULL and false are alike there."""
    made, schema, rows = nasty
    frame = to_frame(made.append_column("n_", pa.array(range(ROWS))))
    texts = [
        "NOT f > 1",
        "f NOT IN (0, 1.5)",
        "(f <= h) IS NULL",
        "NOT (f > 1 AND s < 'b')",
        "s LIKE 'a%'",
        "NOT b",
        "i NOT IN (j, 1)",
    ]
    counts = []
    for text in texts:
        frames = frame.filter(to_column(term(checked(text, schema)), schema))
        counts.append(sorted(frames.select("n_").toArrow().column(0).to_pylist()))
    assert counts == [[n for n, held in enumerate(definition(parse_expression(t), rows)) if held] for t in texts]


def test_constants_in_place_of_attributes(spark: Any, nasty: Any) -> None:
    """A term may stand for a constant."""
    from acelera.automata.terms import Const

    _, schema, _ = nasty
    predicate = parse_expression("i = j")
    test = Sql(predicate, (((None, "i"), Attr("i")), ((None, "j"), Const(1))))
    assert to_column(test, schema) is not None
    assert to_column(Sql(predicate, (((None, "i"), Attr("i")), ((None, "j"), Const(None)))), schema) is None


def test_half_of_a_surrogate_pair_is_left_to_python(spark: Any, nasty: Any) -> None:
    _, schema, _ = nasty
    text = ast.Attribute(None, "s")
    for predicate in (ast.Binary("=", text, ast.Literal("\ud800")), ast.Like(text, "\ud800%", False)):
        assert to_column(term(predicate), schema) is None


def test_like_takes_no_choice_back(spark: Any, nasty: Any, to_frame: Callable[[pa.Table], Any]) -> None:
    """Whoever tries all ways to divide these texts among the wildcards never ends."""
    _, schema, _ = nasty
    texts = pa.table({"s": ["a" * 20_000, "a" * 20_000 + "b"]})
    patterns = ["%a" * 8 + "%b", "%a" * 8 + "%b%", "a%" + "_%a" * 8 + "_b", "%a" * 8 + "%c_%"]
    columns = [to_column(term(parse_expression(f"s LIKE '{pattern}'")), schema).alias(pattern) for pattern in patterns]
    found = to_frame(texts).select(*columns).toArrow()
    assert [column.to_pylist() for column in found.columns] == [[False, True]] * 3 + [[False, False]]


@pytest.mark.parametrize(
    ("text", "size"), [("s IN ({})", 200), slow("s IN ({})", 1_000), slow("NOT ({})", 1_000), slow("({})", 1_000)]
)
def test_long_conditions(text: str, size: int, spark: Any, to_frame: Callable[[pa.Table], Any], nasty: Any) -> None:
    """A list of a thousand names is nothing unusual."""
    made, schema, rows = nasty
    items = [f"'name {number}'" for number in range(size)] + ["'a'"]
    inner = ", ".join(items) if "IN" in text else " OR ".join(f"s = {item}" for item in items)
    predicate = parse_expression(text.format(inner))
    column = to_column(term(predicate), schema)
    assert column is not None
    found = to_frame(made.slice(0, 60)).select(column.alias("held")).toArrow().column(0).to_pylist()
    assert found == definition(predicate, rows[:60])
    assert any(found)
