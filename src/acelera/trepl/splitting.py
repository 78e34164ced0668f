"""How a program is spread: which modules run together, by which key their events are split, and why not by any.

Modules that feed each other, directly or through others, belong together. They run in one task for each key if all of
them have `partition by`, each splits the changes of a relation by the same attributes, and an event that one derives
for another has the key of the stage that made it: then all that meets is in one place.

A module without `partition by` whose rules keep to one key is spread by that, if its stages can be numbered before:
over frames that are all there, and on its own, since what others derive for it makes stages, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acelera.trepl import ast
from acelera.trepl.actions.action_rows import key_type
from acelera.trepl.chained_keys import chained_key
from acelera.trepl.resolved import Derive, EventType, Field, Module, Program, Rule, Simple

Fed = tuple[str | None, str]
"""What comes to modules from outside: a relation, which has no module, or a derived event of another one."""


WHOLE = "which takes frames that are all there"
"""What it takes to number stages before rows are spread."""


@dataclass(frozen=True)
class Part:
    """Some modules that run together.

    `keys` has for all that comes to them the attributes that split it, in the order of `partition by`; they are empty
    if one task sees everything in order, for a reason. `numbered` says that stages are those of all keys together.
    """

    modules: tuple[str, ...]
    keys: Mapping[Fed, tuple[str, ...]]
    reason: str = ""
    numbered: bool = False

    @property
    def is_split(self) -> bool:
        """Whether there is a key."""
        return not self.reason

    def line(self) -> str:
        """How it runs, in words."""
        names = f"{'module' if len(self.modules) == 1 else 'modules'} {', '.join(self.modules)}"
        if self.reason:
            return f"{names}: one task, which sees all changes in order, as {self.reason}"
        splits = dict.fromkeys(f"{_said(fed)} by {', '.join(key)}" for fed, key in self.keys.items())
        kept = ", which its rules keep to; stages are numbered before, over all keys" if self.numbered else ""
        return f"{names}: spread by key, {'; '.join(splits)}{kept}"


def parts_of(program: Program, together: bool = False, unnumbered: str | None = None) -> tuple[Part, ...]:
    """The parts of a program, those that feed others first.

    Modules that feed each other, but cannot be split by one key, are parts of their own if one of them can be split; if
    they must stay `together`, as in a stream, they are one part that is not. `unnumbered` says what it would take to
    number stages before, if they are not to be.
    """
    found: list[Part] = []
    for modules in _components(program):
        keys, reason = _common_key(modules, program, unnumbered)
        if reason is None:
            found.append(Part(_names(modules), keys))
        elif together or not any(each.partition or _chained(each, program, unnumbered) for each in modules):
            found.append(Part(_names(modules), _unsplit(modules), reason))
        else:
            found += [_alone(module, program, unnumbered) for module in modules]
    return tuple(found)


def _chained(module: Module, program: Program, unnumbered: str | None) -> str | None:
    """The key that a module without `partition by` is spread by."""
    return chained_key(module, program).key if unnumbered is None else None


def everything(program: Program) -> Part:
    """All modules as one part."""
    return Part(_names(program.modules), _unsplit(program.modules), "they are all of the program")


def _alone(module: Module, program: Program, unnumbered: str | None) -> Part:
    keys, reason = _common_key([module], program, unnumbered)
    if reason is None:
        return Part((module.name,), keys)
    key, unsplit = _chained(module, program, unnumbered), _unsplit([module])
    if key is None:
        return Part((module.name,), unsplit, reason)
    return Part((module.name,), dict.fromkeys(unsplit, (key,)), numbered=True)


def _names(modules: Sequence[Module]) -> tuple[str, ...]:
    return tuple(each.name for each in modules)


def _said(fed: Fed) -> str:
    return ".".join(filter(None, fed))


def _components(program: Program) -> list[list[Module]]:
    """Modules that feed each other, in the order of the program."""
    group = {module.name: number for number, module in enumerate(program.modules)}
    for module in program.modules:
        for event in module.universe:
            if event.module is not None:
                old, new = group[module.name], group[event.module]
                group = {name: new if number == old else number for name, number in group.items()}
    return [
        [module for module in program.modules if group[module.name] == number] for number in sorted({*group.values()})
    ]


def fed_from_outside(modules: Sequence[Module]) -> Iterator[tuple[Module, EventType]]:
    """The event types that come to modules, with each module that monitors them."""
    own = {each.name for each in modules}
    for module in modules:
        for event in module.universe:
            if event.module not in own:
                yield module, event


def _unsplit(modules: Sequence[Module]) -> dict[Fed, tuple[str, ...]]:
    return {(event.module, event.name): () for _, event in fed_from_outside(modules)}


# --- keys -------------------------------------------------------------------------------------------------------------


def _common_key(
    modules: Sequence[Module], program: Program, unnumbered: str | None
) -> tuple[dict[Fed, tuple[str, ...]], str | None]:
    """The attributes that split all that comes to modules; or why there are none."""
    keys: dict[Fed, tuple[str, ...]] = {}
    for module in modules:
        if not module.partition:
            return {}, _unpartitioned(module, program, unnumbered)
    for module, event in fed_from_outside(modules):
        fed = (event.module, event.name)
        if keys.setdefault(fed, module.partition) != module.partition:
            return {}, f"{_said(fed)} is split by {_listed(keys[fed])} and, for {module.name}, by {_listed(module)}"
    return keys, _astray(modules) or _of_other_types(modules, program)


def _unpartitioned(module: Module, program: Program, unnumbered: str | None) -> str:
    """What it means that a module has no `partition by`."""
    key, reason = chained_key(module, program)
    over_all = f"but stages are numbered over all of them, {unnumbered or WHOLE}"
    why = f"its rules keep to one {key}, {over_all}" if key else reason
    return f"{module.name} has no `partition by` ({why})"


def _listed(key: Module | Sequence[str]) -> str:
    return ", ".join(key.partition if isinstance(key, Module) else key)


def _astray(modules: Sequence[Module]) -> str | None:
    """Why events that one of the modules derives for another may belong to another key there."""
    by_name = {each.name: each for each in modules}
    for module in modules:
        for event in module.universe:
            maker = by_name.get(event.module or "")
            if maker is not None:
                told = keys_told(maker)[event.name]
                if tuple(told.get(name) for name in module.partition) != maker.partition:
                    return (
                        f"{maker.name}.{event.name} may have another {_listed(module)}, by which {module.name} is "
                        f"split, than the {_listed(maker)} of the stage that made it"
                    )
    return None


def _of_other_types(modules: Sequence[Module], program: Program) -> str | None:
    """Whether keys are of different types, so that equal ones need not be found in one place."""
    types = [tuple(key_type(program, each, name) for name in each.partition) for each in modules]
    for module, kinds in zip(modules, types, strict=True):
        if kinds != types[0]:
            return f"the keys of {modules[0].name} and {module.name} are of different types"
    return None


def keys_told(module: Module) -> dict[str, dict[str, str]]:
    """For each derived event the attributes that always are an attribute of the key, and which one.

    An attribute is one of the key if every action that derives the event gives it that of a monitored event, or that of
    a derived event that has it: those are all supposed at first, and dropped as long as an action gives others.
    """
    found = {event: {name: set(module.partition) for name in names} for event, names in module.derived.items()}
    changed = True
    while changed:
        changed = False
        for rule in module.rules:
            types = _bound(rule)
            for action in rule.actions:
                if isinstance(action, Derive):
                    for name, argument in zip(found[action.event], action.arguments, strict=True):
                        kept = found[action.event][name] & _told(argument, types, module, found)
                        changed |= kept != found[action.event][name]
                        found[action.event][name] = kept
    return {
        event: {name: min(keys, key=module.partition.index) for name, keys in names.items() if keys}
        for event, names in found.items()
    }


def _bound(rule: Rule) -> dict[str, tuple[EventType, ...]]:
    """The types of events that variables stand for."""
    goals = (each for each in ast.walk(rule.goal) if isinstance(each, Simple))
    return {each.variable: each.types for each in goals if each.variable is not None}


def _told(
    argument: object,
    types: Mapping[str, tuple[EventType, ...]],
    module: Module,
    derived: Mapping[str, Mapping[str, set[str]]],
) -> set[str]:
    """The attributes of the key that an argument is."""
    if not isinstance(argument, Field):
        return set()
    found = set(module.partition)
    for event in types[argument.variable]:
        if event.module == module.name:
            found &= derived[event.name][argument.attribute]
        elif argument.side != ("old" if event.kind == "delete" else "new"):
            found = set()
        else:
            found &= {argument.attribute}
    return found
