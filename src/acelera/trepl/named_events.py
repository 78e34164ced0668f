"""The events that a module knows by name: what it monitors, under which aliases, and what it derives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from acelera.errors import did_you_mean, listing, nearest
from acelera.language.schema import names_alike
from acelera.programs.problems import Notes
from acelera.trepl import ast
from acelera.trepl.resolved import EventType, Relation

CHANGED = ("insert", "update")
"""What a relation stands for where no kind is written."""


@dataclass(frozen=True)
class Catalog:
    """What there is to monitor: relations, and the derived events of each module with their attributes."""

    relations: Mapping[str, Relation]
    derived: Mapping[str, Mapping[str, tuple[str, ...]]]

    def attributes(self, event: EventType) -> tuple[str, ...] | None:
        """The attributes of an event; None of one that is not known."""
        if event.kind == "derived":
            return self.derived.get(event.module or "", {}).get(event.name)
        relation = self.relations.get(event.name)
        return None if relation is None else tuple(relation.attributes)

    def makers(self, event: str) -> list[str]:
        """The modules that derive an event of this name."""
        return [module for module, events in self.derived.items() if event in events]


@dataclass(frozen=True)
class ModuleEvents:
    """The names of events in a module: its universe, the aliases in it, and its own derived events.

    `refused` are names in the monitor statement that stand for nothing: all that is to be said of them is said there.
    """

    module: str
    universe: tuple[EventType, ...]
    aliases: Mapping[str, tuple[EventType, ...]]
    own: Mapping[str, tuple[str, ...]]
    refused: frozenset[str] = frozenset()

    @property
    def feeders(self) -> frozenset[str]:
        """The modules whose derived events it monitors."""
        return frozenset(each.module for each in self.universe if each.module is not None)

    def called(self, name: str) -> list[EventType]:
        """The derived events that a name alone may stand for."""
        own = [EventType("derived", name, self.module)] if name in self.own else []
        return own + [each for each in self.universe if each.kind == "derived" and each.name == name]

    def changes(self, relation: str) -> tuple[EventType, ...]:
        """The monitored events that the name of a relation stands for."""
        return tuple(each for each in self.universe if each.name == relation and each.kind in CHANGED)


def said(event: EventType) -> str:
    """An event as it is written: `update(owns)`, `alarm`."""
    return event.name if event.kind == "derived" else f"{event.kind}({event.name})"


def catalog_of(program: ast.Program, relations: Mapping[str, Relation], notes: Notes) -> Catalog:
    """All that is declared, each name once."""
    modules: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for module in program.modules:
        if module.name in modules:
            notes.wrong(f"two modules are called {module.name}", module.span, "give one of them another name")
        modules[module.name] = {**_declared(module, relations, notes), **modules.get(module.name, {})}
    return Catalog(relations, modules)


def _declared(module: ast.Module, relations: Mapping[str, Relation], notes: Notes) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in module.derived:
        if each.name in found:
            notes.wrong(f"two derived events are called {each.name}", each.span, "give one of them another name")
        if each.name in relations:
            notes.wrong(f"{each.name} is a relation, and cannot be derived", each.span, "give it another name")
        alike = names_alike(each.attributes)
        if len(set(each.attributes)) < len(each.attributes):
            notes.wrong(f"{each.name} has an attribute twice", each.span, "give one of them another name")
        elif alike is not None:
            hint = "most engines do not tell them apart; give one of them another name"
            notes.wrong(f"{each.name} has {alike[0]} and {alike[1]}, which differ in case alone", each.span, hint)
        found.setdefault(each.name, each.attributes)
    return found


# --- the universe ---------------------------------------------------------------------------------------------------


def events_of(module: ast.Module, catalog: Catalog, notes: Notes) -> ModuleEvents:
    """The events of a module; without a monitor statement, those that its rules name."""
    own = catalog.derived[module.name]
    sources = module.monitored or tuple(_named_by_rules(module, catalog))
    if not module.monitored:
        shown = ", ".join(dict.fromkeys(_written(each) for each in sources))
        hint = f"write it down: monitor {shown};" if shown else None
        message = "nothing is monitored: the events that the rules name are the universe"
        notes.warn(message, module.rules[0].span if module.rules else module.span, hint)
    universe: dict[EventType, None] = {}
    aliases: dict[str, tuple[EventType, ...]] = {}
    refused: set[str] = set()
    for source in sources:
        types = _monitored(source, module, catalog, notes)
        universe.update(dict.fromkeys(types))
        refused |= set() if types else {source.name}
        if source.alias is not None:
            if source.alias in (*aliases, *own):
                notes.wrong(f"two events are called {source.alias}", source.span, "give one of them another name")
            aliases.setdefault(source.alias, types)
    return ModuleEvents(module.name, tuple(universe), aliases, own, frozenset(refused))


def _written(source: ast.Source) -> str:
    if source.kind is not None:
        return f"{source.kind}({source.name})"
    return source.name if source.module is None else f"{source.module}.{source.name}"


def _named_by_rules(module: ast.Module, catalog: Catalog) -> Iterator[ast.Source]:
    """The events of rules as monitor would write them, but those of which nothing is known."""
    own = catalog.derived[module.name]
    goals = (goal for rule in module.rules for goal in ast.walk(rule.goal))
    for each in goals:
        if not isinstance(each, ast.Named) or each.module == module.name:
            continue
        known = each.kind is not None or each.module is not None or each.name in catalog.relations
        if each.kind is None and each.module is None and each.name in own:
            continue
        if known or catalog.makers(each.name):
            yield ast.Source(each.kind, each.module, each.name, span=each.span)


def _monitored(source: ast.Source, module: ast.Module, catalog: Catalog, notes: Notes) -> tuple[EventType, ...]:
    """What a part of a monitor statement stands for."""
    name = source.name
    if source.module is not None:
        return _of_module(source, catalog, notes)
    makers = [] if source.kind is not None else catalog.makers(name)
    if module.name in makers:
        hint = "leave it out of monitor: its stages are those of the events that it is derived from"
        notes.wrong(f"{name} is derived in this module, and never makes a stage of its own", source.span, hint)
        return ()
    if len(makers) > 1:
        notes.wrong(_of_both(name, makers), source.span)
        return ()
    if makers:
        return (EventType("derived", name, makers[0]),)
    if name not in catalog.relations:
        _no_source(source, catalog, notes)
    kinds = CHANGED if source.kind is None else (source.kind,)
    return tuple(EventType(kind, name) for kind in kinds)


def _of_both(name: str, makers: Iterable[str]) -> str:
    one, other, *_ = makers
    return f"{name} is a derived event of both {one} and {other}: write {one}.{name}"


def _of_module(source: ast.Source, catalog: Catalog, notes: Notes) -> tuple[EventType, ...]:
    derived = catalog.derived.get(source.module or "")
    if derived is None:
        near = did_you_mean(source.module or "", catalog.derived)
        notes.wrong(f"no module {source.module}{near}", source.span, f"there are {listing(catalog.derived)}")
        return ()
    if source.name not in derived:
        near = did_you_mean(source.name, derived)
        hint = f"it derives {listing(derived)}" if derived else "it derives none"
        notes.wrong(f"no event {source.name} in the module {source.module}{near}", source.span, hint)
        return ()
    return (EventType("derived", source.name, source.module),)


def _no_source(source: ast.Source, catalog: Catalog, notes: Notes) -> None:
    derived = () if source.kind is not None else tuple(name for each in catalog.derived.values() for name in each)
    near = did_you_mean(source.name, (*catalog.relations, *derived))
    others = f"sources are given for {listing(catalog.relations)}" if catalog.relations else "no sources are given"
    derives = "" if source.kind is not None else ", and no module derives it"
    notes.wrong(f"no source gives the changes of {source.name}{derives}{near}", source.span, others)


# --- events in rules --------------------------------------------------------------------------------------------------


def event_types(named: ast.Named, events: ModuleEvents, catalog: Catalog, notes: Notes) -> tuple[EventType, ...]:
    """The event types that a goal is written for; none, with a note, where there are none."""
    found = _looked_up(named, events, notes)
    if found is not None or named.name in events.refused:
        return found or ()
    written = _written(ast.Source(named.kind, named.module, named.name))
    hint = _instead(named, events, catalog)
    notes.wrong(f"no event {written}: monitor it, or declare it with derived", named.span, hint)
    return ()


def _looked_up(named: ast.Named, events: ModuleEvents, notes: Notes) -> tuple[EventType, ...] | None:
    if named.kind is not None:
        return _in_universe(EventType(named.kind, named.name), events)
    if named.module == events.module and named.name in events.own:
        return (EventType("derived", named.name, named.module),)
    if named.module is not None:
        return _in_universe(EventType("derived", named.name, named.module), events)
    if named.name in events.aliases:
        return events.aliases[named.name]
    derived = events.called(named.name)
    if len(derived) > 1:
        notes.wrong(_of_both(named.name, [each.module or "" for each in derived]), named.span)
    return tuple(derived[:1]) or events.changes(named.name) or None


def _in_universe(event: EventType, events: ModuleEvents) -> tuple[EventType, ...] | None:
    return (event,) if event in events.universe else None


def _instead(named: ast.Named, events: ModuleEvents, catalog: Catalog) -> str | None:
    """What may have been meant by an event that is not known."""
    others = [said(each) for each in events.universe if each.name == named.name]
    if others:
        return f"what is monitored is {listing(others)}"
    makers = [each for each in catalog.makers(named.name) if each != events.module]
    if makers and named.kind is None:
        return f"the module {makers[0]} derives it: monitor {makers[0]}.{named.name}"
    known = dict.fromkeys([*events.aliases, *events.own, *(each.name for each in events.universe)])
    near = nearest(named.name, known)
    if near:
        return f"did you mean `{near}`?"
    return f"there are {listing(known)}" if known else None
