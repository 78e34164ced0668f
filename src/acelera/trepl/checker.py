"""Checks a program against what is known of its relations, before any data is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from acelera.errors import Problem, Span, UsageError, did_you_mean, listing
from acelera.language.ast import Expression
from acelera.language.expressions import Report
from acelera.language.types import Kind, Type, unify
from acelera.programs.problems import Notes, ProgramCheckError
from acelera.trepl import ast, resolved
from acelera.trepl.cautions import warn_of_module, warn_of_rule
from acelera.trepl.derived_types import check_derived, derived_types, silent
from acelera.trepl.named_events import Catalog, ModuleEvents, catalog_of, events_of, said
from acelera.trepl.named_rules import NamedRule, named_rules, with_conditions
from acelera.trepl.normal import normalize
from acelera.trepl.resolved import EventType, Relation
from acelera.trepl.strata import feeding_order, stratify
from acelera.trepl.term_types import DerivedTypes, TermTypes, Times


@dataclass(frozen=True)
class Checked:
    """A program that makes sense, and what in it is most likely not what was meant."""

    program: resolved.Program
    warnings: tuple[Problem, ...]


def check(
    program: ast.Program,
    relations: Mapping[str, Relation],
    timestamp: Type,
    zone: str = "UTC",
    functions: Collection[str] = (),
    text: str = "",
) -> Checked:
    """Check a program; raises a ProgramCheckError that lists every mistake.

    `relations` has what the sources give, `timestamp` is the type of their times, and `functions` are the names of
    those that actions may call; `text` is what the program was read from.
    """
    _refuse_unknown(zone)
    checker = _Checker(program, relations, Times(timestamp, zone), functions)
    modules = checker.modules()
    notes = checker.notes
    if notes.problems:
        raise ProgramCheckError(sorted(notes.problems, key=_place), text)
    used = {each.name for module in modules for each in module.universe if each.kind != "derived"}
    known = {name: relation for name, relation in relations.items() if name in used}
    made = resolved.Program(modules, known, timestamp, zone)
    return Checked(made, tuple(sorted(notes.warnings, key=_place)))


def _place(problem: Problem) -> Span:
    return problem.span or Span(0, 0)


def _refuse_unknown(zone: str) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"zone={zone!r} is not known; zones are named like 'UTC' or 'Europe/Berlin'") from None


class _Checker:
    """What is found out about one program."""

    def __init__(
        self, program: ast.Program, relations: Mapping[str, Relation], times: Times, functions: Collection[str]
    ) -> None:
        self.notes = Notes()
        self._written = {module.name: module for module in program.modules}
        self._times = times
        self._catalog = catalog_of(program, relations, self.notes)
        self._events = {name: events_of(each, self._catalog, self.notes) for name, each in self._written.items()}
        self._rules = {
            name: named_rules(each, self._events[name], self._catalog, functions, self.notes)
            for name, each in self._written.items()
        }

    def modules(self) -> tuple[resolved.Module, ...]:
        """The modules, those that feed others first."""
        rules = [rule for inner in self._rules.values() for rule in inner]
        types = derived_types(rules, self._catalog, self._silently)
        check_derived(rules, types, self._silently, self.notes)
        feeders = {name: events.feeders for name, events in self._events.items()}
        order = feeding_order(feeders, {name: each.span for name, each in self._written.items()}, self.notes)
        return tuple(self._module(name, types) for name in order)

    def _module(self, name: str, types: DerivedTypes) -> resolved.Module:
        written, events, named = self._written[name], self._events[name], self._rules[name]
        rules = tuple(self._rule(each, types) for each in named)
        _check_partition(written, events, self._catalog, types, self.notes)
        warn_of_module(written, named, self.notes)
        for rule in rules:
            warn_of_rule(rule.goal, bool(written.partition), self.notes)
        derived = {event: types[name, event] for event in events.own}
        return resolved.Module(name, events.universe, written.partition, derived, rules, stratify(named, self.notes))

    def _rule(self, rule: NamedRule, derived: DerivedTypes) -> resolved.Rule:
        """The rule with all conditions and arguments as they are meant, and the types of these."""
        terms = self._types(rule, derived, self._report)
        goal = normalize(with_conditions(rule.goal, terms.condition))
        actions, types = [], []
        for act in rule.actions:
            settled = [terms.settle(each) for each in act.arguments]
            actions.append(_with_arguments(act, tuple(each.expression for each in settled)))
            types.append(tuple(each.type for each in settled))
        return resolved.Rule(rule.name, goal, tuple(actions), tuple(types), span=rule.span)

    def _types(self, rule: NamedRule, derived: DerivedTypes, report: Report) -> TermTypes:
        return TermTypes(rule.variables, self._catalog.relations, derived, self._times, report)

    def _silently(self, rule: NamedRule, derived: DerivedTypes) -> TermTypes:
        return self._types(rule, derived, silent)

    def _report(self, problem: Problem) -> None:
        self.notes.wrong(problem.message, problem.span, problem.hint)


def _with_arguments(act: resolved.Action, arguments: tuple[Expression, ...]) -> resolved.Action:
    match act:
        case resolved.Derive(event, _):
            return resolved.Derive(event, arguments, span=act.span)
        case resolved.Write(form, _):
            return resolved.Write(form, arguments, span=act.span)
        case resolved.Sql(text, _):
            return resolved.Sql(text, arguments, span=act.span)
        case resolved.CallFunction(function, _):
            return resolved.CallFunction(function, arguments, span=act.span)


def _check_partition(
    module: ast.Module, events: ModuleEvents, catalog: Catalog, derived: DerivedTypes, notes: Notes
) -> None:
    """Every event of the universe must tell to which key it belongs, in values that can be equal."""
    span = _monitoring(module)
    for name in module.partition:
        first: tuple[EventType, Type] | None = None
        for event in _one_of_each(events.universe):
            attributes = catalog.attributes(event)
            if attributes is None:
                continue
            if name not in attributes:
                hint = f"split by what all events have, or monitor {said(event)} in another module"
                near = did_you_mean(name, attributes) or f"; it has {listing(attributes)}"
                notes.wrong(f"partition by {name}: {said(event)} has no {name}{near}", span, hint)
                continue
            its = _type_of(event, name, catalog, derived)
            if its.kind is Kind.OPAQUE:
                hint = "split by an attribute that is a number, a text, a time or a truth value"
                notes.wrong(f"partition by {name}: values of type {its} cannot be told apart", span, hint)
                continue
            first = first or (event, its)
            if unify(first[1], its) is None:
                message = f"partition by {name}: its types differ between {said(first[0])} and {said(event)}"
                notes.wrong(message, span, f"it is {first[1]} in the one, {its} in the other")


def _one_of_each(universe: Iterable[EventType]) -> Iterable[EventType]:
    """One event of each relation, since inserted and updated rows have the same attributes."""
    found: dict[tuple[str | None, str], EventType] = {}
    for each in universe:
        found.setdefault((each.module, each.name), each)
    return found.values()


def _type_of(event: EventType, attribute: str, catalog: Catalog, derived: DerivedTypes) -> Type:
    if event.kind == "derived":
        return derived[event.module or "", event.name][attribute]
    return catalog.relations[event.name].attributes[attribute]


def _monitoring(module: ast.Module) -> Span | None:
    """Where a module says what it monitors."""
    spans = [each.span for each in module.monitored if each.span is not None]
    return spans[0].to(spans[-1]) if spans else module.span
