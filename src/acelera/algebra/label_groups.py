"""Labels that rules make together, in the order in which they can be made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter

from acelera.algebra.rules import Rule


def label_groups(rules: Sequence[Rule], labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Labels that need each other together, each group after those that it needs."""
    needs: dict[str, set[str]] = {label: set() for label in labels}
    for rule in rules:
        needs.setdefault(rule.head.label, set()).update(rule.asks_for)
        for label in rule.asks_for:
            needs.setdefault(label, set())
    reached = {label: _reached(label, needs) for label in needs}
    group = {
        label: tuple(each for each in needs if each == label or (each in reached[label] and label in reached[each]))
        for label in needs
    }
    graph: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for label in needs:
        graph.setdefault(group[label], set()).update({group[each] for each in needs[label]} - {group[label]})
    return list(TopologicalSorter(graph).static_order())


def _reached(start: str, needs: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        for each in needs[todo.pop()] - found:
            found.add(each)
            todo.append(each)
    return found
