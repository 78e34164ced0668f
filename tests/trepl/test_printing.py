"""The text of a program parses back to it."""

import pytest
from hypothesis import given

from acelera.trepl import ast
from acelera.trepl.parser import parse
from acelera.trepl.printer import printed
from trepl.programs import EXAMPLES, TEN
from trepl.strategies_syntax import PROGRAMS


@pytest.mark.property
@given(PROGRAMS)
def test_any_tree_comes_back(program: ast.Program) -> None:
    assert parse(printed(program)).program == program


@pytest.mark.parametrize("text", [*EXAMPLES.values(), *TEN.values()])
def test_written_programs_come_back(text: str) -> None:
    program = parse(text).program
    assert parse(printed(program)).program == program
