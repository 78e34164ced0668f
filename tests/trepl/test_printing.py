"""The text of a program parses back to it."""

import os

import pytest
from hypothesis import given, settings

from acelera.trepl import ast
from acelera.trepl.parser import parse
from acelera.trepl.printer import printed
from trepl.programs import EXAMPLES, TEN
from trepl.strategies_syntax import PROGRAMS


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "40")))
@given(PROGRAMS)
def test_any_tree_comes_back(program: ast.Program) -> None:
    assert parse(printed(program)).program == program


@pytest.mark.parametrize("text", [*EXAMPLES.values(), *TEN.values()])
def test_written_programs_come_back(text: str) -> None:
    program = parse(text).program
    assert parse(printed(program)).program == program


def test_a_short_rule_is_a_line_a_long_one_is_broken() -> None:
    assert printed(parse(EXAMPLES["3"]).program) == (
        "monitor update(owns);\n"
        "BoughtBack:\n"
        "  [ update(owns(X), X.new_Shares < X.old_Shares),\n"
        "    update(owns(Y), Y.Name = X.Name, Y.ID = X.ID, Y.new_Shares - Y.old_Shares > X.old_Shares - X.new_Shares) ]\n"
        '  -> write("Customer %s back on %s\\n", Y.Name, Y.ID);'
    )
    assert printed(parse(TEN["running"]).program) == (
        "monitor reading partition by sensor;\n"
        "derived running(sensor, mean, n);\n"
        "Running: * reading(X) -> running(X.sensor, avg(X.value), count(X));"
    )


def test_modules_are_bracketed_unless_there_is_one_without_a_name() -> None:
    text = "Begin Module M\nmonitor a;\nR: a -> write(1);\nEnd Module."
    assert printed(parse(text).program) == text
    assert printed(parse(text.replace("M\n", "Main\n")).program) == "monitor a;\nR: a -> write(1);"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("((a & b)) & c", "(a & b) & c"),
        ("*(! (a))", "* !a"),
        ("*:(a & b)", "*: (a & b)"),
        ("{a}", "{a}"),
        ("`any`", "`any`"),
        ("`update`(X, X.v > 1 AND X.w < 2)", "`update`(X, X.v > 1, X.w < 2)"),
        ("a(X, X.v > 1, (X.w < 2, X.u = 3))", "a(X, X.v > 1, X.w < 2 AND X.u = 3)"),
        ("upd(a)", "update(a)"),
    ],
)
def test_goals_have_the_brackets_and_backticks_they_need(written: str, expected: str) -> None:
    assert printed(parse(f"monitor a; R: {written} -> write(1)").program) == f"monitor a;\nR: {expected} -> write(1);"
