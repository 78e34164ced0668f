"""The labels of a program as a picture shows them: what is made from what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acelera.programs.label_graph import LabelGraph, Use
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.normal import NormalRule, normal_rules
from acelera.xchangeeq.strata import graph_of, queries_of, root_label, stratify

ANY = "*"
"""Stands for whatever comes in, where a rule asks for events of any label."""


def label_graph(program: ast.Program) -> LabelGraph:
    """What is made from what. Timers that hang on nothing are made by the clock, so they come in."""
    rules = normal_rules(program)
    made = tuple(rule.head.label for rule in program.rules)
    strata = stratify(graph_of(program, rules), Notes())
    uses = dict.fromkeys(use for rule in rules for use in _uses(rule, made))
    return LabelGraph(made, tuple(uses), None if strata is None else strata.numbers)


def _uses(rule: NormalRule, made: Sequence[str]) -> Iterator[Use]:
    for query, through in queries_of(rule):
        label = root_label(query)
        for needs in dict.fromkeys((ANY, *made)) if label is None else (label,):
            yield Use(needs, rule.head.label, rule.number, through)
    clocks = [root_label(event.query) or "" for event in rule.absolute]
    for label in dict.fromkeys([*clocks, *("timer:periodic" for _ in rule.periodic)]):
        yield Use(label, rule.head.label, rule.number)
