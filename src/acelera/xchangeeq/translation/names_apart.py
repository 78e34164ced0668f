"""Names that are different however letters are written: SQL does not tell `v` from `V`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from acelera.xchangeeq import ast
from acelera.xchangeeq.normal import NormalRule
from acelera.xchangeeq.schemas import Held

N = TypeVar("N", bound=ast.Node)


def told_apart(rule: NormalRule, variables: Mapping[str, Held]) -> tuple[NormalRule, Mapping[str, Held]]:
    """A rule in which variables and events that differ only in case have other names, and what its variables hold."""
    names = _Names(_apart(variables), _apart(rule.identifiers))
    if not names.variables and not names.identifiers:
        return rule, variables
    held = {names.variables.get(name, name): each for name, each in variables.items()}
    return names.rule(rule), held


def _apart(names: Iterable[str]) -> dict[str, str]:
    """New names for those that stand for another already, if case is of no account; no one can have written them."""
    taken: dict[str, int] = {}
    found: dict[str, str] = {}
    for name in sorted(names):
        number = taken[name.lower()] = taken.get(name.lower(), 0) + 1
        if number > 1:
            found[name] = f"{name}'{number}"
    return found


class _Names:
    def __init__(self, variables: Mapping[str, str], identifiers: Mapping[str, str]) -> None:
        self.variables, self.identifiers = variables, identifiers

    def rule(self, rule: NormalRule) -> NormalRule:
        """The same rule with other names."""
        return replace(
            rule,
            head=self.node(rule.head),
            events=self.nodes(rule.events),
            absolute=self.nodes(rule.absolute),
            periodic=self.nodes(rule.periodic),
            relative=self.nodes(rule.relative),
            collects=self.nodes(rule.collects),
            nots=self.nodes(rule.nots),
            conditions=self.nodes(rule.conditions),
        )

    def nodes(self, nodes: tuple[N, ...]) -> tuple[N, ...]:
        return tuple(self.node(each) for each in nodes)

    def node(self, node: N) -> N:
        """The same node with other names in it; checked programs are not nested deeply."""
        parts = [self._part(each) for each in node.parts()]
        match node:
            case ast.Variable(name) | ast.Binds(name):
                parts[0] = self.variables.get(name, name)
            case ast.Event(str(name)) | ast.PeriodicTimer(name) | ast.While(name):
                parts[0] = self.identifiers.get(name, name)
            case ast.RelativeTimer(name, _, anchor) | ast.Temporal(name, _, anchor):
                parts[0], parts[2] = self.identifiers.get(name, name), self.identifiers.get(anchor, anchor)
            case ast.Within(names) | ast.ApartBy(names):
                parts[0] = tuple(self.identifiers.get(each, each) for each in names)
        return type(node)(*parts, span=node.span)

    def _part(self, part: object) -> object:
        if isinstance(part, tuple):
            return tuple(self._part(each) for each in part)
        return self.node(part) if isinstance(part, ast.Node) else part
