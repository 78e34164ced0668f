"""The types of what rules derive, found out over all rules of a program together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from acelera.errors import Problem
from acelera.language.types import NULL, UNKNOWN, Type, unify
from acelera.programs.problems import Notes
from acelera.trepl.named_events import Catalog
from acelera.trepl.named_rules import NamedRule
from acelera.trepl.resolved import Derive
from acelera.trepl.term_types import DerivedTypes, TermTypes

TypesOf = Callable[[NamedRule, DerivedTypes], TermTypes]
"""The types of the terms of a rule, while those of derived events are so far known."""


def derived_types(rules: Sequence[NamedRule], catalog: Catalog, types_of: TypesOf) -> DerivedTypes:
    """The least types that hold what all rules derive: recursive rules are looked at until nothing new is found."""
    known = {
        (module, event): dict.fromkeys(attributes, UNKNOWN)
        for module, events in catalog.derived.items()
        for event, attributes in events.items()
    }
    while True:
        grown = False
        for _, act, attribute, given in _given(rules, known, types_of):
            before = known[act][attribute]
            both = unify(before, given) or before
            if (both.kind, both.arrow) != (before.kind, before.arrow):
                known[act][attribute], grown = both, True
        if not grown:
            return {event: {name: _or_null(each) for name, each in types.items()} for event, types in known.items()}


def _or_null(found: Type) -> Type:
    return NULL if found == UNKNOWN else found


def _given(
    rules: Sequence[NamedRule], known: Mapping[tuple[str, str], Mapping[str, Type]], types_of: TypesOf
) -> Iterator[tuple[tuple[NamedRule, Derive], tuple[str, str], str, Type]]:
    """What each rule gives to each attribute of what it derives."""
    for rule in rules:
        types = types_of(rule, known)
        for act in rule.derives:
            event = (rule.module, act.event)
            for attribute, argument in zip(known[event], act.arguments, strict=False):
                yield (rule, act), event, attribute, types.settle(argument).type


def check_derived(rules: Sequence[NamedRule], known: DerivedTypes, types_of: TypesOf, notes: Notes) -> None:
    """All rules must give an attribute values that go together."""
    seen: dict[tuple[tuple[str, str], str], list[tuple[NamedRule, Type]]] = {}
    for (rule, act), event, attribute, given in _given(rules, known, types_of):
        before = seen.setdefault((event, attribute), [])
        other = next((each for each, its in before if unify(its, given) is None), None)
        if other is not None:
            message = f"types of {event[1]}.{attribute} differ between rules {other.name} and {rule.name}"
            its = next(each for one, each in before if one is other)
            notes.wrong(message, act.span, f"it is {its} in {other.name}, {given} in {rule.name}")
        before.append((rule, given))


def silent(_: Problem) -> None:
    """Reports nothing: what is wrong is said once, when all types are known."""
