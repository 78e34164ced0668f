"""Rules that need one another's events, and how the rows of such a set can be split.

Two rules belong to one *component* if one derives what the other asks for, or if both derive the same label. What a
component derives, no other looks at, so each runs on its own.

A component is split by a *key*: a column for each of its labels, such that in every rule one variable stands in this
column of each event that is asked for, also of those that must not happen, and of the event that is derived. Then
events that differ in it never meet, and derived events that differ in it are different. A row without a value there
matches nothing, as the variable must be bound.

Clocks are no events of anybody, and belong to all buckets. In a bucket, a clock begins with the first row. That is too
late where an event may meet what the clock showed before; such a component is not split, and reads all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from acelera.algebra.bounds import InconsistentError
from acelera.algebra.construction import Child, Computed, Head
from acelera.algebra.expressions import Attribute
from acelera.algebra.intervals import Point
from acelera.algebra.operators import Clock, Events
from acelera.algebra.patterns import VALUE, Content
from acelera.algebra.rules import Rule
from acelera.spark.buckets import BUCKETS

Choice: TypeAlias = Mapping[str, frozenset[str]]
"""For each label the columns of which any may be that of the key."""

MOST_CHOICES = 100
"""That are looked at together; a key may be missed if there are more."""


@dataclass(frozen=True)
class Component:
    """Some rules, by number, and the labels that they ask for or derive.

    `key` has a column for each label; it is empty if the rows cannot be split, for a reason. A component that
    `reads_all` needs the times of all rows, since it has a clock that begins with the first of them.
    """

    rules: tuple[int, ...]
    labels: tuple[str, ...]
    derived: tuple[str, ...]
    key: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    reads_all: bool = False

    @property
    def buckets(self) -> int:
        """Into how many its rows are spread."""
        return BUCKETS if self.key else 1

    def line(self) -> str:
        """How it is split, or why it is not, in words."""
        made = ", ".join(self.derived)
        if not self.key:
            return f"{made}: one task reads all its rows in order, since {self.reason}"
        by = ", ".join(f"{label}.{column}" for label, column in self.key.items() if label not in self.derived)
        return f"{made}: split by {by}, in {BUCKETS} buckets with a state each"


def components_of(rules: Sequence[Rule], columns: Mapping[str, pa.Schema]) -> tuple[Component, ...]:
    """The components of some rules; `columns` has the data of each label that rows may have."""
    return tuple(_component(rules, numbers, columns) for numbers in _connected(rules))


def lines(components: Sequence[Component]) -> list[str]:
    """How a program runs over a stream, in words."""
    several = f", in {len(components)} parts that need nothing of one another" if len(components) > 1 else ""
    return [f"rows wait for the watermark{several}", *(each.line() for each in components)]


def _connected(rules: Sequence[Rule]) -> list[list[int]]:
    """The numbers of rules that belong together, in order."""
    derived = {rule.head.label for rule in rules}
    groups: list[tuple[set[str], list[int]]] = []
    for number, rule in enumerate(rules):
        labels, numbers = {rule.head.label} | (rule.asks_for & derived), [number]
        for group in [each for each in groups if each[0] & labels]:
            groups.remove(group)
            labels, numbers = labels | group[0], group[1] + numbers
        groups.append((labels, numbers))
    return sorted(sorted(numbers) for _, numbers in groups)


def _component(rules: Sequence[Rule], numbers: Sequence[int], columns: Mapping[str, pa.Schema]) -> Component:
    own = [rules[number] for number in numbers]
    derived = tuple(dict.fromkeys(rule.head.label for rule in own))
    asked = (choice.label for rule in own for each in literals(rule) for choice in each.choices)
    labels = tuple(dict.fromkeys((*asked, *derived)))
    key, reason = _key(own, labels, columns)
    reads_all = not key and any(_early_clock(rule) for rule in own)
    return Component(tuple(numbers), labels, derived, key, reason, reads_all)


def literals(rule: Rule) -> Iterator[Events]:
    """All events that a rule asks for, also those that must not happen; clocks apart."""
    yield from (each for each in rule.events if isinstance(each, Events))
    yield from (each for _, each in (*rule.collected, *rule.absent))


# --- keys ---------------------------------------------------------------------------------------------------------


def _key(rules: Sequence[Rule], labels: Sequence[str], columns: Mapping[str, pa.Schema]) -> tuple[dict[str, str], str]:
    """The column of each label, or none and the reason."""
    choices = []
    for number, rule in enumerate(rules):
        clock = _early_clock(rule)
        if clock:
            return {}, f"{_named(rules, number)} may look at what the clock {clock} showed before the first of its rows"
        choices.append(_choices(rule))
        if not choices[-1]:
            return {}, _lacking(rule, _named(rules, number))
    for kind in dict.fromkeys(each.type for label in labels for each in columns.get(label, ())):
        fitting = [[some for each in those if (some := _of_kind(each, kind, columns))] for those in choices]
        found, _ = _agreed(fitting)
        if found is not None and not pa.types.is_nested(kind):
            return {label: min(found[label]) for label in labels}, ""
    found, refused = _agreed(choices)
    if found is None:
        return {}, f"{_named(rules, refused)} would have to be split by other columns than the rules before it"
    return {}, _different(found, columns)


def _choices(rule: Rule) -> list[Choice]:
    """For each variable that may be the key of a rule the columns in which it stands."""
    found: list[Choice] = []
    for variable in dict.fromkeys(name for child in rule.head.term.each for name in _plain(child)):
        places: dict[str, frozenset[str]] = {}
        for label, columns in _places(rule, variable):
            places[label] = places.get(label, columns) & columns
        if all(places.values()):
            found.append(places)
    return found


def _places(rule: Rule, variable: str) -> Iterator[tuple[str, frozenset[str]]]:
    """In which columns of each event of a rule a variable stands, and in which of the one that is derived."""
    yield rule.head.label, _children(rule.head, variable)
    for events in literals(rule):
        for choice in events.choices:
            yield choice.label, _bound(choice.content, variable)


def _children(head: Head, variable: str) -> frozenset[str]:
    return frozenset(child.label for child in head.term.each if variable in _plain(child))


def _plain(child: Child) -> tuple[str, ...]:
    """The variable that a child is, if it is nothing else."""
    match child:
        case Child(_, (Computed(Attribute(name), aggregates=()),), repeated=False):
            return (name,)
    return ()


def _bound(content: Content, variable: str) -> frozenset[str]:
    """The columns whose value a variable must have."""
    asked = () if content.inner is None else content.inner.asked
    single = (part for part in asked if not (part.repeated or part.optional))
    return frozenset(part.column for part in single if variable in _values(part.content))


def _values(content: Content) -> tuple[str, ...]:
    """The variables that must have the value of a column."""
    inner = () if content.inner is None else content.inner.asked
    return tuple(name for part in inner if part.column == VALUE and not part.optional for name in part.content.binds)


def _of_kind(choice: Choice, kind: pa.DataType, columns: Mapping[str, pa.Schema]) -> Choice | None:
    """The columns that are of a type, or that no row has: values of one type are hashed alike."""
    found = {
        label: frozenset(name for name in names if _kind(columns, label, name) in (None, kind))
        for label, names in choice.items()
    }
    return found if all(found.values()) else None


def _kind(columns: Mapping[str, pa.Schema], label: str, name: str) -> pa.DataType | None:
    """The type of a column, if rows have it."""
    known = columns.get(label)
    return known.field(name).type if known is not None and name in known.names else None


def _agreed(choices: Sequence[Sequence[Choice]]) -> tuple[Choice | None, int]:
    """What one choice of each rule has in common; or None, and the first rule for which there is nothing."""
    common: list[Choice] = [{}]
    for number, those in enumerate(choices):
        further = (_both(one, other) for one in common for other in those)
        different = {frozenset(each.items()): each for each in further if all(each.values())}
        common = list(different.values())[:MOST_CHOICES]
        if not common:
            return None, number
    return common[0], -1


def _both(left: Choice, right: Choice) -> Choice:
    """The columns that both allow; a label that one of them does not know may have any."""
    return {
        label: frozenset.intersection(*(each[label] for each in (left, right) if label in each))
        for label in {**left, **right}
    }


# --- clocks -------------------------------------------------------------------------------------------------------


def _early_clock(rule: Rule) -> str:
    """A clock that may end before all events of its rule; nothing if there is none."""
    ends = [each.identifier for each in rule.events if isinstance(each, Events)]
    ends += [window for window, _ in rule.collected]  # which holds an event
    for clock in (each.identifier for each in rule.events if isinstance(each, Clock)):
        try:
            bounds = [rule.network.least(Point(each, "end"), Point(clock, "end")) for each in ends]
        except InconsistentError:  # nothing is ever derived
            return ""
        if all(bound > 0 for bound in bounds):
            return clock
    return ""


# --- reasons ------------------------------------------------------------------------------------------------------


def _named(rules: Sequence[Rule], number: int) -> str:
    """A rule, as people may find it: by its label, and which one of that label it is."""
    label = rules[number].head.label
    alike = [place for place, rule in enumerate(rules) if rule.head.label == label]
    return f"the rule of {label}" if len(alike) == 1 else f"rule {alike.index(number) + 1} of {label}"


def _lacking(rule: Rule, named: str) -> str:
    """What keeps a rule from having a key."""
    variables = dict.fromkeys(name for child in rule.head.term.each for name in _plain(child))
    if not variables:
        return f"{named} makes no child that is a variable and nothing else"
    lacking = {name: [label for label, columns in _places(rule, name) if not columns] for name in variables}
    name = min(lacking, key=lambda each: len(lacking[each]))
    if lacking[name]:
        return f"in {named}, var {name} stands in no column of {lacking[name][0]}, or in one of several values"
    return f"in {named}, var {name} stands in different columns of one label"


def _different(choice: Choice, columns: Mapping[str, pa.Schema]) -> str:
    """The types of columns that had to be one."""
    kinds = {f"{label}.{min(names)}": _kind(columns, label, min(names)) for label, names in choice.items()}
    shown = ", ".join(f"{name} is of type {kind}" for name, kind in kinds.items() if kind is not None)
    return f"its key has no single type of plain values: {shown}" if shown else "no row has a column of its key"
