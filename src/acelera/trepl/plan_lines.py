"""How a program runs, in words: what carries out its modules, what is kept for how long, and what grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acelera.stages.model import Machine, State
from acelera.trepl import ast
from acelera.trepl.chained_keys import chained_key
from acelera.trepl.engine import carried_out
from acelera.trepl.resolved import Module, Program
from acelera.trepl.translation.machines import Translation, translate
from acelera.trepl.written_goals import WrittenGoals, written_goals

_UNITS = (("days", 86_400_000_000_000), ("hours", 3_600_000_000_000), ("minutes", 60_000_000_000))


def plan_lines(program: Program, written: ast.Program) -> list[str]:
    """Lines about each module; `written` has the names that the rules themselves use."""
    goals = {
        (module.name, rule.name): written_goals(module, rule) for module in written.modules for rule in module.rules
    }
    return [line for module in program.modules for line in _module(module, translate(module, program), program, goals)]


def _module(
    module: Module, translation: Translation, program: Program, goals: Mapping[tuple[str, str], WrittenGoals]
) -> Iterator[str]:
    machine = translation.machine
    each = f"each {', '.join(module.partition)}" if module.partition else "the whole history"
    split = None if module.partition else chained_key(module, program).key
    states, registers = _number(len(machine.states) - 1, "state"), _number(len(machine.registers), "register")
    yield f"{module.name}: {states}, {registers}, {carried_out(translation)}"
    if split is not None:
        yield f"{module.name}: all rules keep to {split}, so that instances are kept apart by it"
    yield f"{module.name}: keeps open instances for {each}, until there is a stage that does not extend them"
    for state in machine.states:
        if state.waits:
            rule, _, place = state.name.partition(": ")
            yield f"{_rule(rule)}: {_waiting(state, place, machine, goals[module.name, _rule(rule)])}"
    for number in machine.firsts:
        name = machine.tables[machine.event_types[number]].name
        yield f"{_rule(name)}: remembers for ever that the event of `first` was there, one bit for {each}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _waiting(state: State, place: str, machine: Machine, goals: WrittenGoals) -> str:
    where = goals.said(place)
    if state.expires is not None:
        return f"waits {where}, for {_duration(state.expires[1])}"
    held = sorted({machine.registers[each].name for each in machine.live[machine.states.index(state)]})
    if not held:
        return f"remembers for ever that it waits {where}, once"
    return (
        f"waits {where} for ever, each different one once ({', '.join(held)}); it grows, unless the next goal "
        f"{goals.bound_after(place)}"
    )


def _rule(name: str) -> str:
    """The rule that a detector or an event of its own belongs to."""
    return name.split("#")[1] if name.startswith("#") else name


def _duration(nanoseconds: int) -> str:
    for unit, length in _UNITS:
        if nanoseconds % length == 0 and nanoseconds:
            amount = nanoseconds // length
            return f"{amount} {unit if amount != 1 else unit[:-1]}"
    return f"{nanoseconds / 1e9:g} seconds"
