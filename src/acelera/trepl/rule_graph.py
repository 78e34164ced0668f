"""The rules of a program as a picture shows them: which events, and which actions, are made from which events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from acelera.programs.label_graph import LabelGraph, Use
from acelera.trepl import ast
from acelera.trepl.named_events import CHANGED
from acelera.trepl.strata import levels_of

NEGATION = "negation"


def label_graph(program: ast.Program) -> LabelGraph:
    """What is made from what: derived events, and what a rule does besides, such as `Tell: write`.

    Each level needs what stands in those before it; events that are made from each other stand in one.
    """
    derived = {each.name for module in program.modules for each in module.derived}
    made: list[str] = []
    names: list[str] = []
    uses: dict[Use, None] = {}
    for module in program.modules:
        for rule in module.rules:
            needs = list(_needs(rule.goal, module, derived))
            for label in dict.fromkeys(label_made(rule, act, derived) for act in rule.actions):
                uses.update(dict.fromkeys(Use(need, label, len(made), through) for need, through in needs))
                made.append(label)
                names.append(rule.name)
    return LabelGraph(tuple(made), tuple(uses), _levels(made, list(uses)), tuple(names), "level")


def label_made(rule: ast.Rule, act: ast.Act | ast.Command, derived: Collection[str]) -> str:
    """What an action makes: an event, or whatever the rule does besides."""
    name = "sql" if isinstance(act, ast.Command) else act.name
    return name if name in derived else f"{rule.name}: {name}"


def _needs(goal: ast.Goal, module: ast.Module, derived: set[str]) -> Iterator[tuple[str, str | None]]:
    """The events that a goal asks for, and whether for their absence."""
    todo: list[tuple[ast.Goal, str | None]] = [(goal, None)]
    while todo:
        each, through = todo.pop()
        if isinstance(each, ast.Named):
            yield from ((label, through) for label in _labels(each, module, derived))
        elif isinstance(each, ast.Any):
            yield from ((_source(source), through) for source in module.monitored)
        inner = NEGATION if isinstance(each, ast.Not) else through
        todo += [(part, inner) for part in reversed(ast.children(each))]


def _labels(named: ast.Named, module: ast.Module, derived: set[str]) -> Sequence[str]:
    """What a name in a rule stands for, as it is monitored."""
    for source in module.monitored:
        if named.kind is None and named.module is None and source.alias == named.name:
            return [_source(source)]
    if named.kind is not None or named.name in derived:
        return [_source(ast.Source(named.kind, named.module, named.name))]
    kinds = [each for each in module.monitored if each.name == named.name and each.kind in (None, *CHANGED)]
    return list(dict.fromkeys(map(_source, kinds))) or [named.name]


def _source(source: ast.Source) -> str:
    return source.name if source.kind is None else f"{source.kind}({source.name})"


def _levels(made: Sequence[str], uses: Sequence[Use]) -> tuple[int, ...]:
    """For each rule the level of what it makes."""
    labels: Mapping[str, int] = {label: place for place, label in enumerate(dict.fromkeys(made))}
    edges = {(labels[use.makes], labels[use.needs]) for use in uses if use.needs in labels}
    numbers = {each: level for level, inner in enumerate(levels_of(len(labels), edges)) for each in inner}
    return tuple(numbers[labels[label]] for label in made)
