"""The corpus of queries that are refused: where, and with which words."""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.errors import Span, listing, nearest, place, render
from acelera.language.aggregates import NTH, aggregate_names
from acelera.language.expressions import FUNCTIONS
from cases import read_yaml

STOCK = {"name": "string", "price": "float", "ts": "timestamp"}
SCHEMAS: dict[str, Any] = {"stocks": {"SELL": STOCK, "BUY": {**STOCK, "ok": "bool"}}, "bare": {"type": "string"}}
SCHEMAS["places"] = {"type": str, "v": int, "geo": {"lat": float, "lon": float}, "tags": pa.list_(pa.string())}
FOLDER = Path(__file__).parent / "errors"
CORPUS = [*read_yaml(FOLDER / "queries.yaml"), *read_yaml(FOLDER / "summaries.yaml")]


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["query"][:60])
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ac.QueryError) as caught:
        query = ac.query(case["query"])
        query.check(SCHEMAS[case["schema"]])
    found = []
    for problem in caught.value.problems:
        line, column = place(case["query"], problem.span)
        entry = {"at": f"{line}:{column}", "says": problem.message}
        found.append({**entry, "hint": problem.hint} if problem.hint else entry)
    assert found == [filled(problem) for problem in case["problems"]]


def filled(problem: dict[str, str]) -> dict[str, str]:
    """What is expected, with the names of all functions where it lists them."""
    hint = problem.get("hint", "")
    for placeholder, names in (("{aggregates}", sorted([*aggregate_names(), NTH])), ("{functions}", FUNCTIONS)):
        hint = hint.replace(placeholder, ", ".join(names))
    return {**problem, "hint": hint} if hint else problem


def test_the_message_shows_the_line_and_a_caret() -> None:
    with pytest.raises(ac.QueryCheckError) as caught:
        ac.query("MATCH A\n\tFILTER B.x = 1")
    assert str(caught.value) == (
        "line 2, column 9: the formula to the left never binds `B`\n"
        "  \tFILTER B.x = 1\n"
        "  \t       ^^^\n"
        "  hint: variables there: A"
    )
    assert (caught.value.line, caught.value.column) == (2, 9)


def test_all_mistakes_are_listed() -> None:
    with pytest.raises(ac.QueryCheckError) as caught:
        ac.query("SELECT y MATCH A FILTER x.v = 1 AGG m[s <- total(A.v)]")
    assert [problem.message for problem in caught.value.problems] == [
        "the formula to the left never binds `x`",
        "there is no aggregate function `total`; did you mean `sum`?",
        "the formula never binds `y`",
    ]


def test_every_error_is_an_acelera_error() -> None:
    names = [name for name in ac.__all__ if name.endswith("Error")]
    assert len(names) == 11
    assert all(issubclass(getattr(ac, name), ac.AceleraError) for name in names)


def test_a_place_beyond_the_text_is_shown_at_its_end() -> None:
    from acelera.errors import Problem

    assert render(Problem("too short", Span(7, 8)), "MATCH A").endswith("  MATCH A\n         ^")


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("prise", ["price", "name"], "price"),
        ("PRICE", ["price"], "price"),
        ("STRASSE", ["Straße"], "Straße"),
        ("q", ["price"], None),
        ("x", ["x"], None),
        ("", [""], None),
    ],
)
def test_nearest(name: str, known: list[str], expected: str | None) -> None:
    assert nearest(name, known) == expected


def test_a_hint_costs_little_however_many_names_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counting(name: str, others: Collection[str], **options: Any) -> list[str]:
        compared.append(len(others) * max(map(len, others), default=0))
        return find(name, others, **options)

    find = difflib.get_close_matches
    monkeypatch.setattr(difflib, "get_close_matches", counting)
    names = [f"{letter}{number}_kind" for number in range(2_000) for letter in "ABC"]
    for known in (names, [*names, "Price"], ["Price", *names], ["x" * 100_000] * 10):
        assert nearest("Prise_", known) == ("Price" if "Price" in known else None)
        assert nearest("PRICE", known) == ("Price" if "Price" in known else None)
        assert nearest("x" * 99_999, known) is None
    assert len(compared) == 10 and max(compared) <= 20_000


def test_a_message_lists_some_of_very_many_names() -> None:
    schema = {f"T{number}": {"v": "int"} for number in range(10_000)}
    with pytest.raises(ac.QueryCheckError, match=r"event types: T0, T1, .*, T49, … \(10,000 in all\)$") as caught:
        ac.query("MATCH Something").check(schema)
    assert len(str(caught.value)) < 1_000
    assert listing(["a", "b"]) == "a, b" and listing([]) == ""
