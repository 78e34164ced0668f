"""Which rule needs which, and in what order they are worked out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from acelera.errors import Span
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.heads import is_grouping
from acelera.xchangeeq.normal import NormalRule, normal_rules


@dataclass(frozen=True)
class Edge:
    """A rule queries what another makes; `through` says why that must be complete before, if it must."""

    rule: int
    needs: int
    through: str | None
    span: Span | None = None

    @property
    def strict(self) -> bool:
        """Whether the other rule must stand in a lower stratum."""
        return self.through is not None


@dataclass(frozen=True)
class RuleGraph:
    """The rules of a program, told by their numbers, and what they need."""

    labels: tuple[str, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def needed(self) -> Mapping[int, frozenset[int]]:
        """For each rule the rules that it queries."""
        found: dict[int, set[int]] = {number: set() for number in range(len(self.labels))}
        for edge in self.edges:
            found[edge.rule].add(edge.needs)
        return {number: frozenset(inner) for number, inner in found.items()}

    def way(self, start: int, goal: int) -> list[int] | None:
        """The shortest way from a rule to one that it needs, directly or not; both ends are in it."""
        before: dict[int, int] = {}
        todo = deque([start])
        seen = {start}
        while todo:
            each = todo.popleft()
            if each == goal:
                found = [each]
                while found[-1] != start:
                    found.append(before[found[-1]])
                return found[::-1]
            for other in sorted(self.needed[each] - seen):
                seen.add(other)
                before[other] = each
                todo.append(other)
        return None

    def needed_first(self) -> list[int]:
        """The rules in an order in which each comes after those that it needs, but for cycles."""
        found: dict[int, None] = {}
        seen: set[int] = set()
        todo = [(number, False) for number in reversed(range(len(self.labels)))]
        while todo:
            number, left = todo.pop()
            if left:
                found[number] = None
            elif number not in seen:
                seen.add(number)
                todo.append((number, True))
                todo.extend((other, False) for other in sorted(self.needed[number] - seen, reverse=True))
        return list(found)

    def is_recursive(self, rule: int) -> bool:
        """Whether a rule needs, directly or not, what it makes."""
        return any(self.way(other, rule) is not None for other in self.needed[rule])


@dataclass(frozen=True)
class Strata:
    """For each rule its stratum: the most strict edges on a way from it."""

    numbers: tuple[int, ...]

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The rules of each stratum, lowest first."""
        highest = max(self.numbers, default=-1)
        return tuple(
            tuple(rule for rule, each in enumerate(self.numbers) if each == level) for level in range(highest + 1)
        )


def graph_of(program: ast.Program, rules: Sequence[NormalRule] | None = None) -> RuleGraph:
    """Which rule of a program queries which, with each reason once."""
    labels = tuple(rule.head.label for rule in program.rules)
    found: dict[tuple[int, int, str | None], Edge] = {}
    for rule in normal_rules(program) if rules is None else rules:
        for query, through in queries_of(rule):
            for needs, label in enumerate(labels):
                if root_label(query) in (None, label) and not isinstance(_root(query), ast.IsValue):
                    edge = Edge(rule.number, needs, through, query.span)
                    found.setdefault((edge.rule, edge.needs, edge.through), edge)
    return RuleGraph(labels, tuple(found.values()))


def root_label(query: ast.Query) -> str | None:
    """The label of the events that a query asks for; None if they may have any."""
    inner = _root(query)
    return inner.label if isinstance(inner, ast.Labelled) else None


def _root(query: ast.Query | None) -> ast.Query | None:
    while isinstance(query, ast.Binds):
        query = query.query
    return query


def queries_of(rule: NormalRule) -> Iterator[tuple[ast.Query, str | None]]:
    """Every query of a rule, and why what it asks for must be complete."""
    grouping = "grouping" if is_grouping(rule.head) else None
    anchored = anchored_events(rule)
    for event in rule.events:
        timer = anchored.get(event.identifier or "")
        yield event.query, f"the timer {timer}" if timer else grouping
    for each in rule.collects:
        yield each.query, grouping
    for each in rule.nots:
        yield each.query, "negation"


def anchored_events(rule: NormalRule) -> dict[str, str]:
    """The identifiers that relative timers hang on, each with the first such timer.

    An event that a timer hangs on through others has one of these that hangs on it directly.
    """
    return {timer.anchor: timer.identifier for timer in reversed(rule.relative)}


def stratify(graph: RuleGraph, notes: Notes) -> Strata | None:
    """The strata; None, with a note for each cycle that has a strict edge, if there are none."""
    stuck = False
    for edge in graph.edges:
        back = graph.way(edge.needs, edge.rule) if edge.strict else None
        if back is not None:
            stuck = True
            names = [graph.labels[each] for each in (edge.rule, *back)]
            way = " → ".join(names)
            notes.wrong(
                f"not stratifiable: {names[0]} depends on itself through {edge.through}",
                edge.span,
                f"the way is {way}, where → means: is made from; break it, or give what is made another label",
            )
    return None if stuck else Strata(_numbers(graph))


def _numbers(graph: RuleGraph) -> tuple[int, ...]:
    """Raise strata until every edge is content; without a strict cycle this ends."""
    numbers = [0] * len(graph.labels)
    changed = True
    while changed:
        changed = False
        for edge in graph.edges:
            least = numbers[edge.needs] + edge.strict
            if numbers[edge.rule] < least:
                numbers[edge.rule], changed = least, True
    return tuple(numbers)
