"""The engine over a history, in steps and through snapshots: what fires, to be compared with the meaning."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from acelera.cdc.layout import INSTANT, KIND, NEW, OLD, TIME
from acelera.language.types import from_arrow
from acelera.stages import quick_machine
from acelera.stages.quick_machine import QuickMachine
from acelera.tables import plain_values
from acelera.trepl.ast import KINDS
from acelera.trepl.engine import ChangeEngine, opened, resumed
from acelera.trepl.history import Change, Fired
from acelera.trepl.resolved import Program
from acelera.trepl.stepping import Place

Tables = dict[str, pa.Table]


def run_engine(
    program: Program,
    history: Sequence[Change],
    cuts: Iterable[int] = (),
    breaks: bool = False,
    max_tuples: int = 100_000,
    at_once: bool = False,
) -> list[Fired]:
    """What the rules do if so many instants come in the first step, and so on; with `breaks`, each goes on elsewhere,
    and `at_once` lets machines have machine code from the first stage on.
    """
    enough = -1 if at_once else quick_machine.ENOUGH
    with patch.object(quick_machine, "ENOUGH", enough), patch.object(quick_machine, "known", lambda code: None):
        return _run(program, history, cuts, breaks, max_tuples)


def _run(
    program: Program, history: Sequence[Change], cuts: Iterable[int], breaks: bool, max_tuples: int
) -> list[Fired]:
    engine = opened(program, max_tuples)
    found: list[Fired] = []
    for part in _steps(history, cuts):
        found += _fired(engine, tables_of(program, part))
        engine = resumed(program, engine.snapshot(), max_tuples) if breaks else engine
    return found


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each step the engine looks for what can be forgotten, however little there is."""
    tidy = QuickMachine.tidy

    def at_once(machine: QuickMachine, time: int | None) -> None:
        machine._looked = -1
        tidy(machine, time)

    monkeypatch.setattr(QuickMachine, "tidy", at_once)


def _steps(history: Sequence[Change], cuts: Iterable[int]) -> Iterator[list[Change]]:
    instants = sorted({each.instant for each in history})
    bounds = sorted({0, len(instants), *(cut for cut in cuts if cut < len(instants))})
    for begin, end in itertools.pairwise(bounds):
        among = set(instants[begin:end])
        yield [each for each in history if each.instant in among]


def tables_of(program: Program, history: Iterable[Change]) -> Tables:
    """Normalized changes by relation."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in program.relations}
    for each in history:
        if each.relation in found:
            sides = ((NEW, each.new), (OLD, each.old))
            cells = {f"{side}{name}": value for side, row in sides for name, value in (row or {}).items()}
            row = {KIND: KINDS.index(each.kind), f"{INSTANT}0": each.instant, TIME: each.timestamp, **cells}
            found[each.relation].append(row)
    return {name: _table(rows, program, name) for name, rows in found.items() if rows}


def _table(rows: list[dict[str, Any]], program: Program, relation: str) -> pa.Table:
    attributes = program.relations[relation].attributes
    numbered = any(row[f"{INSTANT}0"] < 10**6 for row in rows)  # an instant that is no time
    instant = pa.int64() if numbered else program.timestamp.arrow
    types = {KIND: pa.int8(), f"{INSTANT}0": instant, TIME: program.timestamp.arrow}
    types |= {f"{side}{name}": kind.arrow for side in (NEW, OLD) for name, kind in attributes.items()}
    return pa.table({name: _column([row.get(name) for row in rows], kind) for name, kind in types.items()})


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.timestamp("ns", "UTC")).cast(kind)
    return pa.array(values, pa.int32()).cast(kind) if pa.types.is_date(kind) else pa.array(values, kind)


def _fired(engine: ChangeEngine, given: Tables) -> Iterator[Fired]:
    for place, table in engine.step(given).items():
        yield from _rows(place, table)


def _rows(place: Place, table: pa.Table) -> Iterator[Fired]:
    columns = {each.name: plain_values(table.column(each.name), from_arrow(each.type)) for each in table.schema}
    keys = [values for name, values in columns.items() if name.startswith("#key.")]
    arguments = [values for name, values in columns.items() if name.startswith("arg")]
    module, rule, action = place
    for row in range(table.num_rows):
        stage, instant, time = (columns[name][row] for name in ("#stage", f"{INSTANT}0", TIME))
        key, told = (tuple(each[row] for each in listed) for listed in (keys, arguments))
        yield Fired(module, key, rule, action, stage, instant, time, told)
