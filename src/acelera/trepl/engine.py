"""The engine of rules over changes: a machine over stages for each module, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa

from acelera.cdc.layout import INSTANT, NEW, TIME
from acelera.engine.storage.snapshots import fingerprint_of, pack, unpack
from acelera.errors import UsageError
from acelera.language.lowering import UnsupportedError
from acelera.stages.coding import coded
from acelera.stages.native.stage_code import why_not
from acelera.trepl.chained_keys import chained_key
from acelera.trepl.resolved import Derive, Module, Program
from acelera.trepl.running.carriers import Plain, Quick
from acelera.trepl.running.module_runs import ARGUMENT, Machine, ModuleRun
from acelera.trepl.running.ordering import pieces
from acelera.trepl.stepping import Place
from acelera.trepl.time_functions import time_functions
from acelera.trepl.translation.machines import Translation, translate

MAX_TUPLES = 100_000


Made = Mapping[tuple[str, str], pa.Table]
"""Derived events by module and name, in the columns of normalized changes that have no kind and no old values."""


class ChangeEngine:
    """A program that runs, or some modules of it."""

    def __init__(self, program: Program, max_tuples: int = MAX_TUPLES, modules: Collection[str] | None = None) -> None:
        self._program = program
        self._modules = [each for each in program.modules if modules is None or each.name in modules]
        self._runs = {module.name: _opened(module, program, max_tuples) for module in self._modules}
        self._failed = False

    def step(self, given: Mapping[str, pa.Table], fed: Made | None = None) -> dict[Place, pa.Table]:
        """Take whole stages; what actions do at them. After an error it is of no use any more.

        `fed` are events of modules that run elsewhere.
        """
        if self._failed:
            raise UsageError("the engine has failed before; go on from a snapshot, or open it anew")
        self._failed = True
        found: dict[Place, list[pa.Table]] = {}
        for piece in [given] if fed else pieces(given):
            for place, table in self._step(piece, fed or {}):
                found.setdefault(place, []).append(table)
        self._failed = False
        return {place: pa.concat_tables(tables) for place, tables in found.items()}

    def _step(self, given: Mapping[str, pa.Table], fed: Made) -> Iterator[tuple[Place, pa.Table]]:
        made = dict(fed)
        for module in self._modules:
            outputs = self._runs[module.name].step(given, made)
            yield from outputs.items()
            made |= dict(_events(module, outputs))

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere."""
        sections = {
            f"{name}.{part}": section for name, run in self._runs.items() for part, section in run.dump().items()
        }
        return pack(_fingerprint(self._program), sections)

    def load(self, snapshot: bytes) -> None:
        """Go on from a snapshot."""
        sections = unpack(snapshot, _fingerprint(self._program))
        for name, run in self._runs.items():
            prefix = f"{name}."
            run.load({k.removeprefix(prefix): part for k, part in sections.items() if k.startswith(prefix)})

    def kept(self) -> dict[str, int]:
        """How many unfinished instances there are, by module: those that may go on at the next stage, and others."""
        found: dict[str, int] = {}
        for name, run in self._runs.items():
            resting, waiting = run.machine.kept
            found[f"{name}: instances that go on at the next stage"] = resting
            found[f"{name}: instances that wait"] = waiting
        return found


def opened(program: Program, max_tuples: int = MAX_TUPLES, modules: Collection[str] | None = None) -> ChangeEngine:
    """An engine that has seen nothing yet; of all modules, unless some are named."""
    return ChangeEngine(program, max_tuples, modules)


def resumed(
    program: Program, snapshot: bytes, max_tuples: int = MAX_TUPLES, modules: Collection[str] | None = None
) -> ChangeEngine:
    """An engine that goes on from a snapshot of one of the same modules."""
    engine = ChangeEngine(program, max_tuples, modules)
    engine.load(snapshot)
    return engine


def _opened(module: Module, program: Program, max_tuples: int) -> ModuleRun:
    translation = translate(module, program)
    functions = time_functions(program.zone)
    machine: Machine
    try:
        machine = Quick(translation, coded(translation.machine), max_tuples)
    except UnsupportedError:
        machine = Plain(translation, functions, max_tuples)
    split = None if module.partition else chained_key(module, program).key
    return ModuleRun(module, program, translation, machine, functions, split)


def carried_out(translation: Translation) -> str:
    """What carries out the machine of a module, and why not something quicker."""
    try:
        code = coded(translation.machine)
    except UnsupportedError as error:
        return f"on plain values, which is slow ({error})"
    reason = why_not(code)
    return "compiled to machine code" if reason is None else f"compiled, step by step: no machine code for {reason}"


def _events(module: Module, outputs: Mapping[Place, pa.Table]) -> Iterator[tuple[tuple[str, str], pa.Table]]:
    """The derived events of a module as other modules read them."""
    parts: dict[str, list[pa.Table]] = {}
    for rule in module.rules:
        for number, action in enumerate(rule.actions):
            table = outputs.get((module.name, rule.name, number))
            if isinstance(action, Derive) and table is not None:
                columns: dict[str, Any] = {
                    name: table.column(name) for name in table.column_names if name == TIME or name.startswith(INSTANT)
                }
                for place, attribute in enumerate(module.derived[action.event], 1):
                    columns[f"{NEW}{attribute}"] = table.column(f"{ARGUMENT}{place}")
                parts.setdefault(action.event, []).append(pa.table(columns))
    for event, tables in parts.items():
        yield (module.name, event), pa.concat_tables(tables)


def _fingerprint(program: Program) -> str:
    modules = [
        (each.name, each.universe, each.partition, [(rule.name, rule.goal, rule.actions) for rule in each.rules])
        for each in program.modules
    ]
    return fingerprint_of(repr((modules, program.zone, str(program.timestamp))))
