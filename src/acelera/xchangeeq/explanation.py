"""What a program does, in words: for people who want to know what will run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acelera.errors import Problem, place
from acelera.xchangeeq import ast
from acelera.xchangeeq.normal import NormalRule, normal_rules
from acelera.xchangeeq.printer import print_program, print_rule
from acelera.xchangeeq.strata import Strata


def explained(program: ast.Program, strata: Strata, warnings: Sequence[Problem], text: str, plan: Sequence[str]) -> str:
    """The text of `Program.explain`; `plan` tells how an engine runs it, if that is known."""
    sections = [
        ("program", print_program(program).splitlines()),
        ("strata", _strata(program, strata)),
        ("rules", _rules(normal_rules(program))),
        ("plan", plan),
        ("warnings", [_warning(each, text) for each in warnings]),
    ]
    return "\n\n".join("\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections if lines)


def _strata(program: ast.Program, strata: Strata) -> list[str]:
    """Which labels are made together, lowest first."""
    return [
        f"{number}: {', '.join(dict.fromkeys(program.rules[rule].head.label for rule in rules))}"
        for number, rules in enumerate(strata.levels, 1)
    ]


def _rules(rules: Iterable[NormalRule]) -> list[str]:
    return [line for rule in rules for line in print_rule(as_rule(rule)).splitlines()]


def as_rule(rule: NormalRule) -> ast.Rule:
    """One alternative, written as a rule of its own: literals in the order in which they are worked out."""
    literals: list[ast.Body] = [*rule.events, *rule.absolute, *rule.periodic, *rule.relative]
    literals += [*rule.collects, *rule.nots]
    body = literals[0] if len(literals) == 1 else ast.AllOf(tuple(literals))
    return ast.Rule(rule.head, ast.Where(body, rule.conditions) if rule.conditions else body)


def _warning(problem: Problem, text: str) -> str:
    line, column = place(text, problem.span)
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"line {line}, column {column}: {problem.message}{hint}"
