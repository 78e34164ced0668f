"""What a program does, in words: for people who want to know what will run."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.errors import Problem, place
from acelera.trepl import ast, resolved
from acelera.trepl.named_events import said
from acelera.trepl.printer import printed


def explained(
    written: ast.Program,
    text: str,
    warnings: Sequence[Problem],
    program: resolved.Program | None = None,
    plan: Sequence[str] = (),
) -> str:
    """The text of `Program.explain`; with known relations there is a `program`; `plan` says how it runs."""
    modules = program.modules if program is not None else ()
    sections = [
        ("program", printed(written).splitlines()),
        *((f"module {module.name}", _module(module)) for module in modules),
        ("plan", plan),
        ("warnings", [_warning(each, text) for each in warnings]),
    ]
    return "\n\n".join("\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections if lines)


def _module(module: resolved.Module) -> list[str]:
    """What makes its stages, and in which order its rules settle at each."""
    split = f"; a history for each {', '.join(module.partition)}" if module.partition else "; one history"
    lines = [f"stages: {', '.join(map(said, module.universe))}{split}"]
    for number, rules in enumerate(module.strata, 1):
        lines.append(f"stratum {number}: {', '.join(module.rules[rule].name for rule in rules)}")
    for event, attributes in module.derived.items():
        columns = ", ".join(f"{name} {kind}" for name, kind in attributes.items())
        lines.append(f"derives {event}({columns})")
    return lines


def _warning(problem: Problem, text: str) -> str:
    line, column = place(text, problem.span)
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"line {line}, column {column}: {problem.message}{hint}"
