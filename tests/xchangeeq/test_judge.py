"""The judge owes nothing to what it judges."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "acelera" / "xchangeeq"
JUDGE = [SOURCES / "terms.py", SOURCES / "simulation.py", *sorted((SOURCES / "semantics").glob("*.py"))]
ALLOWED = {"errors", "xchangeeq.ast", "xchangeeq.terms", "xchangeeq.simulation"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{node.module}.{node.names[0].name}" if node.module == "acelera.xchangeeq" else str(node.module)


def test_the_judge_knows_the_syntax_and_nothing_else() -> None:
    ours = {each.removeprefix("acelera.") for path in JUDGE for each in imported(path) if each.startswith("acelera")}
    assert {each for each in ours if not each.startswith("xchangeeq.semantics")} <= ALLOWED
