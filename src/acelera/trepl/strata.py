"""In which order the rules of a module are settled at a stage, and modules among each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from acelera.errors import Span
from acelera.language.ast import Expression
from acelera.language.tree import walk
from acelera.programs.problems import Notes
from acelera.trepl.named_rules import NamedRule
from acelera.trepl.resolved import Aggregate, EventType, Field, Part, Stamp
from acelera.trepl.shape import can_come_last


class Need(NamedTuple):
    """A rule looks at its stage for an event that another rule makes there; or for its absence."""

    rule: int
    maker: int
    event: str
    negated: bool
    span: Span | None


def needs_of(rules: Sequence[NamedRule]) -> tuple[Need, ...]:
    """Which rule of a module needs which at one stage."""
    found = []
    for number, rule in enumerate(rules):
        for event, negated in can_come_last(rule.goal):
            for maker, other in enumerate(rules):
                made = {EventType("derived", each.event, other.module) for each in other.derives}
                found += [Need(number, maker, each.name, negated, event.span) for each in event.types if each in made]
    return tuple(found)


def stratify(rules: Sequence[NamedRule], notes: Notes) -> tuple[tuple[int, ...], ...]:
    """The numbers of the rules, those that settle first at a stage first; rules that need each other stand together.

    What goes round in a circle at one stage must neither deny itself nor compute, or it would not come to an end.
    """
    needs = needs_of(rules)
    reached = _reached(len(rules), {(each.rule, each.maker) for each in needs})
    circular = [each for each in needs if each.rule in reached[each.maker]]
    _refuse_denials(circular, rules, reached, notes)
    _refuse_computing(circular, rules, notes)
    return _levels(reached)


def _reached(size: int, edges: set[tuple[int, int]]) -> list[set[int]]:
    """For each rule all that it needs, directly or not; itself if it needs itself."""
    found: list[set[int]] = [{maker for rule, maker in edges if rule == number} for number in range(size)]
    for through in range(size):
        for each in found:
            if through in each:
                each |= found[through]
    return found


def _levels(reached: Sequence[set[int]]) -> tuple[tuple[int, ...], ...]:
    """Rules stand above all that they need but that does not need them."""
    levels: dict[int, int] = {}
    for number in sorted(range(len(reached)), key=lambda number: len(reached[number] | {number})):
        below = [levels[each] for each in reached[number] if number not in reached[each] and each != number]
        levels[number] = max(below, default=-1) + 1
    highest = max(levels.values(), default=-1)
    return tuple(tuple(each for each in sorted(levels) if levels[each] == level) for level in range(highest + 1))


def _refuse_denials(
    circular: Sequence[Need], rules: Sequence[NamedRule], reached: Sequence[set[int]], notes: Notes
) -> None:
    for need in circular:
        if need.negated:
            ring = [each for each in range(len(rules)) if each in reached[need.rule] and need.rule in reached[each]]
            names = ", ".join(rules[each].name for each in ring)
            hint = f"ask whether it was absent at the stage before: (!{need.event}, …)"
            notes.wrong(f"{need.event} depends at one stage on its own absence: {names}", need.span, hint)


def _refuse_computing(circular: Sequence[Need], rules: Sequence[NamedRule], notes: Notes) -> None:
    """Rules that feed a circle may pass on what they got, and constants."""
    for maker, event in dict.fromkeys((each.maker, each.event) for each in circular):
        rule = rules[maker]
        for act in rule.derives:
            if act.event == event and any(_computes(each) for each in act.arguments):
                hint = "it need not end; let the event that is computed from stand a stage before"
                notes.wrong(f"recursion within a stage must not compute: {rule.name}", act.span, hint)


def _computes(argument: Expression) -> bool:
    """Whether it is more than an attribute or a constant."""
    if isinstance(argument, Field | Stamp) or (isinstance(argument, Part) and argument.moved is None):
        return False
    return any(isinstance(each, Field | Stamp | Part | Aggregate) for each in walk(argument))


# --- modules ----------------------------------------------------------------------------------------------------------


def feeding_order(feeders: Mapping[str, frozenset[str]], spans: Mapping[str, Span | None], notes: Notes) -> list[str]:
    """The modules, those that feed others first; a circle is noted."""
    names = list(feeders)
    number = {name: place for place, name in enumerate(names)}
    edges = {(number[name], number[each]) for name in names for each in feeders[name] if each in number}
    reached = _reached(len(names), edges)
    circles = {frozenset(each for each in inner if place in reached[each]) for place, inner in enumerate(reached)}
    for circle in sorted(sorted(each) for each in circles if each):
        shown = ", ".join(names[each] for each in circle)
        hint = "put their rules into one module, or the events that go back into a third"
        notes.wrong(f"modules feed each other in a circle: {shown}", spans[names[circle[0]]], hint)
    return [names[each] for level in _levels(reached) for each in level]
