"""The shape of goals, and their one form."""

import pyarrow as pa
import pytest

from acelera.language.types import INT, from_arrow
from acelera.trepl import ast
from acelera.trepl.checker import check
from acelera.trepl.normal import normalize
from acelera.trepl.parser import parse
from acelera.trepl.resolved import EventType, Relation
from acelera.trepl.shape import bound, can_come_last, exported, is_point, needed_at_the_stage

RELATIONS = {name: Relation({"v": INT}) for name in "abc"}


def goal(text: str) -> ast.Goal:
    """A goal as written."""
    return parse(f"R: {text} -> write(1);").program.modules[0].rules[0].goal


def resolved(text: str) -> ast.Goal:
    """A goal whose names are known; d is a derived event."""
    program = parse(f"monitor a, b, c; derived d(v); Q: a(X) -> d(X.v); R: {text} -> write(1);").program
    return check(program, RELATIONS, from_arrow(pa.timestamp("us"))).program.modules[0].rules[1].goal


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a(X, X.v = 1)",
        "any",
        "!a",
        "!(a, b)",
        "{a, !b}",
        "a & (b(X), X.v = 1)",
        "first(a)",
        "(a(X), X.v = 1, X.v = 2)",
        "[a(X), X.v = 1]",
        "((a(X), X.v = 1), X.v = 2)",
    ],
)
def test_points(text: str) -> None:
    assert is_point(goal(text))


@pytest.mark.parametrize("text", ["(a, b)", "[a, b]", "*a", "*:a", "prior(a, b)", "first((a, b))", "{a, *b}", "a & *b"])
def test_composites(text: str) -> None:
    assert not is_point(goal(text))


@pytest.mark.parametrize(
    ("text", "single", "starred"),
    [
        ("(a(X), b, c(Y))", "XY", ""),
        ("(a(X), *b(Y), !c(Z))", "X", "Y"),
        ("({a(X), b(Y)}, c(Z))", "Z", ""),
        ("prior(a(X), first(b(Y)) & c(Z))", "XYZ", ""),
        ("*(*a(X), b(Y) & c(Z))", "", "YZ"),
    ],
)
def test_what_goals_export(text: str, single: str, starred: str) -> None:
    left = exported(goal(text))
    assert (left.single, left.starred) == (set(single), set(starred))
    assert left.all == set(single + starred) <= bound(goal(text))


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("a", ["a"]),
        ("any", []),
        ("(a, b(X), X.v = 1)", ["b"]),
        ("[a, {b, (a, c)}]", ["b", "c"]),
        ("(a, *(b, !c))", ["!c"]),
        ("prior(a, b & !(a, {b, c}))", ["b", "!b", "!c"]),
        ("first((a, !!c))", ["!c"]),
    ],
)
def test_what_can_come_last(text: str, last: list[str]) -> None:
    found = can_come_last(resolved(text))
    assert [f"{'!' if negated else ''}{event.types[0].name}" for event, negated in found] == last


def test_what_is_needed_at_the_stage() -> None:
    assert needed_at_the_stage(resolved("(a, d & !d & insert(b))")) == {
        EventType("derived", "d", "Main"): True,
        EventType("insert", "b"): False,
    }


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("((a, b), c)", "(a, b, c)"),
        ("(a, (b, (c, a)))", "(a, b, c, a)"),
        ("[a, [b, c]]", "[a, b, c]"),
        ("[[a, b], c]", "[a, b, c]"),
        ("[a, (b, c)]", "[a, (b, c)]"),
        ("([a, b], c)", "([a, b], c)"),
        ("(a & b) & c", "a & b & c"),
        ("(a(X), X.v = 1, X.v < 2, b)", "(a(X), X.v = 1 AND X.v < 2, b)"),
        ("((a(X), X.v = 1), X.v < 2)", "(a(X), X.v = 1 AND X.v < 2)"),
        ("[a, (b(X), X.v = 1), c]", "[a, b(X), X.v = 1, c]"),
        ("[a(X), X.v = 1]", "(a(X), X.v = 1)"),
        ("*((a, b), c)", "*(a, b, c)"),
        ("{(a, (b, c)), a}", "{(a, b, c), a}"),
    ],
)
def test_normal_form(text: str, form: str) -> None:
    assert normalize(goal(text)) == goal(form)
