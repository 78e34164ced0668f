"""Commands in the words of drivers."""

from __future__ import annotations

import pytest

from acelera.errors import UsageError
from acelera.trepl.actions.placeholders import parameters_in, statement

STYLES = [
    ("qmark", "update t set a = ?, b = '?%' where c = ?", ("x", 2)),
    ("format", "update t set a = %s, b = '?%%' where c = %s", ("x", 2)),
    ("numeric", "update t set a = :1, b = '?%' where c = :2", ("x", 2)),
    ("numeric_dollar", "update t set a = $1, b = '?%' where c = $2", ("x", 2)),
    ("named", "update t set a = :p1, b = '?%' where c = :p2", {"p1": "x", "p2": 2}),
    ("pyformat", "update t set a = %(p1)s, b = '?%%' where c = %(p2)s", {"p1": "x", "p2": 2}),
]


@pytest.mark.parametrize(("style", "text", "values"), STYLES, ids=lambda each: str(each)[:10])
def test_styles(style: str, text: str, values: object) -> None:
    said = statement("update t set a = ?, b = '?%' where c = ?", style)
    assert (said.text, said.bound(["x", 2])) == (text, values)


NO_PARAMETERS = [
    "'?'",
    "'it''s ?'",
    '"a?""?"',
    "`a?`",
    "-- ?\n",
    "/* ? \n ? */",
    r"E'\'?'",
    "$$ ? $$",
    "$tag$ ? $$ ? $tag$",
]


@pytest.mark.parametrize("piece", NO_PARAMETERS)
def test_question_marks_that_are_no_parameters(piece: str) -> None:
    text = f"select ?, {piece}, ?"
    assert parameters_in(text) == 2
    assert statement(text, "numeric").text == f"select :1, {piece}, :2"


@pytest.mark.parametrize(
    ("text", "count"), [(r"'\' || ?", 1), ("name'?'", 0), ("a$b$ ? c$b$", 1), ("$1 + ? + $2", 1), ("'open ?", 1)]
)
def test_what_looks_like_a_quote(text: str, count: int) -> None:
    assert parameters_in(text) == count


def test_without_parameters_nothing_is_changed() -> None:
    said = statement("delete from t where a like '%?'", "pyformat")
    assert (said.text, said.bound([])) == ("delete from t where a like '%?'", ())


def test_a_style_that_nobody_has() -> None:
    with pytest.raises(UsageError, match="paramstyle='dollar' is not known; it is one of 'qmark', 'format'"):
        statement("?", "dollar")
