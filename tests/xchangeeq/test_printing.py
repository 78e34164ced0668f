"""The text of a program parses back to it."""

import pytest
from hypothesis import given

from acelera.xchangeeq import ast
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.printer import print_program
from xchangeeq.programs import TWELVE, P
from xchangeeq.strategies import TREES, programs


@pytest.mark.property
@given(TREES)
def test_any_tree_comes_back(program: ast.Program) -> None:
    assert parse_program(print_program(program)) == program


@pytest.mark.property
@given(programs())
def test_programs_that_make_sense_come_back(program: ast.Program) -> None:
    assert parse_program(print_program(program)) == program


@pytest.mark.parametrize("text", [P, *TWELVE.values()])
def test_written_programs_come_back(text: str) -> None:
    program = parse_program(text)
    assert parse_program(print_program(program)) == program


def test_a_short_rule_is_a_line_a_long_one_is_broken() -> None:
    first, *_ = parse_program(P).rules
    assert print_program(ast.Program((first,))) == (
        "DETECT fire { area { var A } }\n"
        "ON and {\n"
        "  event s: smoke {{ area {{ var A }} }},\n"
        "  event t: temp {{ area {{ var A }}, value {{ var T }} }}\n"
        "} where { s before t, {s, t} within 1 min, var T > 40 }\n"
        "END"
    )
    assert print_program(parse_program("detect d{} on a{{}} end")) == "DETECT d { } ON a {{ }} END"


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("1 - (2 - 3)", "1 - (2 - 3)"),
        ("(1 - 2) - 3", "1 - 2 - 3"),
        ("(1 + 2) * 3", "(1 + 2) * 3"),
        ("-(-var A)", "-(-var A)"),
        ("1 - -2", "1 - -2"),
        ("'say \"a\"'", '"say ""a"""'),
    ],
)
def test_expressions_have_the_brackets_they_need(written: str, printed: str) -> None:
    program = parse_program(f"DETECT d {{ v {{ {written} }} }} ON a {{{{ }}}} END")
    assert print_program(program) == f"DETECT d {{ v {{ {printed} }} }} ON a {{{{ }}}} END"
