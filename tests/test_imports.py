"""Which module may know which: data flows one way, and nothing points back up."""

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"

LAYERS = """
    version errors cells files drawing
    language
    semantics
    automata
    tables moments
    engine.jit engine.ticks
    engine.storage
    engine.frames engine.nodes
    engine.window engine.plan engine.positions
    engine.predicates
    engine.registers
    engine.machines
    engine.results
    engine.session engine.keeping engine.absence
    engine.summaries
    engine.begun
    engine.comparisons
    engine.compiled_query
    engine.shared_tests
    spark
    explanation
    report
    spelling patterns
    checked_query
    query
    several
    spark_sql
    algebra
    programs
    cdc
    stages
    xchangeeq
    trepl
    streams
    rule_languages
    notebook
    acelera
    warming
    demo
    testing
    cli
"""
"""From the ground up: a module imports from its own layer and from those above it in this list, never from below."""

LAYER = {name: number for number, line in enumerate(LAYERS.split("\n")) for name in line.split()}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(SOURCES.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    """What a module imports anywhere in it: at the top, in functions, for types alone."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{path} imports by a relative name"
            inner = [f"{node.module}.{each.name}" for each in node.names]
            yield from (name if name in MODULES else node.module for name in inner)


IMPORTS = {name: {each for each in imported(path) if each in MODULES} - {name} for name, path in MODULES.items()}


def layer(module: str) -> int:
    """That of the nearest package that is listed."""
    inner = module.removeprefix("acelera.")
    while inner not in LAYER:
        assert "." in inner, f"{module} belongs to no layer; add it to the list"
        inner = inner.rpartition(".")[0]
    return LAYER[inner]


def is_named_package(module: str) -> bool:
    """Whether there is only the docstring of a package, which imports nothing."""
    return MODULES[module].name == "__init__.py" and not IMPORTS[module]


def test_there_are_no_cycles() -> None:
    tuple(TopologicalSorter(IMPORTS).static_order())  # which names the modules of a cycle


@pytest.mark.parametrize("module", [module for module in MODULES if not is_named_package(module)])
def test_imports_point_one_way(module: str) -> None:
    upward = sorted(each for each in IMPORTS[module] if layer(each) > layer(module))
    assert not upward, f"{module} imports what is made of it: {', '.join(upward)}"


def test_the_judge_is_known_to_the_query_alone() -> None:
    knowing = {name for name, known in IMPORTS.items() if any(each.startswith("acelera.semantics") for each in known)}
    assert {name for name in knowing if not name.startswith("acelera.semantics")} == {"acelera.query"}


def test_the_judge_knows_languages_alone() -> None:
    known = {each for name in MODULES if name.startswith("acelera.semantics") for each in IMPORTS[name]}
    assert all(each.startswith(("acelera.language", "acelera.semantics")) for each in known)


def test_modules_are_told_by_their_names() -> None:
    """Within a folder of the package: each language has a parser."""
    files = (path.relative_to(SOURCES).parts for path in MODULES.values() if path.name != "__init__.py")
    names = Counter((parts[1], parts[-1]) for parts in files)
    assert [name for name, times in names.items() if times > 1] == []
