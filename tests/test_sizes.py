"""A function fits on a screen, and a compiled one takes its arrays in groups."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"

MOST_LINES, MOST_ARGUMENTS = 80, 12
COMPILED = {"compiled", "kernel", "inner", "inlined", "dispatched", "implements"}


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """All functions of the sources, with where they stand; those that describe their examples are long by these."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(SOURCES)}:{node.lineno} {node.name}", node


def lines(function: ast.FunctionDef) -> int:
    """How long it is, apart from its docstring."""
    assert function.end_lineno is not None
    described = ast.get_docstring(function, clean=False) or ""
    return function.end_lineno - function.lineno + 1 - described.count("\n")


def is_compiled(function: ast.FunctionDef) -> bool:
    decorators = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(isinstance(each, ast.Name) and each.id in COMPILED for each in decorators)


def test_functions_fit_on_a_screen() -> None:
    assert [where for where, function in functions() if lines(function) > MOST_LINES] == []


def test_compiled_functions_take_few_arguments() -> None:
    found = [(where, function) for where, function in functions() if is_compiled(function)]
    assert len(found) > 50
    assert [where for where, function in found if len(function.args.args) > MOST_ARGUMENTS] == []
